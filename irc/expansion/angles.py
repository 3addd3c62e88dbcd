"""Angles without whole revolutions, for functions of GPUs."""

from __future__ import annotations

from math import pi

from xdsl.dialects import arith
from xdsl.dialects.builtin import FloatAttr, IntegerAttr, f32, f64, i32, i64
from xdsl.ir import SSAValue

from irc.dialects import cuda
from irc.expansion.code import ScalarBuilder
from irc.expansion.vector_functions import ROUNDING

FAR = float(1 << 24)
"""The least angle that the short reduction to revolutions is not for."""

FAR_QUARTERS = 1e5
"""The least angle that the short reduction to quarters is not for."""

POWERS = range(-8, 106)
"""Powers of two by which the mantissa of a float, as an integer of 24 bits, is multiplied: the first is that of
FAR_QUARTERS, the last infinity's."""

BIAS = 127 + 23
"""Of the exponent of a float with such a mantissa."""

PER_RADIAN = 0x28BE60DB9391054A7F09D5F47D4D377036D8A5664F10E4107F9458EAF7AEF158
"""1 / (2 pi) in units of 2 ** -256."""

TURN = 6.28318531
PER_TURN_HIGH, PER_TURN_LOW = 0.159154937, 6.42063833e-09
"""1 / (2 pi) in two floats."""

TURN_OF_INTEGER = 1.46291808e-09
"""2 pi in units of 2 ** 32."""

PER_QUARTER = 0.636619747
QUARTER = (1.57079625, 7.54978942e-08, 5.39030253e-15)
"""pi / 2 in three floats, none of them negative: of -0 they leave -0."""


def _signed(turns: int) -> int:
    return turns - 2**64 if turns >> 63 else turns


_FRACTIONS = tuple((PER_RADIAN << power - POWERS[0] >> -POWERS[0]) % 2**256 for power in POWERS)
TURNS = tuple(_signed(fraction >> 192) for fraction in _FRACTIONS)
"""The fraction of a revolution that each power of two of radians is, in units of 2 ** -64, as a signed integer."""

TURNS_LOW = tuple(fraction >> 160 & 0xFFFFFFFF for fraction in _FRACTIONS)
"""What TURNS lacks, in units of 2 ** -96."""


def near_angle(code: ScalarBuilder, x: SSAValue) -> SSAValue:
    """By 1 / (2 pi) in two floats: for |x| below FAR, where its error is small."""
    whole = code.sub(code.fma(x, PER_TURN_HIGH, ROUNDING), ROUNDING)
    rest = code.fma(x, PER_TURN_HIGH, code.neg(whole))
    return code.mul(code.fma(x, PER_TURN_LOW, rest), TURN)


def angle(code: ScalarBuilder, x: SSAValue) -> SSAValue:
    """Of any angle: beyond FAR by the fraction that each power of two leaves (Payne and Hanek, "Radian reduction for
    trigonometric functions", 1983). That side is short: it stands in the code of every element of a thread."""
    is_far = code.test(code.absolute(x), "oge", FAR)
    (reduced,) = code.either(is_far, lambda inside: [_far_angle(inside, x)], lambda inside: [near_angle(inside, x)])
    return reduced


def _far_angle(code: ScalarBuilder, x: SSAValue) -> SSAValue:
    place, mantissa = _power_and_mantissa(code, x)
    product = code(arith.MuliOp(code(cuda.LookupOp(TURNS, place)), mantissa))
    turns = code(arith.SIToFPOp(code(arith.TruncIOp(_shifted(code, product, 32), i32)), f32))
    return code.fma(turns, code.with_sign(TURN_OF_INTEGER, x), _nan_of_infinity(code, x))


def quarters(code: ScalarBuilder, x: SSAValue) -> tuple[SSAValue, SSAValue]:
    """(rest, n): x is n pi / 2 + rest, for a rest of up to pi / 4, as accurate as a float is; of n the last two bits
    count."""
    is_far = code.test(code.absolute(x), "oge", FAR_QUARTERS)
    rest, n = code.either(is_far, lambda inside: _far_quarters(inside, x), lambda inside: _near_quarters(inside, x))
    return rest, n


def _near_quarters(code: ScalarBuilder, x: SSAValue) -> tuple[SSAValue, SSAValue]:
    """By pi / 2 in three parts (Cody and Waite, "Software manual for the elementary functions", 1980)."""
    rounded = code.fma(x, PER_QUARTER, ROUNDING)
    n = code.sub(rounded, ROUNDING)
    rest = x
    for part in QUARTER:
        rest = code.fma(n, -part, rest)
    return rest, code.bits(rounded)


def _far_quarters(code: ScalarBuilder, x: SSAValue) -> tuple[SSAValue, SSAValue]:
    """By 96 bits of the fraction of a revolution: next to a quarter the first 30 of them may be 0."""
    place, mantissa = _power_and_mantissa(code, x)
    high, low = (code(arith.MuliOp(code(cuda.LookupOp(each, place)), mantissa)) for each in (TURNS, TURNS_LOW))
    fraction = code(arith.AddiOp(high, _shifted(code, low, 32)))
    n = _shifted(code, code(arith.AddiOp(fraction, _long(code, 1 << 61))), 62)
    rest = code(arith.SubiOp(fraction, code(arith.ShLIOp(n, _long(code, 62)))))
    turn = code(arith.ConstantOp(FloatAttr(2 * pi / 2**64, f64)))
    radians = code(arith.TruncFOp(code(arith.MulfOp(code(arith.SIToFPOp(rest, f64)), turn)), f32))
    signed = code.fma(radians, code.with_sign(1.0, x), _nan_of_infinity(code, x))
    n = code(arith.TruncIOp(n, i32))
    is_negative = code(arith.CmpiOp(code.bits(x), code.integer(0), "slt"))
    return signed, code.select(is_negative, code(arith.SubiOp(code.integer(0), n)), n)


def _power_and_mantissa(code: ScalarBuilder, x: SSAValue) -> tuple[SSAValue, SSAValue]:
    """The number of the power of two in the tables, by which the mantissa, an integer, is multiplied."""
    bits = code.bits(x)
    power = code(arith.AndIOp(code(arith.ShRUIOp(bits, code.integer(23))), code.integer(255)))
    mantissa = code(arith.OrIOp(code(arith.AndIOp(bits, code.integer(0x7FFFFF))), code.integer(0x800000)))
    return code(arith.SubiOp(power, code.integer(BIAS + POWERS[0]))), code(arith.ExtUIOp(mantissa, i64))


def _nan_of_infinity(code: ScalarBuilder, x: SSAValue) -> SSAValue:
    """0 of a finite number."""
    return code.sub(x, x)


def _long(code: ScalarBuilder, value: int) -> SSAValue:
    return code(arith.ConstantOp(IntegerAttr(value, i64)))


def _shifted(code: ScalarBuilder, x: SSAValue, bits: int) -> SSAValue:
    return code(arith.ShRUIOp(x, _long(code, bits)))
