"""Elementary functions of f32 and f64 Tensors, composed of irc's.

Each formula is accurate to a few units in the last place of f32 wherever the function is, also near its zeros and
where a part of it would overflow.
"""

from __future__ import annotations

import math

from irc_frontend.elementwise_functions import abs as absolute
from irc_frontend.elementwise_functions import (
    arctan2,
    bitcast,
    ceil,
    clip,
    exp,
    expm1,
    floor,
    isinf,
    isnan,
    log,
    log1p,
    maximum,
    minimum,
    mod,
    sqrt,
    where,
)
from irc_frontend.making_functions import ones_like, zeros_like
from irc_frontend.tensor import Tensor

BITS = {"f64": "i64", "f32": "i32", "f16": "i16", "bf16": "i16", "f8e4m3": "i8", "f8e5m2": "i8"}
"""The integers that have as many bits."""


def sinh(x: Tensor) -> Tensor:
    """By expm1, and for great x by half of exp(x - log 2), which does not overflow before the result does."""
    size = absolute(x)
    low = expm1(minimum(size, 1.0))
    return signed(where(size < 1, (low + low / (low + 1)) * 0.5, _half_exp(size) - 0.25 / _half_exp(size)), x)


def cosh(x: Tensor) -> Tensor:
    half = _half_exp(absolute(x))
    return half + 0.25 / half


def _half_exp(x: Tensor) -> Tensor:
    """exp(x) / 2."""
    root = exp(x * 0.5)
    return root * 0.5 * root


def signed(size: Tensor, x: Tensor) -> Tensor:
    """An odd function of x from its values for |x|."""
    return where(x < 0, -size, where(x == 0, x.astype(size.element), size))


def arcsin(x: Tensor) -> Tensor:
    return arctan2(x, sqrt((1 - x) * (1 + x)))


def arccos(x: Tensor) -> Tensor:
    return arctan2(sqrt((1 - x) * (1 + x)), x)


def arctan(x: Tensor) -> Tensor:
    return arctan2(x, ones_like(x))


def arcsinh(x: Tensor) -> Tensor:
    """log1p(|x| + x^2 / (1 + sqrt(x^2 + 1))), and log(2 |x|) where x^2 says nothing more."""
    size = absolute(x)
    near = minimum(size, 1e4)
    square = near * near
    low = log1p(near + square / (1 + sqrt(square + 1)))
    return signed(where(size < 1e4, low, log(size) + math.log(2)), x)


def arccosh(x: Tensor) -> Tensor:
    """log1p(t + sqrt(2 t + t^2)) of t = x - 1, and log(2 x) where 1 says nothing more."""
    above = clip(x, 1.0, 1e4) - 1
    near = log1p(above + sqrt(above * (above + 2)))
    return where(x < 1, math.nan, where(x > 1e4, log(x) + math.log(2), near))


def arctanh(x: Tensor) -> Tensor:
    size = absolute(x)
    return signed(log1p(2 * size / (1 - size)) * 0.5, x)


def log10(x: Tensor) -> Tensor:
    return log(x) * (1 / math.log(10))


def hypot(a: Tensor, b: Tensor) -> Tensor:
    """The greater times sqrt(1 + ratio^2), whose square does not overflow; infinite where one is, also beside NaN."""
    x, y = absolute(a), absolute(b)
    most, least = maximum(x, y), minimum(x, y)
    ratio = where(most == 0, 0.0, least / most)
    return where(isinf(x) | isinf(y), math.inf, most * sqrt(1 + ratio * ratio))


def logaddexp(a: Tensor, b: Tensor) -> Tensor:
    """The greater plus log1p(exp(-distance)); equal infinities have no distance."""
    most = maximum(a, b)
    return where(isinf(most) & (a == b), most, most + log1p(exp(-absolute(a - b))))


def deg2rad(angle: Tensor) -> Tensor:
    return angle * (math.pi / 180)


def rad2deg(angle: Tensor) -> Tensor:
    return angle * (180 / math.pi)


def signbit(x: Tensor) -> Tensor:
    """Whether the sign is negative, also of zeros and NaN; of any element type."""
    if not x.node.is_float:
        return zeros_like(x, "bool") if x.element in ("bool", "u8") else x < 0
    return bitcast(x, BITS[x.element]) < 0


def copysign(a: Tensor, b: Tensor) -> Tensor:
    size = absolute(a)
    return where(signbit(b), -size, size)


def fmax(a: Tensor, b: Tensor) -> Tensor:
    """The greater; the other where one is NaN. Of any element type."""
    return _of_numbers(a, b, where(a >= b, a, b))


def fmin(a: Tensor, b: Tensor) -> Tensor:
    return _of_numbers(a, b, where(a <= b, a, b))


def _of_numbers(a: Tensor, b: Tensor, chosen: Tensor) -> Tensor:
    return where(isnan(b), a, where(isnan(a), b, chosen)) if a.node.is_float else chosen


def trunc(x: Tensor) -> Tensor:
    """Towards 0; integers are themselves."""
    return where(x < 0, ceil(x), floor(x)) if x.node.is_float else x


def fmod(a: Tensor, b: Tensor) -> Tensor:
    """The remainder with the sign of a, also of floats where it is 0."""
    rest = mod(absolute(a), absolute(b))
    return copysign(rest, a) if a.node.is_float else where(a < 0, -rest, rest)
