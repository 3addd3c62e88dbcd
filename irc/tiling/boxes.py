"""The box of a permutation: the dimensions that a tile takes elements of, so that every array is walked in long runs.

A box takes dimensions of the chains of two arrays (`irc/tiling/chains.py`), one for each direction, until the runs of
both are as long as they should be; the last one in part. Neighbors in a chain that only one direction takes become one
dimension, so a permutation of many short dimensions is tiled like a transpose of a matrix.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import prod

from irc.ir.dtypes import element_of
from irc.support.integers import ceil_div, power_of_two, round_up
from irc.tiling.chains import Chain, address_of, apart, begin_anywhere, by_steps, chains, sector_of
from irc.tiling.domains import Domains, Space
from irc.tiling.index_maps import DomainDim, Lin, Mod, constant, lin_of, new_dim, offset, substitute, terms

SPACIOUS = 32768
"""Bytes that a tile may have, if it is up to twice as large as wanted, for its rows to be whole."""

LONGEST = 8
"""How much longer than wanted a row of a tile may be."""

STRIP = 0.64
"""Of the L2, that a line of neighboring tiles takes, loaded and stored, which stays until the next line is beside
them."""

PREFERENCE = 0.85
"""What a tile of another size than the wanted one has to be fuller by."""

FULLER = 0.9
MIN_WORK = 16
"""What tiles of half the size have to be fuller by where several arrays are loaded, whose work outside of the arrays is
as much as inside; and instructions an element from which on that counts more than the length of runs. They have half
the registers, too, so that twice as many blocks share a multiprocessor. On an H200, halves (and faster cosines) took
96 x 2704 x 176 bf16 with 17 instructions from 0.69 of a copy to 0.92, and 6416 x 96 x 80 with 12, whose runs they cut
to 64 bytes, from 0.93 to 0.70."""

MIN_HALVED = 8192
"""Elements of the smallest tile that is halved for that: 32 of each of 256 threads."""


def fullest_boxes(domains: Domains, space: Space, sides: tuple[int, ...], instructions: int) -> dict[DomainDim, int]:
    """`box_permutation`, with a half of one of two sides where several arrays are loaded, all rows begin with sectors,
    the work on an element is some instructions long, and the tiles are enough fuller."""
    is_long = instructions >= MIN_WORK and len(domains.loaded) > 1
    if is_long and len(sides) == 2 and prod(sides) >= MIN_HALVED:
        first, second = sides
        whole, *halves = (_filled(domains, space, each) for each in (sides, (first // 2, second), (first, second // 2)))
        if max(halves) * FULLER > whole:
            sides = (first // 2, second) if halves[0] >= halves[1] else (first, second // 2)
    return box_permutation(domains, space, sides)


def _filled(domains: Domains, space: Space, sides: tuple[int, ...]) -> float:
    """The part of the tiles' elements that exist; 0 where rows begin within sectors, which shorter ones would have more
    of. Nothing is changed."""
    if any(begin_anywhere(domains, chain, space) for chain in chains(domains, space)):
        return 0.0
    bindings, dims = domains.bindings, list(space)
    domains.bindings = bindings.with_bound(())
    tiles = box_permutation(domains, dims, sides)
    domains.bindings = bindings
    held = prod(round_up(d.extent, tiles.get(d, 1)) for d in dims)
    return prod(d.extent for d in space) / held


def box_permutation(domains: Domains, space: Space, sides: tuple[int, ...]) -> dict[DomainDim, int]:
    """Splits and merges the dimensions of a permutation and gives the extents of its tiles: about `sides` elements in a
    run of the result and of the operand, where they have so many. Empty where all arrays are walked alike.

    The space is put in the order of the result, whose neighboring tiles share lines of memory; the last dimension but
    one leads to the neighbors in the operand, with which tiles share sectors where its rows begin anywhere. Then these
    change places where the sectors would have left the L2 by the time that the neighbors come.
    """
    found = chains(domains, space)
    # With several arrays to load, tiles whose rows begin in words of one of them cost the others more
    # (docs/layout-search.md has figures).
    is_alone = len(domains.loaded) == 1
    if len(found) == 1 and is_alone:
        found += apart(domains, space, found[0])
    if len(found) < 2:
        if found and not is_alone:
            # Tiles that share sectors of the result come one after another.
            space.sort(key=by_steps(domains, found[0], space).index, reverse=True)
        return {}
    shares_sectors = is_alone and begin_anywhere(domains, found[1], space)
    sides = _sides(sides, len(found))
    taken = [_take(chain.dims, side) for chain, side in zip(found, sides, strict=True)]
    if is_alone and len(found) == 2 and begin_anywhere(domains, found[0], space):
        tiles, away_in_operand = _whole_rows(domains, space, found, taken, sides)
    else:
        tiles = _parts(domains, space, found, taken, sides)
        away_in_operand = by_steps(domains, found[1], space)
    room = prod(sides) // prod(tiles.values())
    for dim in by_steps(domains, found[0], [d for d in space if d not in tiles]):
        if room < 2:
            break
        tiles[dim] = _part(dim.extent, min(room, power_of_two(dim.extent)))
        room //= tiles[dim]
    several = [d for d in space if tiles.get(d, 1) < d.extent]
    along = [by_steps(domains, chain, several) for chain in found]
    neighbors = list(dict.fromkeys(order[0] for order in along if order))
    beside = next((d for d in away_in_operand if d in several), None)
    if shares_sectors and beside is not None and neighbors and beside != neighbors[0]:
        size = 2 * prod(tiles.values()) * element_of(found[0].operand.element_type).size
        strips = [ceil_div(d.extent, tiles.get(d, 1)) * size for d in (neighbors[0], beside)]
        if strips[1] <= STRIP * domains.machine.l2 < strips[0]:
            neighbors = [beside, neighbors[0]]
    if not is_alone and any(begin_anywhere(domains, chain, space) for chain in found[1:]):
        neighbors = _in_cache(domains, neighbors, tiles)
    away = by_steps(domains, found[0], space)
    space.sort(key=lambda d: (d in several, -away.index(d)))
    for dim in reversed(neighbors):
        space.remove(dim)
        space.append(dim)
    return {d: tiles[d] for d in space if d in tiles}


def _in_cache(domains: Domains, neighbors: list[DomainDim], tiles: dict[DomainDim, int]) -> list[DomainDim]:
    """The order of dimensions along which tiles share sectors: as it is where the L2 holds all tiles until those beside
    them come, else those with the fewest tiles first."""
    counts = {d: ceil_div(d.extent, tiles.get(d, 1)) for d in neighbors}
    size = prod(tiles.values()) * sum(element_of(operand.element_type).size for operand in domains.large)
    if size * prod(counts[d] for d in neighbors[:-1]) <= STRIP * domains.machine.l2:
        return neighbors
    return sorted(neighbors, key=lambda d: counts[d])


def _sides(sides: tuple[int, ...], count: int) -> tuple[int, ...]:
    """As long runs along each of `count` directions as a tile of as many elements has room for, those of the first ones
    the longer."""
    if len(sides) == count:
        return sides
    bits = prod(sides).bit_length() - 1
    return tuple(1 << (bits // count + (at < bits % count)) for at in range(count))


def _parts(
    domains: Domains,
    space: Space,
    found: Sequence[Chain],
    taken: Sequence[dict[DomainDim, int]],
    sides: tuple[int, ...],
) -> dict[DomainDim, int]:
    """Tiles of whole rows of all directions, or of equal parts of them."""
    counts = Counter(d for own in taken for d in own)
    shared = [d for d, count in counts.items() if count > 1]
    tiles = {d: max(_part(d.extent, own[d]) for own in taken if d in own) for d in shared}
    for chain, own, side in zip(found, taken, sides, strict=True):
        tiles.update(_merge(domains, space, run, own, side) for run in _runs(chain.dims, own, shared))
    return tiles


def _whole_rows(
    domains: Domains,
    space: Space,
    found: Sequence[Chain],
    taken: Sequence[dict[DomainDim, int]],
    sides: tuple[int, ...],
) -> tuple[dict[DomainDim, int], list[DomainDim]]:
    """Tiles of a result whose rows begin at any element: what it takes becomes one dimension, which is cut where words
    of memory begin. Beside it the dimensions in the order in which they lead away in the operand, where that cut moves
    with none of them."""
    for operand in domains.operands:
        operand.is_boxed = True
    row = list(taken[0])
    for dim in found[0].dims[len(row) :]:
        length = prod(d.extent for d in row)
        # What the operand takes may become part of the row where enough of it is in a tile then.
        held = LONGEST * sides[0] // length
        if length >= sides[0] or (dim in taken[1] and held < min(dim.extent, sides[1] // 2)):
            break
        row.append(dim)
    tiles = dict(_merge(domains, space, run, taken[1], sides[1]) for run in _runs(found[1].dims, taken[1], row))
    dim = domains.join(list(reversed(row)))
    space[:] = [d for d in space if d not in row] + [dim]
    away = by_steps(domains, found[1], space)
    skewed = _skew(domains, found[0], space, dim)
    spacious = min(2 * prod(sides), SPACIOUS // element_of(found[0].operand.element_type).size)
    most = max(prod(sides), spacious)
    room = min(most // prod(tiles.values()), LONGEST * sides[0])
    together = prod(d.extent for d in row[:-1])
    shortest = sides[0] // 2
    if found[1].dims[0] in row[1:]:
        shortest = max(shortest, min(together * sides[1] // 2, room // 2, power_of_two(skewed.extent)))
    lengths = [1 << bits for bits in range(1, room.bit_length()) if 1 << bits >= shortest]
    tiles[skewed] = min(lengths, key=lambda n: _work(dim.extent, skewed.extent, n, together, sides[0]))
    return tiles, [skewed if d == dim else d for d in away]


def _work(extent: int, skewed: int, tile: int, together: int, side: int) -> float:
    """What tiles of a row move and hold for each of its elements, that are `together` in the operand: parts of those
    are loaded as a whole."""
    tiles = ceil_div(skewed, tile)
    covered = min(ceil_div(tile - 1, together) + 1, ceil_div(extent, together)) * together
    work = tiles * (tile + min(covered, extent)) / extent
    return work if tile >= min(side, extent) else work / PREFERENCE


def _skew(domains: Domains, chain: Chain, space: Space, dim: DomainDim) -> DomainDim:
    """Puts a dimension in the place of the result's contiguous one that begins where the sector of memory begins in
    which a row does: multiples of a sector along it are sectors of memory. The dimension as it is where that depends on
    an extent that is known when the program is called."""
    word = sector_of(chain.operand)
    begin = substitute(address_of(domains, chain), {dim: constant(0)})
    within = constant(offset(begin))
    if any(factor % word and domains.varies(factor) for _, factor in terms(begin)):
        return dim
    for atom, factor in terms(begin):
        part = atom.value % atom.by if isinstance(atom, Mod) else Lin(((atom, 1),), 0)
        within = within + part * (factor % word)
    within = within % word
    if not within.terms:
        return dim
    skewed = new_dim(dim.extent + word - 1)
    domains.bindings.bind(dim, lin_of(skewed) - within)
    space[space.index(dim)] = skewed
    return skewed


def _take(chain: Sequence[DomainDim], side: int) -> dict[DomainDim, int]:
    """How much of each dimension of a chain makes a run of about `side` elements."""
    taken: dict[DomainDim, int] = {}
    run = 1
    for dim in chain:
        if side // run < 2 and taken:
            break
        taken[dim] = min(dim.extent, side // run)
        run *= taken[dim]
        if taken[dim] < dim.extent:
            break
    return taken


def _runs(chain: Sequence[DomainDim], own: dict[DomainDim, int], shared: Sequence[DomainDim]) -> list[list[DomainDim]]:
    """The dimensions that this direction alone takes, innermost first, as runs that become one dimension each: what
    both directions take cuts them."""
    runs: list[list[DomainDim]] = [[]]
    for dim in chain:
        if dim in shared:
            runs.append([])
        elif dim in own:
            runs[-1].append(dim)
    return [run for run in runs if run]


def _merge(
    domains: Domains, space: Space, run: Sequence[DomainDim], own: dict[DomainDim, int], side: int
) -> tuple[DomainDim, int]:
    """Makes a run one dimension of the space, of which a tile takes the given extent: without the run's last dimension
    where a part of that would be taken, whose extent is known when the program is called."""
    *inner, last = run
    rows = prod(d.extent for d in inner)
    if not inner:
        return last, _part(last.extent, own[last])
    part, dims = own[last], list(reversed(inner))
    if part == last.extent:
        dims = [last, *dims]
    elif not domains.varies(last.extent):
        part = _fitting(last.extent, rows, side)
        outer, kept = new_dim(ceil_div(last.extent, part)), new_dim(part)
        domains.bindings.bind(last, lin_of(outer) * part + lin_of(kept))
        space[space.index(last)] = outer
        dims = [kept, *dims]
    dim = domains.join(dims)
    space[:] = [d for d in space if d not in dims] + [dim]
    return dim, power_of_two(dim.extent)


def _part(extent: int, wanted: int) -> int:
    """The tile of a dimension that stands alone: all of it, or a power of two that wastes little of the last tile."""
    if wanted >= extent:
        return power_of_two(extent)
    tile = 1 << (wanted.bit_length() - 1)
    return max((tile, max(tile // 2, 1)), key=lambda t: _fill(extent, t, t) * (1 if t == tile else PREFERENCE))


def _fitting(extent: int, rows: int, side: int) -> int:
    """How many of `extent` rows of `rows` elements make a tile of about `side` elements, a power of two, that is full.
    The parts of the extent are alike."""
    sides = [max(side, power_of_two(rows)) << shift for shift in (0, 1)]
    side = max(sides, key=lambda s: _fill(extent, s // rows, s / rows) * (1 if s == sides[0] else PREFERENCE))
    return ceil_div(extent, ceil_div(extent, side // rows))


def _fill(extent: int, part: int, room: float) -> float:
    """The used fraction of tiles that hold `part` elements of an extent and have room for more."""
    return extent / (ceil_div(extent, part) * room)
