"""Pages that cascades read in place: keys and values that a table of the pages of a pool says where to find.

A kernel that loads a box at a time loads it from any page. Its number is read, checked and brought into range where the
box is loaded. So no array has what was gathered.
"""

from __future__ import annotations

from xdsl.ir import Block, Operation, SSAValue

from irc.analysis.op_classes import is_elementwise, is_made, is_transparent, is_unit_reshape
from irc.analysis.pages import columns_in_pages
from irc.fusion.cascades import cascades_in
from irc.ir.dtypes import element_of
from irc.ir.iteration import is_broadcast
from irc.ir.rewriting import remove_dead_code


def copy_pages(block: Block) -> set[Operation]:
    """Gives the cascades that one kernel computes their own ops which gather pages, and what numbers of pages are
    computed by, and gives these ops, which the cascades' kernels repeat. Pages whose numbers are computed from floats
    are gathered."""
    made: set[Operation] = set()
    copies: dict[SSAValue, SSAValue] = {}
    found = [each for cascade in cascades_in(block) if cascade.is_rolled for each in columns_in_pages(cascade)]
    for product, operand, pages in found:
        value = product.operands[operand]
        numbers = _numbers(pages.take.indices)
        if numbers is None:
            continue
        for op in (*numbers, pages.take, *pages.view.ops):
            if op.results[0] not in copies:
                copy = op.clone(copies)
                block.insert_op_after(copy, op)
                copies[op.results[0]] = copy.results[0]
                made.add(copy)
        product.operands[operand] = copies[value]
    if made and (function := block.parent_op()) is not None:
        remove_dead_code(function)
    return made


def _numbers(indices: SSAValue) -> list[Operation] | None:
    """The ops that compute integers of arrays and of places, each after what it reads; None where there are others that
    no kernel of their own computes."""
    found: dict[Operation, None] = {}
    is_known = True

    def add(value: SSAValue) -> None:
        nonlocal is_known
        op = value.owner
        if not isinstance(op, Operation) or op in found:
            return
        if not _is_number(op):
            is_known = is_known and not is_transparent(op)
            return
        for operand in op.operands:
            add(operand)
        found[op] = None

    add(indices)
    return list(found) if is_known else None


def _is_number(op: Operation) -> bool:
    """Whether it computes integers or bools one by one."""
    is_one = is_elementwise(op) or is_broadcast(op) or is_made(op) or is_unit_reshape(op)
    return is_one and all(element_of(value.type).kind != "float" for value in (*op.operands, *op.results))
