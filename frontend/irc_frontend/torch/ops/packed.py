"""Rules of attention of packed sequences, and of its gradients."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

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
def _packed_attention(q: Tensor, k: Tensor, v: Tensor, *packing: Any) -> tuple[Tensor, Tensor]:
    """packing: how sequences lie and see each other, as in `irc::packed_attention`, and the scale."""
    mask = _masked(q, k, *packing)
    q, k, v = _heads_first(q, k, v)
    y, sums = attention(q, k, v, *mask, [1, 0])
    return y.swapaxes(0, 1), sums


@rule(torch.ops.irc.packed_attention_gradients.default)
def _gradients(
    g: Tensor, q: Tensor, k: Tensor, v: Tensor, y: Tensor, log_sum_exp: Tensor, *packing: Any
) -> tuple[Tensor, Tensor, Tensor]:
    found = attention_gradients(*_heads_first(g, q, k, v, y), log_sum_exp, *_masked(q, k, *packing))
    dq, dk, dv = _heads_first(*found)
    return dq, dk, dv


def _heads_first(*arrays: Tensor) -> list[Tensor]:
    """Arrays whose heads come before their places, or those of such."""
    return [x.swapaxes(0, 1) for x in arrays]


def _masked(
    q: Tensor,
    k: Tensor,
    offsets: Tensor,
    key_offsets: Tensor,
    lengths: Tensor | None,
    left: int | None,
    right: int | None,
    scale: float,
) -> tuple[Tensor, None, bool, None, float, float]:
    """What attention and its gradients take behind the arrays: a mask, and nothing else that hides a key."""
    mask = ir.packed_mask(offsets, q.shape[0], key_offsets, k.shape[0], left, right, lengths)
    return mask, None, False, None, scale, 0.0


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
