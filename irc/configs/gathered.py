"""The config of a product whose left operand the threads that multiply load, in rows of taps of a convolution."""

from __future__ import annotations

from collections.abc import Iterator

from irc.analysis.budgets import tile_registers
from irc.analysis.product_problem import Product
from irc.dialects.kernel import ConfigAttr, TileSizes
from irc.ir.targets import Target
from irc.layout.instructions import LANES, WARP_GROUP, WGMMA_ROWS
from irc.support.integers import power_of_two

COLUMNS = 64
"""Up to which a group's tile has the rows of two instructions: more accumulators leave no registers for so many loads.
"""

WIDEST = 128

MIN_COLUMNS = 16

HELD = 200
"""Registers of a thread for the elements of the left operand and the accumulators. Of 168 and 32, which are 672 of K
and 64 columns, ptxas 13.0 spills nothing."""

ACCUMULATOR_BYTES, PAIRED_BYTES = 4, 2
"""Of a sum, and of an element of the left operand, of which a register has two."""

MAX_DEPTH = (HELD - tile_registers(COLUMNS * ACCUMULATOR_BYTES * WGMMA_ROWS, WARP_GROUP)) * 2 * WARP_GROUP // WGMMA_ROWS
"""Of K that a group has the elements of, for the rows of one instruction and COLUMNS columns."""

STAGES = (1, 2)
"""Of the right operand. By turns on an H200, with one stage and with two: windows of 3 x 3 over 32 images of 3 x 224 x
224 to 64 columns 108 and 138 us, of 7 x 7 over 256 of them 281 and 335. By itself, without the kernel that turns the
weights, the latter took 312 and 278 (benchmarks/results/2026-11-28-h200-exhaustive.jsonl.gz)."""


def choose_gathered(product: Product, machine: Target, given: ConfigAttr) -> Iterator[ConfigAttr]:
    """All of K is one step, so that all loads of a tile are on their way at once. Two groups take turns: one loads
    while the other multiplies and stores. The right operand has one stage, or two where a tuner
    finds them faster."""
    columns = min(WIDEST, max(MIN_COLUMNS, power_of_two(product.n)))
    while columns > MIN_COLUMNS and _held(columns, product.k) > HELD:
        columns //= 2
    instructions = 2 if columns <= COLUMNS and 2 * _held(columns, product.k) <= HELD else 1
    chosen = TileSizes(m=WGMMA_ROWS * instructions, n=columns, k=product.k)
    for stages in STAGES:
        yield ConfigAttr.of(
            tile=chosen if given.tile is None else given.tile.completed(chosen),
            stages=stages,
            cluster=(1, 1),
            warps=WARP_GROUP // LANES,
            schedule="pingpong",
            group=1,
            indexing="tma",
            instruction="wgmma",
        )


def _held(columns: int, depth: int) -> int:
    """A thread's registers for the rows of one instruction: their elements along K, and their sums."""
    sizes = columns * ACCUMULATOR_BYTES, depth * PAIRED_BYTES
    return sum(tile_registers(WGMMA_ROWS * size, WARP_GROUP) for size in sizes)
