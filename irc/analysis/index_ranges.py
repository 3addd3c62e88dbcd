"""Between which numbers the integers of a tile program lie: indices, and the elements of tiles of integers."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IntegerType
from xdsl.ir import Attribute, BlockArgument, Operation, SSAValue
from xdsl.ir.affine import (
    AffineBinaryOpExpr,
    AffineBinaryOpKind,
    AffineConstantExpr,
    AffineDimExpr,
    AffineExpr,
    AffineSymExpr,
)

from irc.analysis.index_values import multiple_of
from irc.analysis.intervals import Interval, added, joined, multiplied, of_binary
from irc.dialects import tile
from irc.dialects.scalar import CheckIndexOp
from irc.dialects.tile.types import element_type_of, shape_of
from irc.ir.properties import constant_of
from irc.layout.affine import linear_form


class IndexRanges:
    """Answers for the values of one program, each computed once. What is not known is any number of the type."""

    def __init__(self) -> None:
        self._known: dict[SSAValue, Interval] = {}

    def of(self, value: SSAValue) -> Interval:
        """The least and the greatest signed number that an integer, or an element of a tile of integers, may be."""
        if value not in self._known:
            every = _every(value.type)
            self._known[value] = every  # of what it is computed from, in a loop
            found = self._computed(value)
            fits = found is not None and every[0] <= found[0] and found[1] <= every[1]
            self._known[value] = found if found is not None and fits else every
        return self._known[value]

    def of_coordinates(self, op: tile.AccessOp, shape: Sequence[int]) -> list[Interval]:
        """The coordinates along each dimension of its view that an access to a tile of a shape has."""
        dims = [(low, high + n - 1) for (low, high), n in zip(map(self.of, op.offsets), shape, strict=True)]
        if op.own_end is not None:
            axis, end = op.own_end
            dims[axis] = dims[axis][0], min(dims[axis][1], self.of(end)[1] - 1)
        symbols = [self.of(symbol) for symbol in op.symbols]
        return [_of_expression(expr, dims, symbols) for expr in op.access_map.results]

    def _computed(self, value: SSAValue) -> Interval | None:
        if (number := constant_of(value)) is not None:
            return number, number
        if isinstance(value, BlockArgument):
            return self._of_argument(value)
        op = value.owner
        match op:
            case tile.LoadIndexOp():
                return op.least_value, op.most_value
            case tile.FindSegmentOp() if value is not op.segment:
                return 0, op.most.value.data
            case tile.ExtentOp():
                return 0, op.extent.value.data
            case tile.IotaOp():
                low, high = self.of(op.offset)
                return low, high + max(shape_of(op.result.type)) - 1
            case tile.MapOp():
                last = op.body.block.last_op
                return None if last is None else self.of(last.operands[0])
            case tile.SplatOp() | tile.PermuteOp() | tile.ReshapeOp() | tile.SliceOp():
                return self.of(op.operands[0])
            case CheckIndexOp():
                return op.low.value.data, op.high.value.data - 1
            case arith.IndexCastOp() | arith.ExtSIOp() | arith.TruncIOp():
                return self.of(op.operands[0])
            case arith.ExtUIOp():
                return self._if_not_negative(op.input)
            case arith.SelectOp():
                return joined(self.of(op.lhs), self.of(op.rhs))
            case Operation() if len(op.operands) == 2:
                return of_binary(op, self.of(op.operands[0]), self.of(op.operands[1]))
            case _:
                return None

    def _if_not_negative(self, value: SSAValue) -> Interval | None:
        found = self.of(value)
        return found if found[0] >= 0 else (0, (1 << _width(value.type)) - 1)

    def _of_argument(self, value: BlockArgument) -> Interval | None:
        parent = value.block.parent_op()
        if isinstance(parent, tile.MapOp):
            return self.of(parent.inputs[value.index])
        if isinstance(parent, tile.ForTilesOp):
            return 0, max(0, parent.tile_counts[value.index] - 1) * parent.step_values[value.index]
        if isinstance(parent, scf.ForOp) and value.index == 0:
            return self._of_step(parent)
        return None

    def _of_step(self, loop: scf.ForOp) -> Interval:
        """The last step begins before the end, at a multiple of what the first one and the steps are multiples of."""
        first, end = self.of(loop.lb)[0], self.of(loop.ub)[1]
        step, begin = constant_of(loop.step), constant_of(loop.lb)
        if step is not None and step > 0 and begin is not None:
            return first, max(first, end - 1 - (end - 1 - begin) % step)
        by = multiple_of(loop.body.block.args[0])
        return first, max(first, (end - 1) // by * by if by else end - 1)


def _every(type: Attribute) -> Interval:
    """All signed numbers of a type, or of the elements of a tile."""
    bits = _width(type)
    return -(1 << (bits - 1)), (1 << (bits - 1)) - 1


def _width(type: Attribute) -> int:
    element = element_type_of(type)
    return element.width.data if isinstance(element, IntegerType) else 64


def _of_expression(expr: AffineExpr, dims: Sequence[Interval], symbols: Sequence[Interval]) -> Interval:
    form = linear_form(expr, len(dims), len(symbols))
    if form is not None:
        terms = zip(form.factors, (*dims, *symbols), strict=True)
        first = (form.constant, form.constant)
        return reduce(added, (multiplied((factor, factor), numbers) for factor, numbers in terms), first)
    match expr:
        case AffineConstantExpr():
            return expr.value, expr.value
        case AffineDimExpr():
            return dims[expr.position]
        case AffineSymExpr():
            return symbols[expr.position]
        case AffineBinaryOpExpr():
            return _of_sides(expr.kind, *(_of_expression(side, dims, symbols) for side in (expr.lhs, expr.rhs)))
        case _:
            raise ValueError(f"no affine expression: {expr}")


def _of_sides(kind: AffineBinaryOpKind, a: Interval, b: Interval) -> Interval:
    match kind:
        case AffineBinaryOpKind.Add:
            return added(a, b)
        case AffineBinaryOpKind.Mul:
            return multiplied(a, b)
        case _ if b[0] != b[1] or b[0] <= 0:
            return _every(IntegerType(64))
        case AffineBinaryOpKind.FloorDiv:
            return a[0] // b[0], a[1] // b[0]
        case AffineBinaryOpKind.CeilDiv:
            return -(-a[0] // b[0]), -(-a[1] // b[0])
        case AffineBinaryOpKind.Mod:
            return (a[0] % b[0], a[1] % b[0]) if a[0] // b[0] == a[1] // b[0] else (0, b[0] - 1)
