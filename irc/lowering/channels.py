"""Channels: stages of shared memory that TMA or a producer fills, guarded by a full and an empty mbarrier each.

Parity protocol (PTX ISA, 9.7.13.15 mbarrier): a consumer waits for phase 0 of `full` first; a producer starts with
phase 1 of `empty`, which a fresh barrier lets pass.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from xdsl.dialects import scf
from xdsl.ir import BlockArgument, SSAValue

from irc.analysis.budgets import BARRIER_BYTES
from irc.dialects import cuda, tile
from irc.dialects.tile import element_type_of, shape_of
from irc.ir.properties import values_of
from irc.layout.instructions import LANES, WARP_GROUP
from irc.lowering import step_channels
from irc.lowering.emitter import Emitter, Index
from irc.lowering.memory import shared_base
from irc.lowering.values import Buffer, Code, buffer_of, element_bytes
from irc.scheduling.channels import ChannelPlan, channel_plan, fills_of, readers_of
from irc.scheduling.loops import trips


@dataclass(frozen=True)
class Cursor:
    """A stage number and its phase parity, in registers that one partition keeps."""

    stage: SSAValue
    phase: SSAValue


@dataclass(frozen=True)
class Channel:
    """A channel as one partition sees it."""

    plan: ChannelPlan
    type: tile.ChannelType
    offset: int
    cursor: Cursor
    released: Cursor
    written: bool
    """Whether threads of the producer write stages themselves, besides TMA."""
    read: bool
    """Whether threads of the consumers read stages themselves, besides wgmma."""
    turn: SSAValue
    """The phase parity with which the partition's next turn begins, in a register."""
    cluster: tuple[int, int] = (1, 1)
    """Blocks along M and N that fill each other's stages; a block's rank counts along M first."""

    def barrier(self, code: Code, which: int, stage: Index) -> SSAValue:
        e = code.e
        return e.i32(e.add(shared_base(code, self.offset + which), e.mul(stage, BARRIER_BYTES)))

    def filling(self, code: Code) -> SSAValue:
        """The full barrier of the stage that is being filled."""
        return self.barrier(code, self.plan.full, code.e.read(self.cursor.stage))


def _advance(e: Emitter, cursor: Cursor, stages: int) -> None:
    """To the next stage; the phase flips when it wraps."""
    following = e.add(e.read(cursor.stage), 1)
    wraps = e.compare("eq", following, stages)
    phase = e.read(cursor.phase)
    e.insert(cuda.SetOp(cursor.stage, e.index(0), e.index(e.select(wraps, 0, following))))
    e.insert(cuda.SetOp(cursor.phase, e.index(0), e.index(e.select(wraps, e.xor(phase, 1), phase))))


def offset_of(op: tile.ChannelOp | tile.AllocOp) -> int:
    return op.offset.value.data if op.offset is not None else 0


def _filled(channel: SSAValue) -> list[SSAValue]:
    """The buffers of the stages that a producer acquires."""
    acquires = [use.operation for use in channel.uses if isinstance(use.operation, tile.AcquireOp)]
    return [buffer for acquire in acquires for buffer in acquire.buffers]


def is_written(channel: SSAValue) -> bool:
    """Whether a `tile.write` fills part of a stage of the channel."""
    return any(isinstance(fill, tile.WriteOp) for buffer in _filled(channel) for fill in fills_of(buffer))


def is_copied(channel: SSAValue) -> bool:
    """Whether TMA fills part of a stage of the channel."""
    return any(isinstance(fill, tile.CopyOp) for buffer in _filled(channel) for fill in fills_of(buffer))


def is_read(channel: SSAValue) -> bool:
    """Whether a `tile.read` reads part of a stage of the channel."""
    waits = [use.operation for use in channel.uses if isinstance(use.operation, tile.WaitOp)]
    return any(
        isinstance(each, tile.ReadOp) for wait in waits for buffer in wait.buffers for each in readers_of(buffer)
    )


def _releasing(read: bool) -> int:
    """The threads for which one releases a stage: those of a warp group wait for its wgmmas together, but not for each
    other's reads."""
    return LANES if read else WARP_GROUP


def initialize(code: Code, op: tile.ChannelOp, consumers: int, producers: int) -> None:
    """Thread 0 sets up the barriers: a full one takes the TMA thread and, where threads write, all of them; an empty
    one takes an arrival a consumer warp group, or warp, of each block that this one's copies go to."""
    e, plan = code.e, channel_plan(op)
    arrivals = (1 if is_copied(op.channel) else 0) + (producers if is_written(op.channel) else 0)
    releases = consumers // _releasing(is_read(op.channel)) * _neighbors(op.cluster_shape)
    with e.when(e.compare("eq", code.group.thread, 0)), e.loop(0, plan.stages, unroll=True, hint="stage") as stage:
        base = shared_base(code, offset_of(op))
        for which, count in ((plan.full, arrivals), (plan.empty, releases)):
            at = e.i32(e.add(e.add(base, which), e.mul(stage, BARRIER_BYTES)))
            e.insert(cuda.BarrierInitOp(at, count))
    if plan.turns:
        with e.when(e.compare("eq", code.group.thread, 0)):
            for turn in range(plan.turns):
                place = e.add(shared_base(code, offset_of(op)), plan.turn + turn * BARRIER_BYTES)
                e.insert(cuda.BarrierInitOp(e.i32(place), 1))
    e.insert(cuda.FenceBarrierInitOp())


def _neighbors(cluster: tuple[int, int]) -> int:
    """Blocks in the row and the column of a block of the cluster, with itself."""
    return sum(cluster) - 1


def enter(code: Code, op: tile.ChannelOp, *, fills: bool, first: bool) -> None:
    """The partition's own cursors. `fills`: which end it is at. `first`: whether it is the first that drains, whose
    first turn begins at once."""
    e = code.e
    cursor = Cursor(e.counter(), e.counter(1 if fills else 0))
    released = Cursor(e.counter(), e.counter())
    assert isinstance(op.channel.type, tile.ChannelType)
    plan, turn = channel_plan(op), e.counter(1 if first else 0)
    code.channels[op.channel] = Channel(
        plan,
        op.channel.type,
        offset_of(op),
        cursor,
        released,
        is_written(op.channel),
        is_read(op.channel),
        turn,
        op.cluster_shape,
    )


def leave(code: Code, op: tile.ChannelOp) -> None:
    """A producer of a cluster stays until every stage has been released: until then other blocks arrive on its
    barriers."""
    channel = code.channels[op.channel]
    if _neighbors(channel.cluster) == 1:
        return
    with code.e.loop(0, channel.plan.stages):
        _await_empty(code, channel)
        _advance(code.e, channel.cursor, channel.plan.stages)


def _await_empty(code: Code, channel: Channel) -> SSAValue:
    """Waits until the current stage is free; gives its number."""
    stage, phase = code.e.read(channel.cursor.stage), code.e.read(channel.cursor.phase)
    code.e.insert(cuda.BarrierWaitOp(channel.barrier(code, channel.plan.empty, stage), code.e.i32(phase)))
    return stage


def lower_skip(code: Code, op: tile.SkipOp) -> None:
    if op.channel in code.step_channels:
        step_channels.skip(code, op)
        return
    channel = code.channels[op.channel]
    for cursor in (channel.cursor, channel.released):
        _skip(code.e, cursor, channel.plan.stages, code.scalar(op.count))


def lower_begin_turn(code: Code, op: tile.BeginTurnOp) -> None:
    channel, e = code.channels[op.channel], code.e
    parity = e.read(channel.turn)
    e.insert(cuda.BarrierWaitOp(channel.barrier(code, channel.plan.turn, op.turns[0]), e.i32(parity)))
    e.insert(cuda.SetOp(channel.turn, e.index(0), e.index(e.xor(parity, 1))))


def lower_end_turn(code: Code, op: tile.EndTurnOp) -> None:
    """One thread lets the next consumer go on. All threads have: it meets them before its next turn."""
    channel, e = code.channels[op.channel], code.e
    own, count = op.turns
    with e.when(issuer(code)):
        e.insert(cuda.BarrierArriveOp(channel.barrier(code, channel.plan.turn, (own + 1) % count)))


def _skip(e: Emitter, cursor: Cursor, stages: int, count: Index) -> None:
    """`count` stages further; the phase flips with every wrap."""
    moved = e.add(e.read(cursor.stage), e.rem(count, stages))
    wraps = e.compare("sge", moved, stages)
    phase, odd = e.read(cursor.phase), e.rem(e.div(count, stages), 2)
    phase = phase if odd == 0 else e.xor(phase, odd)
    e.insert(cuda.SetOp(cursor.stage, e.index(0), e.index(e.select(wraps, e.sub(moved, stages), moved))))
    e.insert(cuda.SetOp(cursor.phase, e.index(0), e.index(e.select(wraps, e.xor(phase, 1), phase))))


def _stage_buffers(code: Code, channel: Channel, op: tile.AcquireOp | tile.WaitOp, stage: Index) -> None:
    e = code.e
    for value, start, pitch in zip(op.buffers, channel.plan.buffers, channel.plan.pitches, strict=True):
        assert isinstance(value.type, tile.BufferType)
        address = e.add(shared_base(code, channel.offset + start), e.mul(stage, pitch))
        code.values[value] = buffer_of(value.type, address)


def lower_acquire(code: Code, op: tile.AcquireOp) -> None:
    if op.channel in code.step_channels:
        step_channels.acquire(code, op)
        return
    channel = code.channels[op.channel]
    stage = _await_empty(code, channel)
    _stage_buffers(code, channel, op, stage)
    expected = sum(_copied_bytes(buffer) for buffer in op.buffers)
    if expected:
        with code.e.when(issuer(code)):
            code.e.insert(cuda.BarrierExpectOp(channel.barrier(code, channel.plan.full, stage), expected))


def _copied_bytes(buffer: SSAValue) -> int:
    """Bytes that TMA brings to a stage's buffer."""
    types = [fill.buffer.type for fill in fills_of(buffer) if isinstance(fill, tile.CopyOp)]
    return sum(prod(shape_of(type)) * element_bytes(element_type_of(type)) for type in types)


def issuer(code: Code) -> SSAValue | None:
    """The one thread that issues TMA; None where only that thread runs the code."""
    return None if code.group.count == 1 else code.e.compare("eq", code.group.thread, 0)


def lower_commit(code: Code, op: tile.CommitOp) -> None:
    held = tile.channel_of(op.slot)
    if held in code.step_channels:
        step_channels.commit(code, held)
        return
    channel = code.channels[held]
    if channel.written:
        code.e.insert(cuda.FenceProxyAsyncOp())
        stage = code.e.read(channel.cursor.stage)
        code.e.insert(cuda.BarrierArriveOp(channel.barrier(code, channel.plan.full, stage)))
    _advance(code.e, channel.cursor, channel.plan.stages)


def lower_wait(code: Code, op: tile.WaitOp) -> None:
    if op.channel in code.step_channels:
        step_channels.wait(code, op)
        return
    channel = code.channels[op.channel]
    stage, phase = code.e.read(channel.cursor.stage), code.e.read(channel.cursor.phase)
    code.e.insert(cuda.BarrierWaitOp(channel.barrier(code, channel.plan.full, stage), code.e.i32(phase)))
    _stage_buffers(code, channel, op, stage)
    _advance(code.e, channel.cursor, channel.plan.stages)


def lower_release(code: Code, op: tile.ReleaseOp) -> None:
    """One thread of each warp group arrives: its wgmmas that read the stage are complete. Where threads read the stage
    too, one of each warp. In a cluster, one thread for each block that may fill the stage."""
    held = tile.channel_of(op.slot)
    if held in code.step_channels:
        return
    channel = code.channels[held]
    e = code.e
    with e.when(_is_held(code, op.slot)):
        if channel.read:
            e.insert(cuda.WarpSyncOp())
        barrier = channel.barrier(code, channel.plan.empty, e.read(channel.released.stage))
        lane, blocks = e.rem(code.group.thread, _releasing(channel.read)), _neighbors(channel.cluster)
        with e.when(e.compare("ult", lane, blocks)):
            if blocks == 1:
                e.insert(cuda.BarrierArriveOp(barrier))
            else:
                e.insert(cuda.BarrierArriveClusterOp(barrier, e.i32(_neighbor(e, channel.cluster, lane))))
        _advance(e, channel.released, channel.plan.stages)


def _is_held(code: Code, slot: SSAValue) -> SSAValue | None:
    """Whether a slot is one that a loop has carried from the iteration before, where it begins without; or one that the
    loop leaves, where it may not run. None of others."""
    loop = slot.owner.parent_op() if isinstance(slot, BlockArgument) else slot.owner
    if not isinstance(loop, scf.ForOp) or not isinstance(tile.carried_from(slot)[0].owner, tile.NoSlotOp):
        return None
    e, known, low = code.e, trips(loop), code.scalar(loop.lb)
    if isinstance(slot, BlockArgument):
        # Bounds that are values may be negative.
        return e.compare("ne" if known is None else "ugt", code.scalar(loop.body.block.args[0]), low)
    return e.compare("slt", low, code.scalar(loop.ub)) if known is None else None


def _neighbor(e: Emitter, cluster: tuple[int, int], number: Index) -> Index:
    """The rank of a block in this one's row or column of the cluster: first those along M, then the others along N."""
    rows, columns = cluster
    if columns == 1:
        return number
    row, column = cluster_coordinates(e, cluster)
    across = e.sub(number, rows)
    across = e.add(across, e.select(e.compare("sge", across, column), 1, 0))
    other = e.add(row, e.mul(across, rows))
    return e.select(e.compare("slt", number, rows), e.add(number, e.mul(column, rows)), other)


def cluster_coordinates(e: Emitter, cluster: tuple[int, int]) -> tuple[Index, Index]:
    """The block's row and column in the cluster."""
    row, column = e.split(e.value(cuda.ClusterRankOp()), cluster)
    return row, column


def channel_of(code: Code, buffer: SSAValue) -> Channel:
    owner = buffer.owner
    if isinstance(owner, tile.BufferAliasOp):
        return channel_of(code, owner.operands[0])
    assert isinstance(owner, tile.AcquireOp)
    return code.channels[owner.channel]


def lower_transpose(code: Code, op: tile.TransposeOp) -> None:
    source, dims = code.buffer(op.buffer), op.dim_values
    origin, shape = tuple(source.origin[d] for d in dims), tuple(source.shape[d] for d in dims)
    code.values[op.result] = Buffer(source.address, source.layout.permuted(dims), source.element, origin, shape)


def lower_subview(code: Code, op: tile.SubviewOp) -> None:
    source = code.buffer(op.buffer)
    at: list[Index] = list(values_of(op.at)) or [0] * len(source.shape)
    for d, dynamic in enumerate(op.offsets):
        at[d] = code.e.add(at[d], code.scalar(dynamic))
    origin = tuple(code.e.add(o, a) for o, a in zip(source.origin, at, strict=True))
    assert isinstance(op.result.type, tile.BufferType)
    code.values[op.result] = Buffer(source.address, source.layout, source.element, origin, op.result.type.get_shape())
