"""A cascade as two stages: cascades of parts of the columns that it walks over, then what these come to together.

What a part gives is relative to the reductions of its own columns. `irc/analysis/cascades.py` says how it depends on
them, as `g * exp(sum of c * r)`, and so how it becomes relative to those of all columns: times `exp(sum of c * (r - own
r))`. The same rule rescales from step to step within a kernel (flash decoding: Dao et al., 2023; RedFuser, 2025).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from xdsl.ir import Operation, SSAValue

from irc.analysis.cascades import Cascade, contracted_axes
from irc.analysis.op_classes import is_product, is_splittable, is_unit_reshape, shape_of
from irc.dialects.nd import BroadcastOp, ConstantOp, ExpOp, MatmulOp, MulOp, ReshapeOp, SubOp, SumOp, tensor
from irc.dialects.nd.base import ints
from irc.ir.dtypes import element_of
from irc.ir.iteration import is_broadcast, iteration_of
from irc.splitting.partials import Insert, TwoStages, reduce_alike, reshaped


def can_split_cascade(cascade: Cascade, parts: int) -> bool:
    """Whether the columns, the last axis of the scores, have this many parts of one extent."""
    last = len(cascade.domain) - 1
    return cascade.axes == (last,) and cascade.domain[last] % parts == 0 and cascade.is_rolled


@dataclass(frozen=True)
class Rescaled(TwoStages):
    """What the parts of a product or a reduction gave, along the one of `axes`; behind it the reductions of the parts
    that it is relative to, along their last axis: each op of `relative` with its coefficient. `dims`: the axes of the
    first partial that those of the others are."""

    relative: tuple[tuple[Operation, float], ...] = ()
    dims: tuple[int, ...] = ()

    def finish(self, partials: Sequence[SSAValue], insert: Insert) -> SSAValue:
        def put(op: Operation) -> SSAValue:
            op.location = self.op.location
            insert(op)
            return op.results[0]

        own, *others = partials
        for (op, coefficient), part in zip(self.relative, others, strict=True):
            shape, last = shape_of(part), len(shape_of(part)) - 1
            whole = put(reduce_alike(op, part, [last]))
            distance = put(SubOp(put(BroadcastOp(whole, shape, range(last))), part))
            scale = put(ConstantOp.splat(coefficient, tensor(shape, element_of(part.type))))
            factor = put(ExpOp(put(MulOp(distance, scale))))
            own = put(MulOp(own, put(BroadcastOp(factor, shape_of(own), self.dims))))
        if is_product(self.op):
            return put(SumOp(own, self.axes, element_of(own.type)))
        return put(reduce_alike(self.op, own, self.axes))


@dataclass
class SplitCascade:
    """The ops of a cascade for `parts` equal parts of the columns: an axis of parts is before that of the columns, the
    last one of the scores; of their rows, it is the last axis."""

    cascade: Cascade
    parts: int
    _known: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])

    def stage(self, op: Operation, insert: Insert) -> TwoStages:
        """The first stage of a product or a reduction: its partials are what the second one takes."""
        self._insert = insert
        own = self._value(op.results[0])
        found = self.cascade.factors.of(op.operands[0])
        assert found is not None, "a cascade that is rolled can be rescaled"
        relative = tuple(found.items())
        partials = (own, *(self._value(each.results[0]) for each, _ in relative))
        if is_product(op):
            at, dims = self._place_of_parts(op), self._dims_of_rows(op)
        else:
            at, dims = len(shape_of(own)) - 1, tuple(range(len(shape_of(own))))
        return Rescaled(op, partials, (at,), relative, dims)

    @property
    def _columns(self) -> int:
        return self.cascade.domain[-1]

    def _value(self, value: SSAValue) -> SSAValue:
        """The value of each part."""
        if value not in self._known:
            self._known[value] = self._made(value)
        return self._known[value]

    def _made(self, value: SSAValue) -> SSAValue:
        op = value.owner
        if isinstance(op, Operation):
            if op in self.cascade.products:
                return self._product(op)
            if op in self.cascade.scores:
                return self._scores(op)
            if op in self.cascade.between and is_splittable(op):
                return self._put(reduce_alike(op, self._value(op.operands[0]), [len(self.cascade.domain)]), op)
            if op in self.cascade.between and is_broadcast(op):
                return self._spread(op)
            if op in self.cascade.between and is_unit_reshape(op):
                return self._put(ReshapeOp(self._value(op.operands[0]), (*shape_of(value), self.parts)), op)
            if op in self.cascade.between:
                return self._put(_applied(op, [self._value(operand) for operand in op.operands]), op)
        return self._cut(value)

    def _cut(self, value: SSAValue) -> SSAValue:
        """A value that no reduction has a part in: of the scores' shape, cut into parts; of their rows, repeated."""
        shape = shape_of(value)
        first = self.cascade.scores[0]
        if isinstance(value.owner, ConstantOp) and (splat := value.owner.splat_value) is not None:
            whole = shape == self.cascade.domain
            cut = (*shape[:-1], self.parts, shape[-1] // self.parts) if whole else (*shape, self.parts)
            return self._put(ConstantOp.splat(splat, tensor(cut, element_of(value.type))), first)
        if shape == self.cascade.domain:
            return reshaped(value, (*shape[:-1], self.parts, shape[-1] // self.parts), first, self._insert)
        return self._put(BroadcastOp(value, (*shape, self.parts), range(len(shape))), first)

    def _spread(self, op: Operation) -> SSAValue:
        """Rows of parts, as many times as a part has columns."""
        assert isinstance(op, BroadcastOp)
        shape = (*self.cascade.domain[:-1], self.parts, self._columns // self.parts)
        return self._put(BroadcastOp(self._value(op.x), shape, [*ints(op.dims), len(shape) - 2]), op)

    def _scores(self, op: Operation) -> SSAValue:
        """The product with the axis of the columns as two, wherever an operand has it."""
        assert isinstance(op, MatmulOp)
        iteration = iteration_of(op)
        column, operands = iteration.result.results[-1], list(op.operands)
        side = next(i for i, access in enumerate(iteration.inputs) if column in access.map.results)
        at, shape = iteration.inputs[side].map.results.index(column), shape_of(operands[side])
        cut = (*shape[:at], self.parts, shape[at] // self.parts, *shape[at + 1 :])
        operands[side] = reshaped(operands[side], cut, op, self._insert)
        lists = [ints(each) for each in (op.lhs_batch, op.rhs_batch, op.lhs_contract, op.rhs_contract)]
        numbers = [[axis + (i % 2 == side and axis > at) for axis in axes] for i, axes in enumerate(lists)]
        return self._matmul(op, operands, numbers)

    def _product(self, op: Operation) -> SSAValue:
        """The product of each part: they are a batch."""
        assert isinstance(op, MatmulOp)
        lhs, (right,) = self._value(op.lhs), ints(op.rhs_contract)
        shape = shape_of(op.rhs)
        cut = (*shape[:right], self.parts, shape[right] // self.parts, *shape[right + 1 :])
        rhs = reshaped(op.rhs, cut, op, self._insert)
        last = len(self.cascade.domain)
        batch = [axis + (axis > right) for axis in ints(op.rhs_batch)]
        numbers = [[*ints(op.lhs_batch), last - 1], [*batch, right], [last], [right + 1]]
        return self._matmul(op, [lhs, rhs], numbers)

    def _matmul(self, op: MatmulOp, operands: Sequence[SSAValue], numbers: Sequence[Sequence[int]]) -> SSAValue:
        names = ("lhs_batch", "rhs_batch", "lhs_contract", "rhs_contract")
        pairs = dict(zip(names, numbers, strict=True))
        element, precision = element_of(op.result.type), op.precision.data
        return self._put(MatmulOp(*operands, **pairs, element=element, precision=precision), op)

    def _place_of_parts(self, op: Operation) -> int:
        """The axis of a product's partial that has the parts: the last batch."""
        assert isinstance(op, MatmulOp)
        return len(ints(op.lhs_batch))

    def _dims_of_rows(self, op: Operation) -> tuple[int, ...]:
        """The axes of a product's partial that the rows of the scores are, and the parts."""
        iteration, parts = iteration_of(op), self._place_of_parts(op)
        place = {e: at + (at >= parts) for at, e in enumerate(iteration.result.results)}
        rows = [e for axis, e in enumerate(iteration.inputs[0].map.results) if axis not in contracted_axes(op)]
        return (*(place[e] for e in rows), parts)

    def _put(self, op: Operation, like: Operation) -> SSAValue:
        op.location = like.location
        self._insert(op)
        return op.results[0]


def _applied(op: Operation, operands: Sequence[SSAValue]) -> Operation:
    """The same elementwise op on operands of another shape."""
    types = [tensor(shape_of(operands[0]), element_of(result.type)) for result in op.results]
    return type(op).create(
        operands=operands, result_types=types, properties=dict(op.properties), attributes=dict(op.attributes)
    )
