"""Powers, which mean the same in `nd` and in the scalars of a tile."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


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
