"""Attention as ops of torch's with a gradient, which torch's compiler keeps whole: `torch.ops.irc.attention`, and
`torch.ops.irc.attention_gradients` and `torch.ops.irc.attention_bias_gradient` for its backward pass.

Which of its kernels torch takes for an attention depends on types, shapes and masks, and each keeps other things for
its backward pass. These ops have one form for all: what is kept beside the arguments is the result, and the logarithms
of the sums of the rows' exponentials. Rules (`ops/attention.py`) say what they mean to irc. Where one stays with torch,
it is torch's attention, and products.

Scores are q k^T * scale. A query sees keys up to its own place where it is `causal`, and those less than a `window`
away. A `bias` broadcasts to the scores: it is added, or if it is bool says what is seen. Where a query sees no key, the
result and the gradients are 0, and the logarithm is -inf. `words`, i32[..., S], say which of the weights `dropout`
keeps (`dropout.py`); these are divided by what part of them that is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from irc_frontend.torch.dropout import kept
from irc_frontend.torch.preparation import order_of


@torch.library.custom_op("irc::attention", mutates_args=())
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
    order: Sequence[int],
) -> tuple[Tensor, Tensor]:
    """softmax(scores) v of q[..., S, D], k[..., T, D] and v[..., T, E], with dropout before the product, and
    log(sum(exp(scores))) of each row in f32, [..., S]. Heads of k and v, the extent before the last two, may divide
    those of q. `order` names the axes of the result, but for its last one, as they lie in memory, the outermost
    first."""
    mask = _mask(q, k, bias, causal, window)
    wide = mask if mask is None or mask.dtype == torch.bool else mask.to(_accumulator(q))
    sums = _log_sum_exp(q, k, wide, scale)
    if words is None:
        is_shared = q.ndim > 2 and q.shape[-3] != k.shape[-3]
        found = F.scaled_dot_product_attention(q, k, v, mask, scale=scale, enable_gqa=is_shared)
    else:
        found = _product(q, k, v, sums, wide, words, scale, dropout)
    return _empty(q, v.shape[-1], order).copy_(found), sums


@attention.register_fake
def _(q: Tensor, k: Tensor, v: Tensor, *others: Any) -> tuple[Tensor, Tensor]:
    return _empty(q, v.shape[-1], others[-1]), q.new_empty(q.shape[:-1], dtype=_accumulator(q))


@torch.library.custom_op("irc::attention_gradients", mutates_args=())
def attention_gradients(
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
) -> tuple[Tensor, Tensor, Tensor]:
    """The gradients of q, k and v for a gradient g of the result y; each lies as its array does."""
    mask = _mask(q, k, bias, causal, window)
    found = _gradients(g, q, k, v, y, log_sum_exp, mask, words, scale, dropout)
    dq, dk, dv = (_empty_like(x).copy_(d) for x, d in zip((q, k, v), found, strict=True))
    return dq, dk, dv


@attention_gradients.register_fake
def _(g: Tensor, q: Tensor, k: Tensor, v: Tensor, *_: Any) -> tuple[Tensor, Tensor, Tensor]:
    return _empty_like(q), _empty_like(k), _empty_like(v)


@torch.library.custom_op("irc::attention_bias_gradient", mutates_args=())
def attention_bias_gradient(
    g: Tensor,
    q: Tensor,
    k: Tensor,
    v: Tensor,
    y: Tensor,
    log_sum_exp: Tensor,
    bias: Tensor,
    words: Tensor | None,
    causal: bool,
    window: int | None,
    scale: float,
    dropout: float,
) -> Tensor:
    """The gradient of a bias that is added, for a gradient g of the result y. It is summed over what the bias is spread
    over."""
    mask = _mask(q, k, bias, causal, window)
    times = q.shape[-3] // k.shape[-3] if q.ndim > 2 else 1
    g, k, v, y, q = (x.to(_accumulator(x)) for x in (g, k, v, y, q))
    k, v = (x if times == 1 else x.repeat_interleave(times, -3) for x in (k, v))
    weights = _weights(q, k, log_sum_exp, mask, scale)
    slope = weights * (_dropped(g @ v.mT, words, dropout) - (g * y).sum(-1, keepdim=True))
    return slope.sum_to_size(bias.shape).to(bias.dtype)


@attention_bias_gradient.register_fake
def _(g: Tensor, q: Tensor, k: Tensor, v: Tensor, y: Tensor, sums: Tensor, bias: Tensor, *_: Any) -> Tensor:
    return bias.new_empty(bias.shape)


def _keep(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor]) -> None:
    q, k, v, bias, words, *options, _ = inputs
    y, sums = output
    ctx.mark_non_differentiable(sums)
    ctx.save_for_backward(q, k, v, y, sums, bias, words)
    ctx.options = options


def _backward(ctx: Any, g: Tensor, _: Any) -> tuple[Tensor | None, ...]:
    arrays = g, *ctx.saved_tensors, *ctx.options
    bias = attention_bias_gradient(*arrays) if ctx.needs_input_grad[3] else None
    return (*attention_gradients(*arrays), bias, *[None] * 6)


attention.register_autograd(_backward, setup_context=_keep)


def _accumulator(x: Tensor) -> torch.dtype:
    return torch.float64 if x.dtype == torch.float64 else torch.float32


def _empty_like(x: Tensor) -> Tensor:
    """A dense array of x's shape, with the last axis innermost and the others in x's order."""
    return _empty(x, x.shape[-1], order_of(x, x.ndim - 1))


def _empty(x: Tensor, columns: Any, order: Sequence[int]) -> Tensor:
    """A dense array of x's shape but for its last extent, with that axis innermost and the others in order."""
    strides, size = [1] * x.ndim, columns
    for axis in reversed(order):
        strides[axis], size = size, size * x.shape[axis]
    return x.new_empty_strided((*x.shape[:-1], columns), strides)


def _mask(q: Tensor, k: Tensor, bias: Tensor | None, causal: bool, window: int | None) -> Tensor | None:
    """What is added to the scores, or which of them are seen, in their shape; None where all are as they are."""
    shape = *q.shape[:-1], k.shape[-2]
    away = torch.arange(shape[-1], device=q.device) - torch.arange(shape[-2], device=q.device)[:, None]
    seen = (away <= 0) if causal else torch.ones_like(away, dtype=torch.bool)
    if window is not None:
        seen = seen & (away.abs() < window)
    if bias is None:
        return seen.expand(shape) if causal or window is not None else None
    if bias.dtype == torch.bool:
        return (seen & bias).expand(shape)
    return torch.where(seen, bias.to(q.dtype), -torch.inf).expand(shape)


def _of_batch(x: Tensor | None, at: int) -> Tensor | None:
    return None if x is None else x[at]


def _log_sum_exp(q: Tensor, k: Tensor, mask: Tensor | None, scale: float) -> Tensor:
    """One batch at a time, so that few scores are held."""
    if q.ndim > 3:
        return torch.stack([_log_sum_exp(q[at], k[at], _of_batch(mask, at), scale) for at in range(len(q))])
    return _scores(_wide(q, q), _wide(k, q), mask, scale).logsumexp(-1)


def _product(
    q: Tensor, k: Tensor, v: Tensor, sums: Tensor, mask: Tensor | None, words: Tensor, scale: float, dropout: float
) -> Tensor:
    """Of the weights that dropout keeps and v, one batch at a time."""
    if q.ndim > 3:
        found = [
            _product(q[at], k[at], v[at], sums[at], _of_batch(mask, at), words[at], scale, dropout)
            for at in range(len(q))
        ]
        return torch.stack(found)
    weights = _weights(_wide(q, q), _wide(k, q), sums, mask, scale)
    return _dropped(weights, words, dropout) @ _wide(v, q)


def _dropped(x: Tensor, words: Tensor | None, dropout: float) -> Tensor:
    """x[..., S, T] where dropout keeps it, as many times as keeps the mean, and 0 elsewhere."""
    if words is None:
        return x
    columns = torch.arange(x.shape[-1], dtype=torch.int32, device=x.device)
    return torch.where(kept(words[..., None], columns, dropout), x / (1 - dropout), 0.0)


def _gradients(
    g: Tensor,
    q: Tensor,
    k: Tensor,
    v: Tensor,
    y: Tensor,
    sums: Tensor,
    mask: Tensor | None,
    words: Tensor | None,
    scale: float,
    dropout: float,
) -> list[Tensor]:
    """Those of q, k and v, one batch at a time."""
    if q.ndim > 3:
        batches: list[list[Tensor]] = []
        for at in range(len(q)):
            arrays = g[at], q[at], k[at], v[at], y[at], sums[at], _of_batch(mask, at), _of_batch(words, at)
            batches.append(_gradients(*arrays, scale, dropout))
        return [torch.stack(each) for each in zip(*batches, strict=True)]
    shapes = [x.shape for x in (q, k, v)]
    g, k, v, y, q = (_wide(x, q) for x in (g, k, v, y, q))
    weights = _weights(q, k, sums, mask, scale)
    slope = weights * (_dropped(g @ v.mT, words, dropout) - (g * y).sum(-1, keepdim=True)) * scale
    found = slope @ k, slope.mT @ q, _dropped(weights, words, dropout).mT @ g
    return [x.reshape(*shape[:-2], -1, *shape[-2:]).sum(-3) for x, shape in zip(found, shapes, strict=True)]


def _weights(q: Tensor, k: Tensor, sums: Tensor, mask: Tensor | None, scale: float) -> Tensor:
    return (_scores(q, k, mask, scale) - sums.nan_to_num(neginf=torch.inf)[..., None]).exp()


def _wide(x: Tensor, q: Tensor) -> Tensor:
    """The array in the type that arithmetic on it is done in, each head as often as queries have heads."""
    x = x.to(_accumulator(x))
    return x if q.ndim < 3 or x.shape[0] == q.shape[0] else x.repeat_interleave(q.shape[0] // x.shape[0], 0)


def _scores(q: Tensor, k: Tensor, mask: Tensor | None, scale: float) -> Tensor:
    scores = q @ k.mT * scale
    if mask is None:
        return scores
    return scores.masked_fill(~mask, -torch.inf) if mask.dtype == torch.bool else scores + mask
