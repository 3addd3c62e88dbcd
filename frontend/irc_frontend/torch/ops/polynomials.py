"""Rules of polynomials whose degrees are elements of an array, computed in f64: Chebyshev's by angles, Hermite's by
their recurrence."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch

import irc_frontend as ir
from irc_frontend.tensor import Tensor
from irc_frontend.torch.ops.elementwise import Like
from irc_frontend.torch.rules import FLOAT, Left, rule

aten = torch.ops.aten


@dataclass(frozen=True)
class Kind:
    """f((n + part) t) / f(part t) of the degree n, where x is cos(t), or of x > 1 cosh(t): f is the sine, or the cosine
    if `is_even`, circular or hyperbolic."""

    is_even: bool
    part: float

    def beside(self) -> Kind:
        """The one whose values at -x are those of this one at x, but for the sign: the third is the fourth."""
        return Kind(not self.is_even, self.part) if self.part == 0.5 else self

    def at(self, x: Tensor, degree: Tensor) -> Tensor:
        """x >= 0. At 1, where the sines are 0, the limit."""
        is_inner = x <= 1
        angle = ir.arccos(ir.where(is_inner, x, 0.0))
        width = ir.arccosh(ir.where(is_inner, 1.0, x))
        circular, hyperbolic = (ir.cos, ir.cosh) if self.is_even else (ir.sin, ir.sinh)
        inner, outer = circular((degree + self.part) * angle), hyperbolic((degree + self.part) * width)
        if self.part:
            inner, outer = inner / circular(angle * self.part), outer / hyperbolic(width * self.part)
        value = ir.where(is_inner, inner, outer)
        return value if self.is_even else ir.where(ir.equal(x, 1.0), degree / self.part + 1, value)


KINDS = {"t": Kind(True, 0), "u": Kind(False, 1), "v": Kind(True, 0.5), "w": Kind(False, 0.5)}
"""The first to the fourth."""


def _in_f64(function: Callable[[Tensor, Tensor], Tensor]) -> Callable[[Like, Like], Tensor]:
    """The rule of a function of places and degrees, which torch cuts to integers; the polynomials of negative ones are
    0."""

    def record(x: Like, n: Like) -> Tensor:
        element = next(each.element for each in (x, n) if isinstance(each, Tensor))
        if element == "f64":
            raise Left("in f64")
        x, n = (each.astype("f64") if isinstance(each, Tensor) else ir.full((), each, "f64") for each in (x, n))
        degree = ir.trunc(n)
        return ir.where(degree < 0, 0.0, function(x, degree)).astype(element)

    return record


def _chebyshev(kind: Kind, is_shifted: bool) -> Callable[[Tensor, Tensor], Tensor]:
    """Shifted ones are those at 2 x - 1."""

    def value_of(x: Tensor, degree: Tensor) -> Tensor:
        place = 2 * x - 1 if is_shifted else x
        size, count = ir.abs(place), ir.maximum(degree, 0.0)
        is_even = ir.equal(count, 2 * ir.floor(count / 2))
        below = kind.beside().at(size, count)
        value = ir.where(place < 0, ir.where(is_even, below, -below), kind.at(size, count))
        return ir.where(ir.equal(degree, 0.0), 1.0, value)

    return value_of


MOST = 128
"""The greatest degree of a Hermite polynomial; torch has NaN beyond it."""


def _hermite(scale: float) -> Callable[[Tensor, Tensor], Tensor]:
    """f(n + 1) = scale (x f(n) - n f(n - 1)): 2 of the physicists', 1 of the probabilists'."""

    def value_of(x: Tensor, degree: Tensor) -> Tensor:
        before, last = ir.zeros_like(x), ir.ones_like(x)
        value = ir.full((), 1.0, "f64")
        for n in range(1, MOST + 1):
            before, last = last, scale * (x * last - (n - 1.0) * before)
            value = ir.where(degree >= float(n), last, value)
        return ir.where(degree > MOST, math.nan, value)

    return value_of


for _letter, _kind in KINDS.items():
    for _prefix in ("", "shifted_"):
        _op = getattr(aten, f"special_{_prefix}chebyshev_polynomial_{_letter}")
        rule(_op.default, _op.x_scalar, _op.n_scalar, promotion=FLOAT)(_in_f64(_chebyshev(_kind, bool(_prefix))))

for _letter, _scale in (("h", 2.0), ("he", 1.0)):
    _op = getattr(aten, f"special_hermite_polynomial_{_letter}")
    rule(_op.default, _op.x_scalar, _op.n_scalar, promotion=FLOAT)(_in_f64(_hermite(_scale)))
