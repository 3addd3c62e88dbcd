"""plan-shared: where channels and buffers lie in shared memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from irc.analysis.invariants import LAID_OUT, SHARED_PLANNED
from irc.analysis.programs import ProgramPass
from irc.analysis.resources import check_shared
from irc.dialects import tile
from irc.ir.properties import number
from irc.scheduling.channels import aligned, alloc_bytes, channel_plan, is_swizzled


@dataclass(frozen=True)
class PlanSharedPass(ProgramPass):
    """Gives every `tile.channel` and `tile.alloc` its byte offset and the program its `shared` size.

    Channels come first: their stages are aligned to 1024 bytes, what the 128-byte swizzle needs. So are swizzled
    buffers.
    """

    name: ClassVar[str] = "plan-shared"
    requires = (LAID_OUT,)
    establishes = (SHARED_PLANNED,)

    def run(self, program: tile.ProgramOp) -> None:
        at = 0
        for channel in (op for op in program.walk() if isinstance(op, tile.ChannelOp)):
            channel.offset = number(at)
            at += channel_plan(channel).size
        for alloc in (op for op in program.walk() if isinstance(op, tile.AllocOp)):
            at = aligned(at) if is_swizzled(alloc) else at
            alloc.offset = number(at)
            at += alloc_bytes(alloc)
        check_shared(program, at, " for its buffers")
        program.shared = number(at)
