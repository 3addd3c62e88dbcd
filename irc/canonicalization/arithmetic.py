"""Identities of arithmetic that are exact: the result is the same for every operand, NaN, infinities and -0.0 included.

What is left alone because it is not exact for floats: `x + 0.0` (-0.0 becomes 0.0), `x * 0`, `x - x`, `x / x`, `pow(x,
0.5)` (differs from sqrt at -0.0 and -inf), and every reassociation. `x + -0.0` and `x - 0.0` are x.

Canonical forms: constants on the right of commutative ops; `x * -1` is `-x`; `x + -y` is `x - y`; division by a power
of two is a multiplication; `1 / x` is `reciprocal`; `pow` with a small integral exponent is a product.
"""

from __future__ import annotations

from math import frexp

from xdsl.ir import SSAValue

from irc.canonicalization.simplify import (
    Table,
    defined_by,
    for_each,
    is_splat,
    merged,
    of_operands,
    splat_like,
    splat_of,
)
from irc.dialects import nd
from irc.ir.dtypes import Element
from irc.ir.rewriting import Inserter

COMMUTATIVE = (
    nd.AddOp,
    nd.MulOp,
    nd.MinimumOp,
    nd.MaximumOp,
    nd.BitwiseAndOp,
    nd.BitwiseOrOp,
    nd.BitwiseXorOp,
    nd.EqualOp,
    nd.NotEqualOp,
)


@of_operands(nd.ConstantOp)
def constant_to_the_right(op: nd.BinaryOp, at: Inserter) -> SSAValue | None:
    lhs, rhs = op.operands
    if defined_by(lhs, nd.ConstantOp) is None or defined_by(rhs, nd.ConstantOp) is not None:
        return None
    return at.value(type(op)(rhs, lhs))


def _is_float(value: SSAValue) -> bool:
    return nd.element_of(value).is_float


def _all_ones(value: SSAValue) -> bool:
    """Whether the value is a constant with every bit set."""
    element = nd.element_of(value)
    return is_splat(value, -1 if element.kind == "int" else element.limits()[1])


# Sums and products


@of_operands(nd.ConstantOp, nd.NegOp)
def add(op: nd.AddOp, at: Inserter) -> SSAValue | None:
    lhs, rhs = op.operands
    if is_splat(rhs, -0.0 if _is_float(rhs) else 0):
        return lhs
    if (negated := defined_by(rhs, nd.NegOp)) is not None:
        return at.value(nd.SubOp(lhs, negated.x))
    if (negated := defined_by(lhs, nd.NegOp)) is not None:
        return at.value(nd.SubOp(rhs, negated.x))
    return None


def sub(op: nd.SubOp, at: Inserter) -> SSAValue | None:
    if is_splat(op.rhs, 0):
        return op.lhs
    if op.lhs is op.rhs and not _is_float(op.lhs):
        return splat_like(at, 0, op.lhs)
    if (negated := defined_by(op.rhs, nd.NegOp)) is not None:
        return at.value(nd.AddOp(op.lhs, negated.x))
    return None


@of_operands(nd.ConstantOp, nd.NegOp)
def mul(op: nd.MulOp, at: Inserter) -> SSAValue | None:
    lhs, rhs = op.operands
    factor = splat_of(rhs)
    if factor == 1:
        return lhs
    if factor == -1:
        return at.value(nd.NegOp(lhs))
    if factor == 0 and not _is_float(rhs):
        return rhs
    if (left := defined_by(lhs, nd.NegOp)) is None or (right := defined_by(rhs, nd.NegOp)) is None:
        return None
    return at.value(nd.MulOp(left.x, right.x))


@of_operands(nd.ConstantOp)
def div(op: nd.DivOp, at: Inserter) -> SSAValue | None:
    lhs, rhs = op.operands
    divisor = splat_of(rhs)
    if divisor == 1:
        return lhs
    if is_splat(lhs, 1):
        return at.value(nd.ReciprocalOp(rhs))
    if divisor is None or not _has_exact_reciprocal(float(divisor), nd.element_of(rhs)):
        return None
    return at.value(nd.MulOp(lhs, splat_like(at, 1.0 / float(divisor), rhs)))


def _has_exact_reciprocal(value: float, element: Element) -> bool:
    """Whether the number is a power of two and its reciprocal too is a normal number of the element type."""
    mantissa, exponent = frexp(value)
    most = frexp(float(element.limits()[1]))[1]
    return abs(mantissa) == 0.5 and abs(exponent) <= most - 4


@of_operands(nd.ConstantOp)
def pow(op: nd.PowOp, at: Inserter) -> SSAValue | None:
    """pow(x, 0) is 1, of NaN too; 1, 2 and 3 are products; -1 of a float is the reciprocal."""
    if is_splat(op.rhs, 0) or is_splat(op.rhs, -0.0):
        return splat_like(at, 1, op.lhs)
    if is_splat(op.rhs, 1):
        return op.lhs
    if is_splat(op.rhs, 2):
        return at.value(nd.MulOp(op.lhs, op.lhs))
    if is_splat(op.rhs, 3):
        return at.value(nd.MulOp(at.value(nd.MulOp(op.lhs, op.lhs)), op.lhs))
    if is_splat(op.rhs, -1) and _is_float(op.rhs):
        return at.value(nd.ReciprocalOp(op.lhs))
    return None


# Unary ops


def involution(op: nd.UnaryOp, at: Inserter) -> SSAValue | None:
    """-(-x) and ~~x are x."""
    inner = defined_by(op.x, type(op))
    return None if inner is None else inner.x


def idempotent(op: nd.UnaryOp, at: Inserter) -> SSAValue | None:
    """abs(abs(x)) is abs(x)."""
    return None if defined_by(op.x, type(op)) is None else op.x


def abs_of_neg(op: nd.AbsOp, at: Inserter) -> SSAValue | None:
    negated = defined_by(op.x, nd.NegOp)
    return None if negated is None else at.value(nd.AbsOp(negated.x))


def integral(op: nd.FloorOp | nd.CeilOp | nd.RoundOp, at: Inserter) -> SSAValue | None:
    """Of integers, and of integral floats, the value itself."""
    if not _is_float(op.x) or isinstance(op.x.owner, nd.FloorOp | nd.CeilOp | nd.RoundOp):
        return op.x
    return None


# Extremes, bits, comparisons, choice


def same_operands(op: nd.BinaryOp, at: Inserter) -> SSAValue | None:
    """minimum(x, x) and the like are x."""
    return op.lhs if op.lhs is op.rhs else None


def bitwise_and(op: nd.BitwiseAndOp, at: Inserter) -> SSAValue | None:
    if is_splat(op.rhs, 0):
        return op.rhs
    return op.lhs if _all_ones(op.rhs) else None


def bitwise_or(op: nd.BitwiseOrOp, at: Inserter) -> SSAValue | None:
    if is_splat(op.rhs, 0):
        return op.lhs
    return op.rhs if _all_ones(op.rhs) else None


def bitwise_xor(op: nd.BitwiseXorOp, at: Inserter) -> SSAValue | None:
    if is_splat(op.rhs, 0):
        return op.lhs
    if op.lhs is op.rhs:
        return splat_like(at, False if nd.element_of(op.lhs).kind == "bool" else 0, op.lhs)
    return at.value(nd.BitwiseNotOp(op.lhs)) if _all_ones(op.rhs) else None


def shift(op: nd.ShiftOp, at: Inserter) -> SSAValue | None:
    return op.lhs if is_splat(op.rhs, 0) else None


def compare_with_itself(op: nd.CompareOp, at: Inserter) -> SSAValue | None:
    """Of integers and bool; of floats NaN decides."""
    if op.lhs is not op.rhs or _is_float(op.lhs):
        return None
    holds = isinstance(op, nd.EqualOp | nd.LessEqualOp | nd.GreaterEqualOp)
    return splat_like(at, holds, op.result)


def where(op: nd.WhereOp, at: Inserter) -> SSAValue | None:
    if op.lhs is op.rhs:
        return op.lhs
    condition = splat_of(op.condition)
    if condition is not None:
        return op.lhs if condition else op.rhs
    inverted = op.condition.owner
    if isinstance(inverted, nd.BitwiseNotOp | nd.LogicalNotOp):
        return at.value(nd.WhereOp(inverted.x, op.rhs, op.lhs))
    return None


COMPARISONS = (nd.EqualOp, nd.NotEqualOp, nd.LessOp, nd.LessEqualOp, nd.GreaterOp, nd.GreaterEqualOp)

ARITHMETIC: Table = merged(
    for_each(COMMUTATIVE, constant_to_the_right),
    {
        nd.AddOp: [add],
        nd.SubOp: [sub],
        nd.MulOp: [mul],
        nd.DivOp: [div],
        nd.PowOp: [pow],
        nd.AbsOp: [idempotent, abs_of_neg],
        nd.BitwiseAndOp: [bitwise_and],
        nd.BitwiseOrOp: [bitwise_or],
        nd.BitwiseXorOp: [bitwise_xor],
        nd.WhereOp: [where],
    },
    for_each((nd.NegOp, nd.BitwiseNotOp), involution),
    for_each((nd.ReluOp,), idempotent),
    for_each((nd.FloorOp, nd.CeilOp, nd.RoundOp), integral),
    for_each((nd.MinimumOp, nd.MaximumOp, nd.BitwiseAndOp, nd.BitwiseOrOp), same_operands),
    for_each((nd.ShiftLeftOp, nd.ShiftRightOp), shift),
    for_each(COMPARISONS, compare_with_itself),
)
