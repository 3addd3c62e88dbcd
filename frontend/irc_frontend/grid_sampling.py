"""Sampling of images and volumes at places that a grid gives: the weighted sum of the neighbors of each place, which
are gathered."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import irc_frontend as ir
from irc_frontend.cubic import far, near
from irc_frontend.tensor import Tensor

LINEAR, NEAREST, CUBIC = range(3)
ZEROS, BORDER, REFLECTION = range(3)
"""Modes of interpolation and of padding, by the numbers that torch has for them."""

SHARPNESS = -0.75
"""The parameter of the cubic weights."""

Tap = tuple[Tensor, Tensor | None]
"""The coordinate of a neighbor along an axis, a whole number, and its weight; None is 1."""


@dataclass(frozen=True)
class _Along:
    """An axis of so many elements, and how what is outside of it is read. align_corners: -1 and 1 are the first and the
    last element, not the ends of the axis."""

    extent: int
    padding: int
    align_corners: bool

    def taps(self, at: Tensor, interpolation: int) -> list[Tap]:
        """The neighbors of coordinates between -1 and 1."""
        last = self.extent - 1
        at = (at + 1) / 2 * last if self.align_corners else ((at + 1) * self.extent - 1) / 2
        if interpolation == CUBIC:
            return self._cubic(at)
        at = self._inside(at)
        return _linear(at) if interpolation == LINEAR else [(ir.round(at), None)]

    def _inside(self, at: Tensor) -> Tensor:
        """The coordinate with what is outside moved inside, if it is to be. At the ends themselves its gradient is
        0."""
        if self.padding == ZEROS:
            return at
        if self.padding == REFLECTION:
            low, span = (0.0, self.extent - 1.0) if self.align_corners else (-0.5, float(self.extent))
            at = _reflected(at, low, span)
        return ir.where(at > 0, ir.where(at < self.extent - 1, at, self.extent - 1.0), 0.0)

    def _cubic(self, at: Tensor) -> list[Tap]:
        """Four neighbors, of which each that is outside is moved inside by itself."""
        first = ir.floor(at)
        t = at - first
        weights = (far(t + 1, SHARPNESS), near(t, SHARPNESS), near(1 - t, SHARPNESS), far(2 - t, SHARPNESS))
        places = (ir.floor(self._inside(first + float(number))) for number in range(-1, 3))
        return list(zip(places, weights, strict=True))


def _reflected(at: Tensor, low: float, span: float) -> Tensor:
    """The coordinate that is reflected at both ends of `span` places from `low` on until it is inside."""
    if not span:
        return ir.zeros(at.shape, at.element)
    apart = ir.where(at < low, low - at, at - low)
    beyond, turns = apart % span, ir.floor(apart / span)
    return ir.where(turns % 2.0 == 0, beyond + low, span - beyond + low)


def _linear(at: Tensor) -> list[Tap]:
    first = ir.floor(at)
    return [(first, first + 1 - at), (first + 1, at - first)]


def sampled(
    x: Tensor, grid: Tensor, interpolation: int, padding: int, align_corners: bool, wide: Callable[[Tensor], Tensor]
) -> Tensor:
    """x has the axes N, C, space; grid N, places, and for each the coordinates, the last axis of space first. wide: the
    array in the element type that it is computed with, which the result has."""
    images, channels, *extents = x.shape
    places, size = math.prod(grid.shape[1:-1]), math.prod(extents)
    at = wide(grid).reshape(images * places, len(extents))
    axes = [_Along(extent, padding, align_corners) for extent in extents]
    taps = [along.taps(at[:, -1 - number], interpolation) for number, along in enumerate(axes)]
    flat = ir.moveaxis(x.reshape(images, channels, size), 1, 0).reshape(channels, images * size)
    first = ir.broadcast_to(ir.arange(images).reshape(images, 1), (images, places)).reshape(images * places)
    total: Any = None
    for neighbors in product(*taps):
        part = _neighbor(flat, first, extents, neighbors, wide)
        total = part if total is None else total + part
    return ir.moveaxis(total.reshape(channels, images, *grid.shape[1:-1]), 0, 1)


def _neighbor(
    flat: Tensor, image: Tensor, extents: Sequence[int], taps: Sequence[Tap], wide: Callable[[Tensor], Tensor]
) -> Tensor:
    """What one neighbor of each place adds: 0 where it is outside."""
    index, is_inside, weight = image, ir.ones(image.shape, "bool"), None
    for (at, own), extent in zip(taps, extents, strict=True):
        exists = (at >= 0) & (at <= extent - 1)
        is_inside = is_inside & exists
        weight = own if weight is None else weight if own is None else weight * own
        index = index * extent + ir.where(exists, at, 0.0).astype("i64")
    value = wide(ir.take(flat, index, 1, mode="clip"))
    return ir.where(is_inside, value if weight is None else value * weight, 0.0)
