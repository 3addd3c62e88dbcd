"""Accesses of tile programs that may leave their views: memory that is not theirs, unless a test stops them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from xdsl.dialects import scf
from xdsl.ir import Operation

from irc.analysis.index_ranges import IndexRanges
from irc.analysis.intervals import Interval
from irc.dialects import tile
from irc.dialects.tile.types import shape_of
from irc.ir.properties import constant_of
from irc.support.diagnostics import IrcError


@dataclass(frozen=True)
class Outside:
    """An access that may be outside of its view: coordinates and extents along the dimensions where no test is made."""

    op: Operation
    found: dict[int, tuple[Interval, int]]


def check_accesses(program: tile.ProgramOp) -> None:
    """IrcError at the first access of a program that may be outside of its view."""
    if (outside := first_outside(program)) is None:
        return
    op, dims = outside.op, list(outside.found)
    found, extent = outside.found[dims[0]]
    hint = f"`checked` of its properties names dimensions that may be: {dims}"
    if isinstance(op, tile.LoadIndexOp):
        hint = "it has no test; arith.maxsi and arith.minsi bound its coordinates"
    raise IrcError(
        f"'{op.name}': dimension {dims[0]} of the view may be accessed out of range, found {_text(found)} of {extent}",
        op.location,
        hint,
    )


def first_outside(program: tile.ProgramOp) -> Outside | None:
    """The first such access of a program; None where all are known to be inside."""
    return next(_outside(program, IndexRanges()), None)


def _outside(op: Operation, ranges: IndexRanges) -> Iterator[Outside]:
    if _is_empty(op):
        return
    found = {dim: (at, n) for dim, at, n in _coordinates(op, ranges) if at[0] < 0 or at[1] >= n}
    if found:
        yield Outside(op, found)
    for region in op.regions:
        for block in region.blocks:
            for inside in block.ops:
                yield from _outside(inside, ranges)


def _is_empty(op: Operation) -> bool:
    """Whether it is a loop whose body never runs."""
    if isinstance(op, tile.ForTilesOp):
        return 0 in op.tile_counts
    if not isinstance(op, scf.ForOp):
        return False
    first, end = constant_of(op.lb), constant_of(op.ub)
    return first is not None and end is not None and first >= end


def _coordinates(op: Operation, ranges: IndexRanges) -> Iterator[tuple[int, Interval, int]]:
    """(dimension, coordinates, extent) of a view, where no test is made."""
    match op:
        case tile.LoadIndexOp():
            assert isinstance(op.view.type, tile.ViewType)
            for dim, (at, extent) in enumerate(zip(op.at, op.view.type.get_shape(), strict=True)):
                yield dim, ranges.of(at), extent
        case tile.AccessOp():
            found = ranges.of_coordinates(op, _shape(op))
            for dim, extent in enumerate(op.view_type.get_shape()):
                if dim not in op.checked_dims and 0 not in _shape(op):
                    low, high = _moved(op, dim)
                    yield dim, (found[dim][0] + low, found[dim][1] + high), extent
        case _:
            return


def _shape(op: tile.AccessOp) -> Sequence[int]:
    match op:
        case tile.StoreOp():
            return shape_of(op.tile.type)
        case tile.CopyOp():
            return shape_of(op.buffer.type)
        case _:
            return shape_of(op.results[0].type)


def _moved(op: tile.AccessOp, dim: int) -> Interval:
    """What the taps of a window add to a coordinate."""
    if not isinstance(op, tile.LoadWindowOp):
        return 0, 0
    taps = [tap[dim] for tap in op.tap_values]
    return min(taps), max(taps)


_UNKNOWN = 1 << 40
"""What diagnostics call no number."""


def _text(found: Interval) -> str:
    low, high = (None if abs(end) > _UNKNOWN else end for end in found)
    if low is None or high is None:
        return "any number" if low is high else f"at most {high}" if low is None else f"at least {low}"
    return f"{low} to {high}"
