"""The rule of Airy's function Ai of f32 and narrower floats, computed in f64: a series in the middle; above, one of the
reciprocal of z = 2/3 |x|^(3/2) times what decays; below, two times what turns (Abramowitz and Stegun 10.4.59, 10.4.60).
"""

from __future__ import annotations

import math

import numpy as np
import torch

import irc_frontend as ir
from irc_frontend.chebyshev import Series, Values
from irc_frontend.tensor import Tensor
from irc_frontend.torch.ops.special import in_f64
from irc_frontend.torch.rules import FLOAT, rule

aten = torch.ops.aten

LOW, HIGH = -8.0, 2.0
"""The middle."""


def _z(x: float) -> float:
    return 2 / 3 * abs(x) ** 1.5


def _size(inverse: Values) -> Values:
    """|x| where 1 / z is `inverse`."""
    return (1.5 / np.maximum(inverse, 1e-6)) ** (2 / 3)


def _middle(x: Values) -> Values:
    from scipy.special import airy

    return airy(x)[0]


def _decayed(inverse: Values) -> Values:
    from scipy.special import airye

    x = _size(inverse)
    return airye(x)[0] * x**0.25


def _turned(inverse: Values, is_sine: bool) -> Values:
    """What the sine or the cosine of z + pi / 4 is multiplied by, of Ai(-x) and Bi(-x)."""
    from scipy.special import airy

    x = _size(inverse)
    ai, _, bi, _ = airy(-x)
    angle = 1 / np.maximum(inverse, 1e-6) + math.pi / 4
    sine, cosine = np.sin(angle), np.cos(angle)
    return x**0.25 * (sine * ai + cosine * bi if is_sine else sine * bi - cosine * ai)


_MIDDLE = Series(_middle, LOW, HIGH, degree=60)
_ABOVE = Series(_decayed, 0, 1 / _z(HIGH))
_SINE = Series(lambda inverse: _turned(inverse, True), 0, 1 / _z(LOW))
_COSINE = Series(lambda inverse: _turned(inverse, False), 0, 1 / _z(LOW))


@rule(aten.special_airy_ai.default, promotion=FLOAT)
@in_f64
def _airy_ai(x: Tensor) -> Tensor:
    """torch's is NaN where x is infinite."""
    size = ir.maximum(ir.abs(x), 1.0)
    root = ir.sqrt(size)
    z = size * root * (2 / 3)
    inverse, fourth = 1 / z, ir.sqrt(root)
    angle = z + math.pi / 4
    below = (_SINE(inverse) * ir.sin(angle) - _COSINE(inverse) * ir.cos(angle)) / fourth
    above = _ABOVE(inverse) * ir.exp(-z) / fourth
    value = ir.where(x < LOW, below, ir.where(x > HIGH, above, _MIDDLE(x)))
    return ir.where(ir.isinf(x), math.nan, value)
