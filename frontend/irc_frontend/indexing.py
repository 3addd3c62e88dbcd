"""Indices that have arrays among them, on nodes: by numpy's rules, as one gather of the axes that arrays index."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from irc_frontend.elementwise import apply, astype, broadcast_to
from irc_frontend.evaluation import evaluate
from irc_frontend.graph import LEAF, Node, fail
from irc_frontend.indexed import placed, take
from irc_frontend.leaves import leaf, to_numpy
from irc_frontend.shapes import broadcast_shapes
from irc_frontend.slicing import indexed, keys_of
from irc_frontend.structure import permute, reshape


def index(x: Node, key: Any) -> Node:
    """`x[key]`: integers, slices, None, one `...`, arrays of integers, and masks whose values are known. Arrays are
    Nodes or what numpy makes an array of."""
    keys = array_keys(x, key)
    return _gathered(x, keys) if any(isinstance(each, Node) for each in keys) else indexed(x, keys)


def array_keys(x: Node, key: Any) -> list[Any]:
    """An index with a key for each axis of the array: integers, slices, and nodes of integers; None for new axes."""
    given = key if isinstance(key, tuple) else (key,)  # pyright: ignore[reportUnknownVariableType]
    keys: list[Any] = []
    masks: dict[int, Node] = {}
    for each in given:  # pyright: ignore[reportUnknownVariableType]
        node = _array(each)
        if node is None:
            keys.append(each)
        elif node.is_bool:
            masks[len(keys)] = node
            keys += known_places(node)
        else:
            keys.append(node)
    _check_masks(x, keys, masks)
    return keys_of(x, tuple(keys))


def _array(key: Any) -> Node | None:
    """The node of an array, None of another key."""
    if isinstance(key, Node):
        return key
    if isinstance(key, bool | np.bool_):
        raise fail("cannot index by one bool", "where(condition, a, b) chooses")
    if isinstance(key, list | tuple) and not key:
        return leaf(np.zeros(0, np.int64), None)
    return leaf(key, None) if isinstance(key, np.ndarray | list | tuple) else None


def known_places(mask: Node) -> list[Node]:
    """Where a mask holds, as indices of each of its axes. IrcError where its values are not known yet."""
    if mask.is_recorded:
        raise fail(
            f"a mask, {mask.type}, has no values yet, and how many elements it chooses is a shape",
            "where(mask, x, other) keeps the shape, where(mask, x, 0).sum() sums some; x[nonzero(mask, size=n)] has n",
        )
    if not mask.rank:
        raise fail("cannot index by a mask without axes", "where(condition, a, b) chooses")
    found = np.nonzero(to_numpy(evaluate([mask])[0]))
    return [Node(LEAF, (), each.shape, "i64", value=each) for each in found]


def _check_masks(x: Node, keys: Sequence[Any], masks: dict[int, Node]) -> None:
    """Masks have the extents of the axes that they stand for."""
    for at, mask in masks.items():
        named = [each for each in keys if each is not None]
        dots = next((i for i, each in enumerate(named) if each is Ellipsis), len(named))
        before = sum(each is not None for each in keys[:at])
        axis = before if before <= dots else x.rank - len(named) + before
        if x.shape[axis : axis + mask.rank] != mask.shape:
            raise fail(f"a mask, {mask.type}, does not fit axis {axis} of {x.type}")


def _gathered(x: Node, keys: Sequence[Any]) -> Node:
    """Result axes of the arrays are where the arrays are, or in front where something is between them."""
    advanced = [i for i, each in enumerate(keys) if each is not None and not isinstance(each, slice)]
    are_together = advanced == list(range(advanced[0], advanced[-1] + 1))
    first = advanced[0] if are_together else 0
    base = indexed(x, [slice(None) if isinstance(each, Node) else each for each in keys if each is not None])
    kept = [each for each in keys if isinstance(each, Node | slice)]
    own = [axis for axis, each in enumerate(kept) if isinstance(each, Node)]
    others = [axis for axis in range(base.rank) if axis not in own]
    lead = sum(isinstance(each, slice) for each in keys[:first])
    moved = permute(base, [*others[:lead], *own, *others[lead:]])
    flat = reshape(
        moved, [*moved.shape[:lead], prod(base.shape[axis] for axis in own), *moved.shape[lead + len(own) :]]
    )
    places = _linear([each for each in keys if isinstance(each, Node)], [base.shape[axis] for axis in own])
    taken = take(flat, places, lead, "clip")
    extents = iter([base.shape[axis] for axis in others])
    plain = [each for each in keys[:first] if each is None or isinstance(each, slice)]
    behind = [each for each in keys[first:] if each is None or isinstance(each, slice)]
    before = [1 if each is None else next(extents) for each in plain]
    return reshape(taken, [*before, *places.shape, *(1 if each is None else next(extents) for each in behind)])


def _linear(arrays: Sequence[Node], extents: Sequence[int]) -> Node:
    """The places in the axes as one that the arrays index together."""
    found = [placed(each, extent, "raise") for each, extent in zip(arrays, extents, strict=True)]
    if len(found) == 1:
        return found[0]
    shape = broadcast_shapes(*(each.shape for each in found))
    wide = [broadcast_to(astype(each, "i64"), shape) for each in found]
    total = wide[0]
    for each, extent in zip(wide[1:], extents[1:], strict=True):
        total = apply("add", apply("mul", total, extent), each)
    return total
