"""The error function's complement and its inverse, of f64 arrays, as accurate as f32 is."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

import irc_frontend as ir
from irc_frontend.chebyshev import Series, Values, power_series
from irc_frontend.tensor import Tensor


def of_scipy(name: str) -> Callable[[Values], Values]:
    """A function of scipy, which is imported when it is called."""

    def call(x: Values) -> Values:
        import scipy.special

        return getattr(scipy.special, name)(x)

    return call


_ERFCX = Series(lambda t: of_scipy("erfcx")(4 * (1 - t) / np.maximum(1 + t, 1e-300)), -1, 1)
"""By t = (4 - x) / (4 + x), x >= 0."""


def erfcx_upper(x: Tensor) -> Tensor:
    """exp(x^2) erfc(x) of x >= 0; from 100 on by its asymptotic series."""
    inverse = 1 / ir.maximum(x, 100.0)
    far = inverse / math.sqrt(math.pi) * power_series(inverse * inverse, [1, -1 / 2, 3 / 4])
    return ir.where(x > 100, far, _ERFCX((4 - x) / (4 + x)))


def erfc(x: Tensor) -> Tensor:
    """1 - erf(x), to its relative accuracy."""
    size = ir.abs(x)
    upper = ir.exp(-size * size) * erfcx_upper(ir.minimum(size, 1e3))
    return ir.where(x < 0, 2 - upper, upper)


def _ratio(w: Values) -> Values:
    """erfinv(x) / x of w = -log(1 - x^2)."""
    x = np.sqrt(-np.expm1(-w))
    return of_scipy("erfinv")(x) / x


_ERFINV = Series(_ratio, 1e-9, 6.25)
_ERFINV_TAIL = Series(lambda root: _ratio(root * root), 2.5, 4.25)
"""By the root of w, of numbers that are as near to 1 as those of f32."""


def erfinv(x: Tensor) -> Tensor:
    """x where erf(x) is given; infinite at -1 and 1, NaN beyond."""
    w = -ir.log((1 - x) * (1 + x))
    tail = _ERFINV_TAIL(ir.sqrt(ir.maximum(w, 0.0)))
    value = x * ir.where(w < 6.25, _ERFINV(w), tail)
    return ir.where(ir.equal(ir.abs(x), 1.0), x * math.inf, value)
