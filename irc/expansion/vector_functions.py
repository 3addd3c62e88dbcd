"""Algorithms of math functions on f32, as scalar ops without branches: loops of them become vectors.

They are those of Cephes (S. L. Moshier, `single/`), with multiply-adds: within 2 units in the last place of what is
exact (tests/numerics/test_cpu_functions.py).
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf, log, nan

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import f32
from xdsl.ir import Operation, SSAValue

from irc.expansion.code import ScalarBuilder

LOG2_E = 1.4426950408889634
LN2_HIGH, LN2_LOW = 0.693359375, -2.12194440e-4
"""The sum is ln 2; products of the first one with exponents are exact."""

ROUNDING = 12582912.0
"""1.5 * 2 ** 23: what is added to it is rounded to an integer, which is in the last 9 bits of the sum. They are the
exponent of a float when they are shifted by 23."""

BIAS = 127
"""Of exponents."""

EXP = (1.9875691500e-4, 1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1, 5.0000001201e-1)
EXP_HIGH, EXP_LOW = 88.8, -104.0
"""From where on e ** x is infinite, and 0."""

EXP2 = (1.32647273e-3, 9.67151299e-3, 5.55073358e-2, 2.40222424e-1, 6.93147004e-1, 1.0)
"""2 ** x, for an x of up to 1/2: within 1e-7 of it, by equal errors at both ends and between."""

LOG = (
    7.0376836292e-2,
    -1.1514610310e-1,
    1.1676998740e-1,
    -1.2420140846e-1,
    1.4249322787e-1,
    -1.6668057665e-1,
    2.0000714765e-1,
    -2.4999993993e-1,
    3.3333331174e-1,
)
TANH = (-5.70498872745e-3, 2.06390887954e-2, -5.37397155531e-2, 1.33314422036e-1, -3.33332819422e-1)
ERF = (-5.96761703e-4, 4.99119423e-3, -2.67681349e-2, 1.12819925e-1, -3.76125336e-1, 1.28379166e-1)
ERF_FAR = (-2.49374843e-5, -5.60337631e-3, 5.52836773e-4, 3.49920243e-2, -1.54047906e-1, -9.15890157e-1, -1.62839520)
"""log2(1 - erf) / x: Juffa's polynomial less 1, times log2(e)."""

ERF_UPPER = (1.12837875, 0.374157518, 0.0736184865, 0.0106844185, 0.00027240155, -1.56465921e-06)
ERF_LOWER = (1.0, 0.664911211, 0.186934188, 0.0289903674, 0.0025254481)
"""erf(x) / x as a quotient of polynomials in x ** 2, that of degree 0 first, for |x| <= 3.84, from where on erf is 1 in
float: relative error 3.3e-7, in float 6.3e-7. Fitted by Lawson's iteration on weighted least squares."""

ERF_NEAR = 0.927734375
ERF_ONE = 3.92
"""From where on erf is 1 in f32."""

TANH_ONE = 9.1
"""From where on tanh is 1 in f32."""


def exp(code: ScalarBuilder, x: SSAValue) -> SSAValue:
    x = code.where(x, "ogt", EXP_HIGH, EXP_HIGH, x)
    x = code.where(x, "olt", EXP_LOW, EXP_LOW, x)
    return _in_two_steps(code, *_reduced(code, x, 2 * BIAS))


def exp2(code: ScalarBuilder, x: SSAValue) -> SSAValue:
    x = code.where(x, "ogt", 129.0, 129.0, x)
    x = code.where(x, "olt", -151.0, -151.0, x)
    rounded = code.add(x, ROUNDING + 2 * BIAS)
    n = code.add(rounded, -ROUNDING - 2 * BIAS)
    return _in_two_steps(code, code.mul(code(arith.SubfOp(x, n)), log(2)), rounded)


def _normal_exp(code: ScalarBuilder, x: SSAValue) -> SSAValue:
    """Where e ** x is a normal number for certain."""
    rest, rounded = _reduced(code, x, BIAS)
    return code.mul(_near_one(code, rest), code.shifted(code.bits(rounded)))


def _reduced(code: ScalarBuilder, x: SSAValue, bias: int) -> tuple[SSAValue, SSAValue]:
    """(rest, n + bias + ROUNDING): x is n ln 2 + rest, for a rest of up to ln 2 / 2."""
    rounded = code.fma(x, LOG2_E, ROUNDING + bias)
    n = code.add(rounded, -ROUNDING - bias)
    return code.fma(n, -LN2_LOW, code.fma(n, -LN2_HIGH, x)), rounded


def _near_one(code: ScalarBuilder, rest: SSAValue) -> SSAValue:
    """e ** rest, for a rest of up to ln 2 / 2."""
    return code.add(code.fma(code.polynomial(rest, EXP), code.mul(rest, rest), rest), 1.0)


def _in_two_steps(code: ScalarBuilder, rest: SSAValue, rounded: SSAValue) -> SSAValue:
    """e ** rest 2 ** n, for n + 2 BIAS + ROUNDING: by halves of n, as the result may be subnormal."""
    whole = code.bits(rounded)
    half = code(arith.ShRUIOp(whole, code.integer(1)))
    other = code(arith.SubiOp(whole, half))
    return code.mul(code.mul(_near_one(code, rest), code.shifted(half)), code.shifted(other))


def natural_log(code: ScalarBuilder, x: SSAValue) -> SSAValue:
    least = 2.0**-126
    is_small = code(arith.CmpfOp(x, code.number(least), "olt"))
    scaled = code(arith.SelectOp(is_small, code.mul(x, 2.0**25), x))
    bits = code.bits(scaled)
    # The mantissa in sqrt(1/2) to sqrt(2), as m = x 2 ** -e.
    shifted = code(arith.SubiOp(bits, code.integer(0x3F3504F3)))
    exponent = code(arith.ShRSIOp(shifted, code.integer(23)))
    mantissa = code(arith.SubiOp(bits, code(arith.ShLIOp(exponent, code.integer(23)))))
    m = code.add(code.float_of(mantissa), -1.0)
    e = code(arith.SIToFPOp(exponent, f32))
    e = code.add(e, code(arith.SelectOp(is_small, code.number(-25.0), code.number(0.0))))
    square = code.mul(m, m)
    y = code.mul(code.mul(code.polynomial(m, LOG), m), square)
    y = code.fma(e, LN2_LOW, y)
    y = code.fma(square, -0.5, y)
    y = code.fma(e, LN2_HIGH, code.add(m, y))
    y = code.where(x, "oeq", inf, inf, y)
    y = code.where(x, "oeq", 0.0, -inf, y)
    return code.where(x, "ult", 0.0, nan, y)


def tanh(code: ScalarBuilder, x: SSAValue) -> SSAValue:
    size, square = code.absolute(x), code.mul(x, x)
    near = code.fma(code.mul(code.polynomial(square, TANH), square), x, x)
    most = code.where(size, "ogt", TANH_ONE, TANH_ONE, size)
    power = _normal_exp(code, code.add(most, most))
    far = code(arith.SubfOp(code.number(1.0), code(arith.DivfOp(code.number(2.0), code.add(power, 1.0)))))
    return code.where(size, "olt", 0.625, near, code.with_sign(far, x))


def erf(code: ScalarBuilder, x: SSAValue) -> SSAValue:
    """N. Juffa's: a polynomial, and 1 - e ** of one (stackoverflow.com/a/35148199), which is of 2 here. The power is
    below 0.2, so that its own error counts less."""
    size = code.absolute(x)
    exponent = far_erf_exponent(code, code.where(size, "ogt", ERF_ONE, ERF_ONE, size))
    rounded = code.add(exponent, ROUNDING + BIAS)
    rest = code(arith.SubfOp(exponent, code.add(rounded, -ROUNDING - BIAS)))
    power = code.polynomial(rest, EXP2)
    far = code.fma(code(arith.NegfOp(power)), code.shifted(code.bits(rounded)), 1.0)
    return code.where(size, "olt", ERF_NEAR, near_erf(code, x), code.with_sign(far, x))


def near_erf(code: ScalarBuilder, x: SSAValue) -> SSAValue:
    """For |x| < ERF_NEAR."""
    return code.fma(code.polynomial(code.mul(x, x), ERF), x, x)


def far_erf_exponent(code: ScalarBuilder, x: SSAValue) -> SSAValue:
    """log2(1 - erf(x)), for x >= ERF_NEAR."""
    first, second, third, fourth, *others = ERF_FAR
    total = code.fma(code.fma(x, first, third), code.mul(x, x), code.fma(x, second, fourth))
    for coefficient in others:
        total = code.fma(total, x, coefficient)
    return code.mul(total, x)


def approximate_erf(code: ScalarBuilder, x: SSAValue) -> SSAValue:
    square = code.mul(x, x)
    upper, lower = (code.polynomial(square, terms[::-1]) for terms in (ERF_UPPER, ERF_LOWER))
    quotient = code.mul(x, code(arith.DivfOp(upper, lower)))
    return code.where(code.absolute(x), "oge", 3.84, code.with_sign(code.number(1.0), x), quotient)


FUNCTIONS: dict[type[Operation], Callable[[ScalarBuilder, SSAValue], SSAValue]] = {
    math.ExpOp: exp,
    math.Exp2Op: exp2,
    math.LogOp: natural_log,
    math.TanhOp: tanh,
    math.ErfOp: erf,
}
"""By op: what computes it."""

APPROXIMATIONS: dict[type[Operation], Callable[[ScalarBuilder, SSAValue], SSAValue]] = {math.ErfOp: approximate_erf}
"""By op: what computes it to about 2 ** -20, which is enough where a narrower type follows."""
