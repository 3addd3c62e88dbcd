"""Products summed in registers, one multiply-add after another: when they pay, and their config.

A matrix instruction has 16 rows or columns at least, and operands in tiles. A convolution whose groups have a channel
or a few each would multiply zeros, and read a few bytes of every sector of memory for each group. Summed in registers,
a tile has the columns of many groups.
"""

from __future__ import annotations

from collections.abc import Iterator

from irc.analysis.product_problem import Product
from irc.dialects.kernel import ConfigAttr, TileSizes
from irc.ir.targets import Target
from irc.layout.requests import SECTOR_BYTES, WIDEST
from irc.support.integers import ceil_div, power_of_two, round_up

INSTRUCTIONS = 3
"""Of a thread for a multiply-add: it, the conversion of a factor, and parts of loads."""

LEAST = 16
"""Rows, columns and depth that a matrix instruction multiplies at least."""

RUN_BYTES = 128
"""Bytes of a tile's rows: a line of memory."""

ELEMENTS = 16
"""Of a thread: two words of memory of 16 bits, whose right factors are the same."""

WARPS = 4
LANES = 32


def pays(product: Product, machine: Target) -> bool:
    """Whether a convolution is faster summed in registers than by instructions on tiles, in cycles of an SM for an
    element of the result."""
    if not product.taps:
        return False
    direct = INSTRUCTIONS * product.k / machine.scalar_multiply_adds
    columns = round_up(product.n, LEAST) / max(product.n, 1)
    multiplied = columns * round_up(product.k, LEAST) / machine.multiply_adds(product.lhs.name)
    read = product.taps * round_up(product.k // product.taps * product.lhs.size, SECTOR_BYTES)
    return direct < multiplied + read / max(product.n, 1) / machine.costs.operand_bytes


def choose_direct(product: Product, machine: Target, given: ConfigAttr) -> Iterator[ConfigAttr]:
    """A tile has lines of the result along the side that is contiguous there, and a thread a few words. Where there are
    not enough for all SMs, tiles are smaller."""
    columns = product.batch * product.n
    sides = {"m": product.m, "n": columns}
    inner, outer = ("n", "m") if product.stored_along == "n" else ("m", "n")
    least = {"m": 1, "n": power_of_two(product.row)}
    size = min(product.lhs.size, product.result.size)
    line = RUN_BYTES // size if inner == "n" else WARPS * LANES * WIDEST // size
    line = min(line, max(1, WARPS * LANES * ELEMENTS // least[outer]))
    across = max(least[inner], min(power_of_two(sides[inner]), line))
    along = max(least[outer], min(power_of_two(sides[outer]), WARPS * LANES * ELEMENTS // across))
    while along > least[outer] and ceil_div(product.m * columns, across * along) < 2 * machine.sms:
        along //= 2
    chosen = TileSizes({inner: across, outer: along, "k": 1})
    tile = chosen if given.tile is None else given.tile.completed(chosen)
    threads = power_of_two(ceil_div(tile["m"] * tile["n"], ELEMENTS))
    yield ConfigAttr.of(
        tile=tile,
        stages=1,
        cluster=(1, 1),
        warps=max(1, min(WARPS, threads // LANES)),
        schedule="grid",
        indexing="pointers",
        instruction="direct",
    )
