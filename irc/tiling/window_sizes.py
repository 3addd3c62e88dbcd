"""Tiles of elementwise work that reads windows: as square as they can be, so that neighbors share what they read."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from irc.analysis.op_classes import LARGE
from irc.support.integers import power_of_two, round_up
from irc.tiling.domains import Domains
from irc.tiling.index_maps import DomainDim, Lin, atoms

LONGEST_RUN = 256
"""Elements of a tile along the contiguous dimension."""

SHORTEST_RUN = 16
"""Those at least, where other runs would end far behind the dimension's end."""

MAX_WASTE = 1.12
"""Elements of all tiles along another dimension that windows reach along, relative to its extent."""

SHORT = 8
MAX_WASTE_OF_SHORT = 1.15
"""The same for tiles that would be shorter than `SHORT`: 14 elements take one of 16."""

MAX_TILED = 3
"""Dimensions of a tile, as of other maps."""

MAX_FILLED = 4
"""The same where those are too short for the elements that a tile should have."""


def reached_dims(domains: Domains, dims: Sequence[DomainDim], *, overlap: bool) -> list[DomainDim]:
    """The dimensions along which an array that counts is read at several places that are constants apart, in their
    order; with `overlap`, those alone along which neighbors read some of the same elements."""
    found: set[DomainDim] = set()
    most = max((prod(operand.shape) for operand in domains.loaded), default=0)
    for operand in [each for each in domains.loaded if prod(each.shape) * LARGE >= most]:
        places: dict[tuple[int, Lin], list[int]] = {}
        for coords in operand.accesses:
            for axis, lin in enumerate(map(domains.bindings.resolve, coords)):
                places.setdefault((axis, Lin(lin.terms, 0)), []).append(lin.const)
        for (_, moving), constants in places.items():
            reach = max(constants) - min(constants)
            near = [atom for atom, factor in moving.terms if (abs(factor) if overlap else 1) <= reach]
            found |= {atom for each in near for atom in atoms(Lin(((each, 1),), 0)) if isinstance(atom, DomainDim)}
    return [dim for dim in dims if dim in found]


def window_tiles(
    dims: Sequence[DomainDim], inner: DomainDim, reached: Sequence[DomainDim], elements: int
) -> dict[DomainDim, int]:
    """Tiles of so many elements, whole runs along the contiguous dimension first, then neighbors along those that
    windows reach along, the outermost of them the longest."""
    sizes = {inner: min(power_of_two(inner.extent), LONGEST_RUN, elements)}
    if inner not in reached:
        sizes[inner] = max(min(SHORTEST_RUN, sizes[inner]), _fitting(inner.extent, sizes[inner]))
    room = elements // sizes[inner]
    outer = [dim for dim in reached if dim is not inner][-(MAX_TILED - 1) :]
    for left, dim in zip(range(len(outer), 0, -1), reversed(outer), strict=True):
        bits = (room.bit_length() - 1) // left
        sizes[dim] = _fitting(dim.extent, 1 << bits)
        room //= sizes[dim]
    for dim in reversed(dims):
        if room > 1 and dim not in sizes and len(sizes) < MAX_FILLED:
            sizes[dim] = _fitting(dim.extent, room)
            room //= sizes[dim]
    return {dim: sizes[dim] for dim in dims if dim in sizes}


def _fitting(extent: int, most: int) -> int:
    """The longest tile that ends little behind the extent; a longer one with more waste where it is short: neighbors
    share more of what they read then."""
    tiles = [1 << bit for bit in range(min(most, power_of_two(extent)).bit_length())]

    def longest(waste: float) -> int:
        return max(tile for tile in tiles if round_up(extent, tile) <= extent * waste)

    tile = longest(MAX_WASTE)
    return tile if tile >= SHORT else longest(MAX_WASTE_OF_SHORT)
