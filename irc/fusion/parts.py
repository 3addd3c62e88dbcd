"""Parts of arrays that cascades read in place: queries, keys and values that one product has made side by side, or that
lie with their heads beside the elements of a head.

A kernel that loads a box at a time loads it from anywhere in an array. Where the last tile goes beyond the end of a
part there is more of the array, not 0: of what tiles have some of, all has to be taken.
"""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.ir import Block, Operation, SSAValue

from irc.analysis.cascades import MIN_ROWS, Cascade, cascade_of
from irc.analysis.op_classes import is_product, is_view, size_of
from irc.analysis.strided_views import StridedView, strided_view
from irc.fusion.cascades import is_one_kernel
from irc.ir.iteration import iteration_of
from irc.ir.rewriting import remove_dead_code
from irc.ir.targets import target_of


def copy_parts(block: Block) -> set[Operation]:
    """Gives the cascades that one kernel computes their own ops which take what they multiply from arrays, and gives
    these ops, which the cascades' kernels repeat."""
    copies: dict[SSAValue, SSAValue] = {}
    made: set[Operation] = set()
    for cascade in _cascades(block):
        for product, operand, role in _loaded(cascade):
            value = product.operands[operand]
            if value not in copies and _is_read_in_place(strided_view(value), _tiled(product, operand, role)):
                ops = _copied(strided_view(value))
                copies[value] = ops[-1].results[0]
                made |= {op for op in ops if not is_view(op)}
            product.operands[operand] = copies.get(value, value)
    if made and (function := block.parent_op()) is not None:
        remove_dead_code(function)
    return made


def _cascades(block: Block) -> Iterator[Cascade]:
    machine = target_of(block)
    seen: set[Operation] = set()
    for product in [op for op in block.ops if is_product(op)]:
        cascade = None if product in seen else cascade_of(product)
        if cascade is not None and cascade.is_rolled and is_one_kernel(cascade, machine):
            seen |= {*cascade.products}
            yield cascade


def _loaded(cascade: Cascade) -> Iterator[tuple[Operation, int, str]]:
    """The products and their operands that come from memory, and the role of the axes along which a tile has some."""
    yield from ((op, operand, "mn"[operand]) for op in cascade.scores for operand in (0, 1))
    yield from ((op, 1, "k") for op in cascade.products)


def _tiled(product: Operation, operand: int, role: str) -> tuple[int, ...]:
    """The axes along which a tile lies: the last one with a role, or all where it is short."""
    iteration = iteration_of(product)
    axes = iteration.axes(iteration.inputs[operand].map, role)
    return axes[-1:] if iteration.extents(role)[-1] >= MIN_ROWS else axes


def _is_read_in_place(view: StridedView, tiled: tuple[int, ...]) -> bool:
    """Whether it is taken from an array of which others read the rest, and is not cut along axes of which tiles have
    some."""
    if not view.is_moved or not view.is_loadable or not view.is_one_axis(tiled) or any(map(view.ends_inside, tiled)):
        return False
    users = [use.operation for use in view.array.uses]
    return sum(size_of(op.results[0]) for op in users if op.results) >= size_of(view.array)


def _copied(view: StridedView) -> list[Operation]:
    value = view.array
    copies: list[Operation] = []
    for op in view.ops:
        block = op.parent
        assert block is not None
        copies.append(op.clone({op.operands[0]: value}))
        block.insert_op_after(copies[-1], op)
        value = copies[-1].results[0]
    return copies
