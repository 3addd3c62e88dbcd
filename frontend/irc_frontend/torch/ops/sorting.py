"""Rules of sorting and of what is found by it: with the indices, which are those of a stable sort."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

import irc_frontend as ir
from irc_frontend.ordering import sorted_with_indices
from irc_frontend.tensor import Tensor
from irc_frontend.torch.ops.scans import Parts, running
from irc_frontend.torch.rules import Left, rule

aten = torch.ops.aten


@rule(aten.sort.default, targets=["cpu"])
def _sort(x: Tensor, dim: int = -1, descending: bool = False) -> Any:
    return sorted_with_indices(x, dim, descending)


@rule(aten.sort.stable, targets=["cpu"])
def _sort_stable(x: Tensor, *, stable: bool | None = None, dim: int = -1, descending: bool = False) -> Any:
    return sorted_with_indices(x, dim, descending)


@rule(aten.topk.default, targets=["cpu"])
def _topk(x: Tensor, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> Any:
    if not x.ndim:
        return (x, ir.zeros((), "i64")) if k else (ir.zeros((0,), x.element), ir.zeros((0,), "i64"))
    if largest and x.element != "bool":
        return ir.topk(x, k, dim)
    return tuple(_span(part, dim, 0, k) for part in sorted_with_indices(x, dim, largest))


def _span(x: Tensor, dim: int, start: int, stop: int) -> Tensor:
    return x[(*[slice(None)] * (dim % x.ndim), slice(start, stop))]


@rule(aten.kthvalue.default, targets=["cpu"])
def _kthvalue(x: Tensor, k: int, dim: int = -1, keepdim: bool = False) -> Any:
    return _picked(*sorted_with_indices(x, dim), dim, k - 1, keepdim)


def _picked(values: Tensor, indices: Tensor, dim: int, at: int, keepdim: bool) -> tuple[Tensor, Tensor]:
    """The element at a place of the sorted axis."""
    if not values.ndim:
        return values, indices
    key = slice(at, at + 1) if keepdim else at
    first, second = (x[(*[slice(None)] * (dim % values.ndim), key)] for x in (values, indices))
    return first, second


@rule(aten.median.dim, targets=["cpu"])
def _median_dim(x: Tensor, dim: int, keepdim: bool = False) -> tuple[Tensor, Tensor]:
    """The lower of the two in the middle; the first NaN where there is one."""

    def place(numbers: Tensor, extent: int) -> Tensor:
        return ir.where(numbers < extent, numbers, (extent - 1) // 2)

    return _found(x, dim, keepdim, "median", lambda _, axis: _middle(x, axis, place))


@rule(aten.nanmedian.dim, targets=["cpu"])
def _nanmedian_dim(x: Tensor, dim: int, keepdim: bool = False) -> tuple[Tensor, Tensor]:
    """The median of the numbers; NaN where there are none."""

    def place(numbers: Tensor, extent: int) -> Tensor:
        return ir.maximum((numbers - 1) // 2, 0)

    return _found(x, dim, keepdim, "median", lambda _, axis: _middle(x, axis, place))


def _middle(x: Tensor, axis: int, place: Callable[[Tensor, int], Tensor]) -> Tensor | int:
    """The middle of an axis; of floats, what is made of the count of numbers (of what is not NaN: they come first) and
    the extent."""
    if not x.node.is_float:
        return (x.shape[axis] - 1) // 2
    return place((~ir.isnan(x)).astype("i64").sum(axis, keepdims=True), x.shape[axis])


def _found(
    x: Tensor, dim: int, keepdim: bool, what: str, place: Callable[[Tensor, int], Tensor | int]
) -> tuple[Tensor, Tensor]:
    """The element at a place of the sorted axis, which is found by what is sorted and the axis, and where it was.
    what: what that is, for an axis that has none."""
    values, indices = sorted_with_indices(x, dim)
    if not x.ndim:
        return values, indices
    axis = dim % x.ndim
    extent = x.shape[axis]
    if not extent:
        raise Left(f"nothing to take a {what} of")
    at = place(values, axis)
    if isinstance(at, int):
        return _picked(values, indices, axis, at, keepdim)
    found, where = (ir.take_along_axis(part, at, axis, mode="clip") for part in (values, indices))
    return (found, where) if keepdim else (found.squeeze(axis), where.squeeze(axis))


@rule(aten.median.default, targets=["cpu"])
def _median(x: Tensor) -> Tensor:
    return _median_dim(x.reshape(x.size), 0)[0]


@rule(aten.nanmedian.default, targets=["cpu"])
def _nanmedian(x: Tensor) -> Tensor:
    return _nanmedian_dim(x.reshape(x.size), 0)[0]


@rule(aten.mode.default, targets=["cpu"])
def _mode(x: Tensor, dim: int = -1, keepdim: bool = False) -> tuple[Tensor, Tensor]:
    """The least of the elements that are there most often, and where its last is. In order, the last of equals knows
    how many there are: as many as from the last element on that differs from the one before it."""
    return _found(x, dim, keepdim, "mode", _last_of_most)


def _last_of_most(values: Tensor, axis: int) -> Tensor:
    extent = values.shape[axis]
    before, behind = (_span(values, axis, start, start + extent - 1) for start in (0, 1))
    differs = ir.concatenate([ir.ones(_span(values, axis, 0, 1).shape, "bool"), ~ir.equal(before, behind)], axis)
    places = ir.arange(extent).reshape(*[-1 if each == axis else 1 for each in range(values.ndim)])

    def combine(earlier: Parts, later: Parts) -> Parts:
        return (ir.maximum(earlier[0], later[0]),)

    (starts,) = running(combine, (ir.where(differs, places, 0),), axis, (0,))
    return ir.argmax(places - starts, axis, True)
