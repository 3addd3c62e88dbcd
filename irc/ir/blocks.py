"""Blocks: the one of an op, and the op that ends one."""

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
