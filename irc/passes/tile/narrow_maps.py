"""narrow-maps: operands of products in registers are computed in their own type where that gives the same bits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from xdsl.dialects import arith
from xdsl.dialects.builtin import AnyFloat, FloatAttr, TensorType, i8
from xdsl.ir import Block, Region, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from irc.analysis.invariants import LAYOUT_FREE, TILED
from irc.analysis.programs import ProgramPass
from irc.dialects import tile
from irc.dialects.tile import element_type_of, shape_of
from irc.ir.dtypes import element_of
from irc.ir.rounding import cast_array
from irc.tiling.map_body import finish
from irc.tiling.scalar_body import Body

_ROUNDED = (arith.AddfOp, arith.SubfOp, arith.MulfOp)
_WIDENING = (arith.ExtFOp, arith.SIToFPOp, arith.UIToFPOp)

Widening = arith.ExtFOp | arith.SIToFPOp | arith.UIToFPOp


@dataclass(frozen=True)
class NarrowMapsPass(ProgramPass):
    """The map that makes a dot's left operand of 16-bit floats in registers: a sum, difference or product in f32 of
    values that the narrow type has, rounded to it -> the same in the narrow type, two elements an instruction.

    f32 has more than twice the precision of either type, so that rounding to it first changes nothing (Figueroa, "When
    is double rounding innocuous?", 1995) but the last place of a subnormal. Values that a type has are its own,
    extended, constants, and maxima and minima of such; and those of types of 8 bits, for which there is a map of their
    own, as two of them are widened at a time. Maps that round after several operations are left alone.
    """

    name: ClassVar[str] = "narrow-maps"
    requires = (TILED, LAYOUT_FREE)

    def run(self, program: tile.ProgramOp) -> None:
        for dot in [o for o in program.walk() if isinstance(o, tile.DotOp)]:
            if isinstance(dot.lhs.type, TensorType) and isinstance(dot.lhs.owner, tile.MapOp):
                _narrow(dot.lhs.owner)


def _narrow(map: tile.MapOp) -> None:
    element = element_type_of(map.result.type)
    last = map.body.block.last_op
    if not isinstance(last, tile.YieldOp) or not isinstance(element, AnyFloat) or element_of(element).size != 2:
        return
    rounding = last.operands[0].owner
    if not isinstance(rounding, arith.TruncFOp):
        return
    widened = [_widening(argument, element) for argument in map.body.block.args]
    pairs = list(zip(map.inputs, widened, strict=True))
    block = Block(arg_types=[element_type_of(v.type) if kind is None else element for v, kind in pairs])
    body = Body(block, map.location)
    narrow = _Narrow(body, element, dict(zip(map.body.block.args, block.args, strict=True)))
    value = narrow.of(rounding.input) or narrow.rounded(rounding.input)
    if value is None:
        return
    inputs = [v if kind is None else _widen(map, v, kind, element) for v, kind in pairs]
    if value in block.args:
        Rewriter.replace_op(map, [], [inputs[block.args.index(value)]])
        return
    finish(body, value)
    new = tile.MapOp(inputs, map.result.type, Region(block), location=map.location)
    new.result.name_hint = map.result.name_hint
    Rewriter.replace_op(map, new)


def _widening(argument: SSAValue, element: AnyFloat) -> type[Widening] | None:
    """The op that makes a value of 8 bits one of the narrow type, where the map only widens it; else None."""
    users = [use.operation for use in argument.uses]
    kinds = {type(user) for user in users}
    if argument.type != i8 and not (isinstance(argument.type, AnyFloat) and argument.type.bitwidth == 8):
        return None
    return next((kind for kind in _WIDENING if kinds == {kind}), None)


def _widen(map: tile.MapOp, value: SSAValue, kind: type[Widening], element: AnyFloat) -> SSAValue:
    """A map that widens the elements of a tile."""
    block = Block(arg_types=[element_type_of(value.type)])
    body = Body(block, map.location)
    finish(body, body(kind(block.args[0], element)))
    new = tile.MapOp([value], TensorType(element, shape_of(value.type)), Region(block), location=map.location)
    new.result.name_hint = value.name_hint
    Rewriter.insert_op(new, InsertPoint.before(map))
    return new.result


@dataclass(frozen=True)
class _Narrow:
    """Builds values of f32 that a narrow type has in that type."""

    body: Body
    element: AnyFloat
    arguments: dict[SSAValue, SSAValue]

    def of(self, value: SSAValue) -> SSAValue | None:
        """The value in the narrow type; None where it may not have it."""
        owner = value.owner
        match owner:
            case arith.ExtFOp() | arith.SIToFPOp() | arith.UIToFPOp():
                known = self.arguments.get(owner.input)
                return known if known is not None and known.type == self.element else None
            case arith.ConstantOp(value=FloatAttr(value=number)):
                return self._constant(number.data)
            case arith.MaximumfOp() | arith.MinimumfOp():
                lhs, rhs = self.of(owner.lhs), self.of(owner.rhs)
                return None if lhs is None or rhs is None else self.body(type(owner)(lhs, rhs))
            case _:
                return None

    def rounded(self, value: SSAValue) -> SSAValue | None:
        """What is one operation away from values that the type has, rounded once; None of anything else."""
        owner = value.owner
        if not isinstance(owner, _ROUNDED):
            return None
        lhs, rhs = self.of(owner.lhs), self.of(owner.rhs)
        return None if lhs is None or rhs is None else self.body(type(owner)(lhs, rhs))

    def _constant(self, number: float) -> SSAValue | None:
        rounded = cast_array(np.array(number, np.float64), element_of(self.element).dtype)
        return self.body.constant(number, self.element) if float(rounded) == number else None
