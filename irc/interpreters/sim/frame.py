"""A frame: the blocks of a grid that run at the same time, every thread of them a lane."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from xdsl.ir import Operation

from irc.interpreters.sim.barriers import BlockBarrier, ClusterBarriers, NamedBarriers
from irc.interpreters.sim.block_order import BlockOrder
from irc.interpreters.sim.clocks import WARP, Clocks
from irc.interpreters.sim.errors import threads_text
from irc.interpreters.sim.memory import Array, Memory
from irc.interpreters.sim.shadow import Shadow
from irc.interpreters.sim.units import Units
from irc.support.integers import round_up

if TYPE_CHECKING:
    from irc.interpreters.sim.code import KernelCode
    from irc.interpreters.sim.grid import Grid
    from irc.interpreters.sim.statistics import Counters
    from irc.interpreters.sim.strands import Strand

SHARED_BASE = 1024
"""Bytes. Where shared memory starts in its window: a multiple of every alignment, and not 0."""


class Frame:
    """Blocks `first` to `first + blocks` of a grid, whole clusters of it.

    Lane `b * threads + t` is thread t of the frame's block b; `threads` is the block's rounded up to whole warps, and
    `exists` tells the lanes that there are. `thread` and `block` are each lane's number in its block, and its block's
    in the grid.
    """

    def __init__(
        self, code: KernelCode, grid: Grid, first: int, blocks: int, counters: Counters | None, *, lazy: bool = False
    ):
        """`lazy`: asynchronous units do their work as late as they can."""
        kernel = code.kernel
        self.code = code
        self.grid = grid
        self.counters = counters
        self.kernel_name = kernel.sym_name.data
        self.block_count = blocks
        self.block_threads = kernel.block.value.data
        self.threads = round_up(self.block_threads, WARP)
        self.lane_count = blocks * self.threads
        self.all_lanes: Array = np.arange(self.lane_count)
        self.thread: Array = (self.all_lanes % self.threads).astype(code.index)
        self.block: Array = first + self.all_lanes // self.threads
        self.exists: Array = self.thread < self.block_threads
        self.warp: Array = self.all_lanes // WARP
        self.clocks = Clocks(blocks, self.threads, grid.cluster_blocks)
        self.order = BlockOrder(self, grid.words)
        self.barrier = BlockBarrier(self)
        self.cluster_barrier = ClusterBarriers(self)
        self.units = Units(self, lazy=lazy)
        self.named = NamedBarriers(self)
        self.state: dict[str, Any] = {}
        """What rules of asynchronous ops keep for the frame, by names of their own."""

    # Shared memory

    @cached_property
    def shared_size(self) -> int:
        """Bytes of a block."""
        shared = self.code.kernel.shared
        return 0 if shared is None else shared.value.data

    @cached_property
    def shared_pitch(self) -> int:
        """Bytes from one block's shared memory to the next one's in `shared`."""
        return round_up(max(self.shared_size, 1), 1024)

    @cached_property
    def shared(self) -> Memory:
        """The shared memory of all blocks of the frame."""
        return Memory.empty("shared memory", self.block_count * self.shared_pitch)

    @cached_property
    def shared_shadow(self) -> Shadow:
        return Shadow(self.shared.data, self.grid.shared_granule, "shared memory", pitch=self.shared_pitch)

    def shared_byte_offsets(
        self,
        s: Strand,
        op: Operation,
        addresses: Array,
        size: int,
        lanes: Array | None = None,
        align: int | None = None,
    ) -> Array:
        """Where `size` bytes from each shared address (of the strand's active lanes, or of `lanes`) are in `shared`.
        Addresses out of bounds, and those that are no multiple of `align` (the size by default), are errors."""
        offsets = addresses.astype(np.int64) - SHARED_BASE
        align = size if align is None else align
        if (wrong := offsets % align != 0).any():
            at = int(addresses[wrong][0])
            s.fail(
                "misaligned",
                op,
                f"{op.name} of {size} bytes at shared address {at:#x}, no multiple of {align}",
                of_active(s, lanes, wrong),
            )
        if (wrong := (offsets < 0) | (offsets > self.shared_size - size)).any():
            at = int(offsets[wrong][0])
            s.fail(
                "out of bounds",
                op,
                f"{op.name} of {size} bytes at byte {at} of {self.shared_size} bytes of shared memory",
                of_active(s, lanes, wrong),
            )
        numbers = s.numbers if lanes is None else lanes
        return offsets + (numbers // self.threads) * self.shared_pitch

    # Texts

    def threads_text(self, lanes: Array) -> str:
        """`block 0, threads 0-31`."""
        return threads_text(self.block[lanes].tolist(), self.thread[lanes].tolist())

    def agent_text(self, agent: int) -> str:
        """The thread or asynchronous unit of this number."""
        if agent >= self.clocks.domain:
            return self.units.describe(agent)
        rank, thread = divmod(agent, self.threads)
        return (
            f"thread {thread}" if self.grid.cluster_blocks == 1 else f"thread {thread} of block {rank} of the cluster"
        )

    def place(self, axis: int) -> Any:
        """`blockIdx` along an axis for every lane."""
        x, y, _ = self.grid.extents
        coordinates = (self.block % x, self.block // x % y, self.block // (x * y))
        values = coordinates[axis].astype(self.code.index)
        return values[0] if self.block_count == 1 else values

    def cluster_rank(self) -> Any:
        """The block's number in its cluster for every lane: x fastest."""
        cx, cy, cz = self.grid.cluster
        x, y, z = (np.asarray(self.place(axis)) for axis in range(3))
        return np.asarray(x % cx + cx * (y % cy + cy * (z % cz))).astype(self.code.index)[()]


def of_active(s: Strand, lanes: Array | None, wrong: Array) -> Array:
    """Of the active lanes the wrong ones of `lanes`."""
    return wrong if lanes is None else np.isin(s.numbers, lanes[wrong])
