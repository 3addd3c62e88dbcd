"""What fills shared buffers, and where the stages and barriers of a channel lie."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

from xdsl.dialects import scf
from xdsl.ir import Operation, Region, SSAValue

from irc.analysis.budgets import LOAD_STAGES
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
    ForTilesOp,
    ReadOp,
    WaitOp,
    WriteOp,
    element_type_of,
    shape_of,
)
from irc.ir.dtypes import element_of
from irc.scheduling.operand_sources import is_of_a_dot
from irc.support.diagnostics import IrcError
from irc.support.integers import round_up

ALIGNMENT = 1024
"""Bytes: the 128-byte swizzle of TMA and wgmma repeats every 8 rows of 128 bytes (PTX ISA, 5.5.6)."""
BARRIER_BYTES = 8

REST_PART, REST_STAGES = 4, 1
"""A loop over what is left of a step of another one has steps of at most this part of its bytes, and few stages."""


def aligned(n: int, to: int = ALIGNMENT) -> int:
    return round_up(n, to)


def buffer_bytes(type: BufferType) -> int:
    """Bytes that a buffer spans."""
    if type.shared_layout is None:
        raise IrcError(f"{type} has no layout", hint="run assign-layouts before plan-shared")
    return type.shared_layout.data.size * element_of(element_type_of(type)).size


def tile_bytes(value: SSAValue) -> int:
    """Bytes of a tile's or a buffer's elements."""
    return prod(shape_of(value.type)) * element_of(element_type_of(value.type)).size


def channel_bytes(loop: ForTilesOp, stages: int, loads: int = LOAD_STAGES) -> int:
    """Shared memory that the channels of a tile loop will take: `stages` of the operands of its products, one of those
    that a loop does not fill, and `loads` of what its epilogue reads; and their barriers, of each operand where some
    are held. Loops one behind the other go on with each other's stages (irc/passes/tile/make_channels.py)."""
    size, filled = ALIGNMENT, dict[object, int]()
    for block in [o.body.block for o in loop.walk() if isinstance(o, scf.ForOp)]:
        operands = [root_of(b) for op in block.ops for b in op.operands if isinstance(b.type, BufferType)]
        read = {b: aligned(tile_bytes(b)) for b in dict.fromkeys(operands) if readers_of(b)}
        size += sum(read.pop(b) for b in list(read) if is_exchanged(b))
        held = sum(read[b] for b in read if not any(block.find_ancestor_op_in_block(fill) for fill in fills_of(b)))
        kind = (block.parent_block(), tuple(b.type for b in read))
        if not any(isinstance(op, DotOp) for op in block.ops):
            size += loads * max(read.values(), default=0)
        elif kind not in filled:
            size += (ALIGNMENT * (len(read) - 1) if held else 0) + held
            filled[kind] = sum(read.values()) - held
    largest = max(filled.values(), default=0)
    return size + sum(each * (REST_STAGES if is_rest(each, largest) else stages) for each in filled.values())


def is_rest(size: int, largest: int) -> bool:
    """Whether a loop whose steps have so many bytes is for what is left of a step of the one with the most."""
    return 0 < size * REST_PART <= largest


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


def channel_plan(channel: ChannelOp) -> ChannelPlan:
    assert isinstance(channel.channel.type, ChannelType)
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
    size = aligned(turn + BARRIER_BYTES * turns)
    return ChannelPlan(channel.stage_count, tuple(starts), tuple(pitches), at, empty, turn, turns, size)


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
