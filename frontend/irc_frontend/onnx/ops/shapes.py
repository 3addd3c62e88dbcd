"""Rules of operators that move elements."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import accumulate

import numpy as np

import irc_frontend as ir
from irc.support.diagnostics import IrcError
from irc_frontend.onnx.rules import given_axes, in_range, integers, number, rule
from irc_frontend.tensor import Tensor
from irc_frontend.unrolling import known


@rule("Reshape")
def _reshape(x: Tensor, shape: Tensor, *, allowzero: int = 0) -> Tensor:
    """0 keeps an extent, -1 is what is left."""
    found = integers(shape, "the shape")
    if not allowzero:
        if any(not extent and axis >= x.ndim for axis, extent in enumerate(found)):
            raise IrcError(f"the shape {found} keeps an extent that {x.node.type} does not have")
        found = [extent or x.shape[axis] for axis, extent in enumerate(found)]
    return reshaped(x, found)


def reshaped(x: Tensor, shape: Sequence[int]) -> Tensor:
    """-1 is what is left, which is 0 where the array has no elements and the others have some."""
    if -1 in shape and not x.size:
        others = math.prod(extent for extent in shape if extent != -1)
        shape = [0 if extent == -1 and others else max(extent, 0) for extent in shape]
    return x.reshape(tuple(shape))


@rule("Flatten")
def _flatten(x: Tensor, *, axis: int = 1) -> Tensor:
    axis = axis + x.ndim if axis < 0 else axis
    return x.reshape(math.prod(x.shape[:axis]), math.prod(x.shape[axis:]))


@rule("Transpose")
def _transpose(x: Tensor, *, perm: list[int] | None = None) -> Tensor:
    return x.T if perm is None else x.permute(perm)


@rule("Squeeze")
def _squeeze(x: Tensor, axes: Tensor | None = None) -> Tensor:
    gone = [axis for axis, extent in enumerate(x.shape) if extent == 1] if axes is None else given_axes(axes, x.ndim)
    if wrong := [axis for axis in gone if x.shape[axis] != 1]:
        raise IrcError(f"axis {wrong[0]} of {x.node.type} is not 1")
    return x.reshape(tuple(extent for axis, extent in enumerate(x.shape) if axis not in gone))


@rule("Unsqueeze")
def _unsqueeze(x: Tensor, axes: Tensor) -> Tensor:
    found = integers(axes, "axes")
    new = {in_range(axis, x.ndim + len(found)) for axis in found}
    rest = iter(x.shape)
    return x.reshape(tuple(1 if axis in new else next(rest) for axis in range(x.ndim + len(found))))


@rule("Concat")
def _concat(*parts: Tensor, axis: int) -> Tensor:
    return ir.concatenate(parts, axis)


@rule("Split")
def _split(
    x: Tensor, sizes: Tensor | None = None, *, axis: int = 0, num_outputs: int | None = None, outputs: int = 1
) -> tuple[Tensor, ...]:
    axis = in_range(axis, x.ndim)
    if sizes is not None:
        found = integers(sizes, "the sizes")
    else:
        count = num_outputs or outputs
        each = -(-x.shape[axis] // count)
        found = [min(each, x.shape[axis] - number * each) for number in range(count)]
    if sum(found) != x.shape[axis] or min(found, default=0) < 0:
        raise IrcError(f"the sizes {found} are not those of axis {axis} of {x.node.type}")
    ends = list(accumulate(found))
    before = [slice(None)] * axis
    return tuple(x[(*before, slice(end - size, end))] for end, size in zip(ends, found, strict=True))


@rule("Slice")
def _slice(x: Tensor, starts: Tensor, ends: Tensor, axes: Tensor | None = None, steps: Tensor | None = None) -> Tensor:
    first, last = integers(starts, "starts"), integers(ends, "ends")
    along = list(range(len(first))) if axes is None else given_axes(axes, x.ndim)
    by = [1] * len(first) if steps is None else integers(steps, "steps")
    keys = [slice(None)] * x.ndim
    for axis, start, end, step in zip(along, first, last, by, strict=True):
        start, end, step = slice(start, end, step).indices(x.shape[axis])
        keys[axis] = slice(start, None if end < 0 else end, step) if len(range(start, end, step)) else slice(0, 0)
    return x[tuple(keys)]


@rule("Expand")
def _expand(x: Tensor, shape: Tensor) -> Tensor:
    return ir.broadcast_to(x, np.broadcast_shapes(x.shape, tuple(integers(shape, "the shape"))))


@rule("Tile")
def _tile(x: Tensor, repeats: Tensor) -> Tensor:
    return ir.tile(x, integers(repeats, "repeats"))


@rule("Pad")
def _pad(
    x: Tensor, pads: Tensor, value: Tensor | None = None, axes: Tensor | None = None, *, mode: str = "constant"
) -> Tensor:
    """Negative pads cut off."""
    along, found = given_axes(axes, x.ndim), integers(pads, "pads")
    low, high = [0] * x.ndim, [0] * x.ndim
    for place, axis in enumerate(along):
        low[axis], high[axis] = found[place], found[len(along) + place]
    x = x[tuple(slice(max(0, -a), n - max(0, -b)) for a, b, n in zip(low, high, x.shape, strict=True))]
    widths = [(max(0, a), max(0, b)) for a, b in zip(low, high, strict=True)]
    if mode != "constant":
        return ir.pad(x, widths, mode)
    return ir.pad(x, widths, constant_values=0 if value is None or not value.size else number(value, "the value"))


@rule("Trilu")
def _trilu(x: Tensor, k: Tensor | None = None, *, upper: int = 1) -> Tensor:
    return (ir.triu if upper else ir.tril)(x, 0 if k is None else int(number(k, "k")))


@rule("DepthToSpace")
def _depth_to_space(x: Tensor, *, blocksize: int, mode: str = "DCR") -> Tensor:
    n, channels, height, width = x.shape
    depth = channels // blocksize**2
    if mode == "DCR":
        y = x.reshape(n, blocksize, blocksize, depth, height, width).permute(0, 3, 4, 1, 5, 2)
    else:
        y = x.reshape(n, depth, blocksize, blocksize, height, width).permute(0, 1, 4, 2, 5, 3)
    return y.reshape(n, depth, height * blocksize, width * blocksize)


@rule("SpaceToDepth")
def _space_to_depth(x: Tensor, *, blocksize: int, mode: str = "DCR") -> Tensor:
    n, channels, height, width = x.shape
    y = x.reshape(n, channels, height // blocksize, blocksize, width // blocksize, blocksize)
    y = y.permute(0, 3, 5, 1, 2, 4) if mode == "DCR" else y.permute(0, 1, 3, 5, 2, 4)
    return y.reshape(n, channels * blocksize**2, height // blocksize, width // blocksize)


@rule("Compress")
def _compress(x: Tensor, condition: Tensor, *, axis: int | None = None) -> Tensor:
    chosen = np.flatnonzero(known(condition, "the condition"))
    return ir.take(x.flatten() if axis is None else x, chosen, 0 if axis is None else axis)


@rule("ReverseSequence")
def _reverse_sequence(x: Tensor, lengths: Tensor, *, batch_axis: int = 1, time_axis: int = 0) -> Tensor:
    """Row by row, the first elements backwards."""
    places = np.arange(x.shape[time_axis], dtype=np.int64).reshape([-1 if n == time_axis else 1 for n in range(x.ndim)])
    counts = lengths.astype("i64").reshape([-1 if n == batch_axis else 1 for n in range(x.ndim)])
    order = ir.where(places < counts, counts - 1 - places, places)
    return ir.take_along_axis(x, ir.broadcast_to(order, x.shape), time_axis, mode="clip")
