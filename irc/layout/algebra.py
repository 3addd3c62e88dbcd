"""CuTe's layout algebra on `irc/layout/cute.py`: products by rank.

The operations have the names and meanings of CuTe's (`cute/layout.hpp`). Sections are those of the CuTe documentation:
"CuTe Layout Algebra" where none is named otherwise.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from irc.layout.cute import Layout, coalesce_modes, flatten, logical_product, make_layout


def ordered(shape: Sequence[int], order: Sequence[int]) -> Layout:
    """The dense layout of a flat shape whose fastest mode is order[0], then order[1] and so on."""
    strides = [0] * len(shape)
    unit = 1
    for mode in order:
        strides[mode] = unit
        unit *= shape[mode]
    return Layout(tuple(shape), tuple(strides))


def _padded(layout: Layout, rank: int) -> Layout:
    """The layout with modes 1:0 up to a rank."""
    return make_layout(*layout.modes, *[Layout(1, 0)] * (rank - layout.rank))


def blocked_product(block: Layout, tiler: Layout) -> Layout:
    """Copies of a block laid out by a tiler: mode i runs through a block, then over the blocks ("Blocked and Raked
    Products")."""
    rank = max(block.rank, tiler.rank)
    inner, outer = logical_product(_padded(block, rank), _padded(tiler, rank)).modes
    return coalesce_modes(make_layout(*map(make_layout, inner.modes, outer.modes)))


def tile_to_shape(block: Layout, shape: Sequence[int], order: Sequence[int] | None = None) -> Layout:
    """A block repeated until it fills `shape`; order[0] is the mode along which the copies lie closest (0, 1, ... by
    default). A ValueError where the block does not divide the shape."""
    extents = [prod(flatten(mode.shape)) for mode in _padded(block, len(shape)).modes]
    if len(extents) != len(shape) or any(n % e for n, e in zip(shape, extents, strict=True)):
        raise ValueError(f"blocks of {tuple(extents)} do not fill {tuple(shape)}")
    copies = [n // e for n, e in zip(shape, extents, strict=True)]
    return blocked_product(block, ordered(copies, range(len(shape)) if order is None else order))
