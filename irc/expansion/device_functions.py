"""Algorithms of math functions on f32, as scalar ops and instructions of a GPU (`irc/dialects/cuda/instructions.py`).

What the machine does not compute itself is multiplied and added by fma alone, so that no compiler has products and sums
left to fuse: the simulator computes what the machine does, but for the errors of approximate instructions.
"""

from __future__ import annotations

from fractions import Fraction
from math import copysign, frexp, inf, ldexp, nan

import numpy as np
from xdsl.dialects import arith, math
from xdsl.dialects.builtin import FloatAttr, f32, i32
from xdsl.dialects.utils import FastMathFlag
from xdsl.ir import Operation, SSAValue

from irc.expansion.angles import angle, near_angle, quarters
from irc.expansion.code import Function, ScalarBuilder, is_approximate
from irc.expansion.vector_functions import (
    ERF_LOWER,
    ERF_NEAR,
    ERF_UPPER,
    ROUNDING,
    far_erf_exponent,
    near_erf,
)
from irc.ir.discardable import NEAR

LOG2_E, LN_2, LOG10_2 = 1.44269504, 0.693147182, 0.30103
LOG2_E_LOW = 1.92596303e-08
"""What LOG2_E lacks, as a float, of log2(e)."""

EXP2, RECIPROCAL, LOG2 = "ex2.approx.ftz.f32", "rcp.approx.ftz.f32", "lg2.approx.f32"
TANH_NEAR = 0.7
TANH = (-0.00513860425, 0.020091908, -0.0535588386, 0.133291104, -0.333331899)
"""(tanh(x) / x - 1) / x ** 2 in x ** 2 for |x| < TANH_NEAR: within 2 ** -25.9 of tanh(x), by Lawson's iteration."""

TWO_THIRDS, INFINITY = 0x3F2AAAAB, 0x7F800000
LOG = (
    -0.129490341,
    0.1400484,
    -0.121671395,
    0.140011452,
    -0.166823067,
    0.200107484,
    -0.249997174,
    0.333332084,
    -0.500000012,
)
"""(log(1 + x) / x - 1) / x in x for |x| <= 1/3: within 2 ** -27.7 of log(1 + x), by Lawson's iteration."""

SIN = (-1.9515295891e-4, 8.3321608736e-3, -1.6666654611e-1)
COS = (2.443315711809948e-5, -1.388731625493765e-3, 4.166664568298827e-2, -0.5)
"""(sin(x) / x - 1) / x ** 2 and (cos(x) - 1) / x ** 2 in x ** 2 for |x| <= pi / 4 (Cephes)."""


def approximate_exp(code: ScalarBuilder, x: SSAValue) -> SSAValue:
    """0 where the result is subnormal."""
    return code.run(EXP2, code.mul(x, LOG2_E))


def approximate_expm1(code: ScalarBuilder, x: SSAValue) -> SSAValue:
    terms = code.polynomial(x, (0.00833333333, 0.0416666667, 0.166666667, 0.5))
    series = code.fma(code.mul(x, x), terms, x)
    return code.where(code.absolute(x), "olt", 0.125, series, code.sub(approximate_exp(code, x), 1.0))


def approximate_log1p(code: ScalarBuilder, x: SSAValue) -> SSAValue:
    terms = code.polynomial(x, (0.2, -0.25, 0.333333333, -0.5))
    series = code.fma(code.mul(x, x), terms, x)
    far = code.mul(code.run(LOG2, code.add(x, 1.0)), LN_2)
    return code.where(code.absolute(x), "olt", 0.0625, series, far)


def approximate_tanh(code: ScalarBuilder, x: SSAValue) -> SSAValue:
    square = code.mul(x, x)
    series = code.fma(code.mul(x, square), code.fma(square, 0.133333333, -0.333333333), x)
    return code.where(square, "olt", 0.00390625, series, _far_tanh(code, x))


def _far_tanh(code: ScalarBuilder, x: SSAValue) -> SSAValue:
    """1 - 2 / (1 + e ** 2x)."""
    power = code.run(EXP2, code.mul(x, 2 * LOG2_E))
    return code.fma(code.number(-2.0), code.run(RECIPROCAL, code.add(power, 1.0)), 1.0)


def approximate_erf(code: ScalarBuilder, x: SSAValue) -> SSAValue:
    square = code.mul(x, x)
    upper, lower = (code.polynomial(square, terms[::-1]) for terms in (ERF_UPPER, ERF_LOWER))
    quotient = code.mul(code.mul(x, upper), code.run(RECIPROCAL, lower))
    return code.where(code.absolute(x), "oge", 3.84, code.with_sign(1.0, x), quotient)


def approximate_pow(code: ScalarBuilder, x: SSAValue, y: SSAValue) -> SSAValue:
    size, whole = code.absolute(x), code(math.TruncOp(y))
    power = code.run(EXP2, code.mul(y, code.run(LOG2, size)))
    power = code.where(size, "oeq", 1.0, 1.0, power)
    # Of a negative x: NaN, but for an integer y, whose last bit says the sign, and for 0 and infinity.
    is_integer = code.test(y, "oeq", whole)
    last = code(arith.AndIOp(code(arith.FPToSIOp(y, i32)), code.integer(1)))
    is_small = code.test(code.absolute(y), "olt", float(1 << 24))
    is_odd = code(arith.CmpiOp(last, code.integer(0), "ne"))
    for each in (is_integer, is_small):
        is_odd = code(arith.AndIOp(is_odd, each))
    has_power = code(arith.OrIOp(is_integer, code.test(size, "oeq", float("inf"))))
    of_negative = code.select(is_odd, code.neg(power), code.select(has_power, power, nan))
    is_signed = code(arith.CmpiOp(code.bits(x), code.integer(0), "slt"))
    is_negative = code(arith.AndIOp(is_signed, code(arith.OrIOp(is_integer, code.test(x, "une", 0.0)))))
    return code.where(y, "oeq", 0.0, 1.0, code.select(is_negative, of_negative, power))


def approximate_product(code: ScalarBuilder, a: SSAValue, b: SSAValue) -> SSAValue:
    """A quotient by the reciprocal, which is infinite where the divisor is subnormal and 0 where it itself is."""
    return code.mul(a, code.run(RECIPROCAL, b))


def quotient_by(number: float) -> Function | None:
    """What divides by a number, without the branch of a division for quotients out of the ordinary: multiplies by the
    upper and the lower part of the reciprocal, which have one sign, so that infinities stay. None of a number of many
    digits, or far from 1.

    The parts are the reciprocal to 2 ** -47. Of a divisor whose odd part is below 2 ** 20, no quotient is as near to a
    middle of two floats: it is rounded as a division does (Brisebarre, Muller and Raina, "Accelerating correctly
    rounded floating-point division when the divisor is known in advance", 2004). Quotients below 2 ** -100 may be the
    float beside that.
    """
    _, exponent = frexp(number)
    whole = int(abs(ldexp(number, 24 - exponent)))
    if whole // (whole & -whole) >= 1 << 20 or not abs(exponent) < 100:
        return None
    upper = Fraction(2**47 // whole, 2**47)
    high, low = (copysign(ldexp(float(part), 24 - exponent), number) for part in (upper, Fraction(1, whole) - upper))
    return lambda code, x, _: code.fma(x, high, code.mul(x, low)) if low else code.mul(x, high)


def approximate_quotient_by(number: float) -> Function:
    return lambda code, x, _: code.mul(x, 1 / number)


def exp(code: ScalarBuilder, x: SSAValue) -> SSAValue:
    """2 ** n 2 ** rest, for an n of -126 to 126, so that 2 ** n is a normal number: the rest is 0 to 1, or beyond that
    where the result is subnormal or infinite."""
    part = code.run("fma.rn.sat.f32", x, LOG2_E / 252, 0.5)
    rounded = code.run("fma.rm.f32", part, 252.0, ROUNDING + 1)
    n = code.sub(rounded, ROUNDING + 127)
    rest = code.fma(x, LOG2_E_LOW, code.fma(x, LOG2_E, code.neg(n)))
    return code.mul(code.run(EXP2, rest), code.shifted(code.bits(rounded)))


def tanh(code: ScalarBuilder, x: SSAValue) -> SSAValue:
    size, square = code.absolute(x), code.mul(x, x)
    terms = code.fma(code.polynomial(square, TANH), square, 0.0)  # 0, not -0, of 0: the result has the sign of x
    near = code.fma(terms, x, x)
    return code.where(size, "olt", TANH_NEAR, near, code.with_sign(_far_tanh(code, size), x))


def erf(code: ScalarBuilder, x: SSAValue) -> SSAValue:
    """As on a CPU, with the machine's power of 2."""
    size = code.absolute(x)
    power = code.run(EXP2, far_erf_exponent(code, size))
    far = code.with_sign(code.sub(1.0, power), x)
    return code.where(size, "olt", ERF_NEAR, near_erf(code, x), far)


def log(code: ScalarBuilder, x: SSAValue) -> SSAValue:
    """e ln 2 + log(m), for a mantissa m of 2/3 to 4/3."""
    is_small = code.test(x, "olt", 2.0**-126)
    scaled = code.select(is_small, code.mul(x, 2.0**23), x)
    bits = code.bits(scaled)
    power = code(arith.AndIOp(code(arith.SubiOp(bits, code.integer(TWO_THIRDS))), code.integer(-(1 << 23))))
    m = code.sub(code.float_of(code(arith.SubiOp(bits, power))), 1.0)
    e = code.fma(code(arith.SIToFPOp(power, f32)), 2.0**-23, code.select(is_small, -23.0, 0.0))
    near = code.fma(code.mul(m, code.polynomial(m, LOG)), m, m)
    value = code.fma(e, LN_2, near)
    # Infinity and NaN are themselves, a negative number gives NaN.
    is_no_number = code(arith.CmpiOp(bits, code.integer(INFINITY), "uge"))
    value = code.select(is_no_number, code.fma(scaled, inf, inf), value)
    return code.where(scaled, "oeq", 0.0, -inf, value)


def _periodic(shift: int) -> Function:
    """The sine of an angle that is `shift` quarters larger."""

    def function(code: ScalarBuilder, x: SSAValue) -> SSAValue:
        rest, n = quarters(code, x)
        if shift:
            n = code(arith.AddiOp(n, code.integer(shift)))
        is_cosine = _has_bit(code, n, 1)
        square = code.mul(rest, rest)
        first = code.select(is_cosine, 1.0, rest)
        terms = code.select(is_cosine, code.fma(code.number(COS[0]), square, COS[1]), SIN[0])
        for of_cosine, of_sine in zip(COS[2:], SIN[1:], strict=True):
            terms = code.fma(terms, square, code.select(is_cosine, of_cosine, of_sine))
        value = code.fma(terms, code.fma(square, first, 0.0), first)  # 0, not -0, of 0: it has the sign of x
        return code.select(_has_bit(code, n, 2), code.neg(value), value)

    return function


def _has_bit(code: ScalarBuilder, n: SSAValue, bit: int) -> SSAValue:
    return code(arith.CmpiOp(code(arith.AndIOp(n, code.integer(bit))), code.integer(0), "ne"))


def _instruction(name: str, scale: float | None = None) -> Function:
    """The instruction of the operand, times a number."""

    def function(code: ScalarBuilder, x: SSAValue) -> SSAValue:
        value = code.run(name, x)
        return value if scale is None else code.mul(value, scale)

    return function


FUNCTIONS: dict[type[Operation], Function] = {
    math.CosOp: _periodic(1),
    math.ErfOp: erf,
    math.ExpOp: exp,
    math.Exp2Op: _instruction("ex2.approx.f32"),
    math.LogOp: log,
    math.RsqrtOp: _instruction("rsqrt.approx.f32"),
    math.SinOp: _periodic(0),
    math.TanhOp: tanh,
}
"""By op: what computes it to about 2 units in the last place."""

APPROXIMATIONS: dict[type[Operation], Function] = {
    arith.DivfOp: lambda code, a, b: code.run("div.full.f32", a, b),
    math.ErfOp: approximate_erf,
    math.ExpOp: approximate_exp,
    math.Exp2Op: _instruction(EXP2),
    math.ExpM1Op: approximate_expm1,
    math.LogOp: _instruction(LOG2, LN_2),
    math.Log10Op: _instruction(LOG2, LOG10_2),
    math.Log1pOp: approximate_log1p,
    math.Log2Op: _instruction(LOG2),
    math.PowFOp: approximate_pow,
    math.SqrtOp: _instruction("sqrt.approx.f32"),
    math.TanhOp: approximate_tanh,
}
"""By op: what computes it to about 2 ** -20 of the result, or of infinities and NaN as it should be."""

PERIODIC: dict[type[Operation], Function] = {
    math.CosOp: _instruction("cos.approx.f32"),
    math.SinOp: _instruction("sin.approx.f32"),
    math.TanOp: lambda code, x: code.run("div.approx.f32", *(code.run(f"{f}.approx.f32", x) for f in ("sin", "cos"))),
}
"""By op: the approximation of an angle of at most a revolution."""


def function_of(op: Operation) -> Function | None:
    """What computes an op on f32; None of one that stays."""
    if isinstance(op, arith.DivfOp) and (number := _number(op.rhs)):
        return approximate_quotient_by(number) if is_approximate(op) else quotient_by(number)
    if not is_approximate(op):
        return FUNCTIONS.get(type(op))
    if type(op) in PERIODIC:
        reduce, function = near_angle if NEAR in op.attributes else angle, PERIODIC[type(op)]
        return lambda code, x: function(code, reduce(code, x))
    if isinstance(op, arith.DivfOp) and is_approximate(op, FastMathFlag.ALLOW_RECIP):
        return approximate_product
    return APPROXIMATIONS.get(type(op), FUNCTIONS.get(type(op)))


def _number(value: SSAValue) -> float | None:
    """A normal number of f32, as is its reciprocal; None of anything else."""
    constant = value.owner.value if isinstance(value.owner, arith.ConstantOp) else None
    number = float(np.float32(constant.value.data)) if isinstance(constant, FloatAttr) else 0.0
    return number if 2.0**-126 <= abs(number) <= 2.0**126 else None
