"""The rule of Resize: one matrix for each axis, whose rows have the weights of an element of the result; and that of
GridSample."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

import irc_frontend as ir
from irc.support.diagnostics import IrcError
from irc_frontend.cubic import far, near
from irc_frontend.grid_sampling import BORDER, CUBIC, LINEAR, NEAREST, REFLECTION, ZEROS, sampled
from irc_frontend.onnx.rules import Array, given_axes, rule
from irc_frontend.tensor import Tensor
from irc_frontend.unrolling import known


@dataclass(frozen=True)
class _How:
    """The attributes that say where elements lie and how they are weighed."""

    mode: str
    coordinates: str
    nearest: str
    cubic: float
    antialias: bool
    exclude_outside: bool
    extrapolation: float


@dataclass(frozen=True)
class _Axis:
    """An axis: its extents, the scale between them, and the part of the array that is resized."""

    extent: int
    count: int
    scale: float
    first: float
    last: float


@rule("Resize")
def _resize(
    x: Tensor,
    roi: Tensor | None = None,
    scales: Tensor | None = None,
    sizes: Tensor | None = None,
    *,
    antialias: int = 0,
    axes: list[int] | None = None,
    coordinate_transformation_mode: str = "half_pixel",
    cubic_coeff_a: float = -0.75,
    exclude_outside: int = 0,
    extrapolation_value: float = 0.0,
    keep_aspect_ratio_policy: str = "stretch",
    mode: str = "nearest",
    nearest_mode: str = "round_prefer_floor",
) -> Tensor:
    along = given_axes(axes, x.ndim)
    how = _How(
        mode,
        coordinate_transformation_mode,
        nearest_mode,
        cubic_coeff_a,
        bool(antialias),
        bool(exclude_outside),
        extrapolation_value,
    )
    corners = known(roi, "the roi") if how.coordinates == "tf_crop_and_resize" and roi is not None else None
    found = _extents(x, along, scales, sizes, keep_aspect_ratio_policy)
    outside: Any = None
    for place, axis in enumerate(along):
        count, scale = found[place]
        first, last = (0.0, 1.0) if corners is None else (float(corners[place]), float(corners[len(along) + place]))
        each = _Axis(x.shape[axis], count, scale, first, last)
        at = _places(each, how)
        if count != each.extent or not np.array_equal(at, np.arange(count)):
            x = _along(x, axis, each, at, how)
        if corners is not None:
            is_out = ((at < 0) | (at > each.extent - 1)).reshape([-1 if n == axis else 1 for n in range(x.ndim)])
            outside = is_out if outside is None else outside | is_out
    return x if outside is None else ir.where(outside, how.extrapolation, x)


def _extents(
    x: Tensor, along: list[int], scales: Tensor | None, sizes: Tensor | None, policy: str
) -> list[tuple[int, float]]:
    """The new extent of each axis, and its scale."""
    if scales is not None and scales.size:
        factors = [float(each) for each in known(scales, "the scales")]
        return [(math.floor(x.shape[axis] * each), each) for axis, each in zip(along, factors, strict=True)]
    if sizes is None:
        raise IrcError("expected scales or sizes")
    counts = [int(each) for each in known(sizes, "the sizes")]
    factors = [count / x.shape[axis] for axis, count in zip(along, counts, strict=True)]
    if policy != "stretch":
        factor = min(factors) if policy == "not_larger" else max(factors)
        return [(math.floor(factor * x.shape[axis] + 0.5), factor) for axis in along]
    return list(zip(counts, factors, strict=True))


def _places(axis: _Axis, how: _How) -> Array:
    """Where among the elements each one of the result lies."""
    n, count, scale = axis.extent, axis.count, axis.scale
    out, width = np.arange(count, dtype=np.float64), n * scale
    match how.coordinates:
        case "half_pixel":
            return (out + 0.5) / scale - 0.5
        case "half_pixel_symmetric":
            return n / 2 * (1 - count / width) + (out + 0.5) / scale - 0.5
        case "pytorch_half_pixel":
            return (out + 0.5) / scale - 0.5 if count > 1 else out * 0
        case "align_corners":
            return out * (n - 1) / (width - 1) if width > 1 else out * 0
        case "asymmetric":
            return out / scale
        case "tf_crop_and_resize":
            if count == 1:
                return out * 0 + 0.5 * (axis.first + axis.last) * (n - 1)
            return axis.first * (n - 1) + out * (axis.last - axis.first) * (n - 1) / (count - 1)
        case other:
            raise IrcError(f"the coordinate_transformation_mode {other} is not supported")


def _along(x: Tensor, axis: int, along: _Axis, at: Array, how: _How) -> Tensor:
    if how.mode == "nearest":
        return ir.take(x, _nearest(at, how.nearest).clip(0, along.extent - 1).astype(np.int64), axis)
    element = x.element if x.node.is_float else "f32"
    matrix = _weights(along, at, how).astype(np.float64 if element == "f64" else np.float32)
    y = ir.moveaxis(ir.matmul(ir.moveaxis(x.astype(element), axis, -1), Tensor(matrix.T, element)), -1, axis)
    return y if x.node.is_float else ir.round(y).astype(x.element)


def _nearest(at: Array, mode: str) -> Array:
    match mode:
        case "round_prefer_floor":
            return np.ceil(at - 0.5)
        case "round_prefer_ceil":
            return np.floor(at + 0.5)
        case "floor":
            return np.floor(at)
        case "ceil":
            return np.ceil(at)
        case other:
            raise IrcError(f"the nearest_mode {other} is not known")


def _weights(axis: _Axis, at: Array, how: _How) -> Array:
    """[count, extent]: a row has the weights of one element of the result, which sum to 1."""
    stretch = min(axis.scale, 1.0) if how.antialias else 1.0
    reach = (1 if how.mode == "linear" else 2) / stretch
    offsets = np.arange(-math.ceil(reach), math.ceil(reach) + 1)
    places = np.floor(at)[:, None] + offsets
    distance = np.abs(places - at[:, None]) * stretch
    weights = np.maximum(0, 1 - distance) if how.mode == "linear" else _cubic(distance, how.cubic)
    if how.exclude_outside:
        weights = np.where((places < 0) | (places >= axis.extent), 0, weights)
    weights = weights / weights.sum(1, keepdims=True)
    matrix = np.zeros((axis.count, axis.extent))
    columns = places.clip(0, axis.extent - 1).astype(np.int64)
    np.add.at(matrix, (np.arange(axis.count)[:, None], columns), weights)
    return matrix


def _cubic(distance: Array, sharpness: float) -> Array:
    further = np.where(distance < 2, far(distance, sharpness), 0.0)
    return np.where(distance <= 1, near(distance, sharpness), further)


_MODES = {"linear": LINEAR, "bilinear": LINEAR, "nearest": NEAREST, "cubic": CUBIC, "bicubic": CUBIC}
_PADDINGS = {"zeros": ZEROS, "border": BORDER, "reflection": REFLECTION}


@rule("GridSample")
def _grid_sample(
    x: Tensor, grid: Tensor, *, align_corners: int = 0, mode: str = "linear", padding_mode: str = "zeros"
) -> Tensor:
    if mode not in _MODES or padding_mode not in _PADDINGS:
        raise IrcError(f"the mode {mode} with the padding_mode {padding_mode} is not known")
    if not x.node.is_float:
        raise IrcError(f"samples of {x.element} are not supported")
    element = "f64" if x.element == "f64" else "f32"
    found = sampled(
        x, grid, _MODES[mode], _PADDINGS[padding_mode], bool(align_corners), lambda each: each.astype(element)
    )
    return found.astype(x.element)
