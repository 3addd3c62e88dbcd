"""What all blocks of a launch share: its extents, its memories' shadows, and the order between blocks."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from irc.dialects import cuda
from irc.dialects.cuda.common import values_of
from irc.interpreters.sim.clocks import EPOCH_UNIT, NEVER, agent_of, clock_of
from irc.interpreters.sim.frame import shared_granule
from irc.interpreters.sim.memory import Array, Memory, Span
from irc.interpreters.sim.shadow import Shadow

if TYPE_CHECKING:
    from irc.interpreters.sim.frame import Frame


class Grid:
    """One launch of a kernel.

    Blocks are ordered by nothing but atomics: a thread that fences and then updates a word makes known what is ordered
    before that (`release`), a thread that updates the same word later learns it (`acquire`).
    """

    def __init__(self, kernel: cuda.KernelOp, written: Sequence[Span]):
        """`written`: the buffers that the kernel may write."""
        self.extents = values_of(kernel.grid)
        self.cluster = values_of(kernel.cluster) or (1, 1, 1)
        self.cluster_blocks = prod(self.cluster)
        self.blocks = prod(self.extents)
        self.shared_granule = shared_granule(kernel)
        self._granule = _global_granule(kernel)
        self._written = tuple(written)
        self._shadows: dict[int, Shadow] = {}
        self._words: dict[Any, Array] = {}

    def shadow(self, memory: Memory) -> Shadow:
        """The shadow of a memory that the kernel writes."""
        found = self._shadows.get(id(memory))
        if found is None:
            found = self._shadows[id(memory)] = Shadow(memory.data, self._granule, memory.name, blocks=True)
        return found

    def is_written(self, span: Span) -> bool:
        """Whether the kernel may write some of a buffer."""
        return any(span.overlaps(other) for other in self._written)

    def save(self) -> list[Any]:
        """What `restore` brings back: the memories that the kernel writes, and what is known of them."""
        memories = [
            (memory, memory.data.copy(), None if memory.written is None else memory.written.copy())
            for memory in {id(span.memory): span.memory for span in self._written}.values()
        ]
        return [memories, {key: shadow.copy() for key, shadow in self._shadows.items()}, dict(self._words)]

    def restore(self, saved: list[Any]) -> None:
        memories, self._shadows, self._words = saved
        for memory, data, written in memories:
            memory.data[...] = data
            if written is not None:
                memory.written[...] = written

    # The order between blocks

    def ordered(self, frame: Frame, lanes: Array, blocks: Array, keys: Array) -> Array:
        """Whether accesses by other blocks, which left these keys, are ordered before what the lanes do now."""
        known: Array | None = frame.state.get("known blocks")
        if known is None:
            return np.zeros(keys.shape, np.bool_)
        epochs, agents, clocks = known[:, np.broadcast_to(lanes, keys.shape), blocks.clip(0)]
        return (keys // EPOCH_UNIT < epochs) | ((agent_of(keys) == agents) & (clock_of(keys) <= clocks))

    def fence(self, frame: Frame, lanes: Array) -> None:
        """These lanes order their accesses for the device."""
        fenced = frame.state.setdefault("fenced", np.full((3, frame.lane_count), NEVER))
        epochs = frame.clocks.epoch[lanes // frame.threads]
        fenced[:, lanes] = epochs, epochs + 1, frame.clocks.clock[lanes]
        frame.clocks.advance(lanes)

    def publish(self, frame: Frame, word: Any, lane: int) -> None:
        """A thread updates a word of global memory: it makes known what is fenced, and learns what the word's earlier
        updates made known.

        What is known of a block is the epoch before which all is complete, and the clock of one of its threads, the
        last that published: (epoch, agent, clock). A thread's fence covers what its block did before the last barrier,
        and what it did itself; fences of all threads cover, after a barrier, what they did before the fences."""
        known: Array = frame.state.setdefault("known blocks", np.full((3, frame.lane_count, self.blocks), NEVER))
        row = known[:, lane].copy()
        if (fenced := frame.state.get("fenced")) is not None:
            block, start = int(frame.block[lane]), lane - int(frame.thread[lane])
            together = int(fenced[1, start : start + frame.block_threads].min())
            passed = together <= frame.clocks.epoch[lane // frame.threads]
            epoch = max(int(fenced[0, lane]), together if passed else NEVER, int(row[0, block]))
            row[:, block] = epoch, frame.clocks.agent[lane], fenced[2, lane]
        before = self._words.get(word)
        row = row if before is None else _joined(row, before)
        self._words[word] = row
        known[:, lane] = row

    def sync_blocks(self, frame: Frame, blocks: Array) -> None:
        """The threads of these blocks learn what one of them knows."""
        known: Array | None = frame.state.get("known blocks")
        if known is None:
            return
        for block in blocks:
            lanes = slice(block * frame.threads, (block + 1) * frame.threads)
            row = known[:, lanes.start]
            for lane in range(lanes.start + 1, lanes.stop):
                row = _joined(row, known[:, lane])
            known[:, lanes] = row[:, None]


def _joined(a: Array, b: Array) -> Array:
    """What two rows of (epoch, agent, clock) by block say together."""
    newer = np.where(a[2] >= b[2], a, b)
    newer[0] = np.maximum(a[0], b[0])
    return newer


def _global_granule(kernel: cuda.KernelOp) -> int:
    """Bytes of the smallest access to global memory that the kernel makes."""
    sizes = [16]
    for op in kernel.walk():
        if isinstance(op, cuda.LoadOp | cuda.StoreOp):
            assert isinstance(op.array.type, cuda.RegistersType)
            sizes.append(op.count.value.data * cuda.size_of(op.array.type.element))
        elif isinstance(op, cuda.AtomicOp):
            sizes.append(cuda.size_of(op.value.type))
        elif isinstance(op, cuda.TmaLoadOp | cuda.TmaStoreOp):
            assert isinstance(op.map.type, cuda.TensorMapType)
            sizes.append(cuda.size_of(op.map.type.element))
        elif isinstance(op, cuda.CpAsyncOp):
            sizes.append(op.bytes.value.data)
    return min(sizes)
