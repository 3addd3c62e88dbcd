"""Rules of special functions of f32 and narrower floats, computed in f64: the gamma and the error functions.

What is near a zero or a pole, or is a difference of great numbers, has digits to spare there. f64 itself stays with
torch.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import torch

import irc_frontend as ir
from irc_frontend.chebyshev import Series, power_series
from irc_frontend.error_functions import erfc, erfcx_upper, erfinv, of_scipy
from irc_frontend.tensor import Tensor
from irc_frontend.torch.rules import FLOAT, Left, rule

aten = torch.ops.aten

Function = Callable[[Tensor], Tensor]


def in_f64(function: Function) -> Function:
    """The rule that computes a function of an array in f64 and rounds once."""

    def record(x: Tensor) -> Tensor:
        if x.element == "f64":
            raise Left("in f64")
        return function(x.astype("f64")).astype(x.element)

    return record


SHIFT = 8
"""The asymptotic series of the gamma function begin there; smaller arguments are moved up by it."""


@rule(aten.lgamma.default, promotion=FLOAT)
@in_f64
def _lgamma(x: Tensor) -> Tensor:
    """log |gamma(x)|; of x < 0.5 by gamma(x) gamma(1 - x) = pi / sin(pi x)."""
    is_low = x < 0.5
    upper = lgamma_upper(ir.where(is_low, 1 - x, x))
    reflected = math.log(math.pi) - ir.log(ir.abs(_sin_pi(x))) - upper
    return ir.where(ir.isinf(x), math.inf, ir.where(is_low, reflected, upper))


def lgamma_upper(x: Tensor) -> Tensor:
    """x >= 0.5: Stirling's series of x + SHIFT, without the factors between."""
    product = x
    for step in range(1, SHIFT):
        product = product * (x + float(step))
    is_low = x < SHIFT
    z = ir.where(is_low, x + float(SHIFT), x)
    tail = power_series(1 / (z * z), [1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188]) / z
    value = (z - 0.5) * ir.log(z) - z + 0.5 * math.log(2 * math.pi) + tail
    return ir.where(is_low, value - ir.log(ir.where(is_low, product, 1.0)), value)


def _sin_pi(x: Tensor) -> Tensor:
    """sin(pi x) up to its sign; exactly 0 at integers."""
    return ir.sin((x - ir.round(x)) * math.pi)


@rule(aten.digamma.default, promotion=FLOAT)
@in_f64
def _digamma(x: Tensor) -> Tensor:
    """NaN at negative integers, and infinite at 0 with the other sign."""
    value = _polygamma(0, x)
    is_pole = (x < 0) & ir.equal(x, ir.floor(x))
    at_zero = -math.inf * (1.0 / x)
    return ir.where(is_pole, math.nan, ir.where(ir.equal(x, 0.0), at_zero, value))


@rule(aten.polygamma.default)
def _polygamma_rule(n: int, x: Tensor) -> Tensor:
    if not x.node.is_float:
        x = x.astype("f32")
    return _digamma(x) if n == 0 else in_f64(lambda wide: _polygamma(n, wide))(x)


def _polygamma(n: int, x: Tensor) -> Tensor:
    """The n-th derivative of the digamma function. Of x < 0.5 by the reflection psi_n(x) = (-1)^n psi_n(1 - x) -
    d^n/dx^n (pi cot(pi x))."""
    is_low = x < 0.5
    upper = _polygamma_upper(n, ir.where(is_low, 1 - x, x))
    turn = (x - ir.round(x)) * math.pi
    cotangent = ir.cos(turn) / ir.sin(turn)
    reflected = (-1) ** n * upper - math.pi ** (n + 1) * power_series(cotangent, _cotangent_derivative(n))
    return ir.where(is_low, reflected, upper)


@cache
def _cotangent_derivative(n: int) -> tuple[float, ...]:
    """The n-th derivative of cot(x) as a polynomial of cot(x): each is -(1 + c^2) times the derivative by c."""
    terms = np.polynomial.Polynomial([0.0, 1.0])
    for _ in range(n):
        terms = -np.polynomial.Polynomial([1.0, 0.0, 1.0]) * terms.deriv()
    return tuple(map(float, terms.coef))


BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6)
"""B_2, B_4, ..."""


def _polygamma_upper(n: int, x: Tensor) -> Tensor:
    """x >= 0.5: the asymptotic series of x + SHIFT + n and the terms between (Abramowitz and Stegun 6.4.6, 6.4.11)."""
    sign, factorial, count = (-1) ** (n + 1), math.factorial(n), SHIFT + n
    z = x + float(count)
    inverse = 1 / z
    between: Any = 0.0
    for step in range(count):
        between = _power(1 / (x + float(step)), n + 1) + between
    weights = [b * math.factorial(2 * k + n - 1) / math.factorial(2 * k) for k, b in enumerate(BERNOULLI, 1)]
    tail = power_series(inverse * inverse, weights) * inverse * inverse
    half = factorial / 2 * inverse
    if n == 0:
        return ir.log(z) - half - tail - between
    leading = math.factorial(n - 1)
    return sign * (_power(inverse, n) * (leading + half + tail) + factorial * between)


def _power(x: Tensor, n: int) -> Tensor:
    total = x
    for _ in range(n - 1):
        total = total * x
    return total


rule(aten.erfc.default, aten.special_erfc.default, promotion=FLOAT)(in_f64(erfc))


@rule(aten.special_erfcx.default, promotion=FLOAT)
@in_f64
def _erfcx(x: Tensor) -> Tensor:
    upper = erfcx_upper(ir.abs(x))
    return ir.where(x < 0, 2 * ir.exp(x * x) - upper, upper)


rule(aten.erfinv.default, promotion=FLOAT)(in_f64(erfinv))

_NDTRI_TAIL = Series(lambda w: of_scipy("ndtri")(np.exp(-0.5 * w * w)), 1.5, 14.5)
"""By w = sqrt(-2 log p)."""


@rule(aten.special_ndtri.default, promotion=FLOAT)
@in_f64
def _ndtri(p: Tensor) -> Tensor:
    """The inverse of the normal distribution: in the middle by erfinv, else by the logarithm of the nearer tail."""
    near = ir.minimum(p, 1 - p)
    tail = _NDTRI_TAIL(ir.sqrt(-2 * ir.log(near)))
    tail = ir.where(ir.equal(near, 0.0), -math.inf, tail)
    middle = erfinv(2 * p - 1) * math.sqrt(2)
    value = ir.where(near > 0.1, middle, ir.where(p > 0.5, -tail, tail))
    return ir.where((p < 0) | (p > 1), math.nan, value)


ZETA_TERMS = 10
"""Terms of the sum that come before its rest."""


def _zeta_upper(x: Tensor, q: Tensor) -> Tensor:
    """q > 0, x > 1: the first terms of the sum of (q + k)^-x, and Euler and Maclaurin's series for the others."""
    total: Any = 0.0
    for step in range(ZETA_TERMS):
        total = ir.exp(-x * ir.log(q + float(step))) + total
    place = q + float(ZETA_TERMS)
    last = ir.exp(-x * ir.log(place))
    total = total + last * (place / (x - 1) + 0.5)
    factor, inverse = x / place, 1 / place
    for k, bernoulli in enumerate(BERNOULLI, 1):
        total = total + bernoulli / math.factorial(2 * k) * last * factor
        factor = factor * (x + (2 * k - 1.0)) * (x + 2.0 * k) * inverse * inverse
    return total


@rule(aten.special_zeta.default, aten.special_zeta.other_scalar, aten.special_zeta.self_scalar, promotion=FLOAT)
def _zeta(x: Any, q: Any) -> Tensor:
    """Hurwitz's. For negative q an integer x alone has a value: the terms on the other side of 0 are a difference of
    two sums above it."""
    element = next(each.element for each in (x, q) if isinstance(each, Tensor))
    if element == "f64":
        raise Left("in f64")
    x, q = (each.astype("f64") if isinstance(each, Tensor) else ir.full((), each, "f64") for each in (x, q))
    exponent, is_negative = ir.where(x > 1, x, 2.0), q < 0
    part = q - ir.floor(q)
    is_pole = (q <= 0) & ir.equal(q, ir.floor(q))
    between = ir.where(is_negative & ~is_pole, part, 0.5)
    upper = _zeta_upper(exponent, ir.where(q > 0, q, between))
    beyond = _zeta_upper(exponent, 1 - between) - _zeta_upper(exponent, ir.where(is_negative, 1 - q, 1.0))
    is_even = ir.equal(exponent, 2 * ir.floor(exponent / 2))
    value = upper + ir.where(is_negative, ir.where(is_even, beyond, -beyond), 0.0)
    value = ir.where(is_negative & ~ir.equal(x, ir.floor(x)), math.nan, value)
    value = ir.where(ir.isnan(x) | ir.isnan(q), math.nan, value)
    value = ir.where(is_pole, math.inf, value)
    return ir.where(ir.equal(x, 1.0), math.inf, ir.where(x < 1, math.nan, value)).astype(element)
