"""Extents of windows and of convolutions, and where the axes of these lie."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from irc.support.diagnostics import IrcError

T = TypeVar("T")

MONOIDS = ("sum", "max", "min")
"""What joins the elements of a window."""


def in_order(values: Sequence[T], axes: Sequence[int]) -> tuple[T, ...]:
    """What an array has along each of its axes, in the order that `axes` says; as it is where that is empty."""
    return tuple(values[axis] for axis in axes) if axes else tuple(values)


def placed(values: Sequence[T], axes: Sequence[int]) -> tuple[T, ...]:
    """What is in the order that `axes` says, along each axis of the array."""
    return tuple(values[axes.index(axis)] for axis in range(len(axes))) if axes else tuple(values)


def conv_shape(
    x: Sequence[int],
    kernel: Sequence[int],
    strides: Sequence[int],
    low: Sequence[int],
    high: Sequence[int],
    dilation: Sequence[int],
    input_dilation: Sequence[int],
    batch_groups: int = 1,
) -> tuple[int, ...]:
    """The result shape of a convolution."""
    spatial: list[int] = []
    for i in range(len(x) - 2):
        extent = max(0, (x[i + 2] - 1) * input_dilation[i] + 1) if x[i + 2] else 0
        window = (kernel[i + 2] - 1) * dilation[i] + 1
        spatial.append(max(0, (extent + low[i] + high[i] - window) // strides[i] + 1))
    return (x[0] // batch_groups, kernel[0], *spatial)


def window_shape(
    shape: Sequence[int],
    window: Sequence[int],
    strides: Sequence[int],
    low: Sequence[int],
    high: Sequence[int],
    dilation: Sequence[int],
    input_dilation: Sequence[int],
) -> tuple[int, ...]:
    """How many windows there are along each axis."""
    axes = (window, strides, low, high, dilation, input_dilation)
    if any(len(values) != len(shape) for values in axes):
        raise IrcError(f"expected numbers for each of {len(shape)} axes, found {[list(values) for values in axes]}")
    found: list[int] = []
    for extent, size, stride, before, behind, apart, spread in zip(shape, *axes, strict=True):
        covered = max(0, (extent - 1) * spread + 1) + before + behind
        found.append(max(0, (covered - (size - 1) * apart - 1) // stride + 1))
    return tuple(found)
