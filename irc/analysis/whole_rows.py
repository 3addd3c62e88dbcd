"""Reductions over the rows of a product's result that a tile with whole rows computes by itself."""

from __future__ import annotations

from xdsl.ir import Operation

from irc.analysis.op_classes import is_reduction, reduced_axes, shape_of, size_of
from irc.dialects.kernel import FusedOp
from irc.ir.iteration import iteration_of
from irc.ir.walks import depending_on


def rows_of(kernel: FusedOp) -> list[Operation]:
    """The reductions of a matmul kernel over the one axis of its right operand that is left."""
    product, axes = kernel.cores()[0], _along_rows(kernel)
    domain = shape_of(product.results[0])
    if len(axes) != 1:
        return []
    found = [op for op in kernel.block.ops if is_reduction(op) and reduced_axes(op) == axes]
    return [op for op in found if shape_of(op.operands[0]) == domain]


def _along_rows(kernel: FusedOp) -> tuple[int, ...]:
    """The axes of a product's result that its right operand has."""
    iteration = iteration_of(kernel.cores()[0])
    return iteration.axes(iteration.result, "n")


def needs_whole_rows(kernel: FusedOp) -> bool:
    """Whether such a reduction is read again by something of the result's size, or by another reduction."""
    size = size_of(kernel.cores()[0].results[0])
    following = depending_on(rows_of(kernel), kernel.block.ops)
    return any(is_reduction(op) or any(size_of(value) >= size for value in op.results) for op in following)


def row_extent(kernel: FusedOp) -> int:
    """Columns that a tile of a matmul kernel has to have; 1 where any do."""
    if not needs_whole_rows(kernel):
        return 1
    (axis,) = _along_rows(kernel)
    return shape_of(kernel.cores()[0].results[0])[axis]


def whole_rows(kernel: FusedOp) -> list[Operation]:
    """The reductions whose rows lie in one tile of the kernel's config."""
    tile = None if kernel.config is None else kernel.config.tile
    if tile is None or "n" not in tile:
        return []
    axes = _along_rows(kernel)
    return [op for op in rows_of(kernel) if shape_of(op.operands[0])[axes[0]] <= tile["n"]]
