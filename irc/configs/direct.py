"""Products summed in registers, one multiply-add after another: when they pay, and their config.

A matrix instruction has 16 rows or columns at least, and operands in tiles. A convolution whose groups have a channel
or a few each would multiply zeros, and read a few bytes of every sector of memory for each group. Summed in registers,
a tile has the columns of many groups.
"""

from __future__ import annotations

from collections.abc import Iterator

from irc.analysis.product_problem import Product
from irc.configs.window_steps import parts_to_fill
from irc.dialects.kernel import ConfigAttr, TileSizes
from irc.ir.targets import Target
from irc.layout.instructions import LANES
from irc.layout.requests import SECTOR_BYTES, WIDEST
from irc.support.integers import ceil_div, power_of_two, round_up

INSTRUCTIONS = 3
"""Of a thread for a multiply-add: it, the conversion of a factor, and parts of loads."""

MIN_EXTENT = 16
"""Rows, columns and depth that a matrix instruction multiplies at least."""

RUN_BYTES = 128
"""Bytes of a tile's rows: a line of memory."""

ELEMENTS = 16
"""Of a thread: two words of memory of 16 bits, whose right factors are the same."""

WARPS = 4

RESIDENT_WARPS = 32
"""Of an SM, whose loads are on the way at once, where the config sets no `occupancy`."""

SHORTEST_PART = 128
"""Elements along K of the shortest part of a long sum, where the config sets no `split`."""


def pays(product: Product, machine: Target) -> bool:
    """Whether a convolution is faster summed in registers than by instructions on tiles, in cycles of an SM for an
    element of the result."""
    if not product.taps:
        return False
    return INSTRUCTIONS * product.k / machine.scalar_multiply_adds < multiplied_cycles(product, machine)


def multiplied_cycles(product: Product, machine: Target) -> float:
    """Cycles of an SM for an element of the result of a convolution, by instructions on tiles."""
    columns = round_up(product.n, MIN_EXTENT) / max(product.n, 1)
    multiplied = columns * round_up(product.k, MIN_EXTENT) / machine.multiply_adds(product.lhs.name)
    if product.is_gathered:
        return multiplied + machine.costs.windows.gathered_tap * product.k / max(product.n, 1)
    read = product.taps * round_up(product.k // product.taps * product.lhs.size, SECTOR_BYTES)
    return multiplied + read / max(product.n, 1) / machine.costs.operand_bytes


def choose_direct(product: Product, machine: Target, given: ConfigAttr) -> Iterator[ConfigAttr]:
    """A tile has lines of the result along the side that is contiguous there, and a thread a few words. Where there are
    not enough for all SMs, there are parts of K, or tiles are smaller. Long sums of parts read much more than they
    store: then a tile has lines of the right operand, if there are such along N."""
    columns = product.batch * product.n
    inner = "n" if product.rhs_along == "n" else product.stored_along
    across, along, parts = *_lines(product, inner), 1
    if given.tile is None:
        parts = given.split or _parts(product, machine, given, across, along)
    if parts == 1:
        inner = product.stored_along
        across, along = _lines(product, inner)
    outer = "m" if inner == "n" else "n"
    while (
        parts == 1
        and along > _least(product, outer)
        and ceil_div(product.m * columns, across * along) < 2 * machine.sms
    ):
        along //= 2
    chosen = TileSizes({inner: across, outer: along, "k": 1})
    tile = chosen if given.tile is None else given.tile.completed(chosen)
    yield ConfigAttr.of(
        tile=tile,
        stages=1,
        cluster=(1, 1),
        warps=_warps(tile["m"] * tile["n"]),
        schedule="grid",
        split=None if parts == 1 else parts,
        indexing="pointers",
        instruction="direct",
    )


def _warps(elements: int) -> int:
    """Those of a tile of so many elements."""
    return max(1, min(WARPS, power_of_two(ceil_div(elements, ELEMENTS)) // LANES))


def _lines(product: Product, inner: str) -> tuple[int, int]:
    """A tile's extents along the side where elements are neighbors in memory, and along the other."""
    outer = "m" if inner == "n" else "n"
    sides = {"m": product.m, "n": product.batch * product.n}
    size = min(product.lhs.size, product.result.size)
    line = RUN_BYTES // size if inner == "n" else WARPS * LANES * WIDEST // size
    line = min(line, max(1, WARPS * LANES * ELEMENTS // _least(product, outer)))
    across = max(_least(product, inner), min(power_of_two(sides[inner]), line))
    return across, max(_least(product, outer), min(power_of_two(sides[outer]), WARPS * LANES * ELEMENTS // across))


def _least(product: Product, side: str) -> int:
    return power_of_two(product.row) if side == "n" else 1


def _parts(product: Product, machine: Target, given: ConfigAttr, across: int, along: int) -> int:
    """Parts of K with which tiles fill the SMs."""
    tiles = ceil_div(product.m * product.batch * product.n, across * along)
    resident = given.occupancy or RESIDENT_WARPS // _warps(across * along)
    return parts_to_fill(product, tiles, machine.sms * resident, SHORTEST_PART)
