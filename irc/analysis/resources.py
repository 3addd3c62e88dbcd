"""What a tile program takes of its target's resources."""

from __future__ import annotations

from irc.dialects import tile
from irc.ir.targets import target_of
from irc.support.diagnostics import IrcError


def check_shared(program: tile.ProgramOp, size: int, purpose: str = "") -> None:
    """Raises where a block of the architecture has fewer than `size` bytes of shared memory."""
    machine = target_of(program)
    limit = f"{machine.name} has {machine.shared_memory} a block"
    if size > machine.shared_memory:
        raise IrcError(
            f"{program.sym_name.data} needs {size} bytes of shared memory{purpose}, {limit}",
            program.location,
            "fewer stages or smaller tiles in its #kernel.config",
        )
