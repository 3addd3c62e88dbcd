"""What elementwise ops mean in numpy, where numpy has no function for it.

Arrays have the op's element type; narrow floats have been widened to f32.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

Array: TypeAlias = np.ndarray[Any, Any]


def relu(x: Array) -> Array:
    return np.maximum(x, x.dtype.type(0))


def leaky_relu(x: Array, slope: float) -> Array:
    return np.where(x > 0, x, x * x.dtype.type(slope))


def rsqrt(x: Array) -> Array:
    return x.dtype.type(1) / np.sqrt(x)


def sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


def erf(x: Array) -> Array:
    from scipy.special import erf  # imported late: it takes 0.2 s

    return np.asarray(erf(x))


def gelu(x: Array, approximate: str) -> Array:
    if approximate == "tanh":
        return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi).astype(x.dtype) * (x + 0.044715 * x * x * x)))
    return 0.5 * x * (1 + erf(x * x.dtype.type(np.sqrt(0.5))))


def clamp(x: Array, lo: Array, hi: Array) -> Array:
    return np.minimum(np.maximum(x, lo), hi)


def integral(function: Callable[[Array], Array]) -> Callable[[Array], Array]:
    """`function` of floats; integers and bools are integral already."""
    return lambda x: x if x.dtype.kind in "iub" else function(x)


def power(a: Array, b: Array) -> Array:
    """`a ** b` as C has it; an integer to a negative power is its reciprocal truncated, 0 for 0."""
    if not np.issubdtype(a.dtype, np.integer) and b.size and not any(b.strides) and b.flat[0] == 0.5:
        # numpy takes a square root here, which differs from C's pow at -inf and -0.0.
        return np.where(np.isneginf(a), a.dtype.type(np.inf), np.sqrt(a) + a.dtype.type(0))
    if not np.issubdtype(a.dtype, np.integer) or not bool((b < 0).any()):
        return np.power(a, b)
    odd = (b & 1).astype(a.dtype)
    fraction = np.where(a == 1, a.dtype.type(1), np.where(a == -1, 1 - 2 * odd, a.dtype.type(0)))
    return np.where(b < 0, fraction, np.power(a, np.maximum(b, 0)))
