"""torch's resampling, before AOTAutograd takes the function apart.

Bilinear resampling to a whole number of times as many places, which torch's compiler takes apart into four gathers, is
sums of neighbors, along one axis after another.

Along an axis that becomes s times as long, place s * i + p lies (p + 0.5) / s - 0.5 behind element i: all places of one
p have the same weights, of an element and of the one before or behind it. So nothing is gathered, and gradients add
nothing to places that are computed.

All other resampling is what torch's compiler makes of it: gathers. Its gradient is not that of gathers, which adds to
computed places, but products: along each axis by the matrix of the weights, which is what the identity is resampled to.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch._prims_common import suggest_memory_format
from torch.fx import GraphModule

from irc_frontend.torch.retargeting import retarget


def with_own_resampling(module: GraphModule) -> GraphModule:
    """A graph of torch's functions whose bilinear resampling is made of sums of neighbors; also in graphs that it
    holds."""
    return retarget(module, interpolate, F.interpolate, in_transforms=True)


def interpolate(
    input: Tensor,
    size: int | Sequence[int] | None = None,
    scale_factor: float | Sequence[float] | None = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> Tensor:
    """torch's, of the same arguments."""
    is_bilinear = mode == "bilinear" and not align_corners and not antialias and input.ndim == 4
    times = _times(input.shape[2:], size, scale_factor) if is_bilinear and input.numel() else None
    if not input.is_floating_point() or (times is None and (mode not in WEIGHTED or antialias or not input.numel())):
        return F.interpolate(input, size, scale_factor, mode, align_corners, recompute_scale_factor, antialias)
    if times is None:
        options = {"mode": mode, "align_corners": align_corners, "recompute_scale_factor": recompute_scale_factor}
        return _Resampled.apply(input, size, scale_factor, options)
    wide = input if input.dtype is torch.float64 else input.float()
    for axis, count in ((3, times[1]), (2, times[0])):
        wide = _spread(wide, axis, count)
    return wide.to(input.dtype).contiguous(memory_format=suggest_memory_format(input))


WEIGHTED = ("linear", "bilinear", "trilinear", "bicubic", "nearest", "nearest-exact")
"""The modes whose weights along an axis depend on places along it alone."""


class _Resampled(torch.autograd.Function):
    """Resampling, with products as its gradient."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, size: Any, scale_factor: Any, options: dict[str, Any]) -> Tensor:  # pyright: ignore[reportIncompatibleMethodOverride]
        ctx.shape, ctx.size, ctx.scale_factor, ctx.options = x.shape, size, scale_factor, options
        return F.interpolate(x, size, scale_factor, **options)

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> tuple[Tensor | None, ...]:  # pyright: ignore[reportIncompatibleMethodOverride]
        total = g if g.dtype is torch.float64 else g.float()
        for axis in range(2, g.ndim):
            sizes, factors = (_of_axis(each, axis - 2) for each in (ctx.size, ctx.scale_factor))
            weights = _weights(ctx.shape[axis], sizes, factors, ctx.options, total)
            total = torch.matmul(total.movedim(axis, -1), weights).movedim(-1, axis)
        return total.to(g.dtype), None, None, None


def _of_axis(numbers: Any, axis: int) -> Any:
    return numbers[axis] if isinstance(numbers, list | tuple) else numbers


def _weights(extent: int, size: int | None, factor: float | None, options: dict[str, Any], like: Tensor) -> Tensor:
    """The matrix of the weights of an axis: a row for each place that it becomes."""
    identity = torch.eye(extent, dtype=like.dtype, device=like.device)
    if options["mode"] == "bicubic":  # which torch has of images alone
        found = F.interpolate(
            identity.reshape(1, extent, extent, 1),
            None if size is None else (size, 1),
            None if factor is None else (factor, 1.0),
            **options,
        )
    else:
        along: dict[str, Any] = {**options, "mode": "linear" if "linear" in options["mode"] else options["mode"]}
        found = F.interpolate(identity.reshape(1, extent, extent), size, factor, **along)
    return found.reshape(extent, -1).T


def _times(
    extents: Sequence[int], size: int | Sequence[int] | None, scale_factor: float | Sequence[float] | None
) -> list[int] | None:
    """How many times as long each axis becomes, where these are whole numbers; None also where torch has a message."""
    if (size is None) == (scale_factor is None):
        return None
    if scale_factor is not None:
        factors = [scale_factor] * 2 if isinstance(scale_factor, int | float) else list(scale_factor)
        times = [int(factor) for factor in factors]
        return times if factors == times and len(times) == 2 and min(times) >= 1 else None
    sizes = [size] * 2 if isinstance(size, int) else list(size or ())
    if len(sizes) != 2 or any(n < 1 or n % extent for extent, n in zip(extents, sizes, strict=True)):
        return None
    return [n // extent for extent, n in zip(extents, sizes, strict=True)]


def _spread(x: Tensor, axis: int, times: int) -> Tensor:
    if times == 1:
        return x
    extent = x.shape[axis]
    before = torch.cat([x.narrow(axis, 0, 1), x.narrow(axis, 0, extent - 1)], axis)
    behind = torch.cat([x.narrow(axis, 1, extent - 1), x.narrow(axis, extent - 1, 1)], axis)
    found: list[Tensor] = []
    for phase in range(times):
        apart = (phase + 0.5) / times - 0.5
        other = before if apart < 0 else behind
        found.append(x * (1 - abs(apart)) + other * abs(apart) if apart else x)
    return torch.stack(found, axis + 1).flatten(axis, axis + 1)
