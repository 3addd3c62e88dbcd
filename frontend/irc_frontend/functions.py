"""numpy's functions on Tensors that are one operation of arrays or nearly so: they move, index and normalize; the files
`*_functions` have the others."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import prod
from typing import Any

import numpy as np

from irc_frontend import elementwise, indexed, padding, reduction, slicing, structure
from irc_frontend.evaluation import evaluate
from irc_frontend.graph import element_named, fail
from irc_frontend.shapes import axes_of, axis_of, shape_of
from irc_frontend.tensor import Like, Tensor, node_of

__all__ = [
    "ascending",
    "broadcast_to",
    "check_indices",
    "concatenate",
    "expand_dims",
    "flip",
    "layer_norm",
    "log_softmax",
    "moveaxis",
    "one_hot",
    "pad",
    "permute",
    "ravel",
    "realize",
    "reorder",
    "repeat",
    "reshape",
    "rms_norm",
    "scatter_add",
    "softmax",
    "split",
    "squeeze",
    "stack",
    "swapaxes",
    "take",
    "take_along_axis",
    "tile",
    "transpose",
    "tril",
    "triu",
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


def concatenate(parts: Sequence[Like], axis: int | None = 0) -> Tensor:
    """One after the other along the axis; without one, all of them flattened."""
    nodes = [node_of(part) for part in parts]
    if axis is None:
        return Tensor.of(structure.concat([structure.reshape(node, [prod(node.shape)]) for node in nodes], 0))
    return Tensor.of(structure.concat(nodes, axis))


def stack(parts: Sequence[Like], axis: int = 0) -> Tensor:
    return Tensor.of(structure.concat([structure.expand_dims(node_of(part), axis) for part in parts], axis))


def split(x: Like, count: int | Sequence[int], axis: int = 0) -> list[Tensor]:
    """So many equal parts along an axis, or the parts between the places of a list."""
    tensor = Tensor.of(node_of(x))
    at = axis_of(axis, tensor.ndim)
    extent = tensor.shape[at]
    if isinstance(count, int):
        if count < 1 or extent % count:
            raise fail(f"cannot split {tensor.node.type} into {count} equal parts along axis {at}")
        count = [each * (extent // count) for each in range(1, count)]
    places = [0, *count, extent]
    return [part_of(tensor, at, start, stop) for start, stop in pairwise(places)]


def expand_dims(x: Like, axis: int | Sequence[int]) -> Tensor:
    """Axes of extent 1 put in, at these places of the result."""
    node = node_of(x)
    named = [axis] if isinstance(axis, int) else list(axis)
    for at in axes_of(named, node.rank + len(named)):
        node = structure.expand_dims(node, at)
    return Tensor.of(node)


def squeeze(x: Like, axis: int | Sequence[int] | None = None) -> Tensor:
    return Tensor.of(structure.squeeze(node_of(x), axis))


def flip(x: Like, axis: int | Sequence[int] | None = None) -> Tensor:
    return Tensor.of(structure.flip(node_of(x), axis))


def pad(x: Like, widths: padding.Widths, mode: str = "constant", constant_values: padding.Values = 0) -> Tensor:
    """`widths[i]` is how many elements go before and after on axis i; one pair or one number stands for all. The modes
    are numpy's: `constant` (of `constant_values`, with pairs as widths are), `edge`, `reflect`, `symmetric`, `wrap`."""
    return Tensor.of(padding.pad(node_of(x), widths, mode, constant_values))


def tril(x: Like, k: int = 0) -> Tensor:
    return Tensor.of(structure.triangle("tril", node_of(x), k))


def triu(x: Like, k: int = 0) -> Tensor:
    return Tensor.of(structure.triangle("triu", node_of(x), k))


def tile(x: Like, reps: int | Sequence[int]) -> Tensor:
    return Tensor.of(structure.tile(node_of(x), reps))


def repeat(x: Like, count: int | Sequence[int], axis: int | None = None) -> Tensor:
    """Each element `count` times, or as often as a list says, along an axis or of the flattened array."""
    if isinstance(count, int):
        return Tensor.of(structure.repeat(node_of(x), count, axis))
    tensor = Tensor.of(node_of(x)) if axis is not None else ravel(x)
    extent = tensor.shape[axis_of(axis or 0, tensor.ndim)]
    if len(count) not in (1, extent) or any(each < 0 for each in count):
        raise fail(f"repeat: expected {extent} counts of 0 or more, found {list(count)}")
    places = np.repeat(np.arange(extent), list(count))
    return take(tensor, places, axis or 0, "clip")


def swapaxes(x: Like, a: int, b: int) -> Tensor:
    return Tensor.of(structure.swap(node_of(x), a, b))


def moveaxis(x: Like, source: int | Sequence[int], destination: int | Sequence[int]) -> Tensor:
    """Axes moved to other places, the others in their order."""
    node = node_of(x)
    sources, places = ([each] if isinstance(each, int) else list(each) for each in (source, destination))
    if len(sources) != len(places):
        raise fail(f"moveaxis: {len(sources)} axes go to {len(places)} places")
    moved = {axis_of(to, node.rank): axis_of(axis, node.rank) for axis, to in zip(sources, places, strict=True)}
    others = (axis for axis in range(node.rank) if axis not in moved.values())
    order = [moved[to] if to in moved else next(others, -1) for to in range(node.rank)]
    if sorted(order) != list(range(node.rank)):
        raise fail(f"an axis is named twice in {sources} or {places}")
    return Tensor.of(structure.permute(node, order))


def ravel(x: Like) -> Tensor:
    return Tensor.of(node_of(x)).flatten()


def check_indices(indices: Like, extent: int) -> Tensor:
    """The integers, all of which are 0 to extent - 1: another is an error when a value is computed from them."""
    return Tensor.of(indexed.checked(node_of(indices), 0, extent))


def ascending(x: Like) -> Tensor:
    """The integers, which the caller knows not to fall along any axis: loops over places that are compared with them
    have bounds that are looked up, or searched for. Where they do fall, results that depend on them are undefined."""
    return Tensor.of(indexed.ascending(node_of(x)))


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


def part_of(x: Tensor, axis: int, start: int, stop: int | None) -> Tensor:
    """A stretch of the array along one axis."""
    return Tensor.of(slicing.part_of(x.node, axis, start, stop))


def softmax(x: Like, axis: int = -1) -> Tensor:
    return Tensor.of(reduction.normalize("softmax", node_of(x), axis))


def log_softmax(x: Like, axis: int = -1) -> Tensor:
    return Tensor.of(reduction.normalize("log_softmax", node_of(x), axis))


def layer_norm(x: Like, axis: int = -1, eps: float = 1e-5) -> Tensor:
    return Tensor.of(reduction.normalize("layer_norm", node_of(x), axis, eps))


def rms_norm(x: Like, axis: int = -1, eps: float = 1e-6) -> Tensor:
    return Tensor.of(reduction.normalize("rms_norm", node_of(x), axis, eps))
