"""Chains: how the accesses of a permutation walk their arrays.

The *chain* of an array is its dimensions from the contiguous one outwards, as long as each begins where the one before
ends.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from math import prod

from irc.analysis.op_classes import LARGE
from irc.ir.dtypes import element_of
from irc.layout.requests import SECTOR_BYTES
from irc.tiling.domains import Domains, Operand
from irc.tiling.index_maps import Coords, DomainDim, Lin, atoms, bounds, constant, substitute


@dataclass(frozen=True)
class Chain:
    """The chain of one array, from the contiguous dimension outwards, and the access that moves so. elements: of all
    arrays that move in its direction."""

    dims: tuple[DomainDim, ...]
    operand: Operand
    coords: Coords
    elements: int

    @staticmethod
    def of(domains: Domains, operand: Operand, coords: Coords, dims: Sequence[DomainDim]) -> Chain:
        """That of one access."""
        steps = {d: step_of(domains, operand, coords, d) for d in dims}
        chain: list[DomainDim] = []
        run = 1
        while (following := next((d for d, step in steps.items() if step == run and d not in chain), None)) is not None:
            chain.append(following)
            run *= following.extent
        return Chain(tuple(chain), operand, coords, prod(operand.shape))


def _every(domains: Domains, dims: Sequence[DomainDim]) -> Iterator[Chain]:
    """Those of all accesses."""
    for operand in domains.operands:
        yield from (Chain.of(domains, operand, coords, dims) for coords in operand.accesses)


def chains(domains: Domains, dims: Sequence[DomainDim]) -> list[Chain]:
    """The chain of each direction, that of a result first, then those of more elements. Directions are told apart by
    the dimension that is contiguous; arrays that share it are spoken for by a result, else by the largest."""
    found: dict[DomainDim, Chain] = {}
    for own in [each for each in _every(domains, dims) if each.dims]:
        known = found.get(own.dims[0])
        both = [own] if known is None else [known, own]
        best = max(both, key=lambda c: (c.operand.is_stored, prod(c.operand.shape), len(c.dims)))
        found[own.dims[0]] = replace(best, elements=sum(c.elements for c in both))
    largest = max((c.elements for c in found.values()), default=0)
    kept = [c for c in found.values() if c.elements * LARGE >= largest]
    return sorted(kept, key=lambda c: (not c.operand.is_stored, -c.elements))


def apart(domains: Domains, dims: Sequence[DomainDim], first: Chain) -> list[Chain]:
    """The chain of the largest operand that begins as the result's does and goes on in other dimensions, where the runs
    that they share are not worth requests of their own: short ones, and those that begin within words."""
    found: list[Chain] = []
    for own in _every(domains, dims):
        pairs = takewhile(lambda pair: pair[0] == pair[1], zip(own.dims, first.dims, strict=False))
        shared = prod(d.extent for d, _ in pairs)
        is_short = shared * element_of(own.operand.element_type).size < SECTOR_BYTES
        if own.dims[:1] != first.dims[:1] or own.dims == first.dims or len(own.dims) < 2:
            continue
        if is_short or begin_anywhere(domains, own, dims) or begin_anywhere(domains, first, dims):
            found.append(own)
    return sorted(found, key=lambda c: -c.elements)[:1]


def walk_of(domains: Domains, operand: Operand, dims: Sequence[DomainDim]) -> tuple[DomainDim, ...]:
    """The chain of an array that is accessed once; empty where it is not."""
    return Chain.of(domains, operand, operand.accesses[0], dims).dims if len(operand.accesses) == 1 else ()


def step_of(domains: Domains, operand: Operand, coords: Coords, dim: DomainDim) -> int:
    """How far an access moves, in elements, when the dimension goes from 0 to 1 with all others at 0."""
    moved = 0
    for lin, stride in zip(coords, operand.strides, strict=True):
        lin = domains.bindings.resolve(lin)
        here, there = (bounds(substitute(lin, _fixed(lin, dim, at)))[0] for at in (0, 1))
        moved += (there - here) * stride
    return moved


def _fixed(lin: Lin, dim: DomainDim, value: int) -> dict[DomainDim, Lin]:
    return {a: constant(value if a == dim else 0) for a in atoms(lin) if isinstance(a, DomainDim)}


def by_steps(domains: Domains, chain: Chain, dims: Sequence[DomainDim]) -> list[DomainDim]:
    """The dimensions in the order in which they lead away in the chain's array, neighbors first."""
    return sorted(dims, key=lambda d: abs(step_of(domains, chain.operand, chain.coords, d)))


def begin_anywhere(domains: Domains, chain: Chain, space: Sequence[DomainDim]) -> bool:
    """Whether rows of the array begin within sectors of memory."""
    word = sector_of(chain.operand)
    return any(step_of(domains, chain.operand, chain.coords, d) % word for d in space if d not in chain.dims[:1])


def sector_of(operand: Operand) -> int:
    """The elements of a sector of memory. Words are in whole sectors then too: on an H200 a permutation of bytes whose
    rows begin at every word reaches 0.92 of a copy, and 0.72 where tiles begin at any of them."""
    return max(1, SECTOR_BYTES // element_of(operand.element_type).size)


def address_of(domains: Domains, chain: Chain) -> Lin:
    """Where an access is in its array's memory, in elements."""
    total = constant(0)
    for lin, stride in zip(chain.coords, chain.operand.strides, strict=True):
        total = total + domains.bindings.resolve(lin) * stride
    return total
