"""A reduction as two stages: parts of the reduced extent first, then the parts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import prod

from xdsl.ir import Operation, SSAValue

from irc.analysis.op_classes import monoid_of, reduced_axes, shape_of
from irc.dialects.nd import (
    AddOp,
    BinaryOp,
    BitwiseAndOp,
    BitwiseOrOp,
    ConstantOp,
    MaximumOp,
    MinimumOp,
    MulOp,
    PadOp,
    PermuteOp,
    ReshapeOp,
    SliceOp,
    tensor,
)
from irc.ir.dtypes import element_of
from irc.ir.neutral import neutral
from irc.ir.properties import attribute_of
from irc.support.integers import ceil_div

Insert = Callable[[Operation], None]

FEW_RESULTS = 1024


@dataclass(frozen=True)
class Side:
    """Axes of a reduction's operand, merged into one extent and cut into parts of `part` elements.

    part: None where the side stays as it is. A side that is reduced has parts."""

    axes: tuple[int, ...]
    part: int | None


@dataclass(frozen=True)
class TwoStages:
    """A reduction in two stages: the ops of the first give `partials`, `finish` builds those of the second.

    The first of the partials is reduced again along `axes`; another one is what the parts leave over, reduced again
    along `rest_axes`."""

    op: Operation
    partials: tuple[SSAValue, ...]
    axes: tuple[int, ...]
    rest_axes: tuple[int, ...] = field(default=(), kw_only=True)

    def finish(self, partials: Sequence[SSAValue], insert: Insert) -> SSAValue:
        """The result of the reduction, of the results of its first stage."""
        whole = reduce_alike(self.op, partials[0], self.axes)
        insert(whole)
        result = whole.results[0]
        for rest in partials[1:]:
            if self.rest_axes:
                insert(reduced := reduce_alike(self.op, rest, self.rest_axes))
                rest = reduced.results[0]
            combined = combiner(self.op)(result, rest, location=self.op.location)
            insert(combined)
            result = combined.result
        return reshaped(result, shape_of(self.op.results[0]), self.op, insert)


def first_stage(op: Operation, sides: Sequence[Side], insert: Insert) -> TwoStages:
    """Reduces each part of the sides that have parts; `sides` list the operand's axes, those that are kept in order.

    The partial results have the axes of each whole side, and one with the number of parts of each other one.
    """
    shape, reduced = shape_of(op.operands[0]), set(reduced_axes(op))
    extents: list[int] = []
    missing: list[int] = []
    cut: list[int] = []
    inner: list[int] = []
    outer: list[int] = []
    for side in sides:
        own = [shape[axis] for axis in side.axes]
        if side.part is None:
            extents, missing, cut = extents + own, missing + [0] * len(own), cut + own
            continue
        extent = prod(own)
        count = ceil_div(extent, side.part)
        extents, missing = [*extents, extent], [*missing, count * side.part - extent]
        outer += [len(cut) - len(inner)] if reduced.issuperset(side.axes) else []
        cut += [count, side.part]
        inner.append(len(cut) - 1)
    order = [axis for side in sides for axis in side.axes]
    value = reshaped(_permuted(op.operands[0], order, op, insert), extents, op, insert)
    value = _padded(value, missing, op, insert)
    value = reshaped(value, cut, op, insert)
    partial = reduce_alike(op, value, inner)
    insert(partial)
    return TwoStages(op, (partial.results[0],), tuple(outer))


@dataclass(frozen=True)
class Cut:
    """Parts of a reduced extent: `count` of `part` elements each, and what is left over.

    sides: adjacent axes of the operand that are alike, reduced or kept, in order; `at` is the number of the one that is
    cut. together: so many neighbors of the cut extent go to one element, side by side with the other columns, and
    are reduced in the second stage; `part` counts them as one. Then the extent that is cut comes first, and one more
    side follows. keeps_last: the last side is reduced in the second stage alone."""

    sides: tuple[tuple[int, ...], ...]
    at: int
    part: int
    count: int
    together: int = 1
    keeps_last: bool = False


def alike_axes(shape: Sequence[int], reduced: Sequence[int]) -> tuple[tuple[int, ...], ...]:
    """The axes in runs that are all reduced or all kept. An axis of extent 1 goes with its neighbors."""
    runs: list[list[int]] = []
    last: bool | None = None
    for axis, extent in enumerate(shape):
        is_reduced = axis in reduced
        if not runs or (extent != 1 and last is not None and is_reduced != last):
            runs.append([])
        runs[-1].append(axis)
        last = is_reduced if extent != 1 else last
    return tuple(tuple(run) for run in runs)


def cut_reduction(op: Operation, cut: Cut, insert: Insert) -> TwoStages:
    """Reduces each part, and what is left over by itself: the parts need no tests of where they end."""
    shape, axes = shape_of(op.operands[0]), set(reduced_axes(op))
    main, rest = cut_operand(op, cut, insert)
    reduced = [at for at, side in enumerate(cut.sides) if axes.issuperset(a for a in side if shape[a] != 1)]
    reduced = reduced[:-1] if cut.keeps_last else reduced
    partial = reduce_alike(op, main, [at + (at >= cut.at) for at in reduced])
    insert(partial)
    partials = partial.results[0]
    if cut.together > 1:
        partials = reshaped(partials, [cut.count * cut.together, shape_of(main)[-1] // cut.together], op, insert)
    kept_before = sum(at not in reduced for at in range(cut.at))
    partials, axis = rows_of_partials(partials, kept_before, op, insert)
    last = len(shape_of(partials)) - 1
    again = (axis, last if axis < last else last - 1) if cut.keeps_last else (axis,)
    results, rest_axes = [partials], tuple[int, ...]()
    if rest is not None:
        remainder = reduce_alike(op, rest, reduced)
        insert(remainder)
        results.append(remainder.results[0])
        rest_axes = (len(shape_of(results[-1])) - 1,) if cut.keeps_last else ()
    return TwoStages(op, tuple(results), tuple(sorted(again)), rest_axes=rest_axes)


def cut_operand(op: Operation, cut: Cut, insert: Insert) -> tuple[SSAValue, SSAValue | None]:
    """The operand of a reduction with the axes of each side merged and the cut one as two, of the parts and of the
    elements of a part; and what is left over, with the axes of each side merged."""
    shape = shape_of(op.operands[0])
    extents = [prod(shape[axis] for axis in side) for side in cut.sides]
    whole = reshaped(op.operands[0], extents, op, insert)
    covered, extent = cut.part * cut.count * cut.together, extents[cut.at]
    main = whole if covered == extent else _sliced(whole, cut.at, 0, covered, op, insert)
    inner = [cut.together * extents[1]] if cut.together > 1 else extents[cut.at + 1 :]
    main = reshaped(main, [*extents[: cut.at], cut.count, cut.part, *inner], op, insert)
    return main, None if covered == extent else _sliced(whole, cut.at, covered, extent, op, insert)


def rows_of_partials(partial: SSAValue, axis: int, op: Operation, insert: Insert) -> tuple[SSAValue, int]:
    """The partials with those of one result side by side, where there are few results: a block of the second kernel
    for each of them then has a row to read. Many are better stored, and read, side by side themselves. Also the axis
    along which those of one result lie."""
    shape = shape_of(partial)
    if prod(shape[axis + 1 :]) == 1 or prod(shape) > FEW_RESULTS * shape[axis]:
        return partial, axis
    permute = PermuteOp(partial, [*(at for at in range(len(shape)) if at != axis), axis], location=op.location)
    insert(permute)
    return permute.result, len(shape) - 1


def _sliced(value: SSAValue, axis: int, start: int, stop: int, op: Operation, insert: Insert) -> SSAValue:
    shape = shape_of(value)
    starts = [start if at == axis else 0 for at in range(len(shape))]
    stops = [stop if at == axis else extent for at, extent in enumerate(shape)]
    slice = SliceOp(value, starts, stops, [1] * len(shape), location=op.location)
    insert(slice)
    return slice.result


_COMBINERS: dict[str, type[BinaryOp]] = {"sum": AddOp, "prod": MulOp, "max": MaximumOp, "min": MinimumOp}
"""By monoid."""


def combiner(op: Operation) -> type[BinaryOp]:
    """The elementwise op that joins two results of the reduction."""
    if element_of(op.results[0].type).kind == "bool":
        return BitwiseAndOp if monoid_of(op) in ("all", "min", "prod") else BitwiseOrOp
    return _COMBINERS[monoid_of(op)]


def reshaped(value: SSAValue, shape: Sequence[int], op: Operation, insert: Insert) -> SSAValue:
    """The value with the extents of `shape`."""
    if shape_of(value) == tuple(shape):
        return value
    reshape = ReshapeOp(value, shape, location=op.location)
    insert(reshape)
    return reshape.result


def _permuted(value: SSAValue, order: Sequence[int], op: Operation, insert: Insert) -> SSAValue:
    if list(order) == sorted(order):
        return value
    permute = PermuteOp(value, order, location=op.location)
    insert(permute)
    return permute.result


def _padded(value: SSAValue, missing: Sequence[int], op: Operation, insert: Insert) -> SSAValue:
    if not any(missing):
        return value
    element = element_of(value.type)
    fill = ConstantOp.splat(neutral(monoid_of(op), element), tensor((), element), location=op.location)
    insert(fill)
    pad = PadOp(value, fill.result, [0] * len(missing), missing, location=op.location)
    insert(pad)
    return pad.result


def reduce_alike(op: Operation, value: SSAValue, axes: Sequence[int]) -> Operation:
    """The same reduction of another value."""
    kept = [extent for axis, extent in enumerate(shape_of(value)) if axis not in axes]
    return type(op).create(
        operands=[value],
        result_types=[tensor(kept, element_of(op.results[0].type))],
        properties={"axes": attribute_of(axes)},
        location=op.location,
    )
