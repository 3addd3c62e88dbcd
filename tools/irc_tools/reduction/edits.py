"""Edits of ops: erasing them, putting other values in the place of their results, taking them out of regions.

A strategy gives the edits that a module offers. An edit changes that module and says whether it did; it need not leave
valid IR, as candidates are verified.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.traits import IsTerminator

Edit = Callable[[], bool]
Strategy = Callable[[ModuleOp], list[Edit]]

MOST_VALUES = 4
"""Values that are tried in the place of a result."""


def inner_ops(module: ModuleOp) -> list[Operation]:
    """All ops in the module that can go, the last first: users before what they use."""
    return [op for op in reversed([*module.walk()]) if op is not module and not op.has_trait(IsTerminator)]


def is_there(op: Operation) -> bool:
    return op.parent is not None


def erase_ops(module: ModuleOp) -> list[Edit]:
    """Ops whose results nobody uses, with their regions: functions, programs and kernels too."""
    return [partial(_erase, op) for op in inner_ops(module)]


def _erase(op: Operation) -> bool:
    if not is_there(op) or any(result.first_use is not None for result in op.results):
        return False
    op.detach()
    op.erase()
    return True


def replace_results(module: ModuleOp) -> list[Edit]:
    """Ops, with another value of the same type in the place of each result: an operand, or one that is before."""
    return [partial(_replace, op, first) for op in inner_ops(module) if op.results for first in range(MOST_VALUES)]


def _replace(op: Operation, number: int) -> bool:
    if not is_there(op):
        return False
    found = [values[number] if len(values := _alike(op, result)) > number else None for result in op.results]
    if None in found:
        return False
    return replaced(op, [value for value in found if value is not None])


def replaced(op: Operation, values: Sequence[SSAValue]) -> bool:
    """Erases an op behind which these values take the place of its results."""
    for result, value in zip(op.results, values, strict=True):
        result.replace_all_uses_with(value)
    op.detach()
    op.erase()
    return True


def _alike(op: Operation, result: SSAValue) -> list[SSAValue]:
    """Values of the type of a result that stand before the op: its operands, those of its block, arguments around."""
    found = dict.fromkeys(value for value in (*op.operands, *_before(op)) if value.type == result.type)
    return [*found][:MOST_VALUES]


def _before(op: Operation) -> Iterator[SSAValue]:
    block, previous = op.parent, op.prev_op
    while block is not None:
        yield from block.args
        while previous is not None:
            yield from previous.results
            previous = previous.prev_op
        parent = block.parent_op()
        block, previous = (None, None) if parent is None else (parent.parent, parent.prev_op)


def inline_regions(module: ModuleOp) -> list[Edit]:
    """Ops with a region of one block, of which the block's ops are left: a loop runs once, a condition holds."""
    return [partial(_inline, op, region) for op in inner_ops(module) for region in op.regions if _is_plain(op, region)]


def _is_plain(op: Operation, region: Region) -> bool:
    parent = op.parent_op()
    return len(region.blocks) == 1 and parent is not None and parent.parent is not None


def _inline(op: Operation, region: Region) -> bool:
    if not is_there(op) or (block := region.first_block) is None or (arguments := _entering(op, block)) is None:
        return False
    last = block.last_op
    left: list[SSAValue] = [] if last is None else list(last.operands)[: len(op.results)]
    if [value.type for value in left] != [result.type for result in op.results]:
        return False
    for arg, value in zip(list(block.args), arguments, strict=True):
        arg.replace_all_uses_with(value)
    if last is not None and last.has_trait(IsTerminator):
        left = list(last.operands)[: len(op.results)]
        last.detach()
        last.erase()
    for inner in list(block.ops):
        inner.detach()
        assert op.parent is not None
        op.parent.insert_op_before(inner, op)
    return replaced(op, left)


def _entering(op: Operation, block: Block) -> list[SSAValue] | None:
    """What the arguments of a block are when it is entered first, as far as types tell: the last operands, then any
    operand. None where there are no such."""
    operands = list(op.operands)
    found: list[SSAValue] = []
    for arg in reversed(block.args):
        if operands and operands[-1].type == arg.type:
            found.append(operands.pop())
            continue
        value = next((value for value in operands if value.type == arg.type), None)
        if value is None:
            return None
        found.append(value)
    return found[::-1]
