"""Elementwise ops of several operands: arithmetic, bits, comparisons, choices; and conversions.

There is no implicit broadcasting: operands have one shape. Results are rounded to their element type.
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Callable
from typing import ClassVar

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition, operand_def, result_def

from irc.dialects.nd.base import (
    Location,
    Operand,
    check_element,
    check_one_type,
    check_result_shape,
    check_result_type,
    element_of,
    is_bits,
    is_float,
    is_integer,
    is_number,
    tensor,
    type_of,
)
from irc.dialects.nd.unary import Elementwise, bool_of
from irc.ir.dtypes import Element


class BinaryOp(Elementwise, ABC):
    """`lhs` and `rhs` of one type to that type."""

    ALLOWED: ClassVar[Callable[[Element], bool]] = staticmethod(is_number)
    WHAT: ClassVar[str] = "float or integer"

    lhs = operand_def(TensorType)
    rhs = operand_def(TensorType)
    result = result_def(TensorType)

    def __init__(self, lhs: Operand, rhs: Operand, *, location: Location | None = None):
        self.setup([lhs, rhs], [type_of(lhs)], location=location)

    def check(self) -> None:
        check_one_type(self, (self.lhs, self.rhs))
        check_element(self, self.lhs, type(self).ALLOWED, self.WHAT)
        check_result_type(self, type_of(self.lhs))


class FloatBinaryOp(BinaryOp, ABC):
    """A binary op on floats."""

    ALLOWED: ClassVar[Callable[[Element], bool]] = staticmethod(is_float)
    WHAT: ClassVar[str] = "float"


class BitwiseOp(BinaryOp, ABC):
    """A binary op on integers and bool."""

    ALLOWED: ClassVar[Callable[[Element], bool]] = staticmethod(is_bits)
    WHAT: ClassVar[str] = "integer or bool"


class ShiftOp(BinaryOp, ABC):
    """A binary op on integers."""

    ALLOWED: ClassVar[Callable[[Element], bool]] = staticmethod(is_integer)
    WHAT: ClassVar[str] = "integer"


@irdl_op_definition
class AddOp(BinaryOp):
    """lhs + rhs; integers wrap."""

    name = "nd.add"


@irdl_op_definition
class SubOp(BinaryOp):
    """lhs - rhs; integers wrap."""

    name = "nd.sub"


@irdl_op_definition
class MulOp(BinaryOp):
    """lhs * rhs; integers wrap."""

    name = "nd.mul"


@irdl_op_definition
class DivOp(FloatBinaryOp):
    """lhs / rhs."""

    name = "nd.div"


@irdl_op_definition
class FloorDivOp(BinaryOp):
    """floor(lhs / rhs); an integer divided by 0 is 0."""

    name = "nd.floordiv"


@irdl_op_definition
class ModOp(BinaryOp):
    """lhs - rhs * floor(lhs / rhs), with the sign of rhs; an integer modulo 0 is 0."""

    name = "nd.mod"


@irdl_op_definition
class PowOp(BinaryOp):
    """lhs ** rhs; integers wrap, and a negative integer exponent gives 0 (1 of 1, +-1 of -1)."""

    name = "nd.pow"


@irdl_op_definition
class MinimumOp(BinaryOp):
    """The lesser; NaN where either is NaN."""

    name = "nd.minimum"


@irdl_op_definition
class MaximumOp(BinaryOp):
    """The greater; NaN where either is NaN."""

    name = "nd.maximum"


@irdl_op_definition
class Atan2Op(FloatBinaryOp):
    """The angle of the point (rhs, lhs), in -pi..pi."""

    name = "nd.atan2"


@irdl_op_definition
class BitwiseAndOp(BitwiseOp):
    """lhs & rhs."""

    name = "nd.bitwise_and"


@irdl_op_definition
class BitwiseOrOp(BitwiseOp):
    """lhs | rhs."""

    name = "nd.bitwise_or"


@irdl_op_definition
class BitwiseXorOp(BitwiseOp):
    """lhs ^ rhs."""

    name = "nd.bitwise_xor"


@irdl_op_definition
class ShiftLeftOp(ShiftOp):
    """lhs << rhs; 0 where rhs, read as unsigned, is the width or more."""

    name = "nd.shift_left"


@irdl_op_definition
class ShiftRightOp(ShiftOp):
    """lhs >> rhs, arithmetic for signed; the sign (0 or -1) where rhs, read as unsigned, is the width or more."""

    name = "nd.shift_right"


class CompareOp(Elementwise, ABC):
    """`lhs` and `rhs` of one type to bool. False with NaN, except `not_equal`."""

    lhs = operand_def(TensorType)
    rhs = operand_def(TensorType)
    result = result_def(TensorType)

    def __init__(self, lhs: Operand, rhs: Operand, *, location: Location | None = None):
        self.setup([lhs, rhs], [bool_of(type_of(lhs))], location=location)

    def check(self) -> None:
        check_one_type(self, (self.lhs, self.rhs))
        check_result_type(self, bool_of(type_of(self.lhs)))


@irdl_op_definition
class EqualOp(CompareOp):
    """lhs == rhs."""

    name = "nd.equal"


@irdl_op_definition
class NotEqualOp(CompareOp):
    """lhs != rhs."""

    name = "nd.not_equal"


@irdl_op_definition
class LessOp(CompareOp):
    """lhs < rhs."""

    name = "nd.less"


@irdl_op_definition
class LessEqualOp(CompareOp):
    """lhs <= rhs."""

    name = "nd.less_equal"


@irdl_op_definition
class GreaterOp(CompareOp):
    """lhs > rhs."""

    name = "nd.greater"


@irdl_op_definition
class GreaterEqualOp(CompareOp):
    """lhs >= rhs."""

    name = "nd.greater_equal"


@irdl_op_definition
class WhereOp(Elementwise):
    """lhs where the bool `condition` holds, else rhs."""

    name = "nd.where"

    condition = operand_def(TensorType)
    lhs = operand_def(TensorType)
    rhs = operand_def(TensorType)
    result = result_def(TensorType)

    def __init__(self, condition: Operand, lhs: Operand, rhs: Operand, *, location: Location | None = None):
        self.setup([condition, lhs, rhs], [type_of(lhs)], location=location)

    def check(self) -> None:
        check_one_type(self, (self.lhs, self.rhs))
        check_result_type(self, type_of(self.lhs))
        if self.condition.type != (wanted := bool_of(type_of(self.lhs))):
            raise self.fail(f"expects a condition of type {wanted}, found {self.condition.type}")


@irdl_op_definition
class ClampOp(Elementwise):
    """minimum(maximum(x, lo), hi); NaN where any is NaN."""

    name = "nd.clamp"

    x = operand_def(TensorType)
    lo = operand_def(TensorType)
    hi = operand_def(TensorType)
    result = result_def(TensorType)

    def __init__(self, x: Operand, lo: Operand, hi: Operand, *, location: Location | None = None):
        self.setup([x, lo, hi], [type_of(x)], location=location)

    def check(self) -> None:
        check_one_type(self, self.operands)
        check_element(self, self.x, is_number, "float or integer")
        check_result_type(self, type_of(self.x))


class ConversionOp(Elementwise, ABC):
    """`x` to another element type."""

    x = operand_def(TensorType)
    result = result_def(TensorType)

    def __init__(self, x: Operand, element: Attribute | Element, *, location: Location | None = None):
        self.setup([x], [tensor(type_of(x).get_shape(), element)], location=location)

    def check(self) -> None:
        check_result_shape(self, type_of(self.x).get_shape())


@irdl_op_definition
class CastOp(ConversionOp):
    """x in another element type.

    A narrower float rounds to nearest even (to f8 also saturates), float to integer truncates and saturates with NaN
    giving 0, integer to integer wraps, to bool is x != 0, from bool 0 or 1.
    """

    name = "nd.cast"


@irdl_op_definition
class BitcastOp(ConversionOp):
    """The bits of x read as another element type of the same size; not of or to bool."""

    name = "nd.bitcast"

    def check(self) -> None:
        super().check()
        check_element(self, self.x, is_number, "float or integer")
        check_element(self, self.result, is_number, "float or integer")
        source, target = type_of(self.x), type_of(self.result)
        if element_of(source).bits != element_of(target).bits:
            raise self.fail(f"expects elements of one size, found {source} and {target}")
