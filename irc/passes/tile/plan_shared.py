"""plan-shared: where channels and buffers lie in shared memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from irc.analysis.invariants import LAID_OUT, SHARED_PLANNED
from irc.analysis.programs import ProgramPass
from irc.analysis.resources import check_shared
from irc.dialects import tile
from irc.ir.properties import number
from irc.scheduling.shared_memory import held_bytes, placed


@dataclass(frozen=True)
class PlanSharedPass(ProgramPass):
    """Gives every `tile.channel`, `tile.alloc` and `tile.accumulator` its byte offset, and the program its `shared`
    size.

    Channels come first: their stages are aligned to 1024 bytes, what the 128-byte swizzle needs. So are swizzled
    buffers.
    """

    name: ClassVar[str] = "plan-shared"
    requires = (LAID_OUT,)
    establishes = (SHARED_PLANNED,)

    def run(self, program: tile.ProgramOp) -> None:
        for op, start, _ in placed(program):
            op.offset = number(start)
        size = held_bytes(program)
        check_shared(program, program.sym_name.data, size, " for its buffers")
        program.shared = number(size)
