"""What a tile program takes of its target's resources."""

from __future__ import annotations

from xdsl.ir import Operation, Region, SSAValue

from irc.dialects import tile
from irc.ir.targets import target_of
from irc.support.diagnostics import IrcError

NAMED_BARRIERS = 16
"""Of a block; number 0 is that of all its threads (PTX ISA, 9.7.13.1 bar)."""


def check_shared(op: Operation, name: str, size: int, purpose: str = "") -> None:
    """Raises where a block of the architecture has fewer than `size` bytes of shared memory, which a program or kernel
    takes."""
    machine = target_of(op)
    limit = f"{machine.name} has {machine.shared_memory} a block"
    if size > machine.shared_memory:
        raise IrcError(
            f"{name} needs {size} bytes of shared memory{purpose}, {limit}",
            op.location,
            "fewer stages or smaller tiles in its #kernel.config",
        )


def named_barriers(op: tile.PartitionsOp) -> dict[Region | SSAValue, int]:
    """The number of the barrier where the warps of each partition meet, and of the first of those of each order, which
    has one for each warp group. Raises where there are more than a block has."""
    found: dict[Region | SSAValue, int] = {}
    following = 1
    for region in op.partitions:
        found[region] = following
        following += 1
    for order in [each for region in op.partitions for each in region.walk() if isinstance(each, tile.OrderOp)]:
        found[order.order] = following
        following += order.groups
        if following > NAMED_BARRIERS:
            message = f"the partitions and the orders of their warp groups need {following} barriers"
            raise IrcError(f"{message}, a block has {NAMED_BARRIERS}", order.location)
    return found
