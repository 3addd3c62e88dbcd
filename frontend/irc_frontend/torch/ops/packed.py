"""Rules of attention of packed sequences, and of its gradients."""

from __future__ import annotations

from functools import lru_cache

import torch

import irc_frontend as ir
from irc_frontend.tensor import Tensor
from irc_frontend.torch import packed as own
from irc_frontend.torch.costs import why_slow
from irc_frontend.torch.ops.attention import Shape, attention, attention_gradients
from irc_frontend.torch.rules import argument, rule

OWN = own.packed_attention, own.packed_attention_gradients
"""What defines the ops of these rules."""


@rule(torch.ops.irc.packed_attention.default)
def _packed_attention(
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
    mask = ir.packed_mask(offsets, q.shape[0], key_offsets, k.shape[0], left, right, lengths)
    q, k, v = (x.swapaxes(0, 1) for x in (q, k, v))
    y, sums = attention(q, k, v, mask, None, False, None, scale, 0.0, [1, 0])
    return y.swapaxes(0, 1), sums


@rule(torch.ops.irc.packed_attention_gradients.default)
def _gradients(
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
    mask = ir.packed_mask(offsets, q.shape[0], key_offsets, k.shape[0], left, right, lengths)
    g, q, k, v, y = (x.swapaxes(0, 1) for x in (g, q, k, v, y))
    found = attention_gradients(g, q, k, v, y, log_sum_exp, mask, None, False, None, scale, 0.0)
    dq, dk, dv = (x.swapaxes(0, 1) for x in found)
    return dq, dk, dv


@lru_cache(maxsize=256)
def why_slow_packed(
    q: Shape,
    k: Shape,
    v: Shape,
    dtype: torch.dtype,
    sequences: int,
    has_lengths: bool,
    left: int | None,
    right: int | None,
    scale: float,
    is_trained: bool,
) -> str | None:
    """Why attention of arrays of these shapes, and its gradients where it is trained, are torch's on a GPU."""
    queries, keys, values, y = (argument(shape, dtype) for shape in (q, k, v, (*q[:-1], v[-1])))
    offsets, key_offsets, lengths = (argument((n,), torch.int32) for n in (sequences + 1, sequences + 1, sequences))
    rest = offsets, key_offsets, lengths if has_lengths else None, left, right, scale
    reason = why_slow([x.node for x in _packed_attention(queries, keys, values, *rest)])
    if reason is not None or not is_trained:
        return reason
    sums = argument((q[1], q[0]), torch.float32)
    return why_slow([x.node for x in _gradients(y, queries, keys, values, y, sums, *rest)])
