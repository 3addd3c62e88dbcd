"""`lower-channels`: ends of channels become stage numbers and phases in registers, and barriers.

Parity protocol (PTX ISA, 9.7.13.15 mbarrier): a consumer waits for phase 0 of `full` first; a producer starts with
phase 1 of `empty`, which a fresh barrier lets pass.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from xdsl.dialects import arith
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import Rewriter

from irc.analysis.budgets import BARRIER_BYTES
from irc.analysis.invariants import CHANNELS_LOWERED, THREADS
from irc.dialects import cuda
from irc.ir.blocks import ops_in
from irc.ir.properties import constant_of
from irc.layout.instructions import LANES, WARP_GROUP
from irc.lowering.clusters import cluster_coordinates
from irc.lowering.emitter import INDEX, Emitter, Index, emitted_before
from irc.lowering.kernels import KernelPass
from irc.support.diagnostics import IrcError

T = TypeVar("T")


@dataclass(frozen=True)
class LowerChannelsPass(KernelPass):
    """An end of a channel becomes a cursor: the stage that comes next, and the parity of its phase, which flips where
    stages begin again. Waits are for the barrier of that stage. An arrival moves on.

    Consumers keep a second cursor, of the oldest stage that they have not released. In a cluster the release of a stage
    goes to all blocks that fill it, and a producer stays until its last stage is released.
    """

    name = "lower-channels"
    requires = (THREADS,)
    establishes = (CHANNELS_LOWERED,)

    def run(self, kernel: cuda.KernelOp) -> None:
        ends: dict[SSAValue, End] = {}
        declared: list[Operation] = []
        for op in ops_in(kernel):
            if isinstance(op, cuda.ChannelOp):
                declared.append(op)
                _in_place(op, partial(_set_up, op))
            elif isinstance(op, cuda.ChannelEndOp):
                declared.append(op)
                ends[op.result] = _in_place(op, partial(_end_of, op))
            elif isinstance(op, cuda.AtEndOp):
                value = _in_place(op, partial(_LOWERINGS[type(op)], op, ends[op.end]))
                Rewriter.replace_op(op, [], [] if value is None else [value])
        for op in reversed(declared):
            Rewriter.erase_op(op)


@dataclass(frozen=True)
class Cursor:
    """A stage number and its phase parity, in registers."""

    stage: SSAValue
    phase: SSAValue

    def advance(self, e: Emitter, stages: int) -> None:
        """To the next stage; the phase flips when it wraps."""
        following = e.add(e.read(self.stage), 1)
        wraps = e.compare("eq", following, stages)
        phase = e.read(self.phase)
        self._set(e, e.select(wraps, 0, following), e.select(wraps, e.xor(phase, 1), phase))

    def skip(self, e: Emitter, stages: int, count: Index) -> None:
        """`count` stages further; the phase flips with every wrap."""
        moved = e.add(e.read(self.stage), e.rem(count, stages))
        wraps = e.compare("sge", moved, stages)
        phase, odd = e.read(self.phase), e.rem(e.div(count, stages), 2)
        phase = phase if odd == 0 else e.xor(phase, odd)
        self._set(e, e.select(wraps, e.sub(moved, stages), moved), e.select(wraps, e.xor(phase, 1), phase))

    def _set(self, e: Emitter, stage: Index, phase: Index) -> None:
        for register, value in ((self.stage, stage), (self.phase, phase)):
            e.insert(cuda.SetOp(register, e.index(0), e.index(value)))


@dataclass(frozen=True)
class End:
    """A channel at the end of a partition. turn: the parity with which its next turn begins, in a register."""

    channel: cuda.ChannelOp
    cursor: Cursor
    released: Cursor
    turn: SSAValue

    @property
    def stages(self) -> int:
        return self.channel.stages.value.data

    def full(self, e: Emitter, stage: Index) -> SSAValue:
        return _barrier(e, self.channel, self.channel.full.value.data, stage)

    def empty(self, e: Emitter, stage: Index) -> SSAValue:
        return _barrier(e, self.channel, self.channel.empty.value.data, stage)


def _barrier(e: Emitter, channel: cuda.ChannelOp, start: int, number: Index) -> SSAValue:
    """The address of a barrier of those that begin at a byte of shared memory."""
    address = e.value(cuda.SharedOp(start, align=channel.align.value.data))
    return e.i32(e.add(e.value(arith.IndexCastOp(address, INDEX)), e.mul(number, BARRIER_BYTES)))


def _neighbors(channel: cuda.ChannelOp) -> int:
    """Blocks in the row and the column of a block of the cluster, with itself."""
    return sum(channel.cluster_shape) - 1


def _in_place(op: Operation, build: Callable[[Emitter], T]) -> T:
    """Builds ops before `op`, with its location."""
    with emitted_before(op, op.location) as e:
        return build(e)


def _set_up(op: cuda.ChannelOp, e: Emitter) -> None:
    """The first thread sets up the barriers."""
    places = (op.full, op.arrivals), (op.empty, op.releases)
    stages = op.stages.value.data
    with e.when(e.compare("eq", op.thread, 0)), e.loop(0, stages, unroll=True, hint="stage") as stage:
        for start, count in places:
            e.insert(cuda.BarrierInitOp(_barrier(e, op, start.value.data, stage), count.value.data))
    if op.turn is not None and op.turns is not None and op.passes is not None:
        with e.when(e.compare("eq", op.thread, 0)):
            for turn in range(op.turns.value.data):
                e.insert(cuda.BarrierInitOp(_barrier(e, op, op.turn.value.data, turn), op.passes.value.data))
    e.insert(cuda.FenceBarrierInitOp())


def _end_of(op: cuda.ChannelEndOp, e: Emitter) -> End:
    assert isinstance(op.channel.owner, cuda.ChannelOp)
    cursor = Cursor(e.counter(), e.counter(int(op.fills is not None)))
    released = Cursor(e.counter(), e.counter())
    return End(op.channel.owner, cursor, released, e.counter(int(op.first is not None)))


def _acquire(op: cuda.ChannelAcquireOp, end: End, e: Emitter) -> SSAValue:
    return _await_empty(end, e, op.by)


def _await_empty(end: End, e: Emitter, by: SSAValue | None) -> SSAValue:
    """Waits until the current stage is free; gives its number."""
    stage, phase = e.read(end.cursor.stage), e.read(end.cursor.phase)
    with e.when(by):
        e.insert(cuda.BarrierWaitOp(end.empty(e, stage), e.i32(phase)))
    return stage


def _full_barrier(op: cuda.ChannelBarrierOp, end: End, e: Emitter) -> SSAValue:
    return end.full(e, e.read(end.cursor.stage) if op.stage is None else op.stage)


def _commit(op: cuda.ChannelCommitOp, end: End, e: Emitter) -> None:
    """What threads have written is made visible to wgmma before they arrive."""
    if end.channel.written is not None:
        e.insert(cuda.FenceProxyAsyncOp())
        e.insert(cuda.BarrierArriveOp(end.full(e, e.read(end.cursor.stage))))
    end.cursor.advance(e, end.stages)


def _wait(op: cuda.ChannelWaitOp, end: End, e: Emitter) -> SSAValue:
    stage, phase = e.read(end.cursor.stage), e.read(end.cursor.phase)
    with e.when(op.by):
        e.insert(cuda.BarrierWaitOp(end.full(e, stage), e.i32(phase)))
    end.cursor.advance(e, end.stages)
    return stage


def _release(op: cuda.ChannelReleaseOp, end: End, e: Emitter) -> None:
    """One thread of each warp group arrives: its wgmmas that read the stage are complete. Where lanes have to meet
    first, one of each warp. In a cluster, one thread for each block that may fill the stage. Products of tcgen05 arrive
    themselves."""
    channel = end.channel
    if op.tcgen05 is not None:
        with e.when(e.compare("eq", op.thread, 0)):
            e.insert(cuda.Tcgen05CommitOp(end.empty(e, e.read(end.released.stage))))
        end.released.advance(e, end.stages)
        return
    if channel.by_warp is not None:
        e.insert(cuda.WarpSyncOp("all lanes are done with a stage"))
    barrier = end.empty(e, e.read(end.released.stage))
    lane, blocks = e.rem(op.thread, WARP_GROUP if channel.by_warp is None else LANES), _neighbors(channel)
    with e.when(e.compare("ult", lane, blocks)):
        if blocks == 1:
            e.insert(cuda.BarrierArriveOp(barrier))
        else:
            e.insert(cuda.BarrierArriveClusterOp(barrier, e.i32(_neighbor(e, channel.cluster_shape, lane))))
    end.released.advance(e, end.stages)


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


def _skip(op: cuda.ChannelSkipOp, end: End, e: Emitter) -> None:
    known = constant_of(op.count)
    for cursor in (end.cursor, end.released):
        cursor.skip(e, end.stages, op.count if known is None else known)


def _begin_turn(op: cuda.ChannelBeginTurnOp, end: End, e: Emitter) -> None:
    parity = e.read(end.turn)
    e.insert(cuda.BarrierWaitOp(_turn_barrier(op, end, e), e.i32(parity)))
    e.insert(cuda.SetOp(end.turn, e.index(0), e.index(e.xor(parity, 1))))


def _pass_turn(op: cuda.ChannelPassTurnOp, end: End, e: Emitter) -> None:
    """One thread of each warp arrives. A warp that still waits for its own turn holds up the next: of a tile without
    steps the others could have theirs, and the barrier of this turn would be two phases further before it looks."""
    e.insert(cuda.WarpSyncOp("all lanes have had their turn"))
    with e.when(e.compare("eq", e.rem(op.thread, LANES), 0)):
        e.insert(cuda.BarrierArriveOp(_turn_barrier(op, end, e)))


def _turn_barrier(op: cuda.ChannelBeginTurnOp | cuda.ChannelPassTurnOp, end: End, e: Emitter) -> SSAValue:
    if end.channel.turn is None:
        raise IrcError("expected a channel with barriers of turns", op.location)
    return _barrier(e, end.channel, end.channel.turn.value.data, op.turn.value.data)


def _drain(op: cuda.ChannelDrainOp, end: End, e: Emitter) -> None:
    with e.loop(0, end.stages):
        _await_empty(end, e, op.by)
        end.cursor.advance(e, end.stages)


_LOWERINGS: dict[type[Operation], Callable[[Any, End, Emitter], SSAValue | None]] = {
    cuda.ChannelAcquireOp: _acquire,
    cuda.ChannelBarrierOp: _full_barrier,
    cuda.ChannelBeginTurnOp: _begin_turn,
    cuda.ChannelCommitOp: _commit,
    cuda.ChannelDrainOp: _drain,
    cuda.ChannelPassTurnOp: _pass_turn,
    cuda.ChannelReleaseOp: _release,
    cuda.ChannelSkipOp: _skip,
    cuda.ChannelWaitOp: _wait,
}
