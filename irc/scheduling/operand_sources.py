"""What tiles are computed from."""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Block, Operation, SSAValue

from irc.dialects import tile
from irc.ir.walks import reached


def is_of_a_dot(value: SSAValue) -> bool:
    """Whether a tile is computed from what a dot gave, or from what a loop carries."""
    return any(
        isinstance(owner, Block) or any(isinstance(op, tile.DotOp) for op in owner.walk()) for owner in owners_of(value)
    )


def owners_of(value: SSAValue) -> Iterator[Operation | Block]:
    """What makes a tile: ops, and blocks where it depends on what they carry. Ops outside the loop over K make columns,
    which are the same for all of K."""

    def makers(owner: Operation | Block) -> list[Operation | Block]:
        return (
            [v.owner for v in owner.operands if isinstance(v.type, TensorType)] if isinstance(owner, Operation) else []
        )

    return reached([value.owner], makers)
