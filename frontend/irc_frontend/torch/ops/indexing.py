"""Rules of gathers and scatters. Indices beyond an array's end are an error, as in torch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

import irc_frontend as ir
from irc_frontend.casts import wide
from irc_frontend.evaluation import current_target
from irc_frontend.graph import Node
from irc_frontend.indexed import checked, from_front
from irc_frontend.tensor import Tensor
from irc_frontend.torch.costs import MAX_COMPARISONS
from irc_frontend.torch.ops.updates import is_updated_by_row, updated
from irc_frontend.torch.rules import Left, as_stored, rule

aten = torch.ops.aten


def positions(indices: Tensor, extent: int) -> Tensor:
    """Indices in range, counted from the front."""
    return _from_front(Tensor.of(checked(_integers(indices), -extent, extent)), extent)


def _from_front(indices: Tensor, extent: int) -> Tensor:
    return Tensor.of(from_front(_integers(indices), extent)).astype("i64")


def _integers(indices: Tensor) -> Node:
    if indices.element == "bool":
        raise Left("an index by a mask: the shape depends on its values")
    return indices.node


def inside(x: Tensor, dim: int, indices: Tensor) -> Tensor:
    """Indices along an axis, in range; torch has none from the end there."""
    return ir.check_indices(indices, x.shape[dim % x.ndim] if x.ndim else 1)


def summed(x: Tensor, indices: Tensor, updates: Tensor, axis: int = 0) -> Tensor:
    """x with the updates added at indices that are in range."""
    return ir.scatter_add(x, indices, updates, axis, mode="clip")


@rule(aten.embedding.default)
def _embedding(
    weight: Tensor, indices: Tensor, padding_idx: int = -1, scale_grad: bool = False, sparse: bool = False
) -> Tensor:
    return ir.take(weight, inside(weight, 0, indices), 0, mode="clip")


@rule(aten.embedding_dense_backward.default)
def _embedding_backward(grad: Tensor, indices: Tensor, rows: int, padding_idx: int, scale_grad: bool) -> Tensor:
    if scale_grad:
        raise Left("an embedding whose gradient is scaled by frequency")
    wide = grad if grad.element == "f64" else grad.astype("f32")
    kept = ir.where(ir.expand_dims(indices == padding_idx, -1), 0.0, wide) if padding_idx >= 0 else wide
    return summed(ir.zeros((rows, grad.shape[-1]), wide.element), indices, kept, 0)


@rule(aten.index_select.default)
def _index_select(x: Tensor, dim: int, indices: Tensor) -> Tensor:
    if not x.ndim:
        return x
    return ir.take(x, inside(x, dim, indices.reshape(indices.size)), dim, mode="clip")


@rule(aten.gather.default)
def _gather(x: Tensor, dim: int, indices: Tensor, sparse_grad: bool = False) -> Tensor:
    if not x.ndim:
        return ir.broadcast_to(x, indices.shape)
    if not indices.size:
        return ir.zeros(indices.shape, x.element)
    at = dim % x.ndim
    cut = x[tuple(slice(None) if axis == at else slice(0, n) for axis, n in enumerate(indices.shape))]
    return ir.take_along_axis(cut, inside(x, dim, indices), at, mode="clip")


@rule(aten.take.default)
def _take(x: Tensor, indices: Tensor) -> Tensor:
    if not indices.size:
        return ir.zeros(indices.shape, x.element)
    return ir.take(x.flatten(), positions(indices, x.size), 0, mode="clip")


@rule(aten.put.default)
def _put(x: Tensor, indices: Tensor, source: Tensor, accumulate: bool = False) -> Tensor:
    """Into the flattened array."""
    if not x.size or not indices.size:
        return x
    at, updates = positions(indices, x.size).flatten(), source.flatten()
    return (summed if accumulate else stored)(x.flatten(), at, updates, 0).reshape(x.shape)


@rule(aten.index_fill.int_Scalar, aten.index_fill.int_Tensor)
def _index_fill(x: Tensor, dim: int, indices: Tensor, value: Any) -> Tensor:
    if not x.ndim:
        return _index_fill(x.reshape(1), 0, indices, value).reshape()
    if not indices.size or not x.size:
        return x
    axis = dim % x.ndim
    at = positions(indices, x.shape[axis]).reshape(indices.size)
    hits = summed(ir.zeros((x.shape[axis],), "i32"), at, ir.ones((indices.size,), "i32")) > 0
    return ir.where(
        hits.reshape(*[-1 if each == axis else 1 for each in range(x.ndim)]), as_stored(value, x.element), x
    )


@rule(aten.index.Tensor)
def _index(x: Tensor, indices: Sequence[Tensor | None]) -> Tensor:
    """The indexed axes are merged into one. Where others lie between them, torch puts the indices' axes first."""
    given, axes = _given(indices)
    order = _together(x.ndim, axes)
    flat, extents = _merged(x.permute(order), order.index(axes[0]), len(axes))
    return ir.take(flat, _combined(given, extents, positions), order.index(axes[0]), mode="clip")


def _given(indices: Sequence[Tensor | None]) -> tuple[list[Tensor], list[int]]:
    """The indices that there are, and their axes."""
    axes = [axis for axis, index in enumerate(indices) if index is not None]
    return [index for index in indices if index is not None], axes


def _together(rank: int, axes: Sequence[int]) -> list[int]:
    """An order of the axes in which the indexed ones are neighbors: as they are, or those first."""
    if list(axes) == list(range(axes[0], axes[-1] + 1)):
        return list(range(rank))
    return [*axes, *(axis for axis in range(rank) if axis not in axes)]


def _merged(x: Tensor, first: int, count: int) -> tuple[Tensor, Sequence[int]]:
    """x with neighboring axes as one, and their extents."""
    extents = x.shape[first : first + count]
    return x.reshape(*x.shape[:first], _product(extents), *x.shape[first + count :]), extents


def _product(extents: Sequence[int]) -> int:
    total = 1
    for extent in extents:
        total *= extent
    return total


def _combined(indices: Sequence[Tensor], extents: Sequence[int], placed: Callable[[Tensor, int], Tensor]) -> Tensor:
    """The index into merged axes; `placed` makes an index one from the front."""
    total: Any = None
    for index, extent in zip(indices, extents, strict=True):
        place = placed(index, extent)
        total = place if total is None else total * extent + place
    return total


@rule(aten.index_put.default)
def _index_put(x: Tensor, indices: Sequence[Tensor | None], values: Tensor, accumulate: bool = False) -> Tensor:
    return _put_at(x, indices, values, accumulate, positions)


@rule(aten._unsafe_index_put.default)
def _unsafe_index_put(x: Tensor, indices: Sequence[Tensor | None], values: Tensor, accumulate: bool = False) -> Tensor:
    return _put_at(x, indices, values, accumulate, _from_front)


def _put_at(
    x: Tensor,
    indices: Sequence[Tensor | None],
    values: Tensor,
    accumulate: bool,
    placed: Callable[[Tensor, int], Tensor],
) -> Tensor:
    """Stores or sums at the indices."""
    given, axes = _given(indices)
    if len(given) == 1 and len(indices) == 1 and given[0].element == "bool" and not values.ndim:
        mask = given[0].reshape(*given[0].shape, *[1] * (x.ndim - given[0].ndim))
        return ir.where(mask, x + values if accumulate else values, x)
    order = _together(x.ndim, axes)
    moved, first = x.permute(order), order.index(axes[0])
    flat, extents = _merged(moved, first, len(axes))
    at = _combined(given, extents, placed)
    updates = ir.broadcast_to(values, (*flat.shape[:first], *at.shape, *flat.shape[first + 1 :]))
    if not flat.size or not updates.size:
        return x
    changed = summed(flat, at, updates, first) if accumulate else stored(flat, at, updates, first)
    return changed.reshape(moved.shape).permute([order.index(axis) for axis in range(x.ndim)])


def stored(x: Tensor, indices: Tensor, updates: Tensor, axis: int) -> Tensor:
    """x with the updates, of the shape of `take(x, indices, axis)`, in place of its elements at the indices: of several
    at one place the last."""
    count = indices.size
    if is_updated_by_row(x, count) and current_target() == "cuda":
        return updated(x, indices, updates, axis)
    last = _last(indices.reshape(count), x.shape[axis])
    rows = updates.reshape(*x.shape[:axis], count, *x.shape[axis + 1 :])
    along = [-1 if each == axis else 1 for each in range(x.ndim)]
    return ir.where((last >= 0).reshape(*along), ir.take(rows, ir.maximum(last, 0), axis, mode="clip"), x)


def _last(indices: Tensor, extent: int) -> Tensor:
    """For each place the number of the last index that is it, -1 where none is. The bits of the number are found from
    the highest on: one is set if an index has it that is left; then those that differ drop out."""
    count = indices.size
    none, numbers = ir.zeros((extent,), "i32"), ir.arange(count)
    left, found = ir.ones((count,), "bool"), ir.zeros((extent,), "i64")
    for bit in reversed(range((count - 1).bit_length())):
        has_bit = ir.right_shift(numbers, bit) % 2 == 1
        is_set = summed(none, indices, (left & has_bit).astype("i32")) > 0
        found = found * 2 + is_set.astype("i64")
        left = left & (has_bit == ir.take(is_set, indices, 0, mode="clip"))
    is_index = summed(none, indices, ir.ones((count,), "i32")) > 0
    return ir.where(is_index, found, -1)


@rule(aten.index_add.default)
def _index_add(x: Tensor, dim: int, indices: Tensor, source: Tensor, *, alpha: float = 1) -> Tensor:
    if not x.ndim:
        return _index_add(x.reshape(1), 0, indices, source.reshape(source.size), alpha=alpha).reshape()
    return summed(x, inside(x, dim, indices.reshape(indices.size)), source if alpha == 1 else source * alpha, dim)


@rule(aten.scatter_add.default)
def _scatter_add(x: Tensor, dim: int, indices: Tensor, source: Tensor) -> Tensor:
    return added(x, dim, inside(x, dim, indices), source)


@rule(aten.scatter.src, targets=["cpu"])
def _scatter(x: Tensor, dim: int, indices: Tensor, source: Tensor) -> Tensor:
    return scattered(x, dim, inside(x, dim, indices), _cut(source, indices.shape), stored)


@rule(aten.scatter.value)
def _scatter_value(x: Tensor, dim: int, indices: Tensor, value: float) -> Tensor:
    """Every store is of the same number: where one or more fall, it is."""
    hits = added(ir.zeros(x.shape, "i32"), dim, inside(x, dim, indices), ir.ones(indices.shape, "i32"))
    return ir.where(hits > 0, as_stored(value, x.element), x)


def added(x: Tensor, dim: int, indices: Tensor, source: Tensor) -> Tensor:
    """x and, along the axis, what the indices put there. On a GPU each place is compared with the indices of its row,
    unless those are too many: with one index a row, as a loss of classes has, that is a map."""
    axis = dim % max(1, x.ndim)
    source = source if source.shape == indices.shape else _cut(source, indices.shape)
    rows = [*x.shape[:axis], *x.shape[axis + 1 :]]
    is_whole = x.ndim == indices.ndim > 0 and rows == [*indices.shape[:axis], *indices.shape[axis + 1 :]]
    count = indices.shape[axis] if is_whole else 0
    if current_target() in ("cpu", "interpret") or not 0 < x.size * count <= MAX_COMPARISONS:
        return scattered(x, dim, indices, source, summed)
    places = ir.arange(x.shape[axis]).reshape(*[-1 if each == axis else 1 for each in range(x.ndim)])
    indices = indices.astype("i64")
    if count == 1:
        return x + ir.where(indices == places, source, 0)
    hits = ir.expand_dims(indices, axis) == ir.expand_dims(places, axis + 1)
    found = ir.where(hits, ir.expand_dims(wide(source), axis), 0).sum(axis + 1)
    return wide(x) + found.astype(wide(x).element)


def scattered(x: Tensor, dim: int, indices: Tensor, source: Tensor, scatter: Callable[..., Tensor]) -> Tensor:
    """As a scatter into the flattened array, for indices differ along all axes."""
    if not x.ndim:
        return scattered(x.reshape(1), 0, indices.reshape(indices.size), source.reshape(source.size), scatter).reshape()
    if not x.size or not indices.size:
        return x
    if not indices.ndim:
        indices, source = indices.reshape(1), source.reshape(1)
    at = _flat_positions(x, dim % x.ndim, indices)
    return scatter(x.reshape(x.size), at, source.flatten(), 0).reshape(x.shape)


def _flat_positions(x: Tensor, axis: int, indices: Tensor) -> Tensor:
    """Where in the flattened x the element lies that has the index on the axis and its own place on the others."""
    total: Any = None
    for other, extent in enumerate(x.shape):
        along = [-1 if each == other else 1 for each in range(x.ndim)]
        place = indices.astype("i64") if other == axis else ir.arange(indices.shape[other]).reshape(*along)
        total = place if total is None else total * extent + place
    return ir.broadcast_to(total, indices.shape).flatten()


def _cut(x: Tensor, shape: Sequence[int]) -> Tensor:
    return x[tuple(slice(0, extent) for extent in shape)]


@rule(aten.masked_fill.Tensor, aten.masked_fill.Scalar)
def _masked_fill(x: Tensor, mask: Tensor, value: Any) -> Tensor:
    return ir.where(mask, as_stored(value, x.element), x)
