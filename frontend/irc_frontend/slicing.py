"""Indices by integers, slices, None and `...`, on nodes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from irc_frontend.graph import Node, fail
from irc_frontend.shapes import axis_of
from irc_frontend.structure import flip, reshape


def keys_of(x: Node, key: Any) -> list[Any]:
    """An index with a key for each axis of the array, and None for each new one."""
    keys = list(key) if isinstance(key, tuple) else [key]
    if sum(each is Ellipsis for each in keys) > 1:
        raise fail("an index may have one ...")
    named = sum(each is not None and each is not Ellipsis for each in keys)
    if named > x.rank:
        raise fail(f"too many indices for {x.type}: {named}")
    at = next((i for i, each in enumerate(keys) if each is Ellipsis), len(keys))
    keys[at : at + 1] = [slice(None)] * (x.rank - named)
    return keys


def index(x: Node, key: Any) -> Node:
    """`x[key]`: integers, slices, None, and one `...`."""
    return indexed(x, keys_of(x, key))


def indexed(x: Node, keys: Sequence[Any]) -> Node:
    """The same of an index that has a key for each axis."""
    ranges: list[range] = []
    shape: list[int] = []
    backwards: list[int] = []
    for key in keys:
        if key is None:
            shape.append(1)
            continue
        extent = x.shape[len(ranges)]
        if isinstance(key, slice):
            found = positions(key, extent)
            if found.step < 0:
                backwards.append(len(ranges))
                found = range(found[-1], found[0] + 1, -found.step)
            ranges.append(found)
            shape.append(len(found))
        else:
            ranges.append(single(key, extent))
    return reshape(flip(sliced(x, ranges), backwards), shape)


def part_of(x: Node, axis: int, start: int, stop: int | None) -> Node:
    """A stretch of the array along one axis."""
    return index(x, (*[slice(None)] * axis_of(axis, x.rank), slice(start, stop)))


def positions(key: slice, extent: int) -> range:
    """The positions; an empty one starts at 0."""
    try:
        return range(extent)[key] or range(0)
    except (TypeError, ValueError) as error:
        hint = "dynamic_slice(x, starts, sizes) takes starts that are computed" if _has_array(key) else None
        raise fail(f"cannot slice by {key}: {error}", hint) from error


def single(key: Any, extent: int) -> range:
    """The position of an integer."""
    if isinstance(key, bool) or not hasattr(key, "__index__"):
        raise fail(f"cannot index by {type(key).__name__}", "x[i, a:b, None, ..., indices, mask] are indices")
    position = key.__index__()
    if not -extent <= position < extent:
        raise fail(f"index {position} is out of range for an extent of {extent}")
    position %= extent
    return range(position, position + 1)


def sliced(x: Node, ranges: Sequence[range]) -> Node:
    """The elements at a range of positions, with a step above 0, along each axis."""
    if all(r == range(extent) for r, extent in zip(ranges, x.shape, strict=True)):
        return x
    attributes = (
        ("starts", tuple(r.start for r in ranges)),
        ("stops", tuple(r.stop for r in ranges)),
        ("steps", tuple(r.step for r in ranges)),
    )
    return Node("slice", (x,), [len(r) for r in ranges], x.element, attributes)


def _has_array(key: slice) -> bool:
    return any(hasattr(each, "shape") for each in (key.start, key.stop, key.step))
