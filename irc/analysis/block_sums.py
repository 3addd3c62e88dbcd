"""Sums over blocks of K: a product for each block, elementwise work on it (scales), and a sum of what that gives.

In `nd` the blocks are the product's batch, and a reduction over just that axis follows. One kernel does all of it: a
step of its loop over K is a block, whose products are summed from zero and computed on before they are added up.
"""

from __future__ import annotations

from xdsl.ir import Operation

from irc.analysis.op_classes import is_product, is_reduction, monoid_of, reduced_axes, shape_of
from irc.dialects.kernel import Anchor, FusedOp
from irc.ir.dtypes import element_of
from irc.ir.iteration import iteration_of
from irc.support.integers import power_of_two

BLOCK_BYTES = (64, 256)
"""Of the elements of an operand in a block: a step of the loop over K has as many at least, and at most."""


def is_block_sum(op: Operation, product: Operation) -> bool:
    """Whether the reduction adds up the blocks of K that are the product's batch, each of which can be a step."""
    if not is_product(product) or not is_reduction(op) or monoid_of(op) != "sum":
        return False
    iteration = iteration_of(product)
    batch, depth = iteration.axes(iteration.result, "b"), iteration.extent("k")
    if reduced_axes(op) != batch or shape_of(op.operands[0]) != shape_of(product.results[0]):
        return False
    sizes = [depth * element_of(value.type).size for value in product.operands[:2]]
    low, high = BLOCK_BYTES
    return len(batch) == 1 and depth == power_of_two(depth) and low <= min(sizes) and max(sizes) <= high


def block_sum(kernel: FusedOp) -> Operation | None:
    """The sum over blocks of K of a kernel; None where it has none."""
    if kernel.kind is not Anchor.MATMUL:
        return None
    (product, *others) = kernel.cores()
    found = [op for op in kernel.block.ops if not others and is_block_sum(op, product)]
    return found[0] if found else None
