"""torch's attention of sequences of different lengths (`torch.nn.attention.varlen`) in a graph of torch's functions:
its op becomes irc's when AOTAutograd takes the function apart.

Queries of as many words in each sequence, as in decoding, are batches, whose keys have lengths. Others are packed
(`packed.py`). Kernels read pages of keys in place (`irc/fusion/pages.py`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor
from torch.fx import GraphModule
from torch.fx.traceback import annotate

from irc_frontend.torch.masks import Seen
from irc_frontend.torch.ops.packed import why_slow_packed
from irc_frontend.torch.retargeting import retarget
from irc_frontend.torch.rules import REASON, Left
from irc_frontend.torch.scaled_dot_product import expect_known, expect_quick

ALL = -1
"""A side of torch's window without an end."""


def with_own_varlen(module: GraphModule) -> GraphModule:
    """A graph of torch's functions in which attention of such sequences calls irc's; also in graphs that it holds."""
    op = getattr(torch.ops.torch_attn, "_varlen_attn", None)  # which torch.nn.attention.varlen defines
    return module if op is None else retarget(module, varlen_attention, op, op.default)


def varlen_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    cu_seq_q: Tensor,
    cu_seq_k: Tensor | None,
    max_q: int,
    max_k: int,
    is_causal: bool = False,
    scale: float | None = None,
    window_size: Sequence[int] | None = None,
    enable_gqa: bool = False,
    seqused_k: Tensor | None = None,
    block_table: Tensor | None = None,
    num_splits: int | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """torch's, of the same arguments: the result, the logarithms of rows, and what torch keeps of random numbers, of
    which there are none."""
    left, right = (None if n == ALL else n for n in window_size or (ALL, ALL))
    right = 0 if is_causal else right
    call = _Call(query, key, value, cu_seq_q, cu_seq_k, max_q, left, right, scale, seqused_k, block_table)
    try:
        y, sums = call.attention()
    except Left as reason:
        with annotate({REASON: reason.message}):
            op = torch.ops.torch_attn._varlen_attn
            rest = max_q, max_k, is_causal, scale, list(window_size or (ALL, ALL)), enable_gqa
            return op(query, key, value, cu_seq_q, cu_seq_k, *rest, seqused_k, block_table, num_splits)
    return y, sums, torch.zeros(2, dtype=torch.int64, device=query.device).view(torch.uint64)


class _Call:
    """A call of torch's op."""

    def __init__(
        self,
        q: Tensor,
        k: Tensor,
        v: Tensor,
        offsets: Tensor,
        key_offsets: Tensor | None,
        longest: int,
        left: int | None,
        right: int | None,
        scale: float | None,
        lengths: Tensor | None,
        table: Tensor | None,
    ):
        self.q, self.k, self.v, self.offsets, self.longest = q, k, v, offsets, longest
        self.left, self.right, self.lengths, self.table = left, right, lengths, table
        self.scale = 1 / math.sqrt(q.shape[-1]) if scale is None else scale
        self.key_offsets = key_offsets

    def attention(self) -> tuple[Tensor, Tensor]:
        """The result, and the logarithms of its rows; `Left` where it stays with torch."""
        rank = 3 if self.table is None else 4
        if self.q.ndim != 3 or self.k.ndim != rank or self.v.ndim != rank:
            raise Left(f"attention of packed sequences with {self.k.ndim} axes of keys")
        if self.table is not None and self.lengths is None:
            raise Left("attention over pages without the lengths of sequences")
        if self.table is None and self.key_offsets is None:
            raise Left("attention of packed sequences without the offsets of keys")
        k, v = (x if self.table is None else self._paged(x) for x in (self.k, self.v))
        if self.table is not None and self.longest * self.sequences == self.q.shape[0]:
            return self._batched(k, v)
        return self._packed(*(x if self.table is None else x.flatten(0, 1) for x in (k, v)))

    @property
    def sequences(self) -> int:
        return self.offsets.shape[0] - 1

    @property
    def _is_trained(self) -> bool:
        return torch.is_grad_enabled() and any(x.requires_grad for x in (self.q, self.k, self.v))

    def _paged(self, pool: Tensor) -> Tensor:
        """[sequences, places, heads, size]. Pages that begin behind a sequence's length may have any number."""
        assert self.table is not None and self.lengths is not None
        first = torch.arange(self.table.shape[1], dtype=torch.int32, device=pool.device) * pool.shape[1]
        return pool[torch.where(first < self.lengths[:, None], self.table, 0)].flatten(1, 2)

    def _batched(self, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        """Of as many queries in each sequence."""
        assert self.lengths is not None
        q, k, v = (x.transpose(1, 2) for x in (self.q.unflatten(0, (-1, self.longest)), k, v))
        key = torch.arange(k.shape[2], dtype=torch.int32, device=q.device)
        lengths = self.lengths[:, None, None, None]
        place = torch.arange(self.longest, dtype=torch.int32, device=q.device)[:, None] + (lengths - self.longest)
        mask = key < lengths
        if self.left is not None:
            mask = mask & (key >= place - self.left)
        if self.right is not None:
            mask = mask & (key <= place + self.right)
        seen = Seen(causal=False, window=None)
        expect_known([q, k, v], mask, q)
        expect_quick([q, k, v], mask, q.dtype, seen, self.scale, 0.0, self._is_trained)
        order = [0, 2, 1]
        y, sums = torch.ops.irc.attention(q, k, v, mask, None, False, None, self.scale, 0.0, order)
        return y.transpose(1, 2).flatten(0, 1), sums.transpose(0, 1).flatten(1, 2)

    def _packed(self, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        key_offsets = self.key_offsets
        if self.table is not None:
            room = k.shape[0] // self.sequences
            key_offsets = torch.arange(self.sequences + 1, dtype=torch.int32, device=k.device) * room
        assert key_offsets is not None
        expect_known([x.transpose(0, 1) for x in (self.q, k, v)], None, self.q)
        if self.q.device.type == "cuda":
            shapes = [(x.shape[0], x.shape[1], x.shape[2]) for x in (self.q, k, v)]
            options = self.left, self.right, self.scale, self._is_trained
            reason = why_slow_packed(*shapes, self.q.dtype, self.sequences, self.lengths is not None, *options)
            if reason is not None:
                raise Left(reason)
        rest = self.offsets, key_offsets, self.lengths, self.left, self.right, self.scale
        return torch.ops.irc.packed_attention(self.q, k, v, *rest)
