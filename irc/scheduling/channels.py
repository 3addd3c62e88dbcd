"""What fills shared buffers, and where the stages and barriers of a channel lie."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

from xdsl.ir import Operation, Region, SSAValue

from irc.analysis.budgets import BARRIER_BYTES, TICKET_BYTES, aligned, channel_bytes
from irc.dialects.tile import (
    AcquireOp,
    AllocOp,
    BeginTurnOp,
    BufferAliasOp,
    BufferType,
    ChannelOp,
    ChannelType,
    CopyOp,
    DotOp,
    ReadOp,
    TakeTicketOp,
    WaitOp,
    WriteOp,
    element_type_of,
    shape_of,
)
from irc.ir.dtypes import element_of
from irc.scheduling.operand_sources import is_of_a_dot
from irc.support.diagnostics import IrcError


def buffer_bytes(type: BufferType) -> int:
    """Bytes that a buffer spans."""
    if type.shared_layout is None:
        raise IrcError(f"{type} has no layout", hint="run assign-layouts before plan-shared")
    return type.shared_layout.data.size * element_of(element_type_of(type)).size


def tile_bytes(value: SSAValue) -> int:
    """Bytes of a tile's or a buffer's elements."""
    return prod(shape_of(value.type)) * element_of(element_type_of(value.type)).size


@dataclass(frozen=True)
class ChannelPlan:
    """Byte offsets from the channel's start: of each buffer's stage 0, of the full and the empty barriers, of one
    barrier a turn, and the whole size. Threads that are in step have no barriers."""

    stages: int
    buffers: tuple[int, ...]
    pitches: tuple[int, ...]
    full: int
    empty: int
    turn: int
    turns: int
    size: int

    @property
    def end(self) -> int:
        """Where the barriers end, and with them what is used of the size."""
        return self.turn + BARRIER_BYTES * self.turns


def channel_plan(channel: ChannelOp) -> ChannelPlan:
    assert isinstance(channel.channel.type, ChannelType)
    if has_tickets(channel.channel):
        return _ticket_plan(channel.stage_count)
    at = 0
    starts: list[int] = []
    pitches: list[int] = []
    for type in channel.channel.type.buffers:
        assert isinstance(type, BufferType)
        starts.append(at)
        pitches.append(aligned(buffer_bytes(type)))
        at += pitches[-1] * channel.stage_count
    if channel.in_step is not None:
        return ChannelPlan(channel.stage_count, tuple(starts), tuple(pitches), at, at, at, 0, at)
    empty = at + BARRIER_BYTES * channel.stage_count
    turn, turns = empty + BARRIER_BYTES * channel.stage_count, turns_of(channel)
    size = channel_bytes(pitches, channel.stage_count, turns)
    return ChannelPlan(channel.stage_count, tuple(starts), tuple(pitches), at, empty, turn, turns, size)


def _ticket_plan(stages: int) -> ChannelPlan:
    """Of a channel of tickets, which nothing but threads accesses: no stage is aligned."""
    full = stages * TICKET_BYTES
    empty = full + BARRIER_BYTES * stages
    turn = empty + BARRIER_BYTES * stages
    return ChannelPlan(stages, (0,), (TICKET_BYTES,), full, empty, turn, 0, turn)


def has_tickets(channel: SSAValue) -> bool:
    """Whether the stages of a channel are tickets (`tile.take_ticket`)."""
    acquires = [use.operation for use in channel.uses if isinstance(use.operation, AcquireOp)]
    return any(isinstance(use.operation, TakeTicketOp) for each in acquires for b in each.buffers for use in b.uses)


def is_in_step(channel: SSAValue) -> bool:
    """Whether all threads fill and read the channel's stages."""
    return isinstance(channel.owner, ChannelOp) and channel.owner.in_step is not None


def stages_of(channel: SSAValue) -> int:
    """How many stages a channel has; a partition's is known to have one."""
    return channel.owner.stage_count if isinstance(channel.owner, ChannelOp) else 1


def filled_in(region: Region) -> set[SSAValue]:
    """The channels whose stages a partition fills."""
    return {op.channel for op in region.walk() if isinstance(op, AcquireOp)}


def drained_in(region: Region) -> set[SSAValue]:
    """The channels whose stages a partition waits for."""
    return {op.channel for op in region.walk() if isinstance(op, WaitOp)}


def turns_of(channel: ChannelOp) -> int:
    """How many consumers take turns in the channel's stages; 0 where all read every stage."""
    return max(
        (use.operation.turns[1] for use in channel.channel.uses if isinstance(use.operation, BeginTurnOp)), default=0
    )


def alloc_bytes(alloc: AllocOp) -> int:
    assert isinstance(alloc.buffer.type, BufferType)
    return aligned(buffer_bytes(alloc.buffer.type), 128)


def is_swizzled(alloc: AllocOp) -> bool:
    assert isinstance(alloc.buffer.type, BufferType)
    layout = alloc.buffer.type.shared_layout
    return layout is not None and not layout.data.swizzle.is_identity


def root_of(buffer: SSAValue) -> SSAValue:
    """The whole buffer that an alias, if it is one, is of."""
    return root_of(buffer.owner.operands[0]) if isinstance(buffer.owner, BufferAliasOp) else buffer


def is_staging(op: Operation) -> bool:
    """Whether an op writes what is no operand of a product: a result on its way to global memory."""
    if not isinstance(op, WriteOp):
        return False
    root = root_of(op.buffer)
    return isinstance(root.owner, AllocOp) and not any(isinstance(each, DotOp) for each in readers_of(root))


def is_exchanged(buffer: SSAValue) -> bool:
    """Whether threads that multiply write a buffer, with what they have computed from what a dot gave."""
    fills = fills_of(root_of(buffer))
    return bool(fills) and all(isinstance(fill, WriteOp) and is_of_a_dot(fill.tile) for fill in fills)


def readers_of(buffer: SSAValue) -> list[DotOp | ReadOp]:
    """What reads a buffer, through aliases too."""
    return [op for op in _users_of(buffer) if isinstance(op, DotOp | ReadOp)]


def fills_of(buffer: SSAValue) -> list[CopyOp | WriteOp]:
    """What fills a buffer, through aliases too."""
    return [op for op in _users_of(buffer) if isinstance(op, CopyOp | WriteOp)]


def _users_of(buffer: SSAValue) -> Iterator[Operation]:
    for use in buffer.uses:
        if isinstance(use.operation, BufferAliasOp):
            yield from _users_of(use.operation.results[0])
        else:
            yield use.operation
