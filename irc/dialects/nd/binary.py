"""Elementwise ops of several operands: arithmetic, bits, comparisons, choices."""

from __future__ import annotations

from abc import ABC
from math import inf
from typing import Any, ClassVar

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.irdl import operand_def, result_def

from irc.dialects.nd import numpy_code
from irc.dialects.nd.base import BITS, FLOAT, INTEGER, Elements, Location, Operand, type_of
from irc.dialects.nd.elementwise import BinaryOp, CompareOp, Elementwise, bool_of
from irc.dialects.nd.table import Cost, binary_row, composed, defined_in, flat, row
from irc.dialects.nd.terms import Term, widened
from irc.ir.rewriting import Inserter


@row(np.add, ("arith.addf", "arith.addi"), lambda op, g: [g, g], symbol="+")
class AddOp(BinaryOp):
    """lhs + rhs; integers wrap."""

    name = "nd.add"


@row(np.subtract, ("arith.subf", "arith.subi"), lambda op, g: [g, -g], symbol="-")
class SubOp(BinaryOp):
    """lhs - rhs; integers wrap."""

    name = "nd.sub"


@binary_row(np.multiply, ("arith.mulf", "arith.muli"), lambda g, a, b, y: (g * b, g * a), symbol="*")
class MulOp(BinaryOp):
    """lhs * rhs; integers wrap."""

    name = "nd.mul"


@binary_row(
    np.divide,
    "arith.divf",
    lambda g, a, b, y: (g / b, -g * y / b),
    cost=Cost.LONG,
    is_relaxable=True,
    symbol="/",
    aten="div",
)
class DivOp(BinaryOp):
    """lhs / rhs."""

    TAKES: ClassVar[Elements] = FLOAT

    name = "nd.div"


@row(np.floor_divide, "floordiv", flat, cost=Cost.LONG, symbol="//")
class FloorDivOp(BinaryOp):
    """floor(lhs / rhs); an integer divided by 0 is 0."""

    name = "nd.floordiv"


@binary_row(
    np.mod,
    "mod",
    lambda g, a, b, y: (g, -g * (a / b).floor()),
    cost=Cost.LONG,
    symbol="%",
    aten="remainder",
)
class ModOp(BinaryOp):
    """lhs - rhs * floor(lhs / rhs), with the sign of rhs; an integer modulo 0 is 0."""

    name = "nd.mod"


def _power_gradient(g: Term, a: Term, b: Term, y: Term) -> tuple[Term, Term]:
    """b * a ** (b - 1), where b is 0 nothing; y * log(a), where a is 0 and b is not negative nothing."""
    base = (g * b * a.pow(b - 1)).zero_where(b.equal(0))
    return base, (g * y * a.log()).zero_where(a.equal(0) & (b >= 0))


@binary_row(
    numpy_code.power,
    "power",
    _power_gradient,
    cost=Cost.LONG,
    is_relaxable=True,
    symbol="**",
    is_function=True,
)
class PowOp(BinaryOp):
    """lhs ** rhs; integers wrap, and a negative integer exponent gives 0 (1 of 1, +-1 of -1)."""

    name = "nd.pow"


def _minimum_gradient(g: Term, a: Term, b: Term, y: Term) -> tuple[Term, Term]:
    share = a.equal(b).where(g * 0.5, g)
    return share.zero_where(a > b), share.zero_where(b > a)


def _maximum_gradient(g: Term, a: Term, b: Term, y: Term) -> tuple[Term, Term]:
    share = a.equal(b).where(g * 0.5, g)
    return share.zero_where(a < b), share.zero_where(b < a)


@binary_row(np.minimum, ("arith.minimumf", "arith.minsi", "arith.minui"), _minimum_gradient)
class MinimumOp(BinaryOp):
    """The lesser; NaN where either is NaN. A tie gives half of the gradient to each."""

    name = "nd.minimum"


@binary_row(np.maximum, ("arith.maximumf", "arith.maxsi", "arith.maxui"), _maximum_gradient)
class MaximumOp(BinaryOp):
    """The greater; NaN where either is NaN. A tie gives half of the gradient to each."""

    name = "nd.maximum"


def _atan2_gradient(g: Term, a: Term, b: Term, y: Term) -> tuple[Term, Term]:
    scaled = g / (a * a + b * b)
    return scaled * b, -(scaled * a)


@binary_row(
    np.arctan2,
    "math.atan2",
    _atan2_gradient,
    cost=Cost.LONG,
    parameters=("y", "x"),
    aten="atan2",
)
class Atan2Op(BinaryOp):
    """The angle of the point (rhs, lhs), in -pi..pi."""

    TAKES: ClassVar[Elements] = FLOAT

    name = "nd.atan2"


def _hypot(a: Term, b: Term) -> Term:
    """The greater times sqrt(1 + ratio ** 2), whose square does not overflow."""
    x, y = a.apply("abs"), b.apply("abs")
    most, least = x.maximum(y), x.minimum(y)
    ratio = (least / most).zero_where(most.equal(0))
    is_infinite = x.apply("isinf") | y.apply("isinf")
    return is_infinite.where(most.filled(inf), most * (ratio * ratio + 1).sqrt())


@binary_row(
    np.hypot,
    "",
    lambda g, a, b, y: (g * (a / y), g * (b / y)),
    cost=Cost.LONG,
    is_relaxable=True,
    decomposition=composed(_hypot),
    aten="hypot",
)
class HypotOp(BinaryOp):
    """sqrt(lhs ** 2 + rhs ** 2), whose squares do not overflow; inf where either is infinite, also beside NaN. Of zeros
    its gradient is NaN."""

    TAKES: ClassVar[Elements] = FLOAT

    name = "nd.hypot"


class BitwiseOp(BinaryOp, ABC):
    """A function of integers' and bools' bits."""

    TAKES: ClassVar[Elements] = BITS


@row(np.bitwise_and, "arith.andi", symbol="&", aten="bitwise_and")
class BitwiseAndOp(BitwiseOp):
    """lhs & rhs."""

    name = "nd.bitwise_and"


@row(np.bitwise_or, "arith.ori", symbol="|", aten="bitwise_or")
class BitwiseOrOp(BitwiseOp):
    """lhs | rhs."""

    name = "nd.bitwise_or"


@row(np.bitwise_xor, "arith.xori", symbol="^", aten="bitwise_xor")
class BitwiseXorOp(BitwiseOp):
    """lhs ^ rhs."""

    name = "nd.bitwise_xor"


class ShiftOp(BinaryOp, ABC):
    """A function of integers' bits."""

    TAKES: ClassVar[Elements] = INTEGER


@row(np.left_shift, "shift_left", symbol="<<")
class ShiftLeftOp(ShiftOp):
    """lhs << rhs; 0 where rhs, read as unsigned, is the width or more."""

    name = "nd.shift_left"


@row(np.right_shift, "shift_right", symbol=">>")
class ShiftRightOp(ShiftOp):
    """lhs >> rhs, arithmetic for signed; the sign (0 or -1) where rhs, read as unsigned, is the width or more."""

    name = "nd.shift_right"


@row(np.equal, ("oeq", "eq", "eq"), symbol="==", aten="eq")
class EqualOp(CompareOp):
    """lhs == rhs."""

    name = "nd.equal"


@row(np.not_equal, ("une", "ne", "ne"), symbol="!=", aten="ne")
class NotEqualOp(CompareOp):
    """lhs != rhs."""

    name = "nd.not_equal"


@row(np.less, ("olt", "slt", "ult"), symbol="<", aten="lt")
class LessOp(CompareOp):
    """lhs < rhs."""

    name = "nd.less"


@row(np.less_equal, ("ole", "sle", "ule"), symbol="<=", aten="le")
class LessEqualOp(CompareOp):
    """lhs <= rhs."""

    name = "nd.less_equal"


@row(np.greater, ("ogt", "sgt", "ugt"), symbol=">", aten="gt")
class GreaterOp(CompareOp):
    """lhs > rhs."""

    name = "nd.greater"


@row(np.greater_equal, ("oge", "sge", "uge"), symbol=">=", aten="ge")
class GreaterEqualOp(CompareOp):
    """lhs >= rhs."""

    name = "nd.greater_equal"


def _where_gradient(op: Any, g: Term) -> list[Term | None]:
    condition = Term(op.condition, g.at)
    return [None, g.kept_where(condition), g.zero_where(condition)]


@row(np.where, "where", _where_gradient)
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
        self.check_one_type((self.lhs, self.rhs))
        self.check_result_type(type_of(self.lhs))
        if self.condition.type != (wanted := bool_of(type_of(self.lhs))):
            raise self.fail(f"expects a condition of type {wanted}, found {self.condition.type}")


def _clamp(op: Any, at: Inserter) -> Term:
    """minimum(maximum(x, lo), hi): exact in any type, so nothing is widened."""
    x, lo, hi = (Term(value, at) for value in op.operands)
    return x.maximum(lo).minimum(hi)


def _clamp_gradient(op: Any, g: Term) -> list[Term | None]:
    """To x between the bounds and at them, else to the bound that holds; hi holds where the bounds cross."""
    x, lo, hi = (widened(value, g.at) for value in op.operands)
    inside = (x >= lo) & (x <= hi)
    return [g.kept_where(inside), g.kept_where((x < lo) & (lo < hi)), g.kept_where((x > hi) | (lo > hi))]


@row(numpy_code.clamp, "clamp", _clamp_gradient, decomposition=_clamp)
class ClampOp(Elementwise):
    """minimum(maximum(x, lo), hi); NaN where any is NaN. At its bounds the gradient is that of x."""

    name = "nd.clamp"

    x = operand_def(TensorType)
    lo = operand_def(TensorType)
    hi = operand_def(TensorType)
    result = result_def(TensorType)

    def __init__(self, x: Operand, lo: Operand, hi: Operand, *, location: Location | None = None):
        self.setup([x, lo, hi], [type_of(x)], location=location)


__all__ = ["BitwiseOp", "ShiftOp", *defined_in(__name__)]  # pyright: ignore[reportUnsupportedDunderAll]
