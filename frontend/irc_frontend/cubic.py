"""Keys' weights of cubic interpolation (IEEE Transactions on Acoustics, Speech, and Signal Processing 29, 1981), of
arrays of numpy or of tensors. `sharpness` is the slope of the weights one place away, which libraries differ in."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np

from irc_frontend.tensor import Tensor

ArrayT = TypeVar("ArrayT", Tensor, np.ndarray[Any, Any])


def near(distance: ArrayT, sharpness: float) -> ArrayT:
    """Of a neighbor up to one place away."""
    return ((sharpness + 2) * distance - (sharpness + 3)) * distance * distance + 1


def far(distance: ArrayT, sharpness: float) -> ArrayT:
    """Of a neighbor between one place and two away."""
    return ((sharpness * distance - 5 * sharpness) * distance + 8 * sharpness) * distance - 4 * sharpness
