"""Rules of antialiased resampling: along one axis after another, sums of the elements around each place."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch

import irc_frontend as ir
from irc_frontend.casts import wide
from irc_frontend.cubic import far, near
from irc_frontend.tensor import Tensor
from irc_frontend.torch.ops.pools import summed
from irc_frontend.torch.rules import rule

aten = torch.ops.aten

SHARPNESS = -0.5
"""The parameter of the cubic weights of torch's antialiased resampling."""


def _triangle(distance: Tensor) -> Tensor:
    return ir.maximum(1.0 - distance, 0.0)


def _cubic(distance: Tensor) -> Tensor:
    further = ir.where(distance < 2, far(distance, SHARPNESS), 0.0)
    return ir.where(distance < 1, near(distance, SHARPNESS), further)


@dataclass(frozen=True)
class _Kernel:
    """Weights by distance, which are 0 from the radius on."""

    weight: Callable[[Tensor], Tensor]
    radius: int


_LINEAR, _CUBIC = _Kernel(_triangle, 1), _Kernel(_cubic, 2)


@dataclass(frozen=True)
class _Along:
    """An axis whose extent becomes a count of places, `apart` elements from each other. A place is the mean of the
    elements that lie less than a reach away, by weights; where places are more than one element apart the reach is as
    many times as far."""

    axis: int
    extent: int
    count: int
    apart: float
    kernel: _Kernel
    element: str

    @property
    def reach(self) -> float:
        return self.kernel.radius * max(1.0, self.apart)

    def centers(self, places: Tensor) -> Tensor:
        """Where places lie among elements, which lie at 0.5, 1.5, ..."""
        return (places.astype(self.element) + 0.5) * self.apart

    def weights(self, places: Tensor, elements: Tensor) -> Tensor:
        """What adds up to a number that depends on the place."""
        distances = abs(elements.astype(self.element) + 0.5 - self.centers(places))
        return self.kernel.weight(distances / max(1.0, self.apart))

    def has(self, places: Tensor, elements: Tensor) -> Tensor:
        """Whether both are some, and the elements are in the windows of the places."""
        centers = self.centers(places) + 0.5
        starts, ends = (ir.floor(centers + side).astype("i64") for side in (-self.reach, self.reach))
        is_one = (elements >= 0) & (elements < self.extent) & (places >= 0) & (places < self.count)
        return is_one & (elements >= starts) & (elements < ends)

    @property
    def windows(self) -> tuple[Tensor, Tensor, Tensor]:
        """The elements of the window of each place, whether it has them, and their weights."""
        places = ir.arange(self.count).reshape(-1, 1)
        first = ir.floor(self.centers(places) + (0.5 - self.reach)).astype("i64")
        size = min(self.extent, math.ceil(2 * self.reach) + 1)
        elements = ir.maximum(first, 0) + ir.arange(size)
        return elements, self.has(places, elements), self.weights(places, elements)

    @property
    def totals(self) -> Tensor:
        """What the weights of each place add up to."""
        _, is_inside, weights = self.windows
        return ir.where(is_inside, weights, 0.0).sum(1)

    def resampled(self, x: Tensor) -> Tensor:
        return summed(x, self.axis, *self.windows) / self._spread(x)

    def transposed(self, grad: Tensor) -> Tensor:
        """The gradient of what is resampled: each element takes of the places that have it."""
        elements = ir.arange(self.extent).reshape(-1, 1)
        if self.apart:
            size = min(self.count, math.ceil(2 * self.reach / self.apart) + 2)
            nearest = (elements.astype(self.element) + (0.5 - self.reach)) / self.apart - 0.5
            first = ir.maximum(ir.floor(nearest).astype("i64"), 0)
        else:
            size, first = self.count, ir.zeros((self.extent, 1), "i64")
        places = first + ir.arange(size)
        has, weights = self.has(places, elements), self.weights(places, elements)
        return summed(grad / self._spread(grad), self.axis, places, has, weights)

    def _spread(self, x: Tensor) -> Tensor:
        return self.totals.reshape(*[-1 if axis == self.axis else 1 for axis in range(x.ndim)])


def _along(
    x: Tensor, axis: int, extent: int, count: int, align_corners: bool, scale: float | None, kernel: _Kernel
) -> _Along:
    if align_corners:
        apart = (extent - 1) / (count - 1) if count > 1 else 0.0
    else:
        apart = 1 / scale if scale else extent / count
    return _Along(axis, extent, count, apart, kernel, x.element)


def _register(forward: object, backward: object, kernel: _Kernel) -> None:
    @rule(forward)
    def record(
        x: Tensor,
        counts: Sequence[int],
        align_corners: bool,
        scale_rows: float | None = None,
        scale_columns: float | None = None,
    ) -> Tensor:
        total = wide(x)
        for axis, count, scale in ((3, counts[1], scale_columns), (2, counts[0], scale_rows)):
            total = _along(total, axis, x.shape[axis], count, align_corners, scale, kernel).resampled(total)
        return total

    @rule(backward)
    def record_backward(
        grad: Tensor,
        counts: Sequence[int],
        shape: Sequence[int],
        align_corners: bool,
        scale_rows: float | None = None,
        scale_columns: float | None = None,
    ) -> Tensor:
        total = wide(grad)
        for axis, count, scale in ((3, counts[1], scale_columns), (2, counts[0], scale_rows)):
            total = _along(total, axis, shape[axis], count, align_corners, scale, kernel).transposed(total)
        return total


_register(aten._upsample_bilinear2d_aa.default, aten._upsample_bilinear2d_aa_backward.default, _LINEAR)
_register(aten._upsample_bicubic2d_aa.default, aten._upsample_bicubic2d_aa_backward.default, _CUBIC)
