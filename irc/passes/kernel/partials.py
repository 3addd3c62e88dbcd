"""A reduction as two stages: parts of the reduced extent first, then the parts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod

from xdsl.ir import Operation, SSAValue

from irc.dialects.nd import ConstantOp, PadOp, ReshapeOp, tensor
from irc.dialects.nd.base import plain
from irc.dtypes import element_of
from irc.neutral import neutral
from irc.passes.kernel.op_classes import reduced_axes, shape_of
from irc.passes.kernel.problem import ceil_div

Insert = Callable[[Operation], None]


@dataclass(frozen=True)
class Side:
    """Adjacent axes of a reduction's operand, merged into one extent and cut into parts of `part` elements.

    part: None where the side stays whole, as one axis. A side that is reduced has parts."""

    axes: tuple[int, ...]
    part: int | None


@dataclass(frozen=True)
class TwoStages:
    """A reduction in two stages: the ops of the first give `partial`, `finish` builds those of the second."""

    op: Operation
    partial: SSAValue
    axes: tuple[int, ...]

    def finish(self, partial: SSAValue, insert: Insert) -> SSAValue:
        """The result of the reduction, of its first stage."""
        whole = _reduce(self.op, partial, self.axes)
        insert(whole)
        return _reshaped(whole.results[0], shape_of(self.op.results[0]), self.op, insert)


def first_stage(op: Operation, sides: Sequence[Side], insert: Insert) -> TwoStages:
    """Reduces each part of the sides that have parts; `sides` list the operand's axes in order.

    The partial results have an axis for each side: the number of its parts, or its extent.
    """
    value = op.operands[0]
    shape = shape_of(value)
    extents = [prod(shape[axis] for axis in side.axes) for side in sides]
    value = _reshaped(value, extents, op, insert)
    counts = [1 if side.part is None else ceil_div(n, side.part) for side, n in zip(sides, extents, strict=True)]
    missing = [0 if side.part is None else c * side.part - n for side, c, n in zip(sides, counts, extents, strict=True)]
    value = _padded(value, missing, op, insert)
    cut: list[int] = []
    inner: list[int] = []
    outer: list[int] = []
    reduced = set(reduced_axes(op))
    for at, (side, count, extent) in enumerate(zip(sides, counts, extents, strict=True)):
        if side.part is None:
            cut.append(extent)
            continue
        cut += [count, side.part]
        inner.append(len(cut) - 1)
        outer += [at] if reduced.issuperset(side.axes) else []
    value = _reshaped(value, cut, op, insert)
    partial = _reduce(op, value, inner)
    insert(partial)
    return TwoStages(op, partial.results[0], tuple(outer))


def _reshaped(value: SSAValue, shape: Sequence[int], op: Operation, insert: Insert) -> SSAValue:
    if shape_of(value) == tuple(shape):
        return value
    reshape = ReshapeOp(value, shape, location=op.location)
    insert(reshape)
    return reshape.result


def _padded(value: SSAValue, missing: Sequence[int], op: Operation, insert: Insert) -> SSAValue:
    if not any(missing):
        return value
    element = element_of(value.type)
    fill = ConstantOp.splat(neutral(op.name.removeprefix("nd."), element), tensor((), element), location=op.location)
    insert(fill)
    pad = PadOp(value, fill.result, [0] * len(missing), missing, location=op.location)
    insert(pad)
    return pad.result


def _reduce(op: Operation, value: SSAValue, axes: Sequence[int]) -> Operation:
    """The same reduction of another value."""
    kept = [extent for axis, extent in enumerate(shape_of(value)) if axis not in axes]
    return type(op).create(
        operands=[value],
        result_types=[tensor(kept, element_of(op.results[0].type))],
        properties={"axes": plain(axes)},
        location=op.location,
    )
