"""What all blocks of a launch share: its extents, the shadows of its memories, and what words made known."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from irc.dialects import cuda
from irc.dialects.cuda.common import GLOBAL, SHARED, AccessOp
from irc.interpreters.sim.memory import Array, Memory, Span
from irc.interpreters.sim.shadow import Shadow
from irc.ir.properties import values_of


class Grid:
    """One launch of a kernel. `words`: for `BlockOrder`."""

    def __init__(self, kernel: cuda.KernelOp, written: Sequence[Span], blocks: int | None = None):
        """`written`: the buffers that the kernel may write. blocks: along x, where these are not the kernel's."""
        along_x, *others = values_of(kernel.grid)
        self.extents = (along_x if blocks is None else blocks, *others)
        self.cluster = values_of(kernel.cluster) or (1, 1, 1)
        self.cluster_blocks = prod(self.cluster)
        self.blocks = prod(self.extents)
        self.shared_granule = _granule(kernel, SHARED)
        self._granule = _granule(kernel, GLOBAL)
        self._written = tuple(written)
        self._shadows: dict[int, Shadow] = {}
        self.words: dict[Any, Array] = {}

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
        return [memories, {key: shadow.copy() for key, shadow in self._shadows.items()}, dict(self.words)]

    def restore(self, saved: list[Any]) -> None:
        memories, self._shadows, words = saved
        self.words.clear()
        self.words.update(words)
        for memory, data, written in memories:
            memory.data[...] = data
            if written is not None:
                memory.written[...] = written


def _granule(kernel: cuda.KernelOp, memory: str) -> int:
    """Bytes of the smallest access to a memory that the kernel makes."""
    accesses = (op.accesses for op in kernel.walk() if isinstance(op, AccessOp))
    return min([16, *(found[memory] for found in accesses if memory in found)])
