"""What tiles are computed from."""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Block, Operation, SSAValue

from irc.dialects import tile


def is_of_a_dot(value: SSAValue) -> bool:
    """Whether a tile is computed from what a dot gave, or from what a loop carries."""
    return any(isinstance(owner, Block) or _has_dot(owner) for owner in owners_of(value))


def _has_dot(owner: object) -> bool:
    """Whether an op is a dot, or a loop with one."""
    return isinstance(owner, Operation) and any(isinstance(op, tile.DotOp) for op in owner.walk())


def owners_of(value: SSAValue) -> Iterator[object]:
    """What makes a tile: ops, and blocks where it depends on what they carry. Ops outside the loop over K make columns,
    which are the same for all of K."""
    seen: set[object] = set()
    pending = [value]
    while pending:
        owner = pending.pop().owner
        if owner in seen:
            continue
        seen.add(owner)
        yield owner
        if isinstance(owner, Operation):
            pending += [v for v in owner.operands if isinstance(v.type, TensorType)]
