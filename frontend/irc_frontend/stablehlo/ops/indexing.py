"""Rules of gathers and scatters."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

import irc_frontend as ir
from irc.support.diagnostics import IrcError
from irc_frontend.stablehlo.ops.reductions import joined_by
from irc_frontend.stablehlo.rules import rule
from irc_frontend.stablehlo.syntax import Op
from irc_frontend.tensor import Tensor


@rule("stablehlo.gather")
def _gather(op: Op, x: Tensor, indices: Tensor) -> Tensor:
    """Slices at the indices, which are clamped so that a slice lies in x."""
    numbers, sizes = op.attrs["dimension_numbers"], list(op.attrs["slice_sizes"])
    offsets, shape = list(numbers.get("offset_dims", [])), op.types[-1].shape
    vector = int(numbers.get("index_vector_dim", 0))
    mapped = list(numbers.get("start_index_map", []))
    is_rows = mapped == [0] == list(numbers.get("collapsed_slice_dims", [])) and sizes[1:] == list(x.shape[1:])
    behind = list(range(len(shape) - x.ndim + 1, len(shape)))
    if is_rows and offsets == behind and vector == indices.ndim - 1 and indices.shape[-1:] == (1,):
        return ir.take(x, indices.reshape(indices.shape[:-1]), 0, mode="clip")
    gone = [*numbers.get("collapsed_slice_dims", []), *numbers.get("operand_batching_dims", [])]
    pairs = list(
        zip(numbers.get("operand_batching_dims", []), numbers.get("start_indices_batching_dims", []), strict=True)
    )
    place, _ = _places(x, indices, shape, offsets, gone, mapped, vector, pairs, sizes)
    return ir.take(x.reshape(x.size), place, 0, mode="clip")


@rule("stablehlo.scatter")
def _scatter(op: Op, x: Tensor, indices: Tensor, updates: Tensor) -> Tensor:
    """Updates joined to what is at the indices, or written; those that lie outside of x are left out."""
    numbers, body = op.attrs["scatter_dimension_numbers"], op.regions[0]
    is_set = len(body.ops) == 1 and body.ops[0].operands == [body.arguments[1][0]]
    name = "set" if is_set else _UPDATES.get(joined_by(body))
    if name is None:
        hint = f"irc has {', '.join(_UPDATES)}, and what returns the update"
        raise IrcError("a scatter by such a function is not supported", body.ops[0].span, hint)
    windows = list(numbers.get("update_window_dims", []))
    gone = [*numbers.get("inserted_window_dims", []), *numbers.get("input_batching_dims", [])]
    kept = [axis for axis in range(x.ndim) if axis not in gone]
    sizes = [1] * x.ndim
    for axis, window in zip(kept, windows, strict=True):
        sizes[axis] = updates.shape[window]
    mapped = list(numbers.get("scatter_dims_to_operand_dims", []))
    pairs = list(
        zip(numbers.get("input_batching_dims", []), numbers.get("scatter_indices_batching_dims", []), strict=True)
    )
    vector = int(numbers.get("index_vector_dim", 0))
    place, inside = _places(x, indices, updates.shape, windows, gone, mapped, vector, pairs, sizes)
    flat, place, values = x.reshape(x.size), place.reshape(-1), updates.reshape(-1)
    if name == "add":
        values = ir.where(inside.reshape(-1), values, 0)
        return ir.scatter_add(flat, ir.where(inside.reshape(-1), place, 0), values, 0, mode="clip").reshape(x.shape)
    wider = ir.concatenate([flat, flat[:1]])  # a place for what is left out
    found = getattr(wider.at[ir.where(inside.reshape(-1), place, x.size)], name)(values)
    return found[: x.size].reshape(x.shape)


_UPDATES = {
    "stablehlo.add": "add",
    "stablehlo.maximum": "max",
    "stablehlo.minimum": "min",
    "stablehlo.multiply": "multiply",
}
"""Methods of `x.at[...]`."""


def _places(
    x: Tensor,
    indices: Tensor,
    shape: Sequence[int],
    offsets: Sequence[int],
    gone: Sequence[int],
    mapped: Sequence[int],
    vector: int,
    pairs: Sequence[tuple[int, int]],
    sizes: Sequence[int],
) -> tuple[Tensor, Tensor]:
    """For each element of a gather's result, or of a scatter's updates, its place in x in row-major order with slices
    clamped into x, and whether it lies in x without. offsets: the axes of `shape` that go through slices; gone: the
    axes of x that have none; mapped: the axis of x of each component of an index; pairs: axes of x and of the indices
    that go together; sizes: those of slices."""
    rank = len(shape)
    batches = [axis for axis in range(rank) if axis not in offsets]
    kept = [axis for axis in range(x.ndim) if axis not in gone]
    wide = indices if vector < indices.ndim else ir.expand_dims(indices, vector)
    wide = ir.moveaxis(wide, vector, -1).astype("i64")
    batch_of = {axis: n for n, axis in enumerate(axis for axis in range(indices.ndim) if axis != vector)}

    def along(axis: int) -> np.ndarray[Any, Any]:
        """The number of an element along one axis."""
        return np.arange(shape[axis], dtype=np.int64).reshape([-1 if each == axis else 1 for each in range(rank)])

    total: Any = 0
    inside: Any = ir.ones((), "bool")
    for axis in range(x.ndim):
        stride = math.prod(x.shape[axis + 1 :])
        offset: Any = along(offsets[kept.index(axis)]) if axis in kept else 0
        if axis in mapped:
            start = wide[..., mapped.index(axis)]
            start = start.reshape([shape[each] if each in batches else 1 for each in range(rank)])
            inside = inside & (start + offset >= 0) & (start + offset < x.shape[axis])
            offset = ir.clip(start, 0, x.shape[axis] - sizes[axis]) + offset
        elif (paired := dict(pairs).get(axis)) is not None:
            offset = along(batches[batch_of[paired]]) + offset
        total = offset * stride + total
    return ir.broadcast_to(Tensor(total), shape), ir.broadcast_to(inside, shape)
