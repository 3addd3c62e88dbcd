"""Axes and extents, by numpy's rules, with errors at the user's line."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from operator import index
from typing import TypeAlias

from irc_frontend.graph import fail

Axes: TypeAlias = int | Sequence[int] | None
"""One axis, several, or all of them."""


def broadcast_shapes(*shapes: tuple[int, ...]) -> tuple[int, ...]:
    """The shape that all broadcast to."""
    rank = max(map(len, shapes), default=0)
    padded = [(1,) * (rank - len(shape)) + shape for shape in shapes]
    result: list[int] = []
    for extents in zip(*padded, strict=True):
        wanted = {extent for extent in extents if extent != 1}
        if len(wanted) > 1:
            given = ", ".join(str(list(shape)) for shape in shapes)
            raise fail(f"cannot broadcast the shapes {given}", _instead(shapes))
        result.append(wanted.pop() if wanted else 1)
    return tuple(result)


def _instead(shapes: Sequence[tuple[int, ...]]) -> str:
    """How shapes that do not meet may be meant: with new axes behind those of a shorter one."""
    rank = max(map(len, shapes))
    behind = [shape + (1,) * (rank - len(shape)) for shape in shapes]
    if all(len({*extents} - {1}) <= 1 for extents in zip(*behind, strict=True)):
        short = next(shape for shape in shapes if len(shape) < rank)
        axes = ", ".join([":"] * len(short) + ["None"] * (rank - len(short)))
        return f"None adds an axis: x[{axes}] of the one of shape {list(short)}"
    return "extents that meet, counted from the last axis, are equal or 1"


def axis_of(axis: int, rank: int) -> int:
    """The axis counted from the front."""
    if not -rank <= axis < rank:
        raise fail(f"axis {axis} is out of range for an array of {rank} axes")
    return axis + rank if axis < 0 else axis


def axes_of(axes: Axes, rank: int) -> tuple[int, ...]:
    """The axes counted from the front, in increasing order; None is all."""
    if axes is None:
        return tuple(range(rank))
    given = [axes] if isinstance(axes, int) else list(axes)
    found = sorted(axis_of(axis, rank) for axis in given)
    if len(set(found)) != len(found):
        raise fail(f"an axis is named twice in {given}")
    return tuple(found)


def shape_of(shape: int | Sequence[int]) -> tuple[int, ...]:
    """A shape as a tuple of extents."""
    extents = (shape,) if isinstance(shape, int) else tuple(shape)
    try:
        result = tuple(index(extent) for extent in extents)
    except TypeError as error:
        raise fail(f"a shape has integers, found {list(extents)}") from error
    if any(extent < 0 for extent in result):
        raise fail(f"extents are 0 or more, found {list(result)}")
    return result


def reshaped(shape: tuple[int, ...], wanted: Sequence[int]) -> tuple[int, ...]:
    """`wanted` with its -1, if it has one, replaced so that the element count stays."""
    size = prod(shape)
    extents = [index(extent) for extent in wanted]
    if extents.count(-1) > 1 or any(extent < -1 for extent in extents):
        raise fail(f"a shape may have one -1, found {extents}")
    if -1 in extents:
        rest = prod(extent for extent in extents if extent != -1)
        if rest == 0 or size % rest:
            raise fail(f"cannot reshape {list(shape)} to {extents}")
        extents[extents.index(-1)] = size // rest
    if prod(extents) != size:
        raise fail(f"cannot reshape {list(shape)} ({size} elements) to {extents} ({prod(extents)} elements)")
    return tuple(extents)
