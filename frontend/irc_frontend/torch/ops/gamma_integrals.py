"""Rules of the incomplete gamma functions P(a, x) and Q(a, x) = 1 - P(a, x), computed in f64.

For a up to BOUND, P by its power series up to x = a + 1, Q by its continued fraction above (Abramowitz and Stegun
6.5.29, 6.5.31): terms die out after about the root of a. Beyond, the integrand is a bell around a - 1, and the part
between x and where it has died out is a sum by Gauss and Legendre's points (Press et al., Numerical Recipes, 6.2).
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import torch

import irc_frontend as ir
from irc_frontend.tensor import Tensor
from irc_frontend.torch.ops.elementwise import Like
from irc_frontend.torch.ops.special import lgamma_upper
from irc_frontend.torch.rules import FLOAT, Left, rule

aten = torch.ops.aten

BOUND = 30.0
TERMS = 50
POINTS = 18


def _below(a: Tensor, x: Tensor) -> tuple[Tensor, Tensor]:
    """a <= BOUND, x > 0: P and Q."""
    leading = ir.exp(a * ir.log(x) - x - lgamma_upper(a + 1))
    low = ir.minimum(x, a + 1)
    term = low / (a + 1)
    total = term + 1
    for n in range(2, TERMS):
        term = term * low / (a + float(n))
        total = total + term
    high = ir.maximum(x, a + 1)
    fraction = high + (2 * TERMS + 1.0) - a
    for n in range(TERMS, 0, -1):
        fraction = high + (2 * n - 1.0) - a + float(n) * (a - float(n)) / fraction
    is_low = x < a + 1
    p, q = leading * total, leading * a / fraction
    return ir.where(is_low, p, 1 - q), ir.where(is_low, 1 - p, q)


def _above(a: Tensor, x: Tensor) -> tuple[Tensor, Tensor]:
    """a > BOUND, x > 0: P and Q."""
    top, width = a - 1, ir.sqrt(a - 1)
    is_high = x > top
    far_above = ir.maximum(top + 11.5 * width, x + 6 * width)
    far_below = ir.maximum(ir.minimum(top - 7.5 * width, x - 5 * width), 0.0)
    distance = ir.where(is_high, far_above, far_below) - x
    log_top = ir.log(top)
    places, weights = np.polynomial.legendre.leggauss(POINTS)
    total = ir.zeros_like(x)
    for place, weight in zip((places + 1) / 2, weights / 2, strict=True):
        t = x + distance * float(place)
        total = total + float(weight) * ir.exp(top - t + top * (ir.log(t) - log_top))
    part = ir.abs(total * distance * ir.exp(top * (log_top - 1) - lgamma_upper(a)))
    return ir.where(is_high, 1 - part, part), ir.where(is_high, part, 1 - part)


def _rule(is_upper: bool) -> Callable[[Like, Like], Tensor]:
    def record(a: Like, x: Like) -> Tensor:
        element = next(each.element for each in (a, x) if isinstance(each, Tensor))
        if element == "f64":
            raise Left("in f64")
        a, x = (each.astype("f64") if isinstance(each, Tensor) else ir.full((), each, "f64") for each in (a, x))
        is_inner = (a > 0) & (x > 0) & ~ir.isinf(a) & ~ir.isinf(x)
        low, inner = ir.where(is_inner & (a <= BOUND), a, 1.0), ir.where(is_inner, x, 1.0)
        near, far = _below(low, inner)[is_upper], _above(ir.where(a > BOUND, a, BOUND + 1), inner)[is_upper]
        value = ir.where(a > BOUND, far, near)
        none, all_ = (1.0, 0.0) if is_upper else (0.0, 1.0)
        value = ir.where(ir.isnan(a) | ir.isnan(x), math.nan, value)
        # in the order in which torch asks
        value = ir.where(ir.isinf(x), all_, value)
        value = ir.where(ir.isinf(a) & ~ir.isinf(x), none, ir.where(ir.isinf(a), math.nan, value))
        value = ir.where(ir.equal(x, 0.0), none, value)
        value = ir.where(ir.equal(a, 0.0) & (x > 0), all_, ir.where(ir.equal(a, 0.0), math.nan, value))
        return ir.where((a < 0) | (x < 0), math.nan, value).astype(element)

    return record


rule(aten.igamma.default, promotion=FLOAT)(_rule(is_upper=False))
rule(aten.igammac.default, promotion=FLOAT)(_rule(is_upper=True))
