"""mbarriers: arrivals, bytes, waits, and what a completed phase makes known (`irc/interpreters/sim/mbarrier.py` has
the counters).

A barrier is an agent of the clocks: what its copies write is marked with the phase in which their bytes count, and a
thread that has waited for the phase knows the agent's clock of that time, besides all that those who arrived knew.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from xdsl.ir import Operation

from irc.dialects import cuda
from irc.dialects.cuda.async_ops import BARRIER_BYTES
from irc.interpreters.sim.clocks import merged
from irc.interpreters.sim.frame import Frame
from irc.interpreters.sim.mbarrier import Mbarrier, MbarrierError
from irc.interpreters.sim.memory import Array
from irc.interpreters.sim.phases import Wait, waits_of
from irc.interpreters.sim.registry import simulates
from irc.interpreters.sim.strands import Routine, Strand, Waiting
from irc.interpreters.sim.units import fail_at_end, kept
from irc.ir.locations import describe


@dataclass
class Barrier:
    """A barrier in the shared memory of block `block` of the frame, at byte `offset` of it."""

    block: int
    offset: int
    state: Mbarrier
    agent: int
    initialized_by: int
    """The lane."""
    op: Operation
    fenced: bool = False
    """Whether its initialization was made visible to the cluster and to TMA."""
    arrived: Array | None = None
    """What those who have arrived so far made known."""
    completed: Array | None = None
    """What the last completed phase makes known."""
    waits: list[Wait] = field(default_factory=list[Wait])
    """Those that have seen the last completed phase."""

    def describe(self) -> str:
        return f"the barrier at byte {self.offset} of shared memory, initialized at {describe(self.op.location)}"


class Barriers:
    """The barriers of a frame, by their byte in its shared memory."""

    def __init__(self, frame: Frame):
        self.frame = frame
        self.at: dict[int, Barrier] = {}
        self._remote: list[tuple[int, int, int, Operation]] = []
        """Arrivals from other blocks: the barrier's block, the lane that arrived, its clock, the op."""
        frame.units.at_end(self._check_remote)

    def arrive(self, s: Strand, op: Operation, barrier: Barrier, lanes: Array) -> None:
        """Each of the lanes arrives."""
        for block in np.unique(lanes // self.frame.threads):
            row = self.frame.clocks.release(lanes[lanes // self.frame.threads == block])
            barrier.arrived = merged(barrier.arrived, row)
        for _ in lanes:
            self.count(s, op, barrier, lanes, barrier.state.arrive)

    def count(self, s: Strand, op: Operation, barrier: Barrier, lanes: Array, change: Any, *arguments: int) -> None:
        """Change a barrier's counters, on behalf of some lanes."""
        phase = barrier.state.phase
        try:
            change(*arguments)
        except MbarrierError as error:
            s.fail("protocol", op, f"{error}, on {barrier.describe()}", np.isin(s.numbers, lanes))
        if barrier.state.phase == phase:
            return
        row = self.frame.clocks.blank() if barrier.arrived is None else barrier.arrived.copy()
        row = merged(row, self.frame.clocks.blank())
        row[:, barrier.agent] = phase
        barrier.completed = barrier.arrived = row
        for wait in barrier.waits:
            if len(missed := waits_of(s).unseen(wait, row)):
                who, what = self.frame.thread[missed[0]], f"phase {phase - 1} of {barrier.describe()}"
                text = f"thread {who}, which waits for {what}, can miss it: it may look after the next is over"
                s.fail("protocol", op, text, np.isin(s.numbers, lanes))
        barrier.waits = []

    def remember_remote(self, barrier: Barrier, lane: int, op: Operation) -> None:
        """Note that a thread of another block arrived: the barrier's block has to live until then."""
        self._remote.append((barrier.block, lane, int(self.frame.clocks.clock[lane]) - 1, op))

    def _check_remote(self) -> None:
        frame, clocks = self.frame, self.frame.clocks
        for block, lane, clock, op in self._remote:
            lanes = np.arange(block * frame.threads, block * frame.threads + frame.block_threads)
            if not clocks.knows(lanes, np.full(len(lanes), clocks.agent[lane]), np.full(len(lanes), clock)).any():
                text = f"{op.name} on a barrier of block {frame.block[lanes[0]]}, which may have ended by then"
                fail_at_end(frame, op, np.array([lane]), text)


def barriers_of(s: Strand) -> Barriers:
    return kept(s, "mbarriers", lambda: Barriers(s.frame))


def barrier_at(s: Strand, op: Operation, byte_offset: int, lanes: Array) -> Barrier:
    """The barrier at a byte of the frame's shared memory that lanes use: an error where there is none, or where its
    initialization, or what was written over it, is not ordered before."""
    frame = s.frame
    barrier = barriers_of(s).at.get(byte_offset)
    wrong = np.isin(s.numbers, lanes)
    if barrier is None:
        offset = byte_offset % frame.shared_pitch
        s.fail("uninitialized", op, f"{op.name} on byte {offset} of shared memory, which is no barrier", wrong)
    shadow = frame.shared_shadow
    keys = np.full(len(lanes), shadow.writes[byte_offset // shadow.granule])
    unordered = frame.clocks.unordered(lanes, keys)
    if unordered.any():
        who = f"thread {frame.thread[barrier.initialized_by]}"
        text = f"{op.name} on {barrier.describe()} by {who}, with no barrier of threads between"
        s.fail("race", op, text, np.isin(s.numbers, lanes[unordered]))
    return barrier


def require_fenced(s: Strand, op: Operation, barrier: Barrier, lanes: Array) -> None:
    """An error where other blocks or TMA use a barrier that was only made visible to its block."""
    if not barrier.fenced:
        text = f"{op.name} on {barrier.describe()}, which no cuda.fence_barrier_init made visible beyond its block"
        s.fail("protocol", op, text, np.isin(s.numbers, lanes))


def _by_barrier(s: Strand, op: Operation, address: Any) -> Iterator[tuple[Barrier, Array]]:
    """The barriers that the active lanes name in their own blocks, each with those lanes."""
    byte_offsets = s.frame.shared_byte_offsets(s, op, s.spread(address), BARRIER_BYTES)
    for byte_offset in np.unique(byte_offsets).tolist():
        lanes = s.numbers[byte_offsets == byte_offset]
        yield barrier_at(s, op, byte_offset, lanes), lanes


@simulates(cuda.BarrierInitOp)
def barrier_init(s: Strand, op: cuda.BarrierInitOp, address: Any) -> None:
    frame, table = s.frame, barriers_of(s)
    byte_offsets = frame.shared_byte_offsets(s, op, s.spread(address), BARRIER_BYTES)
    frame.shared_shadow.write(s, op, s.numbers, byte_offsets, BARRIER_BYTES)
    frame.shared.mark(byte_offsets // BARRIER_BYTES, BARRIER_BYTES)
    for byte_offset, lane in zip(byte_offsets.tolist(), s.numbers.tolist(), strict=True):
        if byte_offset in table.at:
            s.fail("protocol", op, f"{table.at[byte_offset].describe()} is initialized again", s.numbers == lane)
        block, offset = divmod(byte_offset, frame.shared_pitch)
        rank = block % frame.grid.cluster_blocks
        agent = frame.units.agent(("mbarrier", rank, offset), f"TMA, which completes on the barrier at byte {offset},")
        table.at[byte_offset] = Barrier(block, offset, Mbarrier(op.count.value.data), agent, lane, op)


@simulates(cuda.FenceBarrierInitOp)
def fence_barrier_init(s: Strand, op: cuda.FenceBarrierInitOp) -> None:
    lanes = set(s.numbers.tolist())
    for barrier in barriers_of(s).at.values():
        barrier.fenced |= barrier.initialized_by in lanes


@simulates(cuda.BarrierExpectOp)
def barrier_expect(s: Strand, op: cuda.BarrierExpectOp, address: Any) -> None:
    table = barriers_of(s)
    for barrier, lanes in _by_barrier(s, op, address):
        for _ in lanes:
            table.count(s, op, barrier, lanes, barrier.state.expect, op.bytes.value.data)
        table.arrive(s, op, barrier, lanes)


@simulates(cuda.BarrierArriveOp)
def barrier_arrive(s: Strand, op: cuda.BarrierArriveOp, address: Any) -> None:
    for barrier, lanes in _by_barrier(s, op, address):
        barriers_of(s).arrive(s, op, barrier, lanes)


@simulates(cuda.BarrierArriveClusterOp)
def barrier_arrive_cluster(s: Strand, op: cuda.BarrierArriveClusterOp, address: Any, rank: Any) -> None:
    frame, table = s.frame, barriers_of(s)
    ranks, cluster = s.spread(rank).astype(np.int64), frame.grid.cluster_blocks
    wrong = (ranks < 0) | (ranks >= cluster)
    if wrong.any():
        s.fail("out of bounds", op, f"{op.name} on block {ranks[wrong][0]} of a cluster of {cluster}", wrong)
    own = s.numbers // frame.threads
    targets = own // cluster * cluster + ranks
    byte_offsets = frame.shared_byte_offsets(s, op, s.spread(address), BARRIER_BYTES, lanes=targets * frame.threads)
    for byte_offset in np.unique(byte_offsets).tolist():
        lanes = s.numbers[byte_offsets == byte_offset]
        barrier = barrier_at(s, op, byte_offset, lanes)
        require_fenced(s, op, barrier, lanes)
        table.arrive(s, op, barrier, lanes)
        for lane in lanes[lanes // frame.threads != barrier.block].tolist():
            table.remember_remote(barrier, lane, op)


class _BarrierWaiting(Waiting):
    """A wait that says what its barriers lack when it is reported."""

    def __init__(self, strand: Strand, op: Operation, barriers: list[tuple[Barrier, int]]):
        super().__init__(strand, op, "", self._is_ready)
        self._barriers = barriers

    def _is_ready(self) -> bool:
        return all(barrier.state.phase > phase for barrier, phase in self._barriers)

    def reason(self) -> str:
        lacking = {f"{b.describe()}: {b.state.describe()}," for b, phase in self._barriers if b.state.phase <= phase}
        self.what = "waits on " + " ".join(sorted(lacking))
        return super().reason()


@simulates(cuda.BarrierWaitOp)
def barrier_wait(s: Strand, op: cuda.BarrierWaitOp, address: Any, phase: Any) -> Routine:
    """Learn what the phase makes known. A phase that completes, and the next one too, before a thread that waits for
    it looks again is an error: by parity alone it would wait on."""
    parities = s.spread(phase).astype(np.int64)
    wrong = (parities != 0) & (parities != 1)
    if wrong.any():
        s.fail("protocol", op, f"{op.name} for phase {parities[wrong][0]}, which is no parity", wrong)
    found: list[tuple[Barrier, Array]] = []
    missing: list[tuple[Barrier, int]] = []
    for barrier, lanes in _by_barrier(s, op, address):
        found.append((barrier, lanes))
        named = parities[np.isin(s.numbers, lanes)]
        if any(not barrier.state.passes(parity) for parity in np.unique(named).tolist()):
            missing.append((barrier, barrier.state.phase))
    if missing:
        yield _BarrierWaiting(s, op, missing)
    for barrier, phase_before in missing:
        if barrier.state.phase > phase_before + 1:
            text = f"a thread that waits for phase {phase_before} of {barrier.describe()} can miss it: the next is over"
            s.fail("protocol", op, text)
    for barrier, lanes in found:
        if barrier.completed is not None:
            s.frame.clocks.acquire(lanes, barrier.completed)
        barrier.waits.append(waits_of(s).wait(lanes))
