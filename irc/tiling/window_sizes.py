"""Tiles of elementwise work that reads windows: as square as they can be, so that neighbors share what they read."""

from __future__ import annotations

from collections.abc import Sequence

from irc.support.integers import power_of_two, round_up
from irc.tiling.domains import Domains
from irc.tiling.index_maps import Dim, Lin, atoms

LONGEST_RUN = 256
"""Elements of a tile along the contiguous dimension."""

MAX_WASTE = 1.1
"""Elements of all tiles along another dimension that windows reach along, relative to its extent."""

MAX_TILED = 3
"""Dimensions of a tile, as of other maps."""


def reached_dims(domains: Domains, dims: Sequence[Dim]) -> list[Dim]:
    """The dimensions along which an array is read at several places that are constants apart, in their order."""
    found: set[Dim] = set()
    for operand in domains.loaded:
        known: dict[tuple[int, Lin], int] = {}
        for coords in operand.accesses:
            for axis, lin in enumerate(map(domains.bindings.resolve, coords)):
                moving = Lin(lin.terms, 0)
                if known.setdefault((axis, moving), lin.const) != lin.const:
                    found |= {atom for atom in atoms(lin) if isinstance(atom, Dim)}
    return [dim for dim in dims if dim in found]


def window_tiles(dims: Sequence[Dim], inner: Dim, reached: Sequence[Dim], elements: int) -> dict[Dim, int]:
    """Tiles of so many elements, whole runs along the contiguous dimension first, then neighbors along those that
    windows reach along, the outermost of them the longest."""
    sizes = {inner: min(power_of_two(inner.extent), LONGEST_RUN, elements)}
    room = elements // sizes[inner]
    outer = [dim for dim in reached if dim is not inner][-(MAX_TILED - 1) :]
    for left, dim in zip(range(len(outer), 0, -1), reversed(outer), strict=True):
        bits = (room.bit_length() - 1) // left
        sizes[dim] = _fitting(dim.extent, 1 << bits)
        room //= sizes[dim]
    for dim in reversed(dims):
        if room > 1 and dim not in sizes and len(sizes) < MAX_TILED:
            sizes[dim] = _fitting(dim.extent, room)
            room //= sizes[dim]
    return {dim: sizes[dim] for dim in dims if dim in sizes}


def _fitting(extent: int, most: int) -> int:
    tile = min(most, power_of_two(extent))
    while tile > 1 and round_up(extent, tile) > extent * MAX_WASTE:
        tile //= 2
    return tile
