"""The config of a product whose left operand the threads that multiply load, in rows of taps of a convolution."""

from __future__ import annotations

from collections.abc import Iterator

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

STAGES = (2, 1)
"""Of the right operand. 256 images of 3 x 224 x 224 with windows of 7 x 7 take an H200 278 us with two stages and 312
with one (benchmarks/results/2026-11-28-h200-exhaustive.jsonl.gz)."""


def choose_gathered(product: Product, machine: Target, given: ConfigAttr) -> Iterator[ConfigAttr]:
    """All of K is one step, so that all loads of a tile are on their way at once. Two groups take turns: one loads
    while the other multiplies and stores. The right operand of each has a stage of its own, where there is room."""
    columns = min(WIDEST, max(MIN_COLUMNS, power_of_two(product.n)))
    chosen = TileSizes(m=WGMMA_ROWS * (2 if columns <= COLUMNS else 1), n=columns, k=product.k)
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
