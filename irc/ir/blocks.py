"""Blocks: the one of an op, the op that ends one, the ops behind one, and all ops that are nested in one."""

from __future__ import annotations

from xdsl.ir import Block, Operation


def block_of(op: Operation) -> Block:
    """The block that an op is in."""
    assert op.parent is not None, f"{op.name} is in no block"
    return op.parent


def end_of(block: Block) -> Operation:
    """The last op of a block that has one."""
    assert block.last_op is not None, "a block without ops has no end"
    return block.last_op


def behind(op: Operation) -> list[Operation]:
    """The ops of a block behind one of them."""
    found: list[Operation] = []
    while (following := op.next_op) is not None:
        found.append(op := following)
    return found


def ops_in(op: Operation) -> list[Operation]:
    """The op and all that is nested in it, in the order of a walk, as they are now. `Operation.walk` takes twice as
    long: it has a generator for each op."""
    found = [op]
    _add_nested(op, found)
    return found


def _add_nested(op: Operation, found: list[Operation]) -> None:
    for region in op.regions:
        for block in region.blocks:
            inner = block.first_op
            while inner is not None:
                found.append(inner)
                if inner.regions:
                    _add_nested(inner, found)
                inner = inner.next_op
