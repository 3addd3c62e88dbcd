"""Rules of attention and its gradients."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import torch

import irc_frontend as ir
from irc.ir.dtypes import accumulator, element_named
from irc_frontend.linear import contract
from irc_frontend.tensor import Tensor
from irc_frontend.torch import attention as own
from irc_frontend.torch.costs import why_slow
from irc_frontend.torch.masks import Seen
from irc_frontend.torch.rules import argument, deferred, rule, wide

OWN = own.attention, own.attention_gradients
"""What defines the ops of these rules."""


@rule(torch.ops.irc.attention.default)
def _attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    bias: Tensor | None,
    causal: bool,
    window: int | None,
    scale: float,
    order: Sequence[int],  # of the result in memory: programs write results as torch says
) -> tuple[Tensor, Tensor]:
    y = ir.attention(q, k, v, causal, scale, window, bias)
    sums = ir.attention_log_sum_exp(_apart(q, k), k, causal, scale, window, _bias_apart(bias, q, k))
    return y, sums.reshape(*q.shape[:-1])


@rule(torch.ops.irc.attention_gradients.default)
def _gradients(
    g: Tensor,
    q: Tensor,
    k: Tensor,
    v: Tensor,
    y: Tensor,
    log_sum_exp: Tensor,
    bias: Tensor | None,
    causal: bool,
    window: int | None,
    scale: float,
) -> tuple[Tensor, Tensor, Tensor]:
    """As the rule of `nd.attention` has them (`irc/autodiff/gradients/attention.py`)."""
    shape, batches, bias = q.shape, k.ndim - 2, _bias_apart(bias, q, k)
    total = (wide(g) * wide(y)).sum(-1)
    q, g, sums, total = (_apart(x, k) for x in (q, g, log_sum_exp, total))
    weights = ir.attention_weights(q, k, sums, causal, scale, window, bias)
    slope = deferred(wide(weights) * (_product(g, v, batches, [-1], [-1]) - ir.expand_dims(total, -1)), q.element)
    queries = range(batches - q.ndim, -1)
    dq = _product(slope, k, batches, [-1], [-2]) * scale
    dk = _product(slope, q, batches, queries, queries) * scale
    return dq.reshape(*shape), dk, _product(weights, g, batches, queries, queries)


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
    is_trained: bool,
) -> str | None:
    """Why attention of arrays of these shapes, and its gradients where it is trained, are torch's on a GPU."""
    shapes, y_shape = (q, k, v), (*q[:-1], v[-1])
    queries, keys, values, y = (argument(shape, dtype) for shape in (*shapes, y_shape))
    mask, options = None if bias is None else argument(*bias), (seen.causal, seen.window, scale)
    order = range(len(q) - 1)
    reason = why_slow([x.node for x in _attention(queries, keys, values, mask, *options, order)])
    if reason is not None or not is_trained:
        return reason
    sums = argument(q[:-1], torch.float32)
    return why_slow([x.node for x in _gradients(y, queries, keys, values, y, sums, mask, *options)])


def _apart(x: Tensor, k: Tensor) -> Tensor:
    """What lies along the queries, with an axis of its own for the heads that share keys, if any do."""
    batch = k.shape[:-2]
    return x if x.shape[: len(batch)] == batch else x.reshape(*batch, -1, *x.shape[len(batch) :])


def _bias_apart(bias: Tensor | None, q: Tensor, k: Tensor) -> Tensor | None:
    if bias is None or q.shape[:-2] == k.shape[:-2]:
        return bias
    return _apart(ir.broadcast_to(bias, [*q.shape[:-1], k.shape[-2]]), k)


def _product(a: Tensor, b: Tensor, batches: int, axes_a: Sequence[int], axes_b: Sequence[int]) -> Tensor:
    """The product over axes counted from the end, behind so many batches; in f32 for narrow floats."""
    batch = tuple(range(batches))
    pair_a, pair_b = (tuple(axis % x.ndim for axis in axes) for x, axes in ((a, axes_a), (b, axes_b)))
    element = accumulator(element_named(a.element)).name
    return Tensor.of(contract(a.node, b.node, batch, batch, pair_a, pair_b, element))
