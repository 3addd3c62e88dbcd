"""Whether the products of a cascade run in one kernel.

A block of one kernel has rows of all, and walks over all columns of the first: nothing in between is stored, but
there are as many blocks as rows have tiles. Kernels of their own spread the work over all SMs, and store and read the
scores, and what is computed from them. Costs are cycles of an SM of the target.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from irc.analysis.cascades import Cascade
from irc.ir.dtypes import element_of
from irc.ir.iteration import iteration_of
from irc.ir.targets import Target
from irc.support.integers import ceil_div

ROWS = 128
"""Rows of a block."""

BUSY = 0.5
"""Of the rate of matrix instructions, what a kernel reaches that computes exponentials between two products: on an H200
550 of 989 TFLOP/s."""

BUSY_ALONE = 0.75
"""The same of a product alone."""


@dataclass(frozen=True)
class CascadeCost:
    """Cycles of an SM from the first product's begin to the last one's end: in one kernel, and in several."""

    fused: float
    stored: float

    @property
    def pays(self) -> bool:
        return self.fused <= self.stored

    def __str__(self) -> str:
        choice = "fused" if self.pays else "stored"
        return f"a cascade: {self.fused:.0f} cycles in one kernel, {self.stored:.0f} in several: {choice}"


def cascade_cost(cascade: Cascade, machine: Target) -> CascadeCost:
    """Of a cascade whose products have the extents b x m x n x k."""
    first, last = ([iteration_of(op) for op in ops] for ops in (cascade.scores, cascade.products))
    batch, rows, steps = prod(last[0].extents("b")), last[0].extent("m"), last[0].extent("k")
    depth = sum(each.extent("k") for each in first) + sum(each.extent("n") for each in last)
    work = steps * depth / machine.costs.multiply_adds
    blocks = batch * ceil_div(rows, ROWS)
    fused = ceil_div(blocks, machine.sms) * ROWS * work / BUSY
    scores = sum(element_of(op.results[0].type).size for op in cascade.scores)
    weights = sum(element_of(op.operands[0].type).size for op in cascade.products)
    is_stored = bool(cascade.reductions) or len(cascade.scores) > 1
    moved = 2 * batch * rows * steps * ((scores + weights) if is_stored else weights)
    launches = len(first) + len(last) - 1 + bool(cascade.reductions)
    stored = batch * rows * work / BUSY_ALONE + machine.costs.byte * moved + machine.costs.launch * launches
    return CascadeCost(fused, stored / machine.sms)
