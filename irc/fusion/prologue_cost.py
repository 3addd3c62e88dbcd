"""Whether an operand of a product is computed on the way to the tensor cores, or stored first.

Computed on the way, an element is made again for each tile of the result that reads it; stored, it is written once, by
a kernel of its own, and read like any other. Costs are cycles of an SM of the target for an element of the operand
(`OperandCosts`). How much longer products of 4096 cubed, or of fewer rows of x, take fused than stored on an H200, in
us, and by this model:

| | measured | model |
|---|---|---|
| x @ (i8 * s of channels); 2048 rows; 1024 rows | -20; -9; -14 | -12; -12; -12 |
| the same with i8 as N x K | -8 | -7 |
| x @ (i8 * f32 scales of groups); 1024 rows | 8; -7 | 6; -7 |
| x @ (relu(w) * s); 2048 cubed | -2; -5 | -3; -4 |
| x @ relu(w); 2048 cubed | -17; -5 | -15; -5 |
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.ir import Operation

from irc.analysis.op_classes import size_of
from irc.analysis.operand_work import OperandWork
from irc.analysis.product_problem import multiplied
from irc.ir.iteration import iteration_of
from irc.ir.target_costs import OperandCosts
from irc.ir.targets import target_of
from irc.support.integers import ceil_div

FEWEST_TILES = 2
"""Tiles up to which an operand is computed on the way: such a product takes as long as reading its operands."""


@dataclass(frozen=True)
class PrologueCost:
    """Cycles of an SM for an element of an operand: `fused`, computed in all `tiles`, or `stored`."""

    side: str
    ops: tuple[Operation, ...]
    tiles: int
    fused: float
    stored: float

    @property
    def pays(self) -> bool:
        return self.tiles <= FEWEST_TILES or self.fused <= self.stored

    def __str__(self) -> str:
        names = ", ".join(op.name.removeprefix("nd.") for op in reversed(self.ops))
        costs = f"{self.fused:.2f} cycles an element in {self.tiles} tiles, {self.stored:.2f} stored first"
        return f"{self.side} operand ({names}): {costs}: {'fused' if self.pays else 'stored'}"


def is_streamed_right(product: Operation) -> bool:
    """Whether a product that is alone in its kernel computes its right operand in registers, in few tiles: such a one
    takes as long as reading its operands, which a producer that computes them for several products takes longer to."""
    cost = prologue_cost(product, 1, 1, alone=True)
    return cost is not None and cost.tiles <= FEWEST_TILES and not OperandWork.of(product, 0).ops


def prologue_cost(product: Operation, count: int, operand: int, *, alone: bool) -> PrologueCost | None:
    """The cost of the left (0) or right (1) operand of `count` products like this; None where it is not computed, or
    not of 16 bits: others go through registers in any case. alone: whether the kernel has no other product."""
    work = OperandWork.of(product, operand)
    if not work.ops or multiplied(product, operand).size != 2:
        return None
    size = max(size_of(work.value), 1)
    depth = iteration_of(product).extent("k")
    others = count * size_of(product.results[0]) * depth // size
    costs = target_of(product).costs
    each, tile = _computed(work, costs.operand, streamed=operand == 0 or (alone and not OperandWork.of(product, 0).ops))
    tiles = ceil_div(others, tile)
    stored = costs.byte * (work.loaded + 2) + costs.launch / size
    return PrologueCost("right" if operand else "left", work.ops, tiles, tiles * each, stored)


def _computed(work: OperandWork, costs: OperandCosts, *, streamed: bool) -> tuple[float, int]:
    """The cycles of an element in a tile, and what the tile has along the other operand. streamed: whether the operand
    can be the left one of a warp group's product, or of the transposed one, which the threads that multiply compute."""
    rows, columns = costs.tile
    if costs.written is not None and not streamed:
        return costs.written, rows
    return max(0.0, costs.byte * (work.loaded - costs.free_bytes) + costs.instruction * work.instructions), columns
