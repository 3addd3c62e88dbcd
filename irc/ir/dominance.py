"""Whether every value is defined before it is used: xDSL's parser takes forward references, and its verifier lets them
be."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp, UnregisteredOp
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.irdl.dominance import DominanceInfo

DIALECTS = frozenset({"nd", "kernel", "scalar", "tile", "cuda", "cpu", "host"})
"""The names of irc's dialects."""


def first_early_use(op: Operation) -> tuple[Operation, int] | None:
    """The first op nested in `op`, and which operand of it, that is not defined where the op runs; None where all are.

    In a module, and in regions of ops that are not registered, ops of other dialects than irc's have no order.
    """
    return _uses_early(op, set())


def _uses_early(op: Operation, visible: set[SSAValue]) -> tuple[Operation, int] | None:
    """The same with the values that are defined before the op, which it leaves as they are."""
    for region in op.regions:
        has_order = not isinstance(op, ModuleOp | UnregisteredOp)
        order = DominanceInfo(region) if has_order and len(region.blocks) > 1 else None
        for block in region.blocks:
            known = [value for other in _before(block, region, order) for value in _values(other)]
            known += block.args if has_order else [v for v in _values(block) if not _is_ours(v.owner)]
            visible.update(known)
            if (found := _first_in(block, visible)) is not None:
                return found
            visible.difference_update(known, _values(block))
    return None


def _first_in(block: Block, visible: set[SSAValue]) -> tuple[Operation, int] | None:
    for op in block.ops:
        if not visible.issuperset(op.operands):
            return op, next(i for i, operand in enumerate(op.operands) if operand not in visible)
        if op.regions and (found := _uses_early(op, visible)) is not None:
            return found
        visible.update(op.results)
    return None


def _before(block: Block, region: Region, order: DominanceInfo | None) -> list[Block]:
    """The other blocks that run before the block whenever it does; without an order all of them."""
    return [b for b in region.blocks if b is not block and (order is None or order.dominates(b, block))]


def _is_ours(owner: Operation | Block) -> bool:
    return isinstance(owner, Operation) and owner.name.split(".")[0] in DIALECTS


def _values(block: Block) -> list[SSAValue]:
    """What the block's arguments and its own ops define."""
    return [*block.args, *(result for op in block.ops for result in op.results)]
