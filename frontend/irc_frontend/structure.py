"""Ops that move elements, on nodes: reshape, permute, slices, concatenation, indexing."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from irc_frontend.elementwise import astype, broadcast_to
from irc_frontend.graph import Node, fail
from irc_frontend.promotion import common_element
from irc_frontend.shapes import axes_of, axis_of, reshaped


def reshape(x: Node, shape: Sequence[int]) -> Node:
    """The same elements in row-major order."""
    wanted = reshaped(x.shape, shape)
    while x.op == "reshape":
        x = next(iter(x.operands))
    return x if wanted == x.shape else Node("reshape", (x,), wanted, x.element)


def as_it_lies(node: Node) -> tuple[Node, tuple[int, ...] | None]:
    """The array that a node permutes, and the order of axes in which it has them; itself and None where it does not."""
    if node.op != "permute":
        return node, None
    (base,), order = list(node.operands), dict(node.attributes)["permutation"]
    assert isinstance(order, tuple)
    return base, tuple(map(int, order))


def permute(x: Node, order: Sequence[int]) -> Node:
    """Result axis i is operand axis order[i]."""
    axes = [axis_of(axis, x.rank) for axis in order]
    if sorted(axes) != list(range(x.rank)):
        raise fail(f"expected a permutation of {x.rank} axes, found {list(order)}")
    if axes == list(range(x.rank)):
        return x
    return Node("permute", (x,), [x.shape[axis] for axis in axes], x.element, (("permutation", tuple(axes)),))


def swap(x: Node, a: int, b: int) -> Node:
    """Two axes swapped."""
    order = list(range(x.rank))
    first, second = axis_of(a, x.rank), axis_of(b, x.rank)
    order[first], order[second] = second, first
    return permute(x, order)


def swap_last(x: Node) -> Node:
    """The last two axes swapped."""
    if x.rank < 2:
        raise fail(f"transpose needs two axes or more, found {x.type}")
    return swap(x, -1, -2)


def concat(parts: Sequence[Node], axis: int) -> Node:
    """The arrays one after the other along an axis."""
    if not parts:
        raise fail("concatenate needs one array or more")
    element = common_element("concatenate", parts)
    parts = [astype(part, element) for part in parts]
    first = parts[0]
    at = axis_of(axis, first.rank)
    for part in parts[1:]:
        same = part.rank == first.rank and all(
            a == b for i, (a, b) in enumerate(zip(part.shape, first.shape, strict=True)) if i != at
        )
        if not same:
            raise fail(f"cannot concatenate {first.type} and {part.type} along axis {at}")
    shape = list(first.shape)
    shape[at] = sum(part.shape[at] for part in parts)
    return first if len(parts) == 1 else Node("concat", parts, shape, first.element, (("axis", at),))


def expand_dims(x: Node, axis: int) -> Node:
    """An axis of extent 1 put in."""
    at = axis_of(axis, x.rank + 1)
    return reshape(x, [*x.shape[:at], 1, *x.shape[at:]])


def squeeze(x: Node, axis: int | Sequence[int] | None) -> Node:
    """Axes of extent 1 taken out: the named ones, or all."""
    if axis is None:
        return reshape(x, [extent for extent in x.shape if extent != 1])
    axes = axes_of(axis, x.rank)
    if any(x.shape[a] != 1 for a in axes):
        raise fail(f"cannot squeeze axes {list(axes)} of {x.type}: an extent is not 1")
    return reshape(x, [extent for a, extent in enumerate(x.shape) if a not in axes])


def flip(x: Node, axes: int | Sequence[int] | None) -> Node:
    """Backwards along the axes."""
    named = axes_of(axes, x.rank)
    return Node("flip", (x,), x.shape, x.element, (("axes", named),)) if named else x


def tile(x: Node, reps: int | Sequence[int]) -> Node:
    """numpy's: the array repeated along axes; the shorter of shape and `reps` gets ones in front."""
    counts = [reps] if isinstance(reps, int) else list(reps)
    if any(count < 0 for count in counts):
        raise fail(f"tile: counts are 0 or more, found {counts}")
    rank = max(x.rank, len(counts))
    wide = reshape(x, [1] * (rank - x.rank) + list(x.shape))
    counts = [1] * (rank - len(counts)) + counts
    shape = [extent * count for extent, count in zip(wide.shape, counts, strict=True)]
    return Node("tile", (wide,), shape, x.element, (("reps", tuple(counts)),))


def repeat(x: Node, count: int, axis: int | None) -> Node:
    """numpy's: each element `count` times, along an axis or of the flattened array."""
    if count < 0:
        raise fail(f"repeat: the count is 0 or more, found {count}")
    flat = reshape(x, [prod(x.shape)]) if axis is None else x
    at = 0 if axis is None else axis_of(axis, x.rank)
    before, extent, after = flat.shape[:at], flat.shape[at], flat.shape[at + 1 :]
    apart = broadcast_to(reshape(flat, [*before, extent, 1, *after]), (*before, extent, count, *after))
    return reshape(apart, [*before, extent * count, *after])


def triangle(op: str, x: Node, k: int) -> Node:
    """`tril` or `triu`."""
    if x.rank < 2:
        raise fail(f"{op} needs two axes or more, found {x.type}")
    return Node(op, (x,), x.shape, x.element, (("k", k),))


def index(x: Node, key: Any) -> Node:
    """`x[key]`: integers, slices, None, and one `...`."""
    keys = list(key) if isinstance(key, tuple) else [key]
    named = sum(k is not None and k is not Ellipsis for k in keys)
    if sum(k is Ellipsis for k in keys) > 1:
        raise fail("an index may have one ...")
    if named > x.rank:
        raise fail(f"too many indices for {x.type}: {named}")
    if not any(k is Ellipsis for k in keys):
        keys.append(Ellipsis)
    at = next(i for i, k in enumerate(keys) if k is Ellipsis)
    keys[at : at + 1] = [slice(None)] * (x.rank - named)
    return _indexed(x, keys)


def _indexed(x: Node, keys: Sequence[Any]) -> Node:
    ranges: list[range] = []
    shape: list[int] = []
    backwards: list[int] = []
    for key in keys:
        if key is None:
            shape.append(1)
            continue
        extent = x.shape[len(ranges)]
        if isinstance(key, slice):
            found = _range(key, extent)
            if found.step < 0:
                backwards.append(len(ranges))
                found = range(found[-1], found[0] + 1, -found.step)
            ranges.append(found)
            shape.append(len(found))
        else:
            ranges.append(_single(key, extent))
    return reshape(flip(_sliced(x, ranges), backwards), shape)


def part_of(x: Node, axis: int, start: int, stop: int | None) -> Node:
    """A stretch of the array along one axis."""
    return index(x, (*[slice(None)] * axis_of(axis, x.rank), slice(start, stop)))


def _range(key: slice, extent: int) -> range:
    """The positions; an empty one starts at 0."""
    try:
        return range(extent)[key] or range(0)
    except (TypeError, ValueError) as error:
        raise fail(f"cannot slice by {key}: {error}") from error


def _single(key: Any, extent: int) -> range:
    if isinstance(key, bool) or not hasattr(key, "__index__"):
        raise fail(f"cannot index by {type(key).__name__}", "take(x, indices, axis) gathers")
    try:
        position = key.__index__()
    except TypeError as error:
        raise fail("an array is among several indices", "take(x, indices, axis) gathers along one axis") from error
    if not -extent <= position < extent:
        raise fail(f"index {position} is out of range for an extent of {extent}")
    position %= extent
    return range(position, position + 1)


def _sliced(x: Node, ranges: Sequence[range]) -> Node:
    if all(r == range(extent) for r, extent in zip(ranges, x.shape, strict=True)):
        return x
    attributes = (
        ("starts", tuple(r.start for r in ranges)),
        ("stops", tuple(r.stop for r in ranges)),
        ("steps", tuple(r.step for r in ranges)),
    )
    return Node("slice", (x,), [len(r) for r in ranges], x.element, attributes)
