"""Gathers and scatters, on nodes. `placed` says what an index outside of its axis means."""

from __future__ import annotations

from math import prod

import numpy as np

from irc.runtime.artifact import DTYPES
from irc_frontend.elementwise import apply, astype, broadcast_to, where
from irc_frontend.graph import Node, fail
from irc_frontend.shapes import axis_of, broadcast_shapes
from irc_frontend.structure import reshape


def checked(indices: Node, low: int, high: int, extent: int = 0) -> Node:
    """The indices, of which one that is not low to high + extent - 1 is an error of the run. extent: of an array, which
    a number may stand for."""
    _expect_integers(indices)
    attributes = (("low", low), ("high", high), ("extent", extent))
    return Node("check_indices", (indices,), indices.shape, indices.element, attributes)


def ascending(x: Node) -> Node:
    """The integers, which do not fall along any axis."""
    _expect_integers(x)
    return Node("ascending", (x,), x.shape, x.element)


def from_front(indices: Node, extent: int) -> Node:
    """The indices with those below 0 counted from the end of an axis, in integers that have all of its places."""
    if indices.element[0] == "u":
        return indices
    wide = indices if extent <= np.iinfo(DTYPES[indices.element]).max else astype(indices, "i64")
    return where(apply("less", wide, 0), apply("add", wide, extent), wide)


def placed(indices: Node, extent: int, mode: str) -> Node:
    """The indices for ops that clamp them into an axis: as they are with the mode `clip`; with `raise` those below 0
    count from the end, and others outside of the axis are an error of the run."""
    _expect_integers(indices)
    if mode == "clip":
        return indices
    if mode != "raise":
        raise fail(f"the mode {mode!r} of indices", "modes are 'raise' and 'clip'")
    return from_front(checked(indices, -extent, extent), extent)


def take(x: Node, indices: Node, axis: int | None, mode: str) -> Node:
    """The slices of x at the indices; without an axis, the elements of the flattened array."""
    flat = reshape(x, [prod(x.shape)]) if axis is None else x
    at = 0 if axis is None else axis_of(axis, x.rank)
    places = placed(indices, flat.shape[at], mode)
    return Node("take", (flat, places), _taken(flat, places, at), x.element, (("axis", at),))


def reorder(x: Node, order: Node, inverse: Node, axis: int) -> Node:
    """x at `order` along the axis, whose inverse is `inverse`."""
    at = axis_of(axis, x.rank)
    for indices in (order, inverse):
        _expect_integers(indices)
        if indices.shape != (x.shape[at],):
            raise fail(f"reorder: expected {x.shape[at]} indices, found {indices.type}")
    return Node("reorder", (x, order, inverse), x.shape, x.element, (("axis", at),))


def take_along(x: Node, indices: Node, axis: int, mode: str) -> Node:
    """numpy.take_along_axis: the element of x at the index, for every place of `indices`; other axes broadcast."""
    if indices.rank != x.rank:
        raise fail(f"take_along_axis: x and the indices have one rank, found {x.type} and {indices.type}")
    at = axis_of(axis, x.rank)
    places = placed(indices, x.shape[at], mode)
    others = broadcast_shapes(_without(x.shape, at), _without(indices.shape, at))
    wide = [broadcast_to(n, (*others[:at], n.shape[at], *others[at:])) for n in (x, places)]
    return Node("take_along", wide, wide[1].shape, x.element, (("axis", at),))


def scatter_add(x: Node, indices: Node, updates: Node, axis: int, mode: str) -> Node:
    """x with the updates, which have the shape of `take(x, indices, axis)`, added at the indices."""
    at = axis_of(axis, x.rank)
    places = placed(indices, x.shape[at], mode)
    wanted = _taken(x, indices, at)
    if updates.shape != wanted or updates.element != x.element:
        raise fail(f"scatter_add: expected updates {x.element}{list(wanted)}, found {updates.type}")
    if x.is_bool:
        raise fail(f"cannot add to {x.type}", "cast it first: x.astype('i32')")
    return Node("scatter_add", (x, places, updates), x.shape, x.element, (("axis", at),))


def one_hot(indices: Node, count: int, element: str) -> Node:
    """A new last axis of `count` elements: 1 at the index, 0 elsewhere."""
    _expect_integers(indices)
    if count < 0:
        raise fail(f"one_hot: the count is 0 or more, found {count}")
    return Node("one_hot", (indices,), (*indices.shape, count), element)


def top(x: Node, count: int, axis: int) -> tuple[Node, Node]:
    """The greatest elements along the axis in descending order, and their i64 indices."""
    at = axis_of(axis, x.rank)
    if x.is_bool:
        raise fail(f"cannot take topk of {x.type}", "cast it first: x.astype('i32')")
    if not 0 <= count <= x.shape[at]:
        raise fail(f"topk: k is 0 to {x.shape[at]}, found {count}")
    shape = (*x.shape[:at], count, *x.shape[at + 1 :])
    attributes = (("k", count), ("axis", at))
    values = Node("topk", (x,), shape, x.element, attributes)
    return values, Node("topk", (x,), shape, "i64", attributes, result=1)


def _expect_integers(indices: Node) -> None:
    if not indices.is_integer:
        raise fail(f"indices are integers, found {indices.type}")


def _taken(x: Node, indices: Node, at: int) -> tuple[int, ...]:
    return (*x.shape[:at], *indices.shape, *x.shape[at + 1 :])


def _without(shape: tuple[int, ...], at: int) -> tuple[int, ...]:
    return (*shape[:at], *shape[at + 1 :])
