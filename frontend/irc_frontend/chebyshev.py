"""Functions of one number by Chebyshev series, whose coefficients are found from values when they are needed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.polynomial import chebyshev

import irc_frontend as ir
from irc_frontend.tensor import Tensor

Values = np.ndarray[Any, Any]

ACCURACY = 1e-12
"""Of the greatest coefficient; what is smaller is left out."""


@dataclass(frozen=True)
class Series:
    """`function`, smooth on low..high, by its interpolation at Chebyshev's points there."""

    function: Callable[[Values], Values]
    low: float
    high: float
    degree: int = 40

    def __call__(self, x: Tensor) -> Tensor:
        """Of an f64 array; beyond the ends it is the value there, of NaN it is NaN."""
        half = (self.high - self.low) / 2
        return clenshaw((ir.clip(x, self.low, self.high) - (self.low + half)) / half, coefficients(self))


@cache
def coefficients(series: Series) -> tuple[float, ...]:
    """From the constant on. The ends are not among the points, so the function need not be defined there."""
    middle, half = (series.low + series.high) / 2, (series.high - series.low) / 2

    def on_unit(t: Values) -> Any:  # numpy's types expect a number of it
        return series.function(middle + half * t)

    found = chebyshev.chebinterpolate(on_unit, series.degree)
    return tuple(map(float, chebyshev.chebtrim(found, ACCURACY * float(np.max(np.abs(found))))))


def clenshaw(t: Tensor, terms: Sequence[float]) -> Tensor:
    """The series at t in -1..1 (Clenshaw, 1955)."""
    twice, later, latest = t * 2, ir.zeros_like(t), ir.zeros_like(t)
    for term in reversed(terms[1:]):
        later, latest = twice * later - latest + term, later
    return t * later - latest + terms[0]


def power_series(x: Tensor, terms: Sequence[float]) -> Tensor:
    """terms[0] + terms[1] x + ... (Horner)."""
    total = ir.full(x.shape, float(terms[-1]), x.element)
    for term in reversed(terms[:-1]):
        total = total * x + float(term)
    return total
