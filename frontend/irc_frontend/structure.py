"""Ops that move elements, on nodes: reshape, permute, slices, concatenation, indexing."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

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
