"""Rules of bags of embeddings: sums, means or maxima of rows of a matrix, those of a bag one behind another."""

from __future__ import annotations

from dataclasses import dataclass

import torch

import irc_frontend as ir
from irc_frontend.casts import wide
from irc_frontend.tensor import Tensor
from irc_frontend.torch.ops.indexing import added, inside, summed
from irc_frontend.torch.ops.scans import Parts, running_in_groups
from irc_frontend.torch.ops.searching import bisected
from irc_frontend.torch.rules import Left, rule

aten = torch.ops.aten

SUM, MEAN, MAX = range(3)
"""torch's modes."""


@dataclass(frozen=True)
class _Bags:
    """count: of the bags. of: the bag of each row that is named. is_kept: whether it counts; those of the padding do
    not."""

    count: int
    of: Tensor
    is_kept: Tensor

    def sums(self, rows: Tensor) -> Tensor:
        """Of each bag, over the rows that count."""
        kept = ir.where(self._along(self.is_kept, rows), rows, 0)
        return summed(ir.zeros((self.count, *rows.shape[1:]), rows.element), self.of, kept)

    def spread(self, values: Tensor) -> Tensor:
        """Each bag's value for its rows that count, 0 for the others."""
        found = ir.take(values, self.of, 0, mode="clip")
        return ir.where(self._along(self.is_kept, found), found, 0)

    def sizes(self) -> Tensor:
        return self.sums(ir.ones(self.of.shape, "i64"))

    @staticmethod
    def _along(x: Tensor, rows: Tensor) -> Tensor:
        return x.reshape(x.size, *[1] * (rows.ndim - 1))


def _bags(indices: Tensor, offsets: Tensor, count: int, padding: int) -> _Bags:
    """A row is of the last bag that begins at it or in front of it."""
    of = ir.clip(bisected(offsets, ir.arange(indices.size), True) - 1, 0, max(0, count - 1))
    return _Bags(count, of, indices != padding)


@rule(aten._embedding_bag.default, aten._embedding_bag_forward_only.default, targets=["cpu"])
def _embedding_bag(
    weight: Tensor,
    indices: Tensor,
    offsets: Tensor,
    scale_grad_by_freq: bool = False,
    mode: int = SUM,
    sparse: bool = False,
    per_sample_weights: Tensor | None = None,
    include_last_offset: bool = False,
    padding_idx: int = -1,
) -> tuple[Tensor, ...]:
    """And what torch keeps for the gradient: the bag of each row, which it does not need of sums without padding; the
    sizes of the bags; the rows that maxima are of."""
    count = offsets.size - include_last_offset
    if not indices.size or not count:
        raise Left("no bags, or nothing in them")
    bags = _bags(indices, _checked(offsets, indices.size), count, padding_idx)
    rows = ir.take(wide(weight), inside(weight, 0, indices), 0, mode="clip")
    sizes = bags.sizes()
    if mode == MAX:
        values, places = _maxima(rows, bags, indices, sizes)
        return values, bags.of, sizes, places
    if per_sample_weights is not None:
        rows = rows * per_sample_weights.reshape(indices.size, 1)
    total = bags.sums(rows)
    if mode == MEAN:
        total = total / ir.maximum(sizes, 1).reshape(count, 1).astype(total.element)
    is_plain = mode == SUM and padding_idx < 0 and weight.element in ("f32", "f16")
    return total, ir.zeros((0,), "i64") if is_plain else bags.of, sizes, ir.zeros((count,), "i64")


def _checked(offsets: Tensor, count: int) -> Tensor:
    """The first is 0, none is beyond the end."""
    first, others = ir.check_indices(offsets[:1], 1), ir.check_indices(offsets[1:], count + 1)
    return ir.concatenate([first, others]) if others.size else first


def _maxima(rows: Tensor, bags: _Bags, indices: Tensor, sizes: Tensor) -> tuple[Tensor, Tensor]:
    """Of each bag and column the first greatest element, and the row of the matrix that it is of: they run along the
    rows of a bag, the last of which has them."""
    groups = bags.of.reshape(-1, 1)
    values = ir.where(bags.is_kept.reshape(-1, 1), rows, -float("inf"))
    places = ir.broadcast_to(indices.astype("i64").reshape(-1, 1), rows.shape)

    def first_greatest(earlier: Parts, later: Parts) -> Parts:
        stays = earlier[0] >= later[0]
        return tuple(ir.where(stays, before, here) for before, here in zip(earlier, later, strict=True))

    values, places = running_in_groups(first_greatest, groups, (values, places), 0)
    last = ir.maximum(bisected(bags.of, ir.arange(bags.count), True) - 1, 0)
    is_empty = sizes.reshape(-1, 1) == 0
    first, second = (ir.where(is_empty, 0, ir.take(each, last, 0, mode="clip")) for each in (values, places))
    return first, second


@rule(aten._embedding_bag_backward.default, targets=["cpu"])
def _embedding_bag_backward(
    grad: Tensor,
    indices: Tensor,
    offsets: Tensor,
    offset2bag: Tensor,
    bag_size: Tensor,
    maximum_indices: Tensor,
    num_weights: int,
    scale_grad_by_freq: bool,
    mode: int,
    sparse: bool,
    per_sample_weights: Tensor | None,
    padding_idx: int = -1,
) -> Tensor:
    """By the matrix."""
    if sparse:
        raise Left("a sparse gradient")
    if scale_grad_by_freq:
        raise Left("an embedding whose gradient is scaled by frequency")
    count, given = grad.shape[0], wide(grad)
    zeros = ir.zeros((num_weights, grad.shape[1]), given.element)
    if mode == MAX:
        filled = ir.where(bag_size[:count].reshape(count, 1) == 0, 0, given)
        return added(zeros, 0, maximum_indices, filled)
    if mode == MEAN:
        given = given / ir.maximum(bag_size[:count], 1).reshape(count, 1).astype(given.element)
    rows = _bags(indices, offsets, count, padding_idx).spread(given)
    if per_sample_weights is not None:
        rows = rows * per_sample_weights.reshape(indices.size, 1)
    return summed(zeros, indices, rows)


@rule(aten._embedding_bag_per_sample_weights_backward.default, targets=["cpu"])
def _weights_backward(
    grad: Tensor,
    weight: Tensor,
    indices: Tensor,
    offsets: Tensor,
    offset2bag: Tensor,
    mode: int,
    padding_idx: int = -1,
) -> Tensor:
    """By the weight of each row that is named."""
    rows = ir.take(wide(weight), indices, 0, mode="clip")
    return (_bags(indices, offsets, grad.shape[0], padding_idx).spread(wide(grad)) * rows).sum(1)
