"""Attention of packed sequences as ops of torch's with a gradient, beside those of `attention.py`:
`torch.ops.irc.packed_attention` and `torch.ops.irc.packed_attention_gradients`. They keep no mask for the backward
pass.

Sequences lie one after the other in q[S, H, D], k[T, K, D] and v[T, K, E]; they begin at `offsets`, and at
`key_offsets`, and of their keys there are `lengths`. What a query sees is as of `irc_frontend.packed_mask`. Where one
stays with torch, it is attention with a mask.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from irc_frontend.torch import attention as masked


@torch.library.custom_op("irc::packed_attention", mutates_args=())
def packed_attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    offsets: Tensor,
    key_offsets: Tensor,
    lengths: Tensor | None,
    left: int | None,
    right: int | None,
    scale: float,
) -> tuple[Tensor, Tensor]:
    """softmax(scores) v, [S, H, E], and log(sum(exp(scores))) of each row in f32, [H, S]. Heads of k and v may divide
    those of q."""
    mask = packed_mask(q, k, offsets, key_offsets, lengths, left, right)
    y, sums = masked.attention(*_heads_first(q, k, v), mask, None, False, None, scale, 0.0, [1, 0])
    return y.transpose(0, 1).contiguous(), sums


@packed_attention.register_fake
def _(q: Tensor, k: Tensor, v: Tensor, *_: Any) -> tuple[Tensor, Tensor]:
    sums = torch.float64 if q.dtype == torch.float64 else torch.float32
    return q.new_empty(*q.shape[:-1], v.shape[-1]), q.new_empty(q.shape[1::-1], dtype=sums)


@torch.library.custom_op("irc::packed_attention_gradients", mutates_args=())
def packed_attention_gradients(
    g: Tensor,
    q: Tensor,
    k: Tensor,
    v: Tensor,
    y: Tensor,
    log_sum_exp: Tensor,
    offsets: Tensor,
    key_offsets: Tensor,
    lengths: Tensor | None,
    left: int | None,
    right: int | None,
    scale: float,
) -> tuple[Tensor, Tensor, Tensor]:
    """The gradients of q, k and v for a gradient g of the result y."""
    mask = packed_mask(q, k, offsets, key_offsets, lengths, left, right)
    first = _heads_first(g, q, k, v, y)
    found = masked.attention_gradients(*first, log_sum_exp, mask, None, False, None, scale, 0.0)
    dq, dk, dv = (x.transpose(0, 1).contiguous() for x in found)
    return dq, dk, dv


@packed_attention_gradients.register_fake
def _(g: Tensor, q: Tensor, k: Tensor, v: Tensor, *_: Any) -> tuple[Tensor, Tensor, Tensor]:
    dq, dk, dv = (x.new_empty(x.shape) for x in (q, k, v))
    return dq, dk, dv


def _keep(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor]) -> None:
    q, k, v, offsets, key_offsets, lengths, *options = inputs
    y, sums = output
    ctx.mark_non_differentiable(sums)
    ctx.save_for_backward(q, k, v, y, sums, offsets, key_offsets, lengths)
    ctx.options = options


def _backward(ctx: Any, g: Tensor, _: Any) -> tuple[Tensor | None, ...]:
    return (*packed_attention_gradients(g, *ctx.saved_tensors, *ctx.options), *[None] * 6)


packed_attention.register_autograd(_backward, setup_context=_keep)


def _heads_first(*arrays: Tensor) -> list[Tensor]:
    return [x.transpose(0, 1) for x in arrays]


def packed_mask(
    q: Tensor,
    k: Tensor,
    offsets: Tensor,
    key_offsets: Tensor,
    lengths: Tensor | None,
    left: int | None,
    right: int | None,
) -> Tensor:
    """Which keys a query sees, bool[S, T]."""
    row, column = (torch.arange(x.shape[0], device=q.device) for x in (q, k))
    number = torch.bucketize(row, offsets[1:].contiguous(), right=True)
    is_one, number = number < len(offsets) - 1, number.clamp(max=len(offsets) - 2)
    first, count = key_offsets[number], (key_offsets.diff() if lengths is None else lengths)[number]
    place = row - offsets[1:][number] + count
    key = column - first[:, None]
    seen = is_one[:, None] & (key >= 0) & (key < count[:, None])
    if left is not None:
        seen &= key >= (place - left)[:, None]
    if right is not None:
        seen &= key <= (place + right)[:, None]
    return seen
