"""narrow-maps: operands of products in registers are computed in their own type where that gives the same bits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from xdsl.dialects import arith
from xdsl.dialects.builtin import AnyFloat, FloatAttr, TensorType, i8
from xdsl.ir import Block, BlockArgument, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from irc.analysis.bit_fields import BitField, bit_field
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
    extended by this map or by another one, constants, and maxima and minima of such; and those of types of 8 bits and
    of some of their bits, as weights of 4 bits are, for which there is a map of their own, as two of them are widened
    at a time. Maps that round after several operations are left alone.
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
    narrow = _Narrow(map, element)
    value = narrow.of(rounding.input) or narrow.rounded(rounding.input)
    if value is None:
        return
    inputs = [_widen(map, each, element) if isinstance(each, _WIDENING) else each for each in narrow.inputs]
    if value in narrow.block.args:
        Rewriter.replace_op(map, [], [inputs[narrow.block.args.index(value)]])
        return
    finish(narrow.body, value)
    new = tile.MapOp(inputs, map.result.type, Region(narrow.block), location=map.location)
    new.result.name_hint = map.result.name_hint
    Rewriter.replace_op(map, new)


def _field(op: Widening) -> BitField | None:
    """The bits of an argument that an op widens."""
    field = bit_field(op.input, unsigned=isinstance(op, arith.UIToFPOp))
    is_byte = field.source.type == i8 or (isinstance(field.source.type, AnyFloat) and field.source.type.bitwidth == 8)
    return field if is_byte and isinstance(field.source, BlockArgument) else None


def _widen(map: tile.MapOp, op: Widening, element: AnyFloat) -> SSAValue:
    """A map that widens the elements of a tile, or some of their bits."""
    field = _field(op)
    assert field is not None and isinstance(field.source, BlockArgument)
    value = map.inputs[field.source.index]
    body = Body(Block(arg_types=[field.source.type]), map.location)
    finish(body, body(type(op)(_copied(op.input, body, {field.source: body.block.args[0]}), element)))
    new = tile.MapOp([value], TensorType(element, shape_of(value.type)), Region(body.block), location=map.location)
    new.result.name_hint = value.name_hint
    Rewriter.insert_op(new, InsertPoint.before(map))
    return new.result


def _copied(value: SSAValue, body: Body, copies: dict[SSAValue, SSAValue]) -> SSAValue:
    """A copy of an integer in another body, with what it is made of."""
    if value not in copies:
        assert isinstance(value.owner, Operation)
        for operand in value.owner.operands:
            _copied(operand, body, copies)
        body(value.owner.clone(copies))
    return copies[value]


def _extended(tile_value: SSAValue, element: AnyFloat) -> SSAValue | None:
    """The tile of `element` that a tile of f32 is, extended by a map of its own."""
    owner = tile_value.owner
    if not isinstance(owner, tile.MapOp) or len(owner.inputs) != 1:
        return None
    extension, *others = owner.body.block.ops
    is_alone = isinstance(extension, arith.ExtFOp) and len(others) == 1 and extension.input is owner.body.block.args[0]
    return owner.inputs[0] if is_alone and element_type_of(owner.inputs[0].type) == element else None


class _Narrow:
    """Builds values of f32 that a narrow type has in that type.

    inputs: of the new map, tiles of the narrow type, and ops of the old map that widen bytes: what they are of becomes
    a tile of its own.
    """

    def __init__(self, map: tile.MapOp, element: AnyFloat):
        self.inputs: list[SSAValue | Widening] = []
        self.block = Block()
        self.body = Body(self.block, map.location)
        self.element = element
        self._map = map
        self._arguments: dict[SSAValue | tuple[type[Widening], BitField], SSAValue] = {}

    def of(self, value: SSAValue) -> SSAValue | None:
        """The value in the narrow type; None where it may not have it."""
        owner = value.owner
        if isinstance(value, BlockArgument):
            extended = _extended(self._map.inputs[value.index], self.element)
            return None if extended is None else self._argument(extended, extended)
        match owner:
            case arith.ExtFOp() if owner.input.type == self.element and isinstance(owner.input, BlockArgument):
                source = self._map.inputs[owner.input.index]
                return self._argument(source, source)
            case arith.ExtFOp() | arith.SIToFPOp() | arith.UIToFPOp():
                field = _field(owner)
                return None if field is None else self._argument((type(owner), field), owner)
            case arith.ConstantOp(value=FloatAttr(value=number)):
                return self._constant(number.data)
            case arith.MaximumfOp() | arith.MinimumfOp():
                lhs, rhs = self.of(owner.lhs), self.of(owner.rhs)
                return None if lhs is None or rhs is None else self.body(type(owner)(lhs, rhs))
            case _:
                return None

    def _argument(self, key: SSAValue | tuple[type[Widening], BitField], source: SSAValue | Widening) -> SSAValue:
        if key not in self._arguments:
            self._arguments[key] = self.block.insert_arg(self.element, len(self.inputs))
            self.inputs.append(source)
        return self._arguments[key]

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
