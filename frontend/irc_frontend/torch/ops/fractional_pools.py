"""Rules of fractional pools, whose windows begin at places that random numbers give, those of each plane its own."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product
from typing import Any

import torch

import irc_frontend as ir
from irc_frontend.casts import wide
from irc_frontend.tensor import Tensor
from irc_frontend.torch.rules import rule

aten = torch.ops.aten


def _starts(samples: Tensor, extent: int, size: int, count: int) -> Tensor:
    """Where the windows of each plane begin along an axis: planes by windows. The last one ends with the axis."""
    if count == 1:
        return ir.zeros((samples.shape[0], 1), "i64") + (extent - size)
    apart = (extent - size) / (count - 1)
    u, numbers = samples.reshape(-1, 1), ir.arange(count).reshape(1, -1)
    found = ((numbers.astype(u.element) + u) * apart).astype("i64") - (u * apart).astype("i64")
    return ir.where(numbers == count - 1, extent - size, found)


def _register(rank: int, op: Any) -> None:
    @rule(op)
    def record(
        x: Tensor, window: Sequence[int], counts: Sequence[int], random_samples: Tensor
    ) -> tuple[Tensor, Tensor]:
        """The largest element of each window, NaN first, and its place in the plane, the first of equal ones."""
        shape = (*x.shape[: x.ndim - rank], *counts)
        if not math.prod(shape):
            return ir.zeros(shape, x.element), ir.zeros(shape, "i64")
        extents = x.shape[x.ndim - rank :]
        planes, size = math.prod(x.shape[: x.ndim - rank]), math.prod(extents)
        samples = wide(random_samples).reshape(planes, rank)
        order = range(rank) if rank == 3 else reversed(range(rank))  # of images, the number of columns comes first
        starts = [
            _starts(samples[:, number], *each)
            for number, each in zip(order, zip(extents, window, counts, strict=True), strict=True)
        ]
        flat = x.reshape(planes, size)
        best: Any = None
        taken: Any = None
        for place in product(*map(range, window)):
            at: Any = 0
            for axis, (start, number) in enumerate(zip(starts, place, strict=True)):
                along = [-1 if other == axis else 1 for other in range(rank)]
                at = at * extents[axis] + (start + number).reshape(planes, *along)
            at = ir.broadcast_to(at, (planes, *counts)).reshape(planes, math.prod(counts))
            value = ir.take_along_axis(flat, at, 1, mode="clip")
            if best is None:
                best, taken = value, at
                continue
            is_larger = (value > best) | ir.isnan(value)
            taken, best = ir.where(is_larger, at, taken), ir.maximum(best, value)
        return best.reshape(*shape), taken.reshape(*shape)


_register(2, aten.fractional_max_pool2d.default)
_register(3, aten.fractional_max_pool3d.default)
