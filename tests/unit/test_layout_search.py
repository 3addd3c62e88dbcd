"""The search for layouts: against trying everything, against the vote by bytes that it replaced, and what it chooses."""

from __future__ import annotations

from itertools import product
from math import inf, prod
from pathlib import Path

import pytest
from drawing import long
from xdsl.ir.affine import AffineExpr, AffineMap

from irc.dialects import tile
from irc.driver.lowering import passes_of, run_passes
from irc.driver.pipelines import TILE
from irc.ir.targets import TARGETS, Target, target
from irc.language.parser import parse
from irc.layout.access import MemoryAccess
from irc.layout.candidates import blocked, candidates
from irc.layout.cost import rates_of
from irc.layout.exchange import best_swizzle, swizzles
from irc.layout.fragment import Fragment, is_in_warps
from irc.layout.instructions import wgmma_accumulator
from irc.layout.search import (
    LayoutChoice,
    Problem,
    Reduction,
    Use,
    access_candidates,
    choice_of,
    search,
    tile_candidates,
)
from irc.layout.shared import SharedLayout, Swizzle, plain
from irc.layout.traffic import shared_traffic, shared_vector
from irc.passes.tile.assign_layouts import assign

RATES = rates_of(target("sm_90a"))
EXAMPLES = Path(__file__).parents[2] / "examples"
D0, D1 = AffineExpr.dimension(0), AffineExpr.dimension(1)


def use(
    kind: str,
    shape: tuple[int, int],
    strides: tuple[int, int],
    size: int,
    *,
    is_free: bool = True,
    tile: tuple[int, int] | None = None,
) -> Use:
    """A load or store of a tile of an array of 2048 x 2048 with these strides."""
    access = MemoryAccess(AffineMap(2, 0, (D0, D1)), (2048, 2048), strides, frozenset(), size, 16, (64, 64), ())
    return Use(kind, access, tile or shape, kind == "store", is_free)


def transpose(side: int, threads: int, size: int) -> Problem:
    shape = (side, side)
    uses = (use("load", shape, (2048, 1), size), use("store", shape, (1, 2048), size))
    return Problem(shape, threads, uses, size=size)


ROWS, COLUMNS = (2048, 1), (1, 2048)
SMALL = {
    "copy": Problem((8, 32), 32, (use("load", (8, 32), ROWS, 2), use("store", (8, 32), ROWS, 2)), size=2),
    "transpose-f32": transpose(16, 32, 4),
    "transpose-bf16": transpose(16, 32, 2),
    "transpose-i8": transpose(32, 64, 1),
    "widen": Problem((16, 16), 32, (use("load", (16, 16), ROWS, 2), use("store", (16, 16), ROWS, 4))),
    "mixed": Problem(
        (16, 16), 32, (use("load", (16, 16), ROWS, 2), use("load", (16, 16), COLUMNS, 4), use("store", (16, 16), ROWS, 2)), work=5
    ),
    "rows": Problem(
        (4, 64), 64, (use("load", (4, 64), ROWS, 4), use("store", (4, 64), ROWS, 4, tile=(4, 1), is_free=False)), (Reduction(frozenset([1]), 4),)
    ),
    "columns": Problem(
        (32, 16), 64, (use("load", (32, 16), ROWS, 2), use("store", (32, 16), ROWS, 4, tile=(1, 16), is_free=False)), (Reduction(frozenset([0]), 4, 2),)
    ),
}  # fmt: skip


@long(4)
@pytest.mark.parametrize("name", SMALL)
def test_the_search_finds_what_trying_everything_finds(name: str) -> None:
    problem = SMALL[name]
    best = inf
    for fragment in tile_candidates(problem):
        alone = choice_of(problem, RATES, fragment, [None] * len(problem.uses))
        cycles = alone.inner
        for at, way in enumerate(alone.ways):
            least = way.cycles
            for own in access_candidates(problem) if way.use.is_free else ():
                others: list[Fragment | None] = [None] * len(problem.uses)
                others[at] = own
                if own != fragment:
                    least = min(least, choice_of(problem, RATES, fragment, others).ways[at].cycles)
            cycles += least
        best = min(best, cycles)
    plans = search(problem, RATES, 4)
    assert plans[0].cycles == pytest.approx(best)
    assert [p.cycles for p in plans] == sorted(p.cycles for p in plans)
    assert search(problem, RATES)[0] == plans[0]


# The vote by bytes: threads lie along the dimension that most bytes are contiguous along; an access whose own dimension
# is another one, or a store whose vectors are half as wide as they could be, gets a fragment of its own.


def direction(access: MemoryAccess, shape: tuple[int, ...]) -> tuple[int, int]:
    found = [(access.vector(d, n), access.is_contiguous(d), d) for d, n in enumerate(shape) if n > 1]
    vector, _, dim = max(found, default=(1, True, len(shape) - 1))
    return dim, vector


def vote(problem: Problem) -> LayoutChoice:
    shape = problem.shape
    weights, vectors = [0] * len(shape), [1] * len(shape)
    for each in problem.uses:
        dim, vector = direction(each.access, each.shape)
        weights[dim] += 2 * prod(each.shape) * each.access.element_bytes + each.is_store
        vectors[dim] = max(vectors[dim], vector)
    most = max(1, prod(shape) // problem.threads)

    def along(dim: int, vector: int) -> Fragment:
        order = [dim, *(d for d in reversed(range(len(shape))) if d != dim)]
        return blocked(shape, order, min(vector, most), problem.threads)

    dim = max(range(len(shape)), key=lambda d: (weights[d], d)) if shape else 0
    fragment = problem.given[0] if problem.given else along(dim, vectors[dim]) if shape else tile_candidates(problem)[0]
    chosen: list[Fragment | None] = []
    for each in problem.uses:
        dim, vector = direction(each.access, shape)
        own_dim, own_run = fragment.vector
        stays = dim == own_dim and (not each.is_store or each.access.vector(own_dim, own_run) * 2 > vector)
        stays = stays or (dim != own_dim and not each.access.is_contiguous(dim)) or not each.is_free
        own = None if stays else along(dim, vector)
        chosen.append(own if own != fragment else None)
    return choice_of(problem, RATES, fragment, chosen)


def problems(name: str) -> list[Problem]:
    module = parse((EXAMPLES / f"{name}.irc").read_text(), f"{name}.irc")
    run_passes(module, passes_of(TILE[: TILE.index("assign-layouts")]))
    return [
        problem
        for op in module.body.block.ops
        if isinstance(op, tile.ProgramOp)
        for problem in assign(op, target("sm_90a"))
    ]


@long(4)
@pytest.mark.parametrize("name", sorted(path.stem for path in EXAMPLES.glob("*.irc")))
def test_no_example_costs_more_than_by_the_vote(name: str) -> None:
    for problem in problems(name):
        assert search(problem, RATES)[0].cycles <= vote(problem).cycles * (1 + 1e-9)


@pytest.mark.parametrize("size", [1, 2, 4, 8])
@pytest.mark.parametrize("side", [64, 128])
def test_transposes_are_wide_and_meet_no_conflicts(side: int, size: int) -> None:
    """Both sides of the exchange fill every wavefront; sectors and lines are touched once; what a thread holds allows
    16 bytes on the side that is loaded."""
    (plan,) = search(transpose(side, 256, size), RATES)
    (exchange,) = [way.exchange for way in plan.ways if way.exchange is not None]
    for side_of in (exchange.writes, exchange.reads):
        assert side_of.units == side_of.ideal == side * side * size / 128
    for way in plan.ways:
        assert (way.traffic.units, way.traffic.lines) == (way.traffic.ideal, way.traffic.ideal_lines)


def test_a_thread_with_64_elements_of_bf16_moves_8_by_8() -> None:
    (plan,) = search(transpose(128, 256, 2), RATES)
    assert [way.traffic.vector for way in plan.ways] == [8, 8]
    (exchange,) = [way.exchange for way in plan.ways if way.exchange is not None]
    assert (exchange.writes.vector, exchange.reads.vector) == (8, 8)


def test_short_rows_are_reduced_by_a_warp_each_and_long_ones_by_all() -> None:
    def rows(count: int, length: int) -> Fragment:
        shape = (count, length)
        problem = Problem(shape, 256, (use("load", shape, ROWS, 4),), (Reduction(frozenset([1]), 4),))
        return search(problem, RATES)[0].fragment

    assert [m.dim for m in rows(8, 256).threads] == [1, 0]
    assert [m.dim for m in rows(1, 4096).threads] == [1]


@pytest.mark.parametrize("machine", TARGETS, ids=lambda m: m.name)
def test_a_sector_of_device_memory_costs_more_than_one_of_the_l2(machine: Target) -> None:
    rates = rates_of(machine)
    assert rates.sector > rates.sector_again > 0


def test_results_of_wgmma_are_stored_without_a_word_to_other_warps() -> None:
    given = wgmma_accumulator((128, 32), 2)
    problem = Problem((128, 32), 256, (use("store", (128, 32), ROWS, 2),), size=4, given=(given,), is_alone=True)
    (way,) = search(problem, RATES)[0].ways
    assert way.exchange is not None
    assert way.fragment.vector == (1, 8)
    assert is_in_warps(way.fragment, given)


def test_candidates_hold_every_element_equally_often() -> None:
    for shape, threads in product([(16, 64), (1, 256), (8, 4, 32), (3, 40), ()], [32, 128, 96]):
        runs = tuple((1, 4) if n % 4 == 0 else (1,) for n in shape)
        orders = (tuple(range(len(shape))), tuple(reversed(range(len(shape)))))
        for fragment in candidates(shape, threads, runs, orders):
            assert fragment.thread_count == threads
            held = {fragment.coordinate(t, v) for t in range(threads) for v in range(fragment.value_count)}
            assert len(held) == prod(shape)
            assert threads * fragment.value_count % prod(shape) == 0


@long(2)
@pytest.mark.parametrize("threads, shape", [(128, (64, 64)), (384, (48, 64)), (384, (24, 96)), (96, (36, 40))])
def test_the_swizzle_has_the_fewest_wavefronts_of_all_requests(threads: int, shape: tuple[int, int]) -> None:
    """Also where threads are no power of two, and where offsets of requests differ by other bits in each lane."""
    most = prod(shape) // threads
    runs = tuple(tuple(n for n in (1, 2, 4, 8) if n <= most and extent % n == 0) for extent in shape)
    found = candidates(shape, threads, runs, ((1, 0), (0, 1)))
    for pair in list(zip(found, reversed(found), strict=True))[:: max(1, len(found) // 3)]:
        for order, base in product(((1, 0), (0, 1)), (0, 2)):
            bare = plain(shape, order)
            least = min(_units(pair, bare, swizzle, base) for swizzle in swizzles(base, bare.size, 2))
            assert _units(pair, bare, best_swizzle(pair, bare, base, 2).swizzle, base) == pytest.approx(least)


def _units(pair: tuple[Fragment, ...], bare: SharedLayout, swizzle: Swizzle, base: int) -> float:
    """The wavefronts of both sides of an exchange of elements of two bytes in vectors of 2**base at most."""
    layout = SharedLayout(bare.layout, swizzle)
    return sum(shared_traffic(f, layout, min(shared_vector(f, bare, 2), 1 << base), 2).units for f in pair)
