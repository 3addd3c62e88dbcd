"""Rules of slices whose starts are operands. Known ones, as in the steps of a loop, make slices and concats."""

from __future__ import annotations

from collections.abc import Sequence

import irc_frontend as ir
from irc_frontend.stablehlo.rules import rule
from irc_frontend.stablehlo.syntax import Op
from irc_frontend.tensor import Tensor
from irc_frontend.unrolling import known


@rule("stablehlo.dynamic_slice")
def _dynamic_slice(op: Op, x: Tensor, *starts: Tensor) -> Tensor:
    sizes = op.attrs["sizes"] if "sizes" in op.attrs else op.attrs["slice_sizes"]
    places = _within(x, starts, sizes)
    for axis, (place, size) in enumerate(zip(places, sizes, strict=True)):
        if isinstance(place, int) and size:
            x, places[axis] = _joined(_pieces(x, axis, place, place + size), axis), 0
    return ir.dynamic_slice(x, places, sizes)


@rule("stablehlo.dynamic_update_slice")
def _dynamic_update_slice(op: Op, x: Tensor, update: Tensor, *starts: Tensor) -> Tensor:
    places = _within(x, starts, update.shape)
    numbers = [each for each in places if isinstance(each, int)]
    return _written(x, update, numbers) if len(numbers) == x.ndim else ir.dynamic_update_slice(x, update, places)


def _written(x: Tensor, update: Tensor, places: Sequence[int]) -> Tensor:
    """Along the first axis that the update does not fill: what x has before it, the update in x's part, and what x has
    behind it."""
    if not update.size:
        return x
    axis = next((axis for axis in range(x.ndim) if update.shape[axis] != x.shape[axis]), None)
    if axis is None:
        return update
    start, stop = places[axis], places[axis] + update.shape[axis]
    part = _joined(_pieces(x, axis, start, stop), axis)
    behind = _pieces(x, axis, stop, x.shape[axis])
    return _joined([*_pieces(x, axis, 0, start), _written(part, update, places), *behind], axis)


def _pieces(x: Tensor, axis: int, start: int, stop: int) -> list[Tensor]:
    """Arrays that make a slice along an axis: of a concat slices of its operands, so that a result that a loop writes
    row by row becomes the concat of the rows."""
    if (start, stop) == (0, x.shape[axis]):
        return [x]
    if start == stop:
        return []
    if not _is_concat(x, axis):
        return [x[(*[slice(None)] * axis, slice(start, stop))]]
    found: list[Tensor] = []
    begin = 0
    for node in x.node.operands:
        end = begin + node.shape[axis]
        if max(begin, start) < min(end, stop):
            found += _pieces(Tensor.of(node), axis, max(begin, start) - begin, min(end, stop) - begin)
        begin = end
    return found


def _joined(pieces: Sequence[Tensor], axis: int) -> Tensor:
    """Pieces that are themselves concats along the axis are opened."""
    parts = [x.node.operands if _is_concat(x, axis) else (x.node,) for x in pieces]
    opened = [Tensor.of(node) for part in parts for node in part]
    return opened[0] if len(opened) == 1 else ir.concatenate(opened, axis)


def _is_concat(x: Tensor, axis: int) -> bool:
    return x.node.op == "concat" and dict(x.node.attributes)["axis"] == axis


def _within(x: Tensor, starts: Sequence[Tensor], sizes: Sequence[int]) -> list[int | Tensor]:
    """The starts, so that slices lie in x; numbers where they are known."""
    bounds = [extent - size for extent, size in zip(x.shape, sizes, strict=True)]
    return [
        ir.clip(start, 0, bound) if start.node.is_recorded else min(max(int(known(start, "a start")), 0), bound)
        for start, bound in zip(starts, bounds, strict=True)
    ]
