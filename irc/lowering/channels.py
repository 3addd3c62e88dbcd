"""Channels: stages of shared memory that TMA or a producer fills, guarded by a full and an empty mbarrier each."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from xdsl.dialects import scf
from xdsl.ir import BlockArgument, Operation, SSAValue

from irc.analysis.matrix_instructions import sums_in_tensor_memory
from irc.dialects import cuda, tile
from irc.dialects.tile import element_type_of, shape_of
from irc.ir.properties import values_of
from irc.layout.instructions import LANES, WARP_GROUP
from irc.lowering import step_channels
from irc.lowering.emitter import Index
from irc.lowering.memory import shared_base
from irc.lowering.values import Buffer, Code, Sums, buffer_of, element_bytes
from irc.scheduling.channels import ChannelPlan, channel_plan, fills_of, has_tickets, readers_of
from irc.scheduling.loops import trips


@dataclass(frozen=True)
class Channel:
    """A channel as one partition sees it: what it was declared as, and the end that the partition is at."""

    op: tile.ChannelOp
    plan: ChannelPlan
    end: SSAValue

    @property
    def cluster(self) -> tuple[int, int]:
        return self.op.cluster_shape

    @property
    def has_neighbors(self) -> bool:
        """Whether blocks fill each other's stages."""
        return self.cluster != (1, 1)

    def filling(self, code: Code) -> SSAValue:
        """The full barrier of the stage that is being filled."""
        return code.e.value(cuda.ChannelBarrierOp(self.end))


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


def _is_released_unread(channel: SSAValue) -> bool:
    """Whether a stage may be released with no dot after the wait, as its dots are in a loop that may have no step. The
    first warp could go on then to the next use of the stage before another one has looked for this one, which would
    find its phase over and wait for the phase after the next."""
    waits = [use.operation for use in channel.uses if isinstance(use.operation, tile.WaitOp)]
    return any(
        bool(dots) and not any(_runs_behind(wait, dot) for dot in dots)
        for wait in waits
        for dots in [[each for buffer in wait.buffers for each in readers_of(buffer)]]
    )


def _runs_behind(wait: tile.WaitOp, dot: Operation) -> bool:
    """Whether the dot runs whenever the wait does: all that it is in beside the wait are loops that have steps."""
    around = dot
    while around.parent is not wait.parent:
        parent = around.parent_op()
        if not isinstance(parent, scf.ForOp) or not trips(parent):
            return False
        around = parent
    return True


def _is_drained_by_one(wait: tile.WaitOp) -> bool:
    """Whether nothing but products whose sums are in Tensor Memory reads a stage: one thread issues them, and waits for
    the stage."""
    readers = [each for buffer in wait.buffers for each in readers_of(buffer)]
    return bool(readers) and all(map(sums_in_tensor_memory, readers))


def declare(code: Code, op: tile.ChannelOp, consumers: int, producers: int) -> SSAValue:
    """A channel that so many threads drain and fill. A full barrier takes the thread of TMA, or of tickets, and, where
    threads write, all of them; an empty one takes an arrival a consumer warp group, or warp, of each block that this
    one's copies go to. Those of a warp group wait for its wgmmas together, but not for each other's reads, nor where
    there are no wgmmas; products of tcgen05 arrive once. All warps of a consumer pass its turn on."""
    plan, written = channel_plan(op), is_written(op.channel)
    by_one = all(_is_drained_by_one(use.operation) for use in op.channel.uses if isinstance(use.operation, tile.WaitOp))
    by_warp = is_read(op.channel) or has_tickets(op.channel) or (not by_one and _is_released_unread(op.channel))
    arrivals = int(is_copied(op.channel) or has_tickets(op.channel)) + (producers if written else 0)
    each = consumers if by_one else LANES if by_warp else WARP_GROUP
    releases = consumers // each * (sum(op.cluster_shape) - 1)
    start = offset_of(op)
    channel = cuda.ChannelOp(
        code.e.index(code.group.thread),
        stages=plan.stages,
        full=(start + plan.full, arrivals),
        empty=(start + plan.empty, releases),
        turn=(start + plan.turn, plan.turns, consumers // LANES) if plan.turns else None,
        written=written,
        by_warp=by_warp,
        cluster=op.cluster_shape,
        align=code.shared_align,
    )
    return code.e.value(channel, op.channel.name_hint or "channel")


def enter(code: Code, op: tile.ChannelOp, channel: SSAValue, *, fills: bool, first: bool) -> None:
    """The partition's own end. `fills`: which one it is. `first`: whether it is the first that drains, whose first turn
    begins at once."""
    end = code.e.value(cuda.ChannelEndOp(channel, fills=fills, first=first), "fill" if fills else "drain")
    code.channels[op.channel] = Channel(op, channel_plan(op), end)


def leave(code: Code, op: tile.ChannelOp) -> None:
    """A producer of a cluster stays until every stage has been released: until then other blocks arrive on its
    barriers."""
    channel = code.channels[op.channel]
    if channel.has_neighbors:
        code.e.insert(cuda.ChannelDrainOp(channel.end, _filler(code, op.channel)))


def _filler(code: Code, channel: SSAValue) -> SSAValue | None:
    """The one thread that fills stages, and so waits until they are empty; None where all threads do."""
    return None if is_written(channel) else issuer(code)


def lower_skip(code: Code, op: tile.SkipOp) -> None:
    if op.channel in code.step_channels:
        step_channels.skip(code, op)
        return
    code.e.insert(cuda.ChannelSkipOp(code.channels[op.channel].end, code.ssa(op.count)))


def lower_begin_turn(code: Code, op: tile.BeginTurnOp) -> None:
    code.e.insert(cuda.ChannelBeginTurnOp(code.channels[op.channel].end, op.turns[0]))


def lower_end_turn(code: Code, op: tile.EndTurnOp) -> None:
    own, count = op.turns
    end, thread = code.channels[op.channel].end, code.e.index(code.group.thread)
    code.e.insert(cuda.ChannelPassTurnOp(end, (own + 1) % count, thread))


def _stage_buffers(code: Code, channel: Channel, op: tile.AcquireOp | tile.WaitOp, stage: Index) -> None:
    e = code.e
    for value, start, pitch in zip(op.buffers, channel.plan.buffers, channel.plan.pitches, strict=True):
        assert isinstance(value.type, tile.BufferType)
        address = e.add(shared_base(code, offset_of(channel.op) + start), e.mul(stage, pitch))
        code.values[value] = buffer_of(value.type, address)


def lower_acquire(code: Code, op: tile.AcquireOp) -> None:
    if op.channel in code.step_channels:
        step_channels.acquire(code, op)
        return
    channel = code.channels[op.channel]
    filler = _filler(code, op.channel)
    stage = code.e.value(cuda.ChannelAcquireOp(channel.end, filler))
    _stage_buffers(code, channel, op, stage)
    expected = sum(_copied_bytes(buffer) for buffer in op.buffers)
    if expected:
        with code.e.when(issuer(code) if filler is None else filler):
            barrier = code.e.value(cuda.ChannelBarrierOp(channel.end, stage))
            code.e.insert(cuda.BarrierExpectOp(barrier, expected))


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
    code.e.insert(cuda.ChannelCommitOp(code.channels[held].end))


def lower_wait(code: Code, op: tile.WaitOp) -> None:
    if op.channel in code.step_channels:
        step_channels.wait(code, op)
        return
    channel = code.channels[op.channel]
    by = issuer(code) if _is_drained_by_one(op) else None
    _stage_buffers(code, channel, op, code.e.value(cuda.ChannelWaitOp(channel.end, by)))


def lower_release(code: Code, op: tile.ReleaseOp) -> None:
    held = tile.channel_of(op.slot)
    if held in code.step_channels:
        return
    by_products = any(isinstance(code.values[dot], Sums) for dot in op.after)
    with code.e.when(_is_held(code, op.slot)):
        thread = code.e.index(code.group.thread)
        code.e.insert(cuda.ChannelReleaseOp(code.channels[held].end, thread, tcgen05=by_products))


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
