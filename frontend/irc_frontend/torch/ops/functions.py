"""Rules of elementary functions that are composed of irc's.

Each formula is accurate to a few units in the last place of f32 wherever the function is, also near its zeros and
where a part of it would overflow.
"""

from __future__ import annotations

import math

import torch

import irc_frontend as ir
from irc_frontend.tensor import Tensor
from irc_frontend.torch.ops.elementwise import Like, tensors
from irc_frontend.torch.rules import FLOAT, SAME, Left, rule, wide

aten = torch.ops.aten

BITS = {"f64": "i64", "f32": "i32", "f16": "i16", "bf16": "i16"}
"""The integers that have as many bits."""


@rule(aten.sinh.default, promotion=FLOAT)
def _sinh(x: Tensor) -> Tensor:
    """By expm1, and for great x by half of exp(x - log 2), which does not overflow before the result does."""
    size = ir.abs(wide(x))
    low = ir.expm1(ir.minimum(size, 1.0))
    return signed(ir.where(size < 1, (low + low / (low + 1)) * 0.5, _half_exp(size) - 0.25 / _half_exp(size)), x)


@rule(aten.cosh.default, promotion=FLOAT)
def _cosh(x: Tensor) -> Tensor:
    half = _half_exp(ir.abs(wide(x)))
    return half + 0.25 / half


def _half_exp(x: Tensor) -> Tensor:
    """exp(x) / 2."""
    root = ir.exp(x * 0.5)
    return root * 0.5 * root


def signed(size: Tensor, x: Tensor) -> Tensor:
    """An odd function of x from its values for |x|."""
    return ir.where(x < 0, -size, ir.where(x == 0, x.astype(size.element), size))


@rule(aten.asin.default, promotion=FLOAT)
def _asin(x: Tensor) -> Tensor:
    x = wide(x)
    return ir.arctan2(x, ir.sqrt((1 - x) * (1 + x)))


@rule(aten.acos.default, promotion=FLOAT)
def _acos(x: Tensor) -> Tensor:
    x = wide(x)
    return ir.arctan2(ir.sqrt((1 - x) * (1 + x)), x)


@rule(aten.atan.default, promotion=FLOAT)
def _atan(x: Tensor) -> Tensor:
    return ir.arctan2(x, ir.ones_like(x))


@rule(aten.asinh.default, promotion=FLOAT)
def _asinh(x: Tensor) -> Tensor:
    """log1p(|x| + x^2 / (1 + sqrt(x^2 + 1))), and log(2 |x|) where x^2 says nothing more."""
    size = ir.abs(wide(x))
    near = ir.minimum(size, 1e4)
    square = near * near
    low = ir.log1p(near + square / (1 + ir.sqrt(square + 1)))
    return signed(ir.where(size < 1e4, low, ir.log(size) + math.log(2)), x)


@rule(aten.acosh.default, promotion=FLOAT)
def _acosh(x: Tensor) -> Tensor:
    """log1p(t + sqrt(2 t + t^2)) of t = x - 1, and log(2 x) where 1 says nothing more."""
    x = wide(x)
    above = ir.clip(x, 1.0, 1e4) - 1
    near = ir.log1p(above + ir.sqrt(above * (above + 2)))
    return ir.where(x < 1, math.nan, ir.where(x > 1e4, ir.log(x) + math.log(2), near))


@rule(aten.atanh.default, promotion=FLOAT)
def _atanh(x: Tensor) -> Tensor:
    size = ir.abs(wide(x))
    return signed(ir.log1p(2 * size / (1 - size)) * 0.5, x)


@rule(aten.hypot.default, promotion=SAME)
def _hypot(a: Tensor, b: Tensor) -> Tensor:
    """The greater times sqrt(1 + ratio^2), whose square does not overflow; infinite where one is, also beside NaN."""
    x, y = ir.abs(wide(a)), ir.abs(wide(b))
    most, least = ir.maximum(x, y), ir.minimum(x, y)
    ratio = ir.where(most == 0, 0.0, least / most)
    return ir.where(ir.isinf(x) | ir.isinf(y), math.inf, most * ir.sqrt(1 + ratio * ratio))


@rule(aten.signbit.default)
def signbit(x: Tensor) -> Tensor:
    """Whether the sign is negative, also of zeros and NaN."""
    if not x.node.is_float:
        return ir.zeros(x.shape, "bool") if x.element in ("bool", "u8") else x < 0
    return ir.bitcast(x, BITS[x.element]) < 0


@rule(aten.copysign.Tensor, aten.copysign.Scalar, promotion=FLOAT)
def _copysign(a: Like, b: Like) -> Tensor:
    x, y = tensors(a, b)
    size = ir.abs(x)
    return ir.where(signbit(y), -size, size)


@rule(aten.fmax.default, promotion=SAME)
def _fmax(a: Tensor, b: Tensor) -> Tensor:
    """The greater; the other where one is NaN."""
    return _of_numbers(a, b, ir.where(a >= b, a, b))


@rule(aten.fmin.default, promotion=SAME)
def _fmin(a: Tensor, b: Tensor) -> Tensor:
    return _of_numbers(a, b, ir.where(a <= b, a, b))


def _of_numbers(a: Tensor, b: Tensor, chosen: Tensor) -> Tensor:
    return ir.where(ir.isnan(b), a, ir.where(ir.isnan(a), b, chosen)) if a.node.is_float else chosen


@rule(aten.ldexp.Tensor)
def _ldexp(x: Tensor, exponent: Tensor) -> Tensor:
    """x * 2^exponent; the power is one of f32 in torch too."""
    element = "f64" if x.element == "f64" else "f32"
    return x.astype(element) * ir.exp2(exponent.astype("f32")).astype(element)


@rule(aten.round.decimals, promotion=SAME)
def _round_decimals(x: Tensor, *, decimals: int = 0) -> Tensor:
    if not x.node.is_float or decimals == 0:
        return ir.round(x)
    power = 10.0 ** abs(decimals)
    x = wide(x)
    return ir.round(x * power) / power if decimals > 0 else ir.round(x / power) * power


@rule(aten.frexp.Tensor)
def _frexp(x: Tensor) -> tuple[Tensor, Tensor]:
    """The mantissa in 0.5..1 and the exponent of 2; a number below the normal ones is multiplied by 2^24 first."""
    if x.element == "f64":
        raise Left("in f64")
    value = x.astype("f32")
    is_small = ir.abs(value) < 2.0**-126
    bits = ir.bitcast(ir.where(is_small, value * 2.0**24, value), "i32")
    exponent = ir.right_shift(bits, 23) & 255
    mantissa = ir.bitcast((bits & ~(255 << 23)) | (126 << 23), "f32")
    is_plain = (value != 0) & ~ir.isinf(value) & ~ir.isnan(value)
    shift = 126 + 24 * is_small.astype("i32")
    return ir.where(is_plain, mantissa, value), ir.where(is_plain, exponent - shift, 0)


@rule(aten.nextafter.default, promotion=SAME)
def _nextafter(a: Tensor, b: Tensor) -> Tensor:
    """The neighbour of a towards b: its bits, which order numbers of one sign by their size, one up or down."""
    kind = BITS[a.element]
    bits = ir.bitcast(a, kind)
    grows = (a < b) == ~(bits < 0)
    beside = ir.bitcast(ir.where(grows, bits + 1, bits - 1), a.element)
    least = ir.bitcast(ir.ones(a.shape, kind), a.element)
    from_zero = ir.where(b < 0, -least, least)
    moved = ir.where(a == b, b, ir.where(a == 0, from_zero, beside))
    return ir.where(ir.isnan(a), a, ir.where(ir.isnan(b), b, moved))


@rule(aten.angle.default, promotion=FLOAT)
def _angle(x: Tensor) -> Tensor:
    """Of real numbers: 0 or pi."""
    return ir.where(ir.isnan(x), x, ir.where(x < 0, ir.full(x.shape, math.pi, x.element), 0.0))


@rule(aten.special_spherical_bessel_j0.default, promotion=FLOAT)
def _spherical_bessel_j0(x: Tensor) -> Tensor:
    x = wide(x)
    square = x * x
    near = 1 - square / 6 * (1 - square / 20 * (1 - square / 42))
    return ir.where(ir.isinf(x), 0.0, ir.where(ir.abs(x) < 0.5, near, ir.sin(x) / x))
