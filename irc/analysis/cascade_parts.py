"""Parts of the columns of a cascade, which different blocks walk over.

Few rows leave SMs idle: one block for each tile of rows walks over all columns. Parts of the columns can be walked over
at the same time, as what they come to can be put together (`irc/splitting/cascades.py`).
"""

from __future__ import annotations

from math import lcm, prod

from irc.analysis.cascades import MIN_ROWS, Cascade, rows_of
from irc.analysis.pages import page_rows
from irc.ir.dtypes import element_of
from irc.ir.iteration import iteration_of
from irc.ir.targets import Target
from irc.support.integers import ceil_div

ROWS = 128
"""Rows of a block."""

ENOUGH = 0.8
"""Of the places for blocks on SMs, how many blocks leave nothing to gain from parts."""

CLOSE = 0.85
"""Of the most SMs that any number of parts keeps busy, what is as good (FlashAttention-3, hopper/heuristics.h)."""

SHORTEST = 256
"""Columns of a part, at least; half as many where a block takes longer for them than they take to come."""

STEP = 64
"""Of which the columns of a part are a multiple, so that its last step is a whole one. Parts have whole pages."""


def blocks_of_sm(cascade: Cascade, machine: Target) -> int:
    """Two blocks of few rows, which share an SM, where one takes longer for its columns than these take to come."""
    if not machine.has_wgmma or rows_of_block(cascade) > MIN_ROWS or len(cascade.scores) > 1 or cascade.across:
        return 1
    sides = [(op, "k") for op in cascade.scores] + [(op, "n") for op in cascade.products]
    column = sum(iteration_of(op).extent(name) * element_of(op.operands[1].type).size for op, name in sides)
    return 2 if column * machine.sms / machine.bandwidth < machine.costs.cascades.column / machine.clock else 1


def rows_of_block(cascade: Cascade) -> int:
    """Few rows are one tile of the rows of an instruction."""
    return MIN_ROWS if rows_of(cascade.products[0]) <= MIN_ROWS else ROWS


def blocks_of(cascade: Cascade) -> int:
    """The blocks of a kernel that computes a cascade, without parts."""
    product = cascade.products[0]
    iteration = iteration_of(product)
    rows, along = iteration.extent("m"), rows_of(product)
    return prod(iteration.extents("b")) * (rows // along) * ceil_div(along, rows_of_block(cascade))


def parts_of(cascade: Cascade, machine: Target) -> int:
    """The fewest parts that take about as many places of SMs as any number of them does; 1 where blocks are enough."""
    blocks, columns, shared = blocks_of(cascade), cascade.domain[-1], blocks_of_sm(cascade, machine)
    places = machine.sms * shared
    if cascade.across or cascade.axes != (len(cascade.domain) - 1,) or blocks == 0 or blocks >= ENOUGH * places:
        return 1

    def busy(parts: int) -> float:
        return blocks * parts / (ceil_div(blocks * parts, places) * places)

    most = min(columns // (SHORTEST // shared), machine.sms)
    multiple = lcm(STEP, page_rows(cascade) or 1)
    counts = [parts for parts in range(1, most + 1) if columns % (parts * multiple) == 0] or [1]
    best = max(map(busy, counts))
    return next(parts for parts in counts if busy(parts) >= CLOSE * best)
