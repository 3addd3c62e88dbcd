"""Counts of a launch (`--stats`): instructions, sectors of global memory, wavefronts of shared memory, by op.

A request is one instruction of one warp. Global memory moves sectors of 32 bytes: a request needs as many as its lanes
touch; the ideal is the number that would hold the bytes that it asks for (CUDA C++ Best Practices Guide, coalesced
access). Shared memory has 32 banks of 4 bytes: an instruction of up to 4 bytes a lane is served for the whole warp at
once, one of 8 bytes by half warps and one of 16 bytes by quarter warps; each such group takes as many wavefronts as the
busiest bank has different words, at best one (CUDA C++ Programming Guide, shared memory; `irc/layout/shared.py`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from xdsl.ir import Block, Operation

from irc.interpreters.sim.memory import Array
from irc.ir.locations import describe

SECTOR = 32
BANKS = 32
BANK_BYTES = 4
WARP = 32


@dataclass
class OpStatistics:
    """One op of a kernel. instructions: executions, a warp each. requests: those that accessed memory; sectors and
    wavefronts: what they took, and the least that could do."""

    op: str
    location: str
    instructions: int = 0
    requests: int = 0
    sectors: int = 0
    ideal_sectors: int = 0
    wavefronts: int = 0
    ideal_wavefronts: int = 0

    @property
    def conflicts(self) -> int:
        """Wavefronts beyond the ideal."""
        return self.wavefronts - self.ideal_wavefronts


@dataclass
class KernelStatistics:
    """One kernel, all its launches together."""

    name: str
    launches: int = 0
    ops: list[OpStatistics] = field(default_factory=list[OpStatistics])

    def _sum(self, name: str, *ops: str) -> int:
        return sum(getattr(entry, name) for entry in self.ops if not ops or entry.op in ops)

    @property
    def instructions(self) -> int:
        return self._sum("instructions")

    def executions(self, *ops: str) -> int:
        """Instructions that are ops of these names, a warp each."""
        return self._sum("instructions", *ops)

    def sectors(self, *ops: str) -> int:
        """Sectors of global memory, of all ops or of those of these names."""
        return self._sum("sectors", *ops)

    def ideal_sectors(self, *ops: str) -> int:
        return self._sum("ideal_sectors", *ops)

    @property
    def wavefronts(self) -> int:
        return self._sum("wavefronts")

    @property
    def conflicts(self) -> int:
        """Wavefronts of shared memory beyond the ideal."""
        return self._sum("conflicts")


class EnoughError(Exception):
    """A kernel has run as far as was asked for."""


class Counters:
    """Counts of one kernel while it runs."""

    def __init__(self, most: int | None = None) -> None:
        """most: how often blocks of ops are entered, after which the kernel stops with an EnoughError."""
        self._entered: dict[Block, int] = {}
        self._ops: dict[Operation, Array] = {}
        self._left = most

    def enter(self, block: Block, warps: int) -> None:
        """So many warps run a block's ops once."""
        if self._left is not None:
            if not self._left:
                raise EnoughError
            self._left -= 1
        self._entered[block] = self._entered.get(block, 0) + warps

    def add(self, other: Counters) -> None:
        """The counts of a part of the launch."""
        for block, warps in other._entered.items():
            self.enter(block, warps)
        for op, counts in other._ops.items():
            self._add(op, counts)

    def global_access(self, op: Operation, lanes: Array, byte_offsets: Array, size: int) -> None:
        """Each lane accesses `size` bytes of global memory at a byte address."""
        warps = lanes // WARP
        self.add_global(
            op, _groups(warps), _distinct(warps, byte_offsets // SECTOR), _ideal_sectors(warps, byte_offsets, size)
        )

    def shared_access(self, op: Operation, lanes: Array, byte_offsets: Array, size: int) -> None:
        """Each lane accesses `size` bytes of shared memory at a byte address."""
        per_group = {8: WARP // 2, 16: WARP // 4}.get(size, WARP)
        groups = lanes // per_group
        words = byte_offsets // BANK_BYTES
        if size > BANK_BYTES:
            count = size // BANK_BYTES
            words = (words[:, None] + np.arange(count)).reshape(-1)
            groups = np.repeat(groups, count)
        self.add_shared(op, _groups(lanes // WARP), _wavefronts(groups, words), _groups(groups))

    def add_global(self, op: Operation, requests: int, sectors: int, ideal: int) -> None:
        """Counts of an op that are known."""
        self._add(op, (requests, sectors, ideal, 0, 0))

    def add_shared(self, op: Operation, requests: int, wavefronts: int, ideal: int) -> None:
        """Counts of an op that are known."""
        self._add(op, (requests, 0, 0, wavefronts, ideal))

    def _add(self, op: Operation, counts: Array | tuple[int, int, int, int, int]) -> None:
        total = self._ops.get(op)
        if total is None:
            total = self._ops[op] = np.zeros(5, np.int64)
        total += counts

    def ops(self, kernel: Operation) -> Iterator[OpStatistics]:
        """The ops of the kernel in their order; those that never ran too."""
        for op in kernel.walk():
            if op is not kernel:
                yield self.of(op)

    def of(self, op: Operation) -> OpStatistics:
        """The counts of one op."""
        block = op.parent_block()
        instructions = 0 if block is None else self._entered.get(block, 0)
        counts = self._ops.get(op, np.zeros(5, np.int64)).tolist()
        return OpStatistics(op.name, describe(op.location), instructions, *counts)


def _groups(groups: Array) -> int:
    return len(np.unique(groups))


def _distinct(groups: Array, numbers: Array) -> int:
    """How many different (group, number) there are."""
    return len(np.unique((groups << 40) | numbers))


def _ideal_sectors(warps: Array, byte_offsets: Array, size: int) -> int:
    """Each warp's different bytes in whole sectors."""
    pairs = np.unique((warps << 40) | (byte_offsets // size))
    counts = np.unique(pairs >> 40, return_counts=True)[1]
    return int((-(-counts * size // SECTOR)).sum())


def _wavefronts(groups: Array, words: Array) -> int:
    """Of each group the most different words in one bank."""
    pairs = np.unique((groups << 32) | words)
    banks, counts = np.unique(((pairs >> 32) << 5) | (pairs & (BANKS - 1)), return_counts=True)
    most = np.zeros(int(banks.max() >> 5) + 1, np.int64)
    np.maximum.at(most, banks >> 5, counts)
    return int(most.sum())
