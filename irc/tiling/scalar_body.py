"""Scalars of a tile op's body, how they are built, and casts between element types."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from xdsl.dialects import arith
from xdsl.dialects.builtin import AnyFloat, IntegerType, LocationAttr, Signedness, f32, f64, i1
from xdsl.ir import Attribute, Block, Operation, SSAValue

from irc.ir.properties import scalar
from irc.tiling.nodes import signless


@dataclass(frozen=True)
class Scalar:
    """A scalar of the body, and its element type at the nd level."""

    value: SSAValue
    source: Attribute

    @property
    def is_float(self) -> bool:
        return is_float(self.source)

    @property
    def is_unsigned(self) -> bool:
        return is_unsigned(self.source)


def is_float(type: Attribute) -> bool:
    return isinstance(type, AnyFloat)


def is_unsigned(type: Attribute) -> bool:
    """u8, and bool, whose only bit is no sign."""
    if not isinstance(type, IntegerType):
        return False
    return type.signedness.data is Signedness.UNSIGNED or type.width.data == 1


def width_of(type: Attribute) -> int:
    assert isinstance(type, IntegerType | AnyFloat)
    return type.width.data if isinstance(type, IntegerType) else type.bitwidth


class Body:
    """Builds scalar code at the end of a block; constants are made once."""

    def __init__(self, block: Block, location: LocationAttr):
        self.block = block
        self.location = location
        self.fastmath: arith.FastMathFlagsAttr | None = None
        """The flags of divisions and functions of `math` from here on."""
        self._constants: dict[tuple[Attribute, str], SSAValue] = {}

    def __call__(self, op: Operation) -> SSAValue:
        op.location = self.location
        if self.fastmath is not None and (isinstance(op, arith.DivfOp) or op.name.startswith("math.")):
            op.properties["fastmath"] = self.fastmath
        self.block.add_op(op)
        return op.results[0]

    def constant(self, value: float | int, type: Attribute) -> SSAValue:
        key = (type, repr(value))
        if key not in self._constants:
            self._constants[key] = self._constant(value, type)
        return self._constants[key]

    def _constant(self, value: float | int, type: Attribute) -> SSAValue:
        if isinstance(type, AnyFloat) and type.bitwidth == 8:
            return self(arith.TruncFOp(self.constant(value, f32), type))
        return self(arith.ConstantOp(scalar(value, type)))

    def select(self, test: SSAValue, yes: SSAValue, no: SSAValue) -> SSAValue:
        return yes if yes is no else self(arith.SelectOp(test, yes, no))

    def compare(self, predicate: str, a: SSAValue, b: SSAValue) -> SSAValue:
        """An `arith.cmpf` or `arith.cmpi`, as the type of `a` says."""
        if isinstance(a.type, AnyFloat):
            return self(arith.CmpfOp(a, b, predicate))
        return self(arith.CmpiOp(a, b, predicate))

    def is_nan(self, x: SSAValue) -> SSAValue:
        return self(arith.CmpfOp(x, x, "uno"))


def cast(body: Body, x: Scalar, result: Attribute) -> SSAValue:
    """nd.cast: to nearest even; float to integer truncates, saturates, and gives 0 for
    NaN; anything to bool is x != 0."""
    target: Any = signless(result)
    if x.source == result or (target == x.value.type and target != i1):
        return x.value
    if is_float(result):
        return _to_float(body, x, target)
    if x.is_float:
        return _float_to_integer(body, x.value, result)
    if target == i1:
        return body(arith.CmpiOp(x.value, body.constant(0, x.value.type), "ne"))
    before, after = width_of(x.source), width_of(target)
    if before == after:
        return x.value
    if before > after:
        return body(arith.TruncIOp(x.value, target))
    return body(arith.ExtUIOp(x.value, target) if x.is_unsigned else arith.ExtSIOp(x.value, target))


def _to_float(body: Body, x: Scalar, target: Any) -> SSAValue:
    value = x.value
    if not x.is_float:
        wide: Any = target if width_of(target) >= 32 else f64 if width_of(x.source) >= 32 else f32
        value = body(arith.UIToFPOp(value, wide) if x.is_unsigned else arith.SIToFPOp(value, wide))
    before, after = width_of(value.type), width_of(target)
    if value.type == target:
        return value
    if before < after:
        return body(arith.ExtFOp(value, target))
    if before == after:
        value = body(arith.ExtFOp(value, f32))
    return body(arith.TruncFOp(value, target))


def _float_to_integer(body: Body, value: SSAValue, result: Attribute) -> SSAValue:
    if width_of(value.type) < 32:
        value = body(arith.ExtFOp(value, f32))
    target: Any = signless(result)
    if target == i1:
        return body(arith.CmpfOp(value, body.constant(0.0, value.type), "une"))
    return body(arith.FPToUIOp(value, target) if is_unsigned(result) else arith.FPToSIOp(value, target))
