"""The box of a permutation: the dimensions that a tile takes elements of, so that every array is walked in long runs.

The *chain* of an array is its dimensions from the contiguous one outwards, as long as each begins where the one before
ends. A box takes dimensions of the chains of two arrays, one for each direction, until the runs of both are as long as
they should be; the last one in part. Neighbours in a chain that only one direction takes become one dimension, so a
permutation of many short dimensions is tiled like a transpose of a matrix.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod

from irc.passes.tile.domains import LARGE, Domains, Operand, Space
from irc.passes.tile.index_maps import Coords, Dim, Lin, atoms, bounds, constant, lin_of, new_dim, substitute

PREFERENCE = 0.85
"""What a tile of another size than the wanted one has to be fuller by."""


def power_of_two(n: int) -> int:
    """The least power of two that is not below n."""
    return 1 << max(n - 1, 0).bit_length()


@dataclass(frozen=True)
class Chain:
    """The chain of one array, from the contiguous dimension outwards, and the access that moves so. elements: of all
    arrays that move in its direction."""

    dims: tuple[Dim, ...]
    operand: Operand
    coords: Coords
    elements: int


def chains(domains: Domains, dims: Sequence[Dim]) -> list[Chain]:
    """The chain of each direction, that of a result first, then those of more elements. Directions are told apart by
    the dimension that is contiguous; arrays that share it are spoken for by a result, else by the largest."""
    found: dict[Dim, Chain] = {}
    for operand in domains.operands:
        for coords in operand.accesses:
            steps = {d: step_of(domains, operand, coords, d) for d in dims}
            own = Chain(_chain(steps), operand, coords, prod(operand.shape))
            if not own.dims:
                continue
            known = found.get(own.dims[0])
            both = [own] if known is None else [known, own]
            best = max(both, key=_importance)
            found[own.dims[0]] = replace(best, elements=sum(c.elements for c in both))
    largest = max((c.elements for c in found.values()), default=0)
    kept = [c for c in found.values() if c.elements * LARGE >= largest]
    return sorted(kept, key=lambda c: (not c.operand.is_stored, -c.elements))


def _importance(chain: Chain) -> tuple[bool, int, int]:
    return chain.operand.is_stored, prod(chain.operand.shape), len(chain.dims)


def step_of(domains: Domains, operand: Operand, coords: Coords, dim: Dim) -> int:
    """How far an access moves, in elements, when the dimension goes from 0 to 1 with all others at 0."""
    moved = 0
    for lin, stride in zip(coords, operand.strides, strict=True):
        lin = domains.bindings.resolve(lin)
        here, there = (bounds(substitute(lin, _fixed(lin, dim, at)))[0] for at in (0, 1))
        moved += (there - here) * stride
    return moved


def _fixed(lin: Lin, dim: Dim, value: int) -> dict[Dim, Lin]:
    return {a: constant(value if a == dim else 0) for a in atoms(lin) if isinstance(a, Dim)}


def _chain(steps: dict[Dim, int]) -> tuple[Dim, ...]:
    chain: list[Dim] = []
    run = 1
    while (following := next((d for d, step in steps.items() if step == run and d not in chain), None)) is not None:
        chain.append(following)
        run *= following.extent
    return tuple(chain)


def box_permutation(domains: Domains, space: Space, sides: tuple[int, int]) -> dict[Dim, int]:
    """Splits and merges the dimensions of a permutation and gives the extents of its tiles: about `sides` elements in a
    run of the result and of the operand, where they have so many. Empty where all arrays are walked alike.

    The space is put in the order of the result, whose neighbouring tiles share sectors of memory; the last dimension
    but one leads to the neighbours in the operand.
    """
    found = chains(domains, space)
    if len(found) < 2:
        return {}
    taken = [_take(chain.dims, side) for chain, side in zip(found, sides, strict=False)]
    shared = [d for d in taken[0] if d in taken[1]]
    tiles = {d: max(_part(d.extent, t[d]) for t in taken) for d in shared}
    for chain, own, side in zip(found, taken, sides, strict=False):
        for run in _runs(chain.dims, own, shared):
            dim, extent = _merge(domains, space, run, own, side)
            tiles[dim] = extent
    room = prod(sides) // prod(tiles.values())
    for dim in _by_steps(domains, found[0], [d for d in space if d not in tiles]):
        if room < 2:
            break
        tiles[dim] = _part(dim.extent, min(room, power_of_two(dim.extent)))
        room //= tiles[dim]
    several = [d for d in space if tiles.get(d, 1) < d.extent]
    along = [_by_steps(domains, chain, several) for chain in found[:2]]
    neighbours = dict.fromkeys(order[0] for order in along if order)
    away = _by_steps(domains, found[0], space)
    space.sort(key=lambda d: (d in several, -away.index(d)))
    for dim in reversed(neighbours):
        space.remove(dim)
        space.append(dim)
    return {d: tiles[d] for d in space if d in tiles}


def _by_steps(domains: Domains, chain: Chain, dims: Sequence[Dim]) -> list[Dim]:
    """The dimensions in the order in which they lead away in the chain's array, neighbours first."""
    return sorted(dims, key=lambda d: abs(step_of(domains, chain.operand, chain.coords, d)))


def _take(chain: Sequence[Dim], side: int) -> dict[Dim, int]:
    """How much of each dimension of a chain makes a run of about `side` elements."""
    taken: dict[Dim, int] = {}
    run = 1
    for dim in chain:
        if side // run < 2 and taken:
            break
        taken[dim] = min(dim.extent, side // run)
        run *= taken[dim]
        if taken[dim] < dim.extent:
            break
    return taken


def _runs(chain: Sequence[Dim], own: dict[Dim, int], shared: Sequence[Dim]) -> list[list[Dim]]:
    """The dimensions that this direction alone takes, innermost first, as runs that become one dimension each: what
    both directions take cuts them."""
    runs: list[list[Dim]] = [[]]
    for dim in chain:
        if dim in shared:
            runs.append([])
        elif dim in own:
            runs[-1].append(dim)
    return [run for run in runs if run]


def _merge(domains: Domains, space: Space, run: Sequence[Dim], own: dict[Dim, int], side: int) -> tuple[Dim, int]:
    """Makes a run one dimension of the space, of which a tile takes the given extent."""
    *inner, last = run
    rows = prod(d.extent for d in inner)
    if not inner:
        return last, _part(last.extent, own[last])
    part = own[last]
    if part < last.extent:
        part = _fitting(last.extent, rows, side)
        outer, kept = new_dim(-(-last.extent // part)), new_dim(part)
        domains.bindings.bind(last, lin_of(outer) * part + lin_of(kept))
        space[space.index(last)] = outer
        last = kept
    dims = [last, *reversed(inner)]
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
    return -(-extent // -(-extent // (side // rows)))


def _fill(extent: int, part: int, room: float) -> float:
    """The used fraction of tiles that hold `part` elements of an extent and have room for more."""
    return extent / (-(-extent // part) * room)
