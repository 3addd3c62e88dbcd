"""numpy's functions on Tensors that rearrange elements or pick them (a diagonal, neighbors), composed of others."""

from __future__ import annotations

from collections.abc import Sequence

from irc_frontend.elementwise_functions import where
from irc_frontend.functions import broadcast_to, concatenate, expand_dims, flip, moveaxis, part_of, swapaxes
from irc_frontend.graph import fail
from irc_frontend.making_functions import arange, zeros
from irc_frontend.shapes import axis_of, broadcast_shapes
from irc_frontend.tensor import Like, Tensor, node_of

__all__ = [
    "broadcast_arrays",
    "diag",
    "diagonal",
    "diff",
    "hstack",
    "roll",
    "rot90",
    "trace",
    "vstack",
]


def roll(x: Like, shift: int | Sequence[int], axis: int | Sequence[int] | None = None) -> Tensor:
    """Elements moved on by `shift` along the axes, those beyond the end to the front; without an axis, of the flattened
    array."""
    tensor = Tensor.of(node_of(x))
    if axis is None:
        shifts = [shift] if isinstance(shift, int) else list(shift)
        return roll(tensor.flatten(), sum(shifts), 0).reshape(tensor.shape)
    axes = [axis] if isinstance(axis, int) else list(axis)
    shifts = [shift] * len(axes) if isinstance(shift, int) else list(shift)
    if len(shifts) != len(axes):
        raise fail(f"roll: {len(shifts)} shifts along {len(axes)} axes")
    for by, each in zip(shifts, axes, strict=True):
        at = axis_of(each, tensor.ndim)
        cut = -by % tensor.shape[at] if tensor.shape[at] else 0
        if cut:
            tensor = concatenate([part_of(tensor, at, cut, None), part_of(tensor, at, 0, cut)], at)
    return tensor


def diagonal(x: Like, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Tensor:
    """The elements whose places along two axes differ by `offset`, as a new last axis: row and column of element i are
    i - min(offset, 0) and i + max(offset, 0)."""
    tensor = Tensor.of(node_of(x))
    if tensor.ndim < 2:
        raise fail(f"diagonal needs two axes or more, found {tensor.node.type}")
    first, second = axis_of(axis1, tensor.ndim), axis_of(axis2, tensor.ndim)
    if first == second:
        raise fail(f"diagonal needs two axes, found {axis1} twice")
    moved = moveaxis(moveaxis(tensor, first, -1), second - (second > first), -1)
    rows, columns = moved.shape[-2:]
    top, left = max(0, -offset), max(0, offset)
    count = max(0, min(rows - top, columns - left))
    flat = moved.reshape(*moved.shape[:-2], rows * columns)
    start = top * columns + left
    return flat[..., start : start + count * (columns + 1) : columns + 1] if count else flat[..., :0]


def diag(x: Like, k: int = 0) -> Tensor:
    """The diagonal of a matrix, or the matrix with that diagonal and zeros elsewhere."""
    tensor = Tensor.of(node_of(x))
    if tensor.ndim == 2:
        return diagonal(tensor, k)
    if tensor.ndim != 1:
        raise fail(f"diag takes one axis or two, found {tensor.node.type}")
    extent = tensor.shape[0] + abs(k)
    if not tensor.size:
        return zeros((extent, extent), tensor.element)
    row = expand_dims(arange(extent), 1)
    values = concatenate([zeros(max(0, -k), tensor.element), tensor, zeros(max(0, k), tensor.element)])
    is_on = arange(extent) - row == k
    return where(is_on, expand_dims(values, 1), zeros((), tensor.element))


def trace(x: Like, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Tensor:
    """The sum of a diagonal."""
    return diagonal(x, offset, axis1, axis2).sum(-1)


def broadcast_arrays(*arrays: Like) -> list[Tensor]:
    """All repeated to the shape that they broadcast to."""
    nodes = [node_of(array) for array in arrays]
    shape = broadcast_shapes(*(node.shape for node in nodes))
    return [broadcast_to(Tensor.of(node), shape) for node in nodes]


def diff(x: Like, n: int = 1, axis: int = -1, prepend: Like | None = None, append: Like | None = None) -> Tensor:
    """The differences of neighbors along the axis, `n` times, of the array with other elements before and behind it."""
    tensor = Tensor.of(node_of(x))
    at = axis_of(axis, tensor.ndim)
    parts = (_beside(end, tensor, at) for end in (prepend, tensor, append) if end is not None)
    tensor = concatenate(list(parts), at)
    for _ in range(n):
        high, low = part_of(tensor, at, 1, None), part_of(tensor, at, 0, max(0, tensor.shape[at] - 1))
        tensor = high != low if tensor.node.is_bool else high - low
    return tensor


def _beside(end: Like, x: Tensor, axis: int) -> Tensor:
    """Elements beside an array along an axis: a number is one of each."""
    tensor = Tensor(end, x.element) if isinstance(end, bool | int | float) else Tensor.of(node_of(end))
    return tensor if tensor.ndim else broadcast_to(tensor, [1 if each == axis else n for each, n in enumerate(x.shape)])


def vstack(parts: Sequence[Like]) -> Tensor:
    """Rows one below the other: arrays of one axis are rows."""
    tensors = [Tensor.of(node_of(part)) for part in parts]
    return concatenate([x if x.ndim > 1 else x.reshape(1, -1) for x in tensors], 0)


def hstack(parts: Sequence[Like]) -> Tensor:
    """Arrays of one axis end to end, others side by side."""
    tensors = [Tensor.of(node_of(part)) for part in parts]
    tensors = [x if x.ndim else x.reshape(1) for x in tensors]
    return concatenate(tensors, 0 if all(x.ndim == 1 for x in tensors) else 1)


def rot90(x: Like, k: int = 1, axes: tuple[int, int] = (0, 1)) -> Tensor:
    """Turned by 90 degrees `k` times, from the first axis towards the second."""
    tensor = Tensor.of(node_of(x))
    for _ in range(k % 4):
        tensor = swapaxes(flip(tensor, axes[1]), axes[0], axes[1])
    return tensor
