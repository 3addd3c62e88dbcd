"""Rules of Bessel functions of f32 and narrower floats, computed in f64.

Below a bound they are a smooth function of the square, the second kinds beside a logarithm; above, one of the
reciprocal times what grows, decays or turns (Abramowitz and Stegun, chapter 9).
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import torch

import irc_frontend as ir
from irc_frontend.chebyshev import Series, Values
from irc_frontend.tensor import Tensor
from irc_frontend.torch.ops.special import Function, in_f64
from irc_frontend.torch.rules import FLOAT, rule

aten = torch.ops.aten

BOUND = 8.0


def _call(name: str, x: Values) -> Values:
    import scipy.special

    return getattr(scipy.special, name)(x)


def _below(function: Callable[[Values], Values], bound: float = BOUND) -> Series:
    """`function` by the square of its argument."""
    return Series(lambda square: function(np.sqrt(np.maximum(square, 1e-200))), 0, bound * bound)


def _above(function: Callable[[Values], Values], bound: float = BOUND) -> Series:
    """`function` by the reciprocal of its argument."""
    return Series(lambda inverse: function(1 / np.maximum(inverse, 1e-7)), 0, 1 / bound)


def _modified(order: int) -> tuple[Function, Function]:
    """I and exp(-|x|) I."""
    name = f"i{order}e"
    low = _below(lambda x: _call(name, x) * np.exp(x) / x**order)
    high = _above(lambda x: _call(name, x) * np.sqrt(x))

    def decayed(x: Tensor) -> Tensor:
        size = ir.abs(x)
        near = low(size * size) * ir.exp(-size)
        near = near * x if order else near
        far = high(1 / size) / ir.sqrt(size)
        far = ir.where(x < 0, -far, far) if order else far
        return ir.where(size < BOUND, near, far)

    def grown(x: Tensor) -> Tensor:
        return decayed(x) * ir.exp(ir.abs(x))

    return grown, decayed


def _modified_second(order: int) -> tuple[Function, Function]:
    """K and exp(x) K of x > 0; infinite at 0, NaN below."""
    name, first, sign, bound = f"k{order}", f"i{order}", (-1) ** order, 2.0
    low = _below(lambda x: (_call(name, x) + sign * np.log(x / 2) * _call(first, x)) * x**order, bound)
    high = _above(lambda x: _call(name + "e", x) * np.sqrt(x), bound)
    grown = _modified(order)[0]

    def near(x: Tensor) -> Tensor:
        inside = ir.minimum(x, bound)
        smooth = low(inside * inside)
        return (smooth / inside if order else smooth) - sign * ir.log(inside / 2) * grown(inside)

    def scaled(x: Tensor) -> Tensor:
        far = high(1 / ir.maximum(x, bound)) / ir.sqrt(ir.maximum(x, bound))
        value = ir.where(x < bound, near(x) * ir.exp(ir.minimum(x, bound)), far)
        return ir.where(x < 0, math.nan, ir.where(ir.equal(x, 0.0), math.inf, value))

    return lambda x: scaled(x) * ir.exp(-x), scaled


def _turned(order: int, x: Values) -> tuple[Values, Values]:
    """What the angle of J and Y at x is taken by: amplitude times cosine and sine of what is beside the angle."""
    angle = x - (order / 2 + 0.25) * math.pi
    j, y = (_call(f"{kind}{order}", x) * np.sqrt(x) for kind in "jy")
    return j * np.cos(angle) + y * np.sin(angle), y * np.cos(angle) - j * np.sin(angle)


def _first(order: int) -> tuple[Function, Function]:
    """J and Y."""
    low = _below(lambda x: _call(f"j{order}", x) / x**order)
    cosine, sine = (_above(lambda x, part=part: _turned(order, x)[part]) for part in range(2))
    rest = _below(
        lambda x: (_call(f"y{order}", x) - 2 / math.pi * (np.log(x) * _call(f"j{order}", x) - order / x)) / x**order
    )

    def angle(size: Tensor) -> tuple[Tensor, Tensor]:
        turn = size - (order / 2 + 0.25) * math.pi
        return ir.cos(turn), ir.sin(turn)

    def near(x: Tensor) -> Tensor:
        return low(x * x) * x if order else low(x * x)

    def j(x: Tensor) -> Tensor:
        size = ir.maximum(ir.abs(x), BOUND)
        c, s = angle(size)
        far = (cosine(1 / size) * c - sine(1 / size) * s) / ir.sqrt(size)
        far = ir.where(x < 0, -far, far) if order else far
        return ir.where(ir.isinf(x), 0.0, ir.where(ir.abs(x) < BOUND, near(x), far))

    def y(x: Tensor) -> Tensor:
        size = ir.maximum(x, BOUND)
        c, s = angle(size)
        far = (cosine(1 / size) * s + sine(1 / size) * c) / ir.sqrt(size)
        inside = ir.minimum(x, BOUND)
        smooth = rest(inside * inside)
        value = 2 / math.pi * (ir.log(inside) * near(inside) - order / inside) + (smooth * inside if order else smooth)
        found = ir.where(x < BOUND, value, ir.where(ir.isinf(x), 0.0, far))
        return ir.where(x < 0, math.nan, ir.where(ir.equal(x, 0.0), -math.inf, found))

    return j, y


for _order in (0, 1):
    _j, _y = _first(_order)
    _grown, _decayed = _modified(_order)
    _k, _scaled_k = _modified_second(_order)
    for _name, _function in {
        f"special_bessel_j{_order}": _j,
        f"special_bessel_y{_order}": _y,
        f"special_modified_bessel_i{_order}": _grown,
        f"special_modified_bessel_k{_order}": _k,
        f"special_scaled_modified_bessel_k{_order}": _scaled_k,
        f"special_i{_order}e": _decayed,
        "i0" if _order == 0 else "special_i1": _grown,
    }.items():
        rule(getattr(aten, _name).default, promotion=FLOAT)(in_f64(_function))
