"""Whether the products of a cascade run in one kernel.

A block of one kernel has rows of all, and walks over all columns of the first, or over a part of them: nothing in
between is stored, but there are as many blocks as rows have tiles, and columns parts. Kernels of their own spread the
work over all SMs, and store and read the scores, and what is computed from them. Costs are cycles of an SM of the
target.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from irc.analysis.cascade_parts import blocks_of, parts_of, rows_of_block
from irc.analysis.cascades import Cascade
from irc.analysis.op_classes import size_of
from irc.ir.dtypes import element_of
from irc.ir.iteration import iteration_of
from irc.ir.targets import Target
from irc.support.integers import ceil_div

PARTIAL_BYTES = 4
"""Of a part's sums, which are in f32."""

SUM_BYTES = 2 * PARTIAL_BYTES + 2
"""Of each sum that tiles of rows add to: it is set to zero, read, and stored in 16 bits."""


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
    """Of a cascade whose products have the extents b x m x n x k. Both ways take no less than to load the operands."""
    costs = machine.costs
    first, last = ([iteration_of(op) for op in ops] for ops in (cascade.scores, cascade.products))
    batch, rows, steps = prod(last[0].extents("b")), last[0].extent("m"), last[0].extent("k")
    columns = sum(iteration_of(op).extent("n") for op in (*cascade.products, *cascade.across))
    work = steps * (sum(each.extent("k") for each in first) + columns) / costs.multiply_adds
    loaded = costs.byte * sum(size_of(value) * element_of(value.type).size for value in cascade.operands)
    parts = parts_of(cascade, machine)
    blocks = ceil_div(blocks_of(cascade) * parts, machine.sms) * machine.sms
    fused = max(blocks * rows_of_block(cascade) * work / parts / costs.cascades.busy, loaded)
    if parts > 1:
        partials = parts * batch * rows * (columns + len(cascade.reductions)) * PARTIAL_BYTES
        fused += costs.byte * 2 * partials + costs.launch
    if cascade.across:
        sums = batch * steps * sum(iteration_of(op).extent("n") for op in cascade.across)
        added = PARTIAL_BYTES * sums * ceil_div(rows, rows_of_block(cascade))
        fused = max(fused, costs.byte * added) + costs.byte * SUM_BYTES * sums
        fused += 2 * costs.launch
    scores = sum(element_of(op.results[0].type).size for op in cascade.scores)
    weights = sum(element_of(op.operands[0].type).size for op in (*cascade.products, *cascade.across))
    is_stored = bool(cascade.reductions) or len(cascade.scores) > 1
    moved = 2 * batch * rows * steps * ((scores + weights) if is_stored else weights)
    launches = len(first) + len(last) + len(cascade.across) - 1 + bool(cascade.reductions)
    stored = max(batch * rows * work / costs.cascades.busy_alone, loaded)
    stored += costs.byte * moved + costs.launch * launches
    return CascadeCost(fused / machine.sms, stored / machine.sms)
