"""numpy's functions on Tensors that arrange elements or pick them, composed of others."""

from __future__ import annotations

from collections.abc import Sequence

from irc_frontend.elementwise_functions import where
from irc_frontend.functions import (
    broadcast_to,
    concatenate,
    expand_dims,
    flip,
    moveaxis,
    sort,
    swapaxes,
    topk,
)
from irc_frontend.graph import fail
from irc_frontend.making_functions import arange, zeros
from irc_frontend.shapes import axis_of, broadcast_shapes
from irc_frontend.tensor import Like, Tensor, node_of

__all__ = [
    "argsort",
    "broadcast_arrays",
    "diag",
    "diagonal",
    "diff",
    "hstack",
    "linspace",
    "median",
    "meshgrid",
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
            tensor = concatenate([_part(tensor, at, cut, None), _part(tensor, at, 0, cut)], at)
    return tensor


def _part(x: Tensor, axis: int, start: int, stop: int | None) -> Tensor:
    return x[(*[slice(None)] * axis, slice(start, stop))]


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


def meshgrid(*arrays: Like, indexing: str = "xy") -> list[Tensor]:
    """A grid of coordinates for each array of one axis; `ij` keeps the order of axes, `xy` swaps the first two."""
    if indexing not in ("xy", "ij"):
        raise fail(f"meshgrid: indexing is 'xy' or 'ij', found {indexing!r}")
    tensors = [Tensor.of(node_of(array)).flatten() for array in arrays]
    shape = tuple(tensor.size for tensor in tensors)
    grids: list[Tensor] = []
    for at, tensor in enumerate(tensors):
        alone = tensor.reshape(*(extent if axis == at else 1 for axis, extent in enumerate(shape)))
        grids.append(broadcast_to(alone, shape))
    return [swapaxes(grid, 0, 1) for grid in grids] if indexing == "xy" and len(grids) > 1 else grids


def broadcast_arrays(*arrays: Like) -> list[Tensor]:
    """All repeated to the shape that they broadcast to."""
    nodes = [node_of(array) for array in arrays]
    shape = broadcast_shapes(*(node.shape for node in nodes))
    return [broadcast_to(Tensor.of(node), shape) for node in nodes]


def linspace(start: float, stop: float, num: int = 50, endpoint: bool = True, dtype: str = "f32") -> Tensor:
    """`num` numbers at equal distances from `start` to `stop`, which is the last one with `endpoint`."""
    if num < 0:
        raise fail(f"linspace: the count is 0 or more, found {num}")
    steps = num - 1 if endpoint else num
    places = arange(num).astype("f64")
    made = start + places * ((stop - start) / steps) if steps > 0 else places + start
    return (where(places == num - 1, float(stop), made) if endpoint and num > 1 else made).astype(dtype)


def argsort(x: Like, axis: int = -1) -> Tensor:
    """The i64 indices that sort along the axis, those of equals in order; NaN comes last."""
    tensor = Tensor.of(node_of(x))
    at = axis_of(axis, tensor.ndim)
    extent = tensor.shape[at]
    _, descending = topk(flip(tensor, at), extent, at)
    return extent - 1 - flip(descending, at)


def median(x: Like, axis: int | None = None, keepdims: bool = False) -> Tensor:
    """The middle of the sorted elements, or the mean of the two there; NaN where one is."""
    tensor = Tensor.of(node_of(x))
    flat = tensor.flatten() if axis is None else tensor
    at = 0 if axis is None else axis_of(axis, tensor.ndim)
    extent = flat.shape[at]
    if not extent:
        raise fail(f"median over no elements has no value: {tensor.node.type}")
    ordered = sort(flat, at)
    first = (extent - 1) // 2
    middle = _part(ordered, at, first, extent // 2 + 1).mean(at)
    if tensor.node.is_float:
        greatest = _part(ordered, at, extent - 1, None).reshape(middle.shape)
        middle = where(greatest == greatest, middle, greatest)
    if not keepdims:
        return middle
    return middle.reshape(*(1 if axis is None or each == at else n for each, n in enumerate(tensor.shape)))


def diff(x: Like, n: int = 1, axis: int = -1) -> Tensor:
    """The differences of neighbours along the axis, `n` times."""
    tensor = Tensor.of(node_of(x))
    at = axis_of(axis, tensor.ndim)
    for _ in range(n):
        tensor = _part(tensor, at, 1, None) - _part(tensor, at, 0, max(0, tensor.shape[at] - 1))
    return tensor


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
