"""Products summed in registers where a thread has whole columns of the result: when they can be, and their config.

Gradients of the kernels of depthwise convolutions have a row for each tap, and read neighbors of x at all of them. A
thread that has the sums of all the rows loads an element once for several taps, and one of the other operand once for
all of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import gcd, prod

from irc.analysis.cuts import divided
from irc.analysis.product_problem import Product
from irc.configs.direct import multiplied_cycles, pays
from irc.configs.window_steps import MAX_PARTS
from irc.dialects.kernel import ConfigAttr, TileSizes
from irc.ir.targets import Target
from irc.layout.instructions import LANES
from irc.layout.requests import REGISTER_BYTES, WIDEST
from irc.layout.windows import Read, instructions
from irc.support.integers import ceil_div, power_of_two, round_up

MAX_ROWS = 80
"""Rows of the result, each of which has code of its own."""

MAX_RUN = 8
"""Neighbors along K of a step."""

MAX_HELD = 144
"""Registers of sums and of what is multiplied with them at a time; others of a thread hold words as they are loaded,
addresses and conditions."""

FEW_HELD = 112
MANY_WARPS, FEW_WARPS = 16, 12
"""Up to so many have room in 128 registers, with which an SM has 16 warps; more in 168, with 12."""

LONGEST_RUN, SHORTEST_RUN = 64, 16
MAX_WASTE = 1.12
"""Columns of a tile, and those of all tiles relative to what there are."""

GATHER = 16
"""Instructions of a thread for an element that it brings to a tile by itself: its place, whether it is inside, both
loads and stores."""

WARPS = (4, 2, 1)
MERGED_BYTES = 8
"""Of the sums of a part, in a cycle of an SM: written, and read again by a kernel of few blocks."""


@dataclass(frozen=True)
class _Step:
    """What a thread does at a time: so many columns side by side, a vector, of a run of neighbors along K."""

    vector: int
    run: int
    held: int
    """Registers of the sums, and of a row of the window."""
    cost: float
    """Instructions for each element of the right operand."""

    def occupancy(self, warps: int) -> int:
        """Blocks of so many warps that an SM has room for."""
        return (MANY_WARPS if self.held <= FEW_HELD else FEW_WARPS) // warps


def can_have_columns(product: Product) -> bool:
    """Whether a thread can have whole columns: x is read along them, and so is the right operand."""
    is_one = product.count == 1 and not product.is_gathered
    return is_one and bool(product.rows_read) and product.m <= MAX_ROWS and bool(_steps(product))


def columns_pay(product: Product, machine: Target) -> bool:
    """Whether that is faster than sums of one tap after the other, where these would be, and than instructions on
    tiles: for them threads gather elements of x, each of which they multiply with the columns of one group."""
    if not can_have_columns(product) or pays(product, machine):
        return can_have_columns(product)
    columns = _steps(product)[0].cost * product.k / product.m / machine.scalar_multiply_adds
    gathered = GATHER * product.k / product.n / machine.scalar_multiply_adds
    return not product.is_loadable and columns < multiplied_cycles(product, machine) + gathered


def fault_of_columns(product: Product, config: ConfigAttr) -> tuple[str, str] | None:
    """Why a thread cannot have whole columns as the config asks for, and what it can have; None where it can."""
    if not can_have_columns(product):
        found = f"{product.count} of {product.m} rows" if product.count > 1 else f"{product.m} rows"
        hint = f"up to {MAX_ROWS} rows, one product, K that ends with a window, columns innermost in both operands"
        return f"a thread cannot have whole columns of this product, of {found}", hint
    tile, run = config.tile or TileSizes(), config.unroll or 1
    if tile.get("m", product.m) < product.m:
        return f"a thread has all {product.m} rows of its columns, found m = {tile['m']}", "a tile with all rows"
    if not _can_be_cut(product, config.split or 1, run, tile.get("k", 1)):
        extents = " x ".join(map(str, product.walked))
        found = f"{config.split or 1} parts with {tile.get('k', 1)} places side by side and runs of {run}"
        return f"K of {extents} has no {found}", "divisors of these extents"
    return None


def choose_columns(product: Product, machine: Target, given: ConfigAttr) -> Iterator[ConfigAttr]:
    """The step with the fewest instructions. Threads of a block are at neighboring places of K, whose windows
    overlap."""
    if not can_have_columns(product):  # which is an error of what asked for them
        yield ConfigAttr.of(tile=TileSizes(m=1, n=1, k=1), instruction="columns")
        return
    step = _steps(product)[0]
    blocks = _blocks(product, step, machine)
    block = next((block for block in blocks if block.parts), blocks[-1])
    warps = block.warps
    tile = TileSizes(m=power_of_two(product.m), n=block.width, k=block.together)
    if given.tile is not None:
        tile = given.tile.completed(tile)
        warps = min(WARPS[0], max(1, tile["n"] * tile["k"] // (LANES * step.vector)))
    yield ConfigAttr.of(
        tile=tile,
        stages=1,
        cluster=(1, 1),
        warps=warps,
        schedule="grid",
        split=None if block.parts < 2 or given.tile is not None else block.parts,
        unroll=step.run,
        occupancy=step.occupancy(warps),
        indexing="pointers",
        instruction="columns",
    )


@dataclass(frozen=True)
class _Block:
    """Warps of a block, columns of its tile, places of K that its threads are at, and parts of K for the blocks."""

    warps: int
    width: int
    together: int
    parts: int


def _blocks(product: Product, step: _Step, machine: Target) -> list[_Block]:
    """The best first: as many columns as leave few without a thread. Last a warp at one place, as there may be no even
    number of neighbors along K; without parts those that cannot be."""
    columns, lanes = product.batch * product.n, LANES * step.vector
    sizes = [1 << bit for bit in range(LONGEST_RUN.bit_length()) if SHORTEST_RUN <= 1 << bit <= LONGEST_RUN]
    fitting = [size for size in sizes if round_up(columns, size) <= columns * MAX_WASTE]
    width = max(step.vector, max(fitting, default=SHORTEST_RUN))
    shapes = [(warps, width, warps * lanes // width) for warps in WARPS if warps * lanes >= width]
    shapes.append((1, max(LANES, min(power_of_two(columns), lanes)), 1))
    return [_Block(warps, n, k, _parts(product, step, (n, k), warps, machine)) for warps, n, k in shapes]


def _steps(product: Product) -> list[_Step]:
    """Those for which there are registers, the cheapest first."""
    size = max(product.lhs.size, product.rhs.size)
    vectors = [count for count in (8, 4, 2, 1) if count * size <= WIDEST]
    runs = [run for run in range(1, MAX_RUN + 1) if product.walked and product.walked[-1] % run == 0]
    steps = [_step(product, vector, run) for vector in vectors for run in runs]
    return sorted((step for step in steps if step.held <= MAX_HELD), key=lambda step: step.cost)


def _step(product: Product, vector: int, run: int) -> _Step:
    """The columns of a group, which are neighbors, read the same elements of x."""
    words = max(1, product.result.size // REGISTER_BYTES)
    apart = vector // gcd(vector, product.n)
    axes = tuple(replace(axis, count=run if axis.step else 1) for axis in product.rows_read)
    places = prod(axis.elements for axis in axes)
    row = places // max((axis.elements for axis in axes if not axis.step), default=1)
    held = (product.m * vector + row * apart + run * vector) * words
    loads = instructions([Read(axes, product.lhs.size)], 1) + (apart - 1) * places * (product.lhs.size < REGISTER_BYTES)
    loads += run * (vector * (product.rhs.size < REGISTER_BYTES) + 2)
    return _Step(vector, run, held, (product.m * vector * run + loads) / (vector * run))


def _parts(product: Product, step: _Step, tile: tuple[int, int], warps: int, machine: Target) -> int:
    """The parts of K with which the SMs are full until the end, and there are few sums to merge; each can be cut once
    more into those of the threads of a block. 0 where no number of parts can. `tile`: columns, and places of K."""
    width, together = tile
    columns = product.batch * product.n
    tiles, room = ceil_div(columns, width), machine.sms * step.occupancy(warps)
    walk = step.cost * columns * product.k / machine.scalar_multiply_adds / machine.sms
    merge = product.m * columns * 2 * product.result.size / MERGED_BYTES / machine.sms

    def cycles(parts: int) -> float:
        blocks = parts * tiles
        return walk * round_up(blocks, room) / blocks + (merge * parts if parts > 1 else 0)

    most = min(MAX_PARTS, prod(product.cuts))
    counts = [n for n in range(1, most + 1) if _can_be_cut(product, n, step.run, together)]
    return min(counts, key=cycles, default=0)


def _can_be_cut(product: Product, parts: int, run: int, together: int) -> bool:
    if (counts := divided(product.cuts, parts)) is None:
        return False
    cut = [extent // count for extent, count in zip(product.walked, counts, strict=False)]
    left = [*cut, *product.walked[len(cut) :]]
    return left[-1] % run == 0 and any(n % together == 0 for n in (*left[:-1], left[-1] // run))
