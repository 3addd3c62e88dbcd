"""Whether an operand of a product is computed on the way to the tensor cores, or stored first.

Computed on the way, an element is made again for each tile of the result that reads it; stored, it is written once, by
a kernel of its own, and read like any other. Costs are cycles of an SM for an element of the operand, fitted to an
H200: `(relu(x) * s) @ w` at 4096 takes 1.11 times the product alone computed in packed bf16, 1.26 times in f32, and
1.15 times with a map before it. At 2048, 4096 and 8192, for one and two roundings and either side, the choice is the
faster one or within 3 percent of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from xdsl.ir import Operation

from irc.passes.kernel.op_classes import integers, shape_of, size_of
from irc.passes.kernel.operand_work import OperandWork
from irc.passes.kernel.problem import ceil_div, multiplied

TILE_COLUMNS, TILE_ROWS = 256, 128
"""The tile of the result of most products of 16-bit operands."""

STREAMED, INSTRUCTION = 0.009, 0.006
"""Of an element of an operand that the threads which multiply compute: to read what it is made of, and for each
instruction. They compute left operands, and right ones that are those of the transposed product."""

TURNED = 1.25
"""How much longer that takes in the transposed product, whose epilogue turns its tiles. Not measured."""

WRITTEN = 0.22
"""Of an element of another operand, which a producer loads, computes and writes to shared memory."""

BYTE, LAUNCH = 0.05, 4e5
"""Of a byte of global memory; and of a launch, for all elements together."""

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
    cost = prologue_cost(product, 1, 1)
    return cost is not None and cost.tiles <= FEWEST_TILES and not OperandWork.of(product.operands[0]).ops


def prologue_cost(product: Operation, count: int, operand: int) -> PrologueCost | None:
    """The cost of the left (0) or right (1) operand of `count` products like this; None where it is not computed, or
    not of 16 bits: others go through registers in any case."""
    work = OperandWork.of(product.operands[operand])
    if not work.ops or multiplied(product, operand).size != 2:
        return None
    size = max(size_of(work.value), 1)
    depth = prod(shape_of(product.operands[0])[axis] for axis in integers(product, "lhs_contract"))
    others = count * size_of(product.results[0]) * depth // size
    streamed = operand == 0 or (count == 1 and not OperandWork.of(product.operands[0]).ops)
    tiles = ceil_div(others, TILE_COLUMNS if streamed else TILE_ROWS)
    each = (STREAMED + INSTRUCTION * work.instructions) * (TURNED if operand else 1) if streamed else WRITTEN
    stored = BYTE * (work.loaded + 2) + LAUNCH / size
    return PrologueCost("right" if operand else "left", work.ops, tiles, tiles * each, stored)
