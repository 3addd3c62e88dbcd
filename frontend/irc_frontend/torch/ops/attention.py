"""Rules of attention and its gradients."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import torch

import irc_frontend as ir
from irc_frontend.casts import deferred, wide
from irc_frontend.tensor import Tensor
from irc_frontend.torch import attention as own
from irc_frontend.torch.costs import why_slow
from irc_frontend.torch.masks import Seen
from irc_frontend.torch.ops.scores import Dropout, Factors, apart, bias_apart, hidden, product, softmax_product
from irc_frontend.torch.rules import Left, argument, rule

OWN = own.attention, own.attention_gradients, own.attention_bias_gradient
"""What defines the ops of these rules."""


@rule(torch.ops.irc.attention.default)
def attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    bias: Tensor | None,
    words: Tensor | None,
    causal: bool,
    window: int | None,
    scale: float,
    dropout: float,
    order: Sequence[int],  # of the result in memory: programs write results as torch says
) -> tuple[Tensor, Tensor]:
    if words is None:
        y = ir.attention(q, k, v, causal, scale, window, bias)
        sums = ir.attention_log_sum_exp(apart(q, k), k, causal, scale, window, bias_apart(bias, q, k))
        return y, sums.reshape(*q.shape[:-1])
    factors, shape = Factors.of(q, k, v), q.shape
    scores = hidden(factors.scores(scale), bias_apart(bias, q, k), causal, window)
    may_hide = bias is not None or (window is not None and shape[-2] >= k.shape[-2] + window)
    y, sums = softmax_product(factors, scores, Dropout(apart(words, k), dropout), may_hide)
    return y.reshape(*shape[:-1], v.shape[-1]), sums.reshape(*shape[:-1])


@rule(torch.ops.aten.scaled_dot_product_attention.default)
def _exported(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    bias: Tensor | None = None,
    dropout: float = 0.0,
    is_causal: bool = False,
    *,
    scale: float | None = None,
    enable_gqa: bool = False,  # heads of k and v may always divide those of q
) -> Tensor:
    """torch's own, as programs of torch.export have it."""
    if dropout:
        raise Left("attention with dropout")
    return ir.attention(q, k, v, is_causal, scale, None, bias)


@rule(torch.ops.irc.attention_gradients.default)
def attention_gradients(g: Tensor, q: Tensor, k: Tensor, v: Tensor, *others: Any) -> tuple[Tensor, Tensor, Tensor]:
    """As the rule of `nd.attention` has them (`irc/autodiff/gradients/attention.py`), with dropout of the weights and
    of their gradient."""
    found = _Slope.of(g, q, k, v, *others)
    slope, batches = deferred(found.slope, q.element), k.ndim - 2
    queries = range(batches - found.q.ndim, -1)
    dq = product(slope, k, batches, [-1], [-2]) * found.scale
    dk = product(slope, found.q, batches, queries, queries) * found.scale
    dv = found.keep.scaled(product(found.keep.kept_of(found.signed), found.g, batches, queries, queries))
    return dq.reshape(*q.shape), dk, dv


@rule(torch.ops.irc.attention_bias_gradient.default)
def attention_bias_gradient(
    g: Tensor, q: Tensor, k: Tensor, v: Tensor, y: Tensor, log_sum_exp: Tensor, bias: Tensor, *others: Any
) -> Tensor:
    """That of the scores, summed over what the bias is spread over."""
    slope = _Slope.of(g, q, k, v, y, log_sum_exp, bias, *others).slope
    slope = slope.reshape(*q.shape[:-1], k.shape[-2])
    shape = (*[1] * (slope.ndim - bias.ndim), *bias.shape)
    spread = [axis for axis, extent in enumerate(slope.shape) if shape[axis] != extent]
    return slope.sum(spread, keepdims=True).reshape(*bias.shape) if spread else slope.reshape(*bias.shape)


@dataclass(frozen=True)
class _Slope:
    """The gradient of the scores, and what it is computed of: q and g, with an axis of their own for the heads that
    share keys, and the weights, with the sign of what dropout keeps. scale: of the scores."""

    q: Tensor
    g: Tensor
    keep: Dropout
    signed: Tensor
    slope: Tensor
    scale: float

    @staticmethod
    def of(
        g: Tensor,
        q: Tensor,
        k: Tensor,
        v: Tensor,
        y: Tensor,
        log_sum_exp: Tensor,
        bias: Tensor | None,
        words: Tensor | None,
        causal: bool,
        window: int | None,
        scale: float,
        dropout: float,
    ) -> _Slope:
        batches, bias = k.ndim - 2, bias_apart(bias, q, k)
        total = (wide(g) * wide(y)).sum(-1)
        q, g, sums, total = (apart(x, k) for x in (q, g, log_sum_exp, total))
        weights = ir.attention_weights(q, k, sums, causal, scale, window, bias)
        keep = Dropout(None if words is None else apart(words, k), dropout)
        signed = keep.in_sign(weights)
        slope = keep.scaled(keep.by_sign(signed, product(g, v, batches, [-1], [-1])))
        return _Slope(q, g, keep, signed, wide(keep.size(signed)) * (slope - ir.expand_dims(total, -1)), scale)


Shape = tuple[int, ...]


@lru_cache(maxsize=256)
def why_slow_attention(
    q: Shape,
    k: Shape,
    v: Shape,
    dtype: torch.dtype,
    bias: tuple[Shape, torch.dtype] | None,
    seen: Seen,
    scale: float,
    dropout: float,
    is_trained: bool,
) -> str | None:
    """Why attention of arrays of these shapes, and its gradients where it is trained, are torch's on a GPU."""
    shapes, y_shape = (q, k, v), (*q[:-1], v[-1])
    queries, keys, values, y = (argument(shape, dtype) for shape in (*shapes, y_shape))
    mask, options = None if bias is None else argument(*bias), (seen.causal, seen.window, scale, dropout)
    words, order = argument(q[:-1], torch.int32) if dropout else None, range(len(q) - 1)
    reason = why_slow([x.node for x in attention(queries, keys, values, mask, words, *options, order)])
    if reason is not None or not is_trained:
        return reason
    sums = argument(q[:-1], torch.float32)
    return why_slow([x.node for x in attention_gradients(y, queries, keys, values, y, sums, mask, words, *options)])
