"""numpy's functions on Tensors that are one operation of arrays or nearly so: they move, index, reduce and sort; the
files `*_functions` have the others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from irc_frontend import elementwise, indexed, reduction, structure
from irc_frontend.elementwise import Number
from irc_frontend.elementwise_functions import where
from irc_frontend.evaluation import evaluate
from irc_frontend.graph import element_named, fail
from irc_frontend.shapes import Axes, axis_of, shape_of
from irc_frontend.tensor import Like, Tensor, node_of

__all__ = [
    "all",
    "any",
    "argmax",
    "argmin",
    "argsort",
    "broadcast_to",
    "check_indices",
    "concatenate",
    "cumprod",
    "cumsum",
    "expand_dims",
    "flip",
    "layer_norm",
    "log_softmax",
    "max",
    "mean",
    "median",
    "min",
    "moveaxis",
    "one_hot",
    "pad",
    "permute",
    "prod",
    "ravel",
    "realize",
    "reorder",
    "repeat",
    "reshape",
    "rms_norm",
    "scatter_add",
    "softmax",
    "sort",
    "split",
    "squeeze",
    "stack",
    "std",
    "sum",
    "swapaxes",
    "take",
    "take_along_axis",
    "tile",
    "topk",
    "transpose",
    "tril",
    "triu",
    "var",
]


def realize(*tensors: Tensor) -> tuple[Any, ...]:
    """The values of several tensors, computed by one program."""
    return tuple(evaluate([tensor.node for tensor in tensors]))


def reshape(x: Like, shape: Sequence[int]) -> Tensor:
    return Tensor.of(structure.reshape(node_of(x), [shape] if isinstance(shape, int) else shape))


def permute(x: Like, axes: Sequence[int]) -> Tensor:
    return Tensor.of(structure.permute(node_of(x), axes))


def transpose(x: Like, axes: Sequence[int] | None = None) -> Tensor:
    """numpy's: without axes, all of them reversed."""
    node = node_of(x)
    return Tensor.of(structure.permute(node, list(reversed(range(node.rank))) if axes is None else axes))


def broadcast_to(x: Like, shape: Sequence[int]) -> Tensor:
    return Tensor.of(elementwise.broadcast_to(node_of(x), shape_of(shape)))


def concatenate(parts: Sequence[Like], axis: int = 0) -> Tensor:
    return Tensor.of(structure.concat([node_of(part) for part in parts], axis))


def stack(parts: Sequence[Like], axis: int = 0) -> Tensor:
    return Tensor.of(structure.concat([structure.expand_dims(node_of(part), axis) for part in parts], axis))


def split(x: Like, count: int, axis: int = 0) -> list[Tensor]:
    """Equal parts along an axis."""
    tensor = Tensor.of(node_of(x))
    axis = axis % tensor.ndim if tensor.ndim else 0
    if not tensor.ndim or count < 1 or tensor.shape[axis] % count:
        raise fail(f"cannot split {tensor.node.type} into {count} equal parts along axis {axis}")
    width = tensor.shape[axis] // count
    before = (slice(None),) * axis
    return [tensor[(*before, slice(i * width, (i + 1) * width))] for i in range(count)]


def expand_dims(x: Like, axis: int) -> Tensor:
    return Tensor.of(structure.expand_dims(node_of(x), axis))


def squeeze(x: Like, axis: int | Sequence[int] | None = None) -> Tensor:
    return Tensor.of(structure.squeeze(node_of(x), axis))


def flip(x: Like, axis: int | Sequence[int] | None = None) -> Tensor:
    return Tensor.of(structure.flip(node_of(x), axis))


def pad(x: Like, widths: structure.Widths, value: Number = 0) -> Tensor:
    """`widths[i]` is how many elements of `value` go before and after on axis i; one pair or one number stands for
    all."""
    return Tensor.of(structure.pad(node_of(x), widths, value))


def tril(x: Like, k: int = 0) -> Tensor:
    return Tensor.of(structure.triangle("tril", node_of(x), k))


def triu(x: Like, k: int = 0) -> Tensor:
    return Tensor.of(structure.triangle("triu", node_of(x), k))


def tile(x: Like, reps: int | Sequence[int]) -> Tensor:
    return Tensor.of(structure.tile(node_of(x), reps))


def repeat(x: Like, count: int, axis: int | None = None) -> Tensor:
    """Each element `count` times, along an axis or of the flattened array."""
    return Tensor.of(structure.repeat(node_of(x), count, axis))


def swapaxes(x: Like, a: int, b: int) -> Tensor:
    return Tensor.of(structure.swap(node_of(x), a, b))


def moveaxis(x: Like, source: int, destination: int) -> Tensor:
    return Tensor.of(structure.move(node_of(x), source, destination))


def ravel(x: Like) -> Tensor:
    return Tensor.of(node_of(x)).flatten()


def check_indices(indices: Like, extent: int) -> Tensor:
    """The integers, all of which are 0 to extent - 1: another is an error when a value is computed from them."""
    return Tensor.of(indexed.checked(node_of(indices), 0, extent))


def take(x: Like, indices: Like, axis: int | None = None, mode: str = "raise") -> Tensor:
    """The slices at the indices; without an axis, of the flattened array. As in numpy, with the mode `raise` negative
    indices count from the end, and others out of range are an error when the value is computed; with `clip` all are
    clamped into range."""
    return Tensor.of(indexed.take(node_of(x), node_of(indices), axis, mode))


def reorder(x: Like, order: Like, inverse: Like, axis: int = 0) -> Tensor:
    """x at `order` along the axis: each index once. `inverse` is where each element goes, as `argsort(order)` gives it;
    then the gradient is another order, where that of a `take` adds up what is taken."""
    return Tensor.of(indexed.reorder(node_of(x), node_of(order), node_of(inverse), axis))


def take_along_axis(x: Like, indices: Like, axis: int, mode: str = "raise") -> Tensor:
    """numpy's; `mode` is that of `take`."""
    return Tensor.of(indexed.take_along(node_of(x), node_of(indices), axis, mode))


def scatter_add(x: Like, indices: Like, updates: Like, axis: int = 0, mode: str = "raise") -> Tensor:
    """x with the updates, which have the shape of `take(x, indices, axis)`, added at the indices; `mode` is that of
    `take`."""
    return Tensor.of(indexed.scatter_add(node_of(x), node_of(indices), node_of(updates), axis, mode))


def one_hot(indices: Like, count: int, dtype: Any = "f32") -> Tensor:
    """A new last axis of `count` elements: 1 at the (clamped) index, 0 elsewhere."""
    return Tensor.of(indexed.one_hot(node_of(indices), count, element_named(dtype)))


def topk(x: Like, k: int, axis: int = -1) -> tuple[Tensor, Tensor]:
    """The k greatest along the axis in descending order (NaN first), and their i64 indices."""
    values, indices = indexed.top(node_of(x), k, axis)
    return Tensor.of(values), Tensor.of(indices)


def sum(x: Like, axis: Axes = None, dtype: Any = None, keepdims: bool = False) -> Tensor:
    return Tensor.of(node_of(x)).sum(axis, dtype, keepdims)


def prod(x: Like, axis: Axes = None, dtype: Any = None, keepdims: bool = False) -> Tensor:
    return Tensor.of(node_of(x)).prod(axis, dtype, keepdims)


def mean(x: Like, axis: Axes = None, dtype: Any = None, keepdims: bool = False) -> Tensor:
    return Tensor.of(node_of(x)).mean(axis, dtype, keepdims)


def var(x: Like, axis: Axes = None, dtype: Any = None, keepdims: bool = False, correction: int = 0) -> Tensor:
    return Tensor.of(node_of(x)).var(axis, dtype, keepdims, correction)


def std(x: Like, axis: Axes = None, dtype: Any = None, keepdims: bool = False, correction: int = 0) -> Tensor:
    return Tensor.of(node_of(x)).std(axis, dtype, keepdims, correction)


def max(x: Like, axis: Axes = None, keepdims: bool = False) -> Tensor:
    return Tensor.of(node_of(x)).max(axis, keepdims)


def min(x: Like, axis: Axes = None, keepdims: bool = False) -> Tensor:
    return Tensor.of(node_of(x)).min(axis, keepdims)


def any(x: Like, axis: Axes = None, keepdims: bool = False) -> Tensor:
    return Tensor.of(node_of(x)).any(axis, keepdims)


def all(x: Like, axis: Axes = None, keepdims: bool = False) -> Tensor:
    return Tensor.of(node_of(x)).all(axis, keepdims)


def argmax(x: Like, axis: int | None = None, keepdims: bool = False) -> Tensor:
    return Tensor.of(node_of(x)).argmax(axis, keepdims)


def argmin(x: Like, axis: int | None = None, keepdims: bool = False) -> Tensor:
    return Tensor.of(node_of(x)).argmin(axis, keepdims)


def cumsum(x: Like, axis: int | None = None) -> Tensor:
    """Without an axis, of the flattened array. The sums have x's element type."""
    return Tensor.of(node_of(x)).cumsum(axis)


def cumprod(x: Like, axis: int | None = None) -> Tensor:
    return Tensor.of(node_of(x)).cumprod(axis)


def sort(x: Like, axis: int = -1) -> Tensor:
    return Tensor.of(reduction.along("sort", node_of(x), axis))


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
    middle = part_of(ordered, at, first, extent // 2 + 1).mean(at)
    if tensor.node.is_float:
        greatest = part_of(ordered, at, extent - 1, None).reshape(middle.shape)
        middle = where(greatest == greatest, middle, greatest)
    if not keepdims:
        return middle
    return middle.reshape(*(1 if axis is None or each == at else n for each, n in enumerate(tensor.shape)))


def part_of(x: Tensor, axis: int, start: int, stop: int | None) -> Tensor:
    """A stretch of the array along one axis."""
    return x[(*[slice(None)] * axis, slice(start, stop))]


def softmax(x: Like, axis: int = -1) -> Tensor:
    return Tensor.of(reduction.normalize("softmax", node_of(x), axis))


def log_softmax(x: Like, axis: int = -1) -> Tensor:
    return Tensor.of(reduction.normalize("log_softmax", node_of(x), axis))


def layer_norm(x: Like, axis: int = -1, eps: float = 1e-5) -> Tensor:
    return Tensor.of(reduction.normalize("layer_norm", node_of(x), axis, eps))


def rms_norm(x: Like, axis: int = -1, eps: float = 1e-6) -> Tensor:
    return Tensor.of(reduction.normalize("rms_norm", node_of(x), axis, eps))
