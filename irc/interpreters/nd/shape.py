"""What the ops that move elements mean: views where numpy has them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from xdsl.ir import Operation

from irc.dialects import nd
from irc.dialects.nd.base import integer, ints, shape_of
from irc.interpreters.nd.base import Array, Precision, is_floating, meaning
from irc.support.diagnostics import IrcError

_MOVES: dict[type[Operation], Callable[[Any, Sequence[Array]], Array]] = {
    nd.PermuteOp: lambda op, args: args[0].transpose(ints(op.permutation)),
    nd.ConcatOp: lambda op, args: np.concatenate(args, axis=integer(op.axis)),
    nd.FlipOp: lambda op, args: np.flip(args[0], ints(op.axes)),
    nd.TileOp: lambda op, args: np.tile(args[0], ints(op.reps)),
}
"""Ops that are functions of numpy."""


@meaning(*_MOVES)
def _move(op: nd.IndexMapOp, args: Sequence[Array], precision: Precision) -> Array:
    return _MOVES[type(op)](op, args)


@meaning(nd.BroadcastOp)
def _broadcast(op: nd.BroadcastOp, args: Sequence[Array], precision: Precision) -> Array:
    x, dims, shape = args[0], ints(op.dims), shape_of(op.result)
    ordered = x.transpose(np.argsort(dims))
    ones = [1] * len(shape)
    for axis, dim in enumerate(dims):
        ones[dim] = x.shape[axis]
    return np.broadcast_to(ordered.reshape(ones), shape)


@meaning(nd.ReshapeOp)
def _reshape(op: nd.ReshapeOp, args: Sequence[Array], precision: Precision) -> Array:
    shape = shape_of(op.result)
    if args[0].size > 1 and not any(args[0].strides):
        return np.broadcast_to(_first(args[0]), shape)
    return args[0].reshape(shape)


def _first(x: Array) -> Array:
    """The first element, rank 0: all that a broadcast scalar holds."""
    return x[(0,) * x.ndim + (...,)]


@meaning(nd.SliceOp)
def _slice(op: nd.SliceOp, args: Sequence[Array], precision: Precision) -> Array:
    bounds = zip(ints(op.starts), ints(op.stops), ints(op.steps), strict=True)
    return args[0][tuple(slice(start, stop, step) for start, stop, step in bounds)]


@meaning(nd.PadOp)
def _pad(op: nd.PadOp, args: Sequence[Array], precision: Precision) -> Array:
    x, value = args
    result = np.empty(shape_of(op.result), x.dtype)
    result[...] = value
    result[tuple(slice(low, low + extent) for low, extent in zip(ints(op.low), x.shape, strict=True))] = x
    return result


@meaning(nd.TrilOp, nd.TriuOp)
def _triangle(op: nd.TrilOp | nd.TriuOp, args: Sequence[Array], precision: Precision) -> Array:
    rows, columns = args[0].shape[-2:]
    offset = np.arange(columns)[None, :] - np.arange(rows)[:, None]
    k = integer(op.k)
    keep = offset <= k if isinstance(op, nd.TrilOp) else offset >= k
    return np.where(keep, args[0], args[0].dtype.type(0))


# Indexed


def _clamped(indices: Array, extent: int) -> Array:
    return np.clip(indices.astype(np.int64), 0, max(extent - 1, 0))


@meaning(nd.CheckIndicesOp)
def _check_indices(op: nd.CheckIndicesOp, args: Sequence[Array], precision: Precision) -> Array:
    (indices,), low, high = args, integer(op.low), op.end
    wrong = indices[(indices < low) | (indices >= high)]
    if wrong.size:
        raise IrcError(f"index {wrong[0]} is out of range: {low} <= index < {high}", op.location)
    return indices


@meaning(nd.AscendingOp)
def _ascending(op: nd.AscendingOp, args: Sequence[Array], precision: Precision) -> Array:
    if any((np.diff(args[0].astype(np.int64), axis=axis) < 0).any() for axis in range(args[0].ndim)):
        raise IrcError("expected numbers that do not fall, found some that do", op.location)
    return args[0]


@meaning(nd.TakeOp, nd.ReorderOp)
def _take(op: nd.TakeOp | nd.ReorderOp, args: Sequence[Array], precision: Precision) -> Array:
    axis = integer(op.axis)
    return np.take(args[0], _clamped(args[1], args[0].shape[axis]), axis=axis)


@meaning(nd.TakeAlongOp)
def _take_along(op: nd.TakeAlongOp, args: Sequence[Array], precision: Precision) -> Array:
    axis = integer(op.axis)
    return np.take_along_axis(args[0], _clamped(args[1], args[0].shape[axis]), axis)


@meaning(nd.OneHotOp)
def _one_hot(op: nd.OneHotOp, args: Sequence[Array], precision: Precision) -> Array:
    n = shape_of(op.result)[-1]
    return _clamped(args[0], n)[..., None] == np.arange(n)


@meaning(nd.ScatterAddOp)
def _scatter_add(op: nd.ScatterAddOp, args: Sequence[Array], precision: Precision) -> Array:
    x, indices, updates = args
    axis = integer(op.axis)
    result = x.astype(np.float64) if is_floating(x) else x.copy()
    places = np.moveaxis(result, axis, 0)
    index_axes = range(axis, axis + indices.ndim)
    np.add.at(
        places,
        _clamped(indices, x.shape[axis]),
        np.moveaxis(updates, index_axes, range(indices.ndim)).astype(result.dtype),
    )
    return result
