"""The search for layouts: for a tile and what is done to it, the fragment and the exchanges that cost least.

A tile (or several that share a fragment) is loaded, computed on, reduced and stored. Every access either uses the
tile's fragment or has one of its own, with an exchange through shared memory in between. The search compares all
candidates of `irc/layout/candidates.py` for each of these, under the cost function of `irc/layout/cost.py`. It is
exact: it visits candidates in the order of a lower bound (exchanges free of conflicts), and stops when no bound is
below the best cost found. Equal costs go to the fewest exchanges, then to the candidate that comes first.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from math import inf, prod

from irc.ir.target_costs import ACCESSES
from irc.layout.access import MemoryAccess
from irc.layout.box import box_of
from irc.layout.candidates import candidates, within_warps
from irc.layout.cost import (
    Rates,
    across_cycles,
    global_cycles,
    reduction_cycles,
    spill_cycles,
    staging_cycles,
    waiting_cycles,
    waste,
    work_cycles,
)
from irc.layout.exchange import Exchange, exchange, move_cycles
from irc.layout.fragment import Fragment
from irc.layout.requests import BANK_BYTES, WARP, WAVEFRONT_BYTES, WIDEST
from irc.layout.staging import Staged, copied_traffic, staged
from irc.layout.traffic import (
    Traffic,
    across_traffic,
    across_vector,
    global_traffic,
)
from irc.support.integers import ceil_div

PATIENCE = 12
"""Candidates in a row that are no better after which the search for a tile of three dimensions ends: it has thousands,
whose lower bounds tell little where all accesses are narrow."""

SMALL_BOX = 4096
"""Bytes that a box may have beyond twice those of its tile."""


@dataclass(frozen=True)
class Use:
    """A load or store of the tile, or of one broadcast to it (`shape` has 1 there), `times` for each tile. `is_free`:
    it may have a fragment of its own. Where nothing depends on what a load finds outside the view: `can_realign`, it
    may load vectors that begin within words; `can_stage`, it may go by way of its box; `is_copied`, and what it finds
    is stored as it is."""

    name: str
    access: MemoryAccess
    shape: tuple[int, ...]
    is_store: bool
    is_free: bool
    times: int = 1
    can_realign: bool = False
    can_stage: bool = False
    is_copied: bool = False


@dataclass(frozen=True)
class Reduction:
    """A reduction over `axes` of elements of `size` bytes in all, `times` for each tile."""

    axes: frozenset[int]
    size: int
    times: int = 1


@dataclass(frozen=True)
class Problem:
    """What shares a fragment. `work` is the arithmetic instructions for each element, `size` the bytes of the widest
    element in registers. `given` are the only fragments there are to choose from, where it is not empty; `slices` are
    (dimension, extent) of slices that must stay in their threads; `run` is the only dimension along which a thread may
    hold neighbors, where it is not None. `is_alone`: the block fills its multiprocessor, as those of products do."""

    shape: tuple[int, ...]
    threads: int
    uses: tuple[Use, ...]
    reductions: tuple[Reduction, ...] = ()
    work: int = 0
    size: int = 4
    given: tuple[Fragment, ...] = ()
    slices: tuple[tuple[int, int], ...] = ()
    run: int | None = None
    is_alone: bool = False


@dataclass(frozen=True)
class Way:
    """How one access is made: in a fragment, with an exchange where that is not the tile's; or by way of a box in
    shared memory. cycles: for one tile."""

    use: Use
    fragment: Fragment
    traffic: Traffic
    exchange: Exchange | None
    cycles: float
    staged: Staged | None = None


@dataclass(frozen=True)
class LayoutChoice:
    """A fragment for the tile and a way for each access. cycles: for one tile; `inner` is the part that is not the
    accesses'. registers: 32-bit registers of a thread that hold the tile as it is loaded and computed on."""

    fragment: Fragment
    ways: tuple[Way, ...]
    inner: float
    registers: int

    @property
    def cycles(self) -> float:
        return self.inner + sum(way.cycles for way in self.ways)

    @property
    def waste(self) -> float:
        return waste(self.fragment)


@cache
def search(problem: Problem, rates: Rates, most: int = 1) -> tuple[LayoutChoice, ...]:
    """The `most` best choices, best first: one for each fragment of the tile."""
    search = _Search(problem, rates)
    bounded = sorted(((search.bound(f), at, f) for at, f in enumerate(search.fragments)), key=lambda each: each[:2])
    choices: list[LayoutChoice] = []
    waited = 0
    for bound, _, fragment in bounded:
        if len(choices) >= most and (bound >= choices[most - 1].cycles or waited >= search.patience):
            break
        choice = search.choice(fragment)
        waited = waited + 1 if choices and choice.cycles >= choices[0].cycles else 0
        choices.append(choice)
        choices.sort(key=lambda choice: choice.cycles)
    return tuple(choices[:most])


def choice_of(problem: Problem, rates: Rates, fragment: Fragment, own: Sequence[Fragment | None]) -> LayoutChoice:
    """The choice with a given fragment, and for each use one of its own or None."""
    search = _Search(problem, rates)
    ways = [
        search.direct_way(use, fragment) if each is None else search.exchanged_way(use, fragment, each)
        for use, each in zip(problem.uses, own, strict=True)
    ]
    return LayoutChoice(fragment, tuple(ways), search.inner(fragment), search.registers(fragment))


def tile_candidates(problem: Problem) -> tuple[Fragment, ...]:
    """Every fragment that the tile may have."""
    if problem.given:
        return problem.given
    return tuple(f for f in access_candidates(problem) if _keeps_slices(f, problem.slices)) or access_candidates(
        problem
    )


def access_candidates(problem: Problem) -> tuple[Fragment, ...]:
    """Every fragment that an access of its own may have."""
    return candidates(problem.shape, problem.threads, _runs(problem), _orders(problem))


def _in_warps(problem: Problem) -> tuple[Fragment, ...]:
    """Fragments for accesses of their own that move nothing between warps, where an instruction gives the tile's."""
    if len(problem.given) != 1:
        return ()
    return within_warps(problem.given[0], _runs(problem), _orders(problem))


def _orders(problem: Problem) -> tuple[tuple[int, ...], ...]:
    """The orders of dimensions in which the accesses walk; of whole tiles, where there are any."""
    whole = [use for use in problem.uses if use.shape == problem.shape] or problem.uses
    orders = dict.fromkeys(use.access.order(use.shape) for use in whole)
    return tuple(orders) or (tuple(reversed(range(len(problem.shape)))),)


def _runs(problem: Problem) -> tuple[tuple[int, ...], ...]:
    """Lengths of runs worth trying along each dimension, up to the elements that a thread holds: the vectors of every
    access, and what fills an access to shared memory or a register across it."""
    most = max(1, prod(problem.shape) // problem.threads)
    directions = {order[0] for order in _orders(problem) if order}
    runs: list[set[int]] = [{1} for _ in problem.shape]
    for use in problem.uses:
        for dim, extent in enumerate(problem.shape):
            if problem.run not in (None, dim) or extent == 1:
                continue
            if use.shape[dim] > 1:
                runs[dim].add(min(most, use.access.vector(dim, extent)))
            longest = WIDEST // use.access.element_bytes
            if use.can_realign and extent % longest == 0 and use.access.is_row(dim):
                runs[dim].add(min(most, longest))
            if use.is_free and dim in directions and len(directions) > 1:
                runs[dim].update(n for n in (longest // 4, longest // 2, longest) if n and extent % n == 0)
    return tuple(tuple(sorted(lengths)) for lengths in runs)


def _keeps_slices(fragment: Fragment, slices: tuple[tuple[int, int], ...]) -> bool:
    return all(fragment.slice(dim, extent) is not None for dim, extent in slices)


@dataclass(frozen=True)
class _Kind:
    """What the cost of an exchange free of conflicts depends on: the runs along each dimension, the dimension of the
    first one, the values of a thread."""

    runs: tuple[int, ...]
    first: int
    values: int


@cache
def _kind(fragment: Fragment) -> _Kind:
    runs = [1] * len(fragment.shape)
    for mode in fragment.values:
        if mode.step == 1:
            runs[mode.dim] = mode.size
    return _Kind(tuple(runs), fragment.vector[0], fragment.value_count)


class _Search:
    def __init__(self, problem: Problem, rates: Rates):
        self.problem, self.rates = problem, rates
        self.fragments = tile_candidates(problem)
        self._in_warps = dict.fromkeys(_in_warps(problem))
        self._ideal: dict[tuple[_Kind, _Kind, int], float] = {}
        self._least: dict[tuple[Use, _Kind], float] = {}
        self._direct: dict[tuple[Use, Fragment], tuple[Traffic, float]] = {}
        self._boxes: dict[Use, bool] = {}
        self._own: dict[Use, dict[_Kind, list[tuple[float, Fragment]]]] = {}
        self.patience = PATIENCE if len(problem.shape) > 2 else inf

    def bound(self, fragment: Fragment) -> float:
        """What a choice with this fragment costs at least."""
        return self.inner(fragment) + sum(self._way_bound(use, fragment) for use in self.problem.uses)

    def choice(self, fragment: Fragment) -> LayoutChoice:
        """The best choice with this fragment."""
        ways = self._ways(fragment)
        return LayoutChoice(fragment, ways, self.inner(fragment), self.registers(fragment))

    def _ways(self, fragment: Fragment) -> tuple[Way, ...]:
        """The best way of each access. What an exchange follows is not stored as it is taken: where both are best by
        themselves, one of them is given up."""
        ways = tuple(self._way(use, fragment) for use in self.problem.uses)
        copied = [way.staged is not None and way.use.is_copied for way in ways]
        if not any(copied) or not any(way.use.is_store and way.exchange for way in ways):
            return ways
        apart = tuple(
            self._way(replace(way.use, is_copied=False), fragment) if is_copied else way
            for way, is_copied in zip(ways, copied, strict=True)
        )
        direct = tuple(self.direct_way(way.use, fragment) if way.use.is_store else way for way in ways)
        return min(apart, direct, key=lambda each: sum(way.cycles for way in each))

    def inner(self, fragment: Fragment) -> float:
        """Cycles for what is done in registers."""
        problem = self.problem
        reductions = sum(r.times * reduction_cycles(fragment, r.axes, r.size) for r in problem.reductions)
        spills = spill_cycles(self.registers(fragment), problem.threads, self.rates)
        return reductions + spills + work_cycles(fragment, problem.work)

    def registers(self, fragment: Fragment) -> int:
        """The tile in its widest type, beside what is loaded for it."""
        loaded = sum(
            _projected(fragment, use).value_count * use.access.element_bytes
            for use in self.problem.uses
            if not use.is_store
        )
        return ceil_div(fragment.value_count * self.problem.size + loaded, 4)

    def direct(self, use: Use, fragment: Fragment) -> tuple[Traffic, float]:
        """An access in a fragment: the traffic, and the cycles."""
        key = use, fragment
        if key not in self._direct:
            own = _projected(fragment, use)
            traffic = global_traffic(own, use.access)
            found = [(traffic, global_cycles(traffic, use.is_store, self.rates))]
            if use.can_realign and across_vector(own, use.access):
                across = across_traffic(own, use.access)
                found.append((across, across_cycles(across, self.rates)))
            self._direct[key] = min(found, key=lambda each: each[1])
        return self._direct[key]

    def own(self, use: Use) -> dict[_Kind, list[tuple[float, Fragment]]]:
        """The fragments that an access can have for itself by their kind, each with its cycles, the cheapest first."""
        if use not in self._own:
            kinds: dict[_Kind, list[tuple[float, Fragment]]] = defaultdict(list)
            if use.is_free and prod(use.shape) * use.access.element_bytes <= self.rates.shared_memory:
                for fragment in dict.fromkeys((*access_candidates(self.problem), *self._in_warps)):
                    kinds[_kind(fragment)].append((self.direct(use, fragment)[1], fragment))
            self._own[use] = {kind: sorted(each, key=lambda e: e[0]) for kind, each in kinds.items()}
        return self._own[use]

    def can_stage(self, use: Use) -> bool:
        """Whether a load can go by way of its box: that holds little more than the tile."""
        if use not in self._boxes:
            box = box_of(use.access, use.shape) if use.can_stage and use.shape == self.problem.shape else None
            most = min(2 * prod(use.shape) * use.access.element_bytes + SMALL_BOX, self.rates.shared_memory // 2)
            self._boxes[use] = box is not None and box.row_count * box.words * WIDEST <= most
        return self._boxes[use]

    def staged_bound(self, use: Use, kind: _Kind) -> float:
        """What a staged load costs at least: its elements one by one, without conflicts."""
        requests = max(self.problem.threads, WARP) * kind.values / WARP
        if kind.runs[kind.first] > 1:
            requests /= use.access.vector(kind.first, kind.runs[kind.first])
        reads = Traffic(1, requests, requests, requests)
        copied = copied_traffic(use.access, use.shape)
        fewest = copied.requests * WIDEST / BANK_BYTES
        writes = Traffic(copied.vector, copied.requests, fewest, fewest)
        return staging_cycles(copied, writes, reads, 0.0, self.rates) + self.waiting(use)

    def ideal(self, a: _Kind, b: _Kind, size: int) -> float:
        """Cycles of an exchange between fragments of two kinds that meets no conflicts."""
        if (a, b, size) not in self._ideal:
            self._ideal[a, b, size] = min(
                (sum(self._ideal_side(kind, dim, size) for kind in (a, b)) for dim in range(len(a.runs))), default=0.0
            )
        return self._ideal[a, b, size]

    def waiting(self, use: Use, *, is_in_warps: bool = False) -> float:
        problem = self.problem
        return waiting_cycles(problem.threads, problem.is_alone, use.is_store, self.rates, is_in_warps=is_in_warps)

    def _ideal_side(self, kind: _Kind, dim: int, size: int) -> float:
        vector = min(kind.runs[dim], max(1, WIDEST // size))
        held = max(self.problem.threads, WARP) * kind.values
        requests = held / WARP / vector
        wavefronts = max(requests, held * size / WAVEFRONT_BYTES if held <= prod(self.problem.shape) else 0.0)
        in_order = kind.first == dim or kind.runs[dim] == 1
        return requests * ACCESSES.shared_request + wavefronts + move_cycles(int(held), in_order, vector, size)

    def _way_bound(self, use: Use, fragment: Fragment) -> float:
        kind, size = _kind(fragment), use.access.element_bytes
        if (use, kind) not in self._least:
            through = (each[0][0] + self.ideal(other, kind, size) for other, each in self.own(use).items())
            least = min(through, default=inf) + self.waiting(use, is_in_warps=bool(self._in_warps))
            self._least[use, kind] = min(least, self.staged_bound(use, kind)) if self.can_stage(use) else least
        return use.times * min(self.direct(use, fragment)[1], self._least[use, kind])

    def _way(self, use: Use, fragment: Fragment) -> Way:
        """The best way of one access, given the tile's fragment."""
        best = self.direct_way(use, fragment)
        if self.can_stage(use) and use.times * self.staged_bound(use, _kind(fragment)) < best.cycles:
            best = min(best, self.staged_way(use, fragment), key=lambda way: way.cycles)
        waited = 0
        for bound, own in self._through(use, fragment):
            if use.times * bound >= best.cycles or waited >= self.patience:
                break
            way = self.exchanged_way(use, fragment, own)
            waited = waited + 1 if way.cycles >= best.cycles else 0
            best = min(best, way, key=lambda each: each.cycles)
        return best

    def _through(self, use: Use, fragment: Fragment) -> Iterator[tuple[float, Fragment]]:
        """Fragments of its own for an access, each with what it costs at least, the lowest first."""
        kind, size = _kind(fragment), use.access.element_bytes
        bounds = [
            (cycles + self.ideal(other, kind, size) + self.waiting(use, is_in_warps=own in self._in_warps), at, own)
            for other, each in self.own(use).items()
            for at, (cycles, own) in enumerate(each)
            if own != fragment
        ]
        for bound, _, own in sorted(bounds, key=lambda b: b[:2]):
            yield bound, own

    def direct_way(self, use: Use, fragment: Fragment) -> Way:
        traffic, cycles = self.direct(use, fragment)
        return Way(use, fragment, traffic, None, use.times * cycles)

    def staged_way(self, use: Use, fragment: Fragment) -> Way:
        found, copied = staged(fragment, use.access, use.is_copied), copied_traffic(use.access, use.shape)
        place = staging_cycles(copied, found.writes, found.reads, found.instructions, self.rates)
        cycles = place + self.waiting(use)
        return Way(use, fragment, copied, None, use.times * cycles, found)

    def exchanged_way(self, use: Use, fragment: Fragment, own: Fragment) -> Way:
        moved = exchange(*((fragment, own) if use.is_store else (own, fragment)), use.access.element_bytes)
        traffic, cycles = self.direct(use, own)
        waiting = self.waiting(use, is_in_warps=own in self._in_warps)
        return Way(use, own, traffic, moved, use.times * (cycles + moved.cycles + waiting))


def _projected(fragment: Fragment, use: Use) -> Fragment:
    dims = [d for d, (n, whole) in enumerate(zip(use.shape, fragment.shape, strict=True)) if n == 1 and whole != 1]
    return fragment.project(dims) if dims else fragment
