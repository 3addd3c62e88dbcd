"""Rules of scatters that reduce what indices put at one place: sums, means, extremes, products."""

from __future__ import annotations

from collections.abc import Callable

import torch

import irc_frontend as ir
from irc_frontend.casts import wide
from irc_frontend.evaluation import current_target
from irc_frontend.ordering import sorted_with_indices
from irc_frontend.tensor import Tensor
from irc_frontend.torch.ops.indexing import added, inside, scattered, summed
from irc_frontend.torch.ops.scans import running_in_groups
from irc_frontend.torch.rules import Left, rule

aten = torch.ops.aten

PAIRS = {"prod": ir.multiply, "amax": ir.maximum, "amin": ir.minimum}
"""What a reduction that is no sum makes of two elements."""


@rule(aten.scatter_reduce.two)
def _scatter_reduce(
    x: Tensor, dim: int, indices: Tensor, source: Tensor, reduce: str, *, include_self: bool = True
) -> Tensor:
    indices = inside(x, dim, indices)
    if reduce in ("sum", "mean"):
        ones = ir.ones(indices.shape, "i32")
        return _summed(x, source, ones, reduce, include_self, lambda y, updates: added(y, dim, indices, updates))
    source = source[tuple(slice(0, extent) for extent in indices.shape)]

    def scatter(x: Tensor, indices: Tensor, updates: Tensor, axis: int) -> Tensor:
        return _combined(x, indices, updates, axis, reduce, include_self)

    return scattered(x, dim, indices, source, scatter)


@rule(aten.index_reduce.default)
def _index_reduce(
    x: Tensor, dim: int, indices: Tensor, source: Tensor, reduce: str, *, include_self: bool = True
) -> Tensor:
    if not x.ndim:
        source = source.reshape(source.size)
        return _index_reduce(x.reshape(1), 0, indices, source, reduce, include_self=include_self).reshape()
    if not x.size or not indices.size:
        return x
    axis, at = dim % x.ndim, inside(x, dim, indices.reshape(indices.size))
    if reduce != "mean":
        return _combined(x, at, source, axis, reduce, include_self)
    ones = ir.ones(source.shape, "i32")
    return _summed(x, source, ones, reduce, include_self, lambda y, updates: summed(y, at, updates, axis))


def _summed(
    x: Tensor,
    source: Tensor,
    ones: Tensor,
    reduce: str,
    includes_x: bool,
    put: Callable[[Tensor, Tensor], Tensor],
) -> Tensor:
    """Sums and means, by a function that adds updates at their places; of what nothing falls on, x. ones: one of each
    update."""
    if not x.node.is_float and reduce == "mean":
        raise Left("a mean of integers")
    hits = put(ir.zeros(x.shape, "i32"), ones)
    given = wide(x)
    base = given if includes_x else ir.where(hits > 0, 0, given)
    total = put(base, source.astype(base.element))
    if reduce == "sum":
        return total
    count = hits + 1 if includes_x else ir.maximum(hits, 1)
    return total / count.astype(total.element)


def _combined(x: Tensor, indices: Tensor, updates: Tensor, axis: int, reduce: str, includes_x: bool) -> Tensor:
    """Products and extremes; of what nothing falls on, x. The updates are sorted by their index, and what is made of
    those with one index runs along them: the last of these has all, and alone is added to zeros."""
    if current_target() == "cuda":
        raise Left(f"a scatter by {reduce}")
    pair, count = PAIRS[reduce], indices.size
    sorted_indices, order = sorted_with_indices(indices)
    groups = sorted_indices.reshape(*[count if each == axis else 1 for each in range(x.ndim)])
    rows = ir.take(wide(updates), order, axis, mode="clip")

    (found,) = running_in_groups(lambda earlier, later: (pair(earlier[0], later[0]),), groups, (rows,), axis)
    is_last = ir.concatenate([sorted_indices[1:] != sorted_indices[:-1], ir.ones((1,), "bool")])
    totals = ir.where(is_last.reshape(groups.shape), found, 0)
    result = summed(ir.zeros(x.shape, totals.element), sorted_indices, totals, axis)
    hits = summed(ir.zeros((x.shape[axis],), "i32"), sorted_indices, ir.ones((count,), "i32")) > 0
    given = wide(x)
    if includes_x:
        result = pair(given, result)
    return ir.where(hits.reshape(*[-1 if each == axis else 1 for each in range(x.ndim)]), result, given)
