"""Gathers and scatters, on nodes. Indices are clamped into range."""

from __future__ import annotations

from math import prod

from irc_frontend.elementwise import broadcast_to
from irc_frontend.graph import Node, fail
from irc_frontend.shapes import axis_of, broadcast_shapes
from irc_frontend.structure import reshape


def take(x: Node, indices: Node, axis: int | None) -> Node:
    """The slices of x at the indices; without an axis, the elements of the flattened array."""
    _expect_integers(indices)
    flat = reshape(x, [prod(x.shape)]) if axis is None else x
    at = 0 if axis is None else axis_of(axis, x.rank)
    shape = _taken(flat, indices, at)
    return Node("take", (flat, indices), shape, x.element, (("axis", at),))


def take_along(x: Node, indices: Node, axis: int) -> Node:
    """numpy.take_along_axis: the element of x at the index, for every place of `indices`; other axes broadcast."""
    _expect_integers(indices)
    if indices.rank != x.rank:
        raise fail(f"take_along_axis: x and the indices have one rank, found {x.type} and {indices.type}")
    at = axis_of(axis, x.rank)
    others = broadcast_shapes(_without(x.shape, at), _without(indices.shape, at))
    wide = [broadcast_to(n, (*others[:at], n.shape[at], *others[at:])) for n in (x, indices)]
    return Node("take_along", wide, wide[1].shape, x.element, (("axis", at),))


def scatter_add(x: Node, indices: Node, updates: Node, axis: int) -> Node:
    """x with the updates, which have the shape of `take(x, indices, axis)`, added at the indices."""
    _expect_integers(indices)
    at = axis_of(axis, x.rank)
    wanted = _taken(x, indices, at)
    if updates.shape != wanted or updates.element != x.element:
        raise fail(f"scatter_add: expected updates {x.element}{list(wanted)}, found {updates.type}")
    if x.is_bool:
        raise fail(f"cannot add to {x.type}", "cast it first: x.astype('i32')")
    return Node("scatter_add", (x, indices, updates), x.shape, x.element, (("axis", at),))


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


def indices_of(key: Node) -> Node:
    """The key of `x[key]`, where it is an array of integers."""
    if key.is_bool:
        raise fail(
            f"cannot index by a mask, {key.type}: the shape would depend on its values",
            "where(mask, x, other) keeps the shape; a sum over some is where(mask, x, 0).sum()",
        )
    return key


def _expect_integers(indices: Node) -> None:
    if not indices.is_integer:
        raise fail(f"indices are integers, found {indices.type}")


def _taken(x: Node, indices: Node, at: int) -> tuple[int, ...]:
    return (*x.shape[:at], *indices.shape, *x.shape[at + 1 :])


def _without(shape: tuple[int, ...], at: int) -> tuple[int, ...]:
    return (*shape[:at], *shape[at + 1 :])
