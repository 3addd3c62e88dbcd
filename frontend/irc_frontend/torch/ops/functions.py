"""Rules of elementary functions that are composed of irc's; those that numpy has too are functions of Tensors."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch

import irc_frontend as ir
from irc_frontend.casts import wide
from irc_frontend.elementwise_functions import BITS, OF_FLOATS
from irc_frontend.tensor import Tensor
from irc_frontend.torch.ops.elementwise import Like, tensors
from irc_frontend.torch.rules import FLOAT, SAME, Left, rule

aten = torch.ops.aten


def _of_wide(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    return lambda *operands: function(*map(wide, operands))


for _name, _function in OF_FLOATS.items():
    if hasattr(aten, _name := _name.replace("arc", "a")):
        rule(getattr(aten, _name).default, promotion=FLOAT)(_of_wide(_function))

rule(aten.signbit.default)(ir.signbit)
rule(aten.fmax.default, promotion=SAME)(ir.fmax)
rule(aten.fmin.default, promotion=SAME)(ir.fmin)


@rule(aten.copysign.Tensor, aten.copysign.Scalar, promotion=FLOAT)
def _copysign(a: Like, b: Like) -> Tensor:
    return ir.copysign(*tensors(a, b))


@rule(aten.ldexp.Tensor)
def _ldexp(x: Tensor, exponent: Tensor) -> Tensor:
    """x * 2^exponent; the power is of f32 in torch too, unless the exponent is of f64."""
    power = ir.exp2(exponent if exponent.element == "f64" else exponent.astype("f32"))
    element = "f64" if "f64" in (x.element, exponent.element) else "f32"
    return x.astype(element) * power.astype(element)


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
    """The neighbor of a towards b: its bits, which order numbers of one sign by their size, one up or down."""
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
