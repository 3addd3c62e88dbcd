"""Barriers of blocks and named barriers: who has arrived, and what passing one orders."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import reduce
from typing import TYPE_CHECKING

import numpy as np
from xdsl.ir import Operation

from irc.interpreters.sim.clocks import merged
from irc.interpreters.sim.memory import Array
from irc.interpreters.sim.units import fail_at_end
from irc.ir.locations import describe

if TYPE_CHECKING:
    from irc.interpreters.sim.frame import Frame
    from irc.interpreters.sim.strands import Strand


class BlockBarrier:
    """`__syncthreads` of every block of a frame."""

    def __init__(self, frame: Frame):
        self._frame = frame
        self._arrived = np.zeros(frame.block_count, np.int64)
        self.passed = np.zeros(frame.block_count, np.int64)
        """How often each block has passed it."""
        self._at: list[Operation | None] = [None] * frame.block_count

    def arrive(self, s: Strand, op: Operation) -> Array:
        """The active lanes arrive; gives their blocks. Blocks that are complete pass."""
        frame = self._frame
        if s.mask is None:
            counts = np.full(frame.block_count, frame.block_threads)
        else:
            counts = s.mask.reshape(frame.block_count, -1).sum(axis=1)
        blocks = np.flatnonzero(counts)
        for block in blocks:
            other = self._at[block]
            if other is not None and other is not op:
                s.fail(
                    "divergence",
                    op,
                    f"threads of one block are at different barriers, the others at {describe(other.location)}",
                    frame.block[s.numbers] == frame.block[block * frame.threads],
                )
            self._at[block] = op
        self._arrived[blocks] += counts[blocks]
        done = blocks[self._arrived[blocks] == frame.block_threads]
        if len(done):
            self._arrived[done] = 0
            self.passed[done] += 1
            for block in done:
                self._at[block] = None
            frame.clocks.sync_blocks(done)
            frame.order.sync_blocks(done)
        return blocks

    def arrived(self, blocks: Array) -> Array:
        """Whether threads of these blocks are at the barrier."""
        return self._arrived[blocks] > 0


@dataclass
class ClusterBarrier:
    """The barrier of one cluster: how many of its threads have arrived, at which op, and how often it was passed."""

    blocks: Array
    arrived: int = 0
    passed: int = 0
    op: Operation | None = None


class ClusterBarriers:
    """The barriers of all clusters of a frame."""

    def __init__(self, frame: Frame):
        self._frame = frame
        cluster = frame.grid.cluster_blocks
        self._barriers = [
            ClusterBarrier(np.arange(first, first + cluster)) for first in range(0, frame.block_count, cluster)
        ]

    def arrive(self, s: Strand, op: Operation) -> list[ClusterBarrier]:
        """The active lanes arrive; gives the barriers of their clusters. Those that are complete pass."""
        frame = self._frame
        lanes_of_cluster = frame.clocks.domain
        numbers, counts = np.unique(s.numbers // lanes_of_cluster, return_counts=True)
        found = [self._barriers[number] for number in numbers.tolist()]
        for barrier, count in zip(found, counts.tolist(), strict=True):
            if barrier.op is not None and barrier.op is not op:
                other = describe(barrier.op.location)
                s.fail("divergence", op, f"threads of one cluster are at different barriers, the others at {other}")
            barrier.op = op
            barrier.arrived += count
            if barrier.arrived == len(barrier.blocks) * frame.block_threads:
                barrier.arrived, barrier.op = 0, None
                barrier.passed += 1
                frame.clocks.sync_cluster(barrier.blocks)
                first = int(barrier.blocks[0]) * frame.threads
                frame.order.share(np.arange(first, first + lanes_of_cluster))
        return found


@dataclass
class NamedBarrier:
    """One named barrier: how many threads it is for this time, what those that have arrived made known, the lanes that
    wait, how often it has been passed, and the op that arrived last."""

    threads: int = 0
    waiters: list[Array] = field(default_factory=list[Array])
    rows: list[Array] = field(default_factory=list[Array])
    came: list[Array] = field(default_factory=list[Array])
    arrived: int = 0
    passed: int = 0
    op: Operation | None = None


class NamedBarriers:
    """The 16 barriers of each block."""

    def __init__(self, frame: Frame):
        self._frame = frame
        frame.units.at_end(self._check)
        self._barriers: dict[tuple[int, int], NamedBarrier] = {}

    def arrive(
        self, s: Strand, op: Operation, ids: Array, threads: int, *, waiting: bool
    ) -> list[tuple[NamedBarrier, int]]:
        """The active lanes, whole warps, arrive on the barrier of their number (for `threads` threads); gives each
        barrier with how often it will have been passed when they can go on."""
        frame = self._frame
        lanes = s.numbers
        found: list[tuple[NamedBarrier, int]] = []
        blocks = lanes // frame.threads
        for block, number in sorted(set(zip(blocks.tolist(), ids.tolist(), strict=True))):
            if not 0 <= number < 16:
                s.fail("protocol", op, f"there is no named barrier {number}", ids == number)
            mine = lanes[(blocks == block) & (ids == number)]
            found.append(self._arrive(s, op, (block, number), mine, threads, waiting))
        return found

    def _arrive(
        self, s: Strand, op: Operation, key: tuple[int, int], lanes: Array, threads: int, waiting: bool
    ) -> tuple[NamedBarrier, int]:
        barrier = self._barriers.setdefault(key, NamedBarrier())
        if barrier.arrived and barrier.threads != threads:
            s.fail("protocol", op, f"named barrier {key[1]} is for {barrier.threads} threads and for {threads} at once")
        if barrier.came and np.isin(lanes, np.concatenate(barrier.came)).any():
            s.fail("protocol", op, f"a warp arrives twice on named barrier {key[1]} before it is complete")
        barrier.threads, barrier.op = threads, op
        barrier.arrived += len(lanes)
        barrier.came.append(lanes)
        if barrier.arrived > threads:
            s.fail(
                "protocol", op, f"{barrier.arrived} threads arrive on named barrier {key[1]}, which is for {threads}"
            )
        target = barrier.passed + 1
        clocks = self._frame.clocks
        barrier.rows.append(clocks.release(lanes))
        if waiting:
            barrier.waiters.append(lanes)
        if barrier.arrived == threads:
            row = reduce(merged, barrier.rows)
            for waiters in barrier.waiters:
                clocks.acquire(waiters, row)
                self._frame.order.share(waiters)
            barrier.arrived, barrier.came, barrier.waiters, barrier.rows = 0, [], [], []
            barrier.passed += 1
        return barrier, target

    def _check(self) -> None:
        """Threads have ended: nobody comes to a barrier that others have arrived at."""
        for (_, number), barrier in self._barriers.items():
            if barrier.arrived and barrier.op is not None:
                message = f"threads end with {barrier.arrived} of {barrier.threads} threads at named barrier {number}"
                fail_at_end(self._frame, barrier.op, np.concatenate(barrier.came), message)
