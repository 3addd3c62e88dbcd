"""An argmax or argmin as two stages: the extreme of each part and where in the part it is, then the least position of
the parts that have the extreme of all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import i64
from xdsl.ir import Operation, SSAValue

from irc.analysis.op_classes import reduced_axes, shape_of
from irc.dialects.nd import (
    AddOp,
    ArgmaxOp,
    ArgminOp,
    BitwiseOrOp,
    BroadcastOp,
    ConstantOp,
    EqualOp,
    IotaOp,
    MaximumOp,
    MaxOp,
    MinimumOp,
    MinOp,
    MulOp,
    NdOp,
    NotEqualOp,
    WhereOp,
    tensor,
)
from irc.ir.dtypes import element_of
from irc.splitting.partials import Cut, Insert, TwoStages, cut_operand, reshaped, rows_of_partials


@dataclass(frozen=True)
class SplitPosition(TwoStages):
    """The partials are the extremes of the parts and the positions in them; then the same of what is left over.

    cut: the parts of the reduced axis."""

    cut: Cut

    def finish(self, partials: Sequence[SSAValue], insert: Insert) -> SSAValue:
        build = _Build(self.op, insert)
        (axis,) = self.axes
        values, positions, *rest = partials
        shape = shape_of(values)
        extreme = build.extreme(values, axis)
        if rest:
            joined = MaximumOp if build.is_max else MinimumOp
            extreme = build.add(joined(extreme, rest[0], location=self.op.location))
        parts = build.add(IotaOp(tensor(shape, i64), axis, location=self.op.location))
        positions = build.sum(build.scaled(parts, self.cut.part), positions)
        dims = [at for at in range(len(shape)) if at != axis]
        whole = build.add(BroadcastOp(extreme, shape, dims, location=self.op.location))
        found = build.where_equal(values, whole, positions, self._extent)
        result = build.add(MinOp(found, [axis], location=self.op.location))
        if rest:
            offset = build.splat(self.cut.part * self.cut.count, shape_of(rest[1]))
            beyond = build.where_equal(rest[0], extreme, build.sum(rest[1], offset), self._extent)
            result = build.add(MinimumOp(result, beyond, location=self.op.location))
        return reshaped(result, shape_of(self.op.results[0]), self.op, insert)

    @property
    def _extent(self) -> int:
        return shape_of(self.op.operands[0])[reduced_axes(self.op)[0]]


def split_position(op: Operation, cut: Cut, insert: Insert) -> SplitPosition:
    """The extreme of each part, and the first position that has it; a part starts anew from 0."""
    build = _Build(op, insert)
    main, rest = cut_operand(op, cut, insert)
    of_parts = [build.extreme(main, cut.at + 1), build.position(main, cut.at + 1)]
    moved = [rows_of_partials(value, cut.at, op, insert) for value in of_parts]
    left_over = [] if rest is None else [build.extreme(rest, cut.at), build.position(rest, cut.at)]
    return SplitPosition(op, (*(value for value, _ in moved), *left_over), (moved[0][1],), cut)


class _Build:
    """Builds ops at the location of an argmax or argmin."""

    def __init__(self, op: Operation, insert: Insert):
        self._op, self._insert = op, insert
        self.is_max = isinstance(op, ArgmaxOp)

    def add(self, op: NdOp) -> SSAValue:
        self._insert(op)
        return op.results[0]

    def extreme(self, value: SSAValue, axis: int) -> SSAValue:
        return self.add((MaxOp if self.is_max else MinOp)(value, [axis], location=self._op.location))

    def position(self, value: SSAValue, axis: int) -> SSAValue:
        return self.add((ArgmaxOp if self.is_max else ArgminOp)(value, axis, location=self._op.location))

    def splat(self, value: int, shape: Sequence[int]) -> SSAValue:
        constant = self.add(ConstantOp.splat(value, tensor((), i64), location=self._op.location))
        return self.add(BroadcastOp(constant, shape, [], location=self._op.location))

    def scaled(self, value: SSAValue, factor: int) -> SSAValue:
        return self.add(MulOp(value, self.splat(factor, shape_of(value)), location=self._op.location))

    def sum(self, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
        return self.add(AddOp(lhs, rhs, location=self._op.location))

    def where_equal(self, value: SSAValue, extreme: SSAValue, position: SSAValue, otherwise: int) -> SSAValue:
        """The positions of values that are the extreme: NaN, where there is one, which equals nothing."""
        is_extreme = self.add(EqualOp(value, extreme, location=self._op.location))
        if element_of(value.type).is_float:
            is_nan = self.add(NotEqualOp(value, value, location=self._op.location))
            is_extreme = self.add(BitwiseOrOp(is_extreme, is_nan, location=self._op.location))
        other = self.splat(otherwise, shape_of(position))
        return self.add(WhereOp(is_extreme, position, other, location=self._op.location))
