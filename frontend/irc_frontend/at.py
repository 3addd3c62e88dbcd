"""`x.at[key].set(values)`: another array with other elements at an index.

Indices of integers and slices are paddings and a choice. With arrays, sums are a scatter; other updates look for those
of each element, which takes as many steps as elements times updates, unless the index is known when the graph is
recorded: then `set` is a gather.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from irc_frontend.elementwise import apply, astype, broadcast_to, constant, where
from irc_frontend.evaluation import evaluate
from irc_frontend.graph import LEAF, Node, fail
from irc_frontend.indexed import scatter_add, take
from irc_frontend.indexing import array_keys, index
from irc_frontend.leaves import leaf, to_numpy
from irc_frontend.padding import pad
from irc_frontend.reduction import reduce
from irc_frontend.slicing import indexed, positions, single, sliced
from irc_frontend.structure import flip, reshape

if TYPE_CHECKING:
    from irc_frontend.tensor import Tensor


class At:
    """`x.at`, which an index follows."""

    def __init__(self, tensor: Tensor, nodes_of: Callable[[Any], Any]):
        self._tensor = tensor
        self._nodes_of = nodes_of

    def __getitem__(self, key: Any) -> Place:
        return Place(self._tensor, self._nodes_of(key))


@dataclass(frozen=True)
class Place:
    """`x.at[key]`: each method makes another array. Values broadcast to `x[key]` and are cast to x's element type."""

    tensor: Tensor
    key: Any

    def get(self) -> Tensor:
        return self.tensor.of(index(self.tensor.node, self.key))

    def set(self, values: Any) -> Tensor:
        """Where an index is named twice, the last value stays."""
        return self._updated("set", values)

    def add(self, values: Any) -> Tensor:
        """All values of an index that is named several times are added."""
        return self._updated("add", values)

    def subtract(self, values: Any) -> Tensor:
        return self._updated("add", -self.tensor.of(self._values(values)))

    def multiply(self, values: Any) -> Tensor:
        return self._updated("mul", values)

    def divide(self, values: Any) -> Tensor:
        return self._updated("mul", 1 / self.tensor.of(self._values(values)))

    def min(self, values: Any) -> Tensor:
        return self._updated("minimum", values)

    def max(self, values: Any) -> Tensor:
        return self._updated("maximum", values)

    def _values(self, values: Any) -> Node:
        x = self.tensor.node
        if isinstance(values, bool | int | float):
            return constant(bool(values) if x.is_bool else values, (), x.element)
        node = values.node if hasattr(values, "node") else leaf(values, None)
        return astype(node, x.element)

    def _updated(self, op: str, values: Any) -> Tensor:
        x, update = self.tensor.node, self._values(values)
        keys = array_keys(x, self.key)
        function = _scattered if any(isinstance(each, Node) for each in keys) else _padded
        return self.tensor.of(function(op, x, keys, update))


def _padded(op: str, x: Node, keys: Sequence[Any], update: Node) -> Node:
    """The update of an index of integers and slices, padded to the whole array."""
    named = [each for each in keys if each is not None]
    ranges = [
        positions(each, extent) if isinstance(each, slice) else single(each, extent)
        for each, extent in zip(named, x.shape, strict=True)
    ]
    region = [len(each) for each in ranges]
    if not prod(region):
        return x
    values = reshape(broadcast_to(update, indexed(x, keys).shape), region)
    values = flip(values, [axis for axis, each in enumerate(ranges) if each.step < 0])
    forward = [each if each.step > 0 else each[::-1] for each in ranges]
    is_there = _spread(constant(True, region, "bool"), forward, x.shape)
    around = _spread(values, forward, x.shape)
    return where(is_there, around if op == "set" else apply(op, x, around), x)


def _spread(values: Node, ranges: Sequence[range], shape: Sequence[int]) -> Node:
    """The values at the positions of each axis, zeros elsewhere."""
    for axis, each in enumerate(ranges):
        if each.step > 1 and len(each) > 1:
            values = _apart(values, axis, each.step)
    return pad(values, [(each[0], extent - 1 - each[-1]) for each, extent in zip(ranges, shape, strict=True)])


def _apart(values: Node, axis: int, step: int) -> Node:
    """The values with step - 1 zeros between them along an axis."""
    before, extent, behind = values.shape[:axis], values.shape[axis], values.shape[axis + 1 :]
    alone = reshape(values, [*before, extent, 1, *behind])
    wide = pad(alone, [(0, step - 1) if each == axis + 1 else (0, 0) for each in range(alone.rank)])
    joined = reshape(wide, [*before, extent * step, *behind])
    cut = [range(n) for n in joined.shape]
    cut[axis] = range((extent - 1) * step + 1)
    return sliced(joined, cut)


def _scattered(op: str, x: Node, keys: Sequence[Any], update: Node) -> Node:
    if op == "add" and (along := _one_axis(keys)) is not None:
        indices = keys[along]
        shape = (*x.shape[:along], *indices.shape, *x.shape[along + 1 :])
        return scatter_add(x, indices, broadcast_to(update, shape), along, "raise")
    flat, numbers = reshape(x, [prod(x.shape)]), Node("iota", (), (prod(x.shape),), "i64", (("axis", 0),))
    places = index(reshape(numbers, x.shape), tuple(keys))
    count = prod(places.shape)
    if not count:
        return x
    values = reshape(broadcast_to(update, places.shape), [count])
    places = reshape(places, [count])
    if op == "add":
        return reshape(scatter_add(flat, places, values, 0, "clip"), x.shape)
    return reshape(_chosen(op, flat, places, values), x.shape)


def _one_axis(keys: Sequence[Any]) -> int | None:
    """The axis that an array indexes, where all others are whole."""
    arrays = [axis for axis, each in enumerate(keys) if isinstance(each, Node)]
    others = (each for each in keys if not isinstance(each, Node))
    return arrays[0] if len(arrays) == 1 and all(each == slice(None) for each in others) else None


def _chosen(op: str, x: Node, places: Node, values: Node) -> Node:
    if op == "set":
        last = _last_update(x.shape[0], places)
        return where(apply("greater_equal", last, 0), take(values, last, 0, "clip"), x)
    hits, size = _hits(x.shape[0], places), (x.shape[0], places.shape[0])
    given = broadcast_to(values, size)
    if op == "mul":
        factors = reduce("prod", where(hits, given, 1), 1, element=x.element)
        return apply("mul", x, factors)
    own = broadcast_to(reshape(x, [x.shape[0], 1]), size)
    return apply(op, x, reduce({"minimum": "min", "maximum": "max"}[op], where(hits, given, own), 1))


def _last_update(size: int, places: Node) -> Node:
    """The number of the last update of each element, -1 where there is none."""
    count = places.shape[0]
    if not places.is_recorded:
        found = np.full(size, -1)
        found[to_numpy(evaluate([places])[0])] = np.arange(count)
        return Node(LEAF, (), (size,), "i64", value=found)
    numbers = Node("iota", (), (size, count), "i64", (("axis", 1),))
    return reduce("max", where(_hits(size, places), numbers, -1), 1)


def _hits(size: int, places: Node) -> Node:
    """Whether an update is one of an element: [elements, updates]."""
    if size == 0:
        raise fail("an array without elements has no index")
    shape = (size, places.shape[0])
    return apply("equal", Node("iota", (), shape, "i64", (("axis", 0),)), broadcast_to(places, shape))
