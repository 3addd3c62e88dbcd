"""Timing on the device: blocks of calls between two events, with the host ahead and the L2 cache cold.

Before a block, copies of a large buffer keep the stream busy until the host has enqueued all of the block: then what
lies between the events is the device's work alone, for every variant alike, and nothing that the block reads is in the
L2. Inside a block calls take turns on several sets of arrays, which together are larger than the L2.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from math import ceil
from typing import Any, Protocol

import numpy as np

from irc.runtime.artifact import ArraySpec
from irc.runtime.device import Device, Stream

Enqueue = Callable[[int], None]
"""Enqueues one call on the workbench's stream, with the set of arrays of this number."""

STALL_BYTES = 512 << 20
"""What a copy of a stall moves: about an eighth of a millisecond on an H200."""

MAX_STALLS = 256
"""Copies before one block; a host that needs longer is timed with its gaps."""

CALLS = (1, 64)
"""The least and the most calls of a block."""

L2_MULTIPLE = 16
"""The sets of arrays together are at least so many times as large as the L2, so that no more than a sixteenth is found
there, whatever it keeps."""

SETS = (2, 256)
"""The least and the most sets of arrays; fewer where memory is short."""


class Arrays(Protocol):
    """Where arrays come from: torch, so that peers can take them, or the device's own pool."""

    def make(self, spec: ArraySpec) -> tuple[int, Any]:
        """The address of a new array, and what keeps it alive."""
        ...


class OwnArrays:
    """Arrays from the runtime's pool."""

    def __init__(self, bench: Workbench):
        self._bench = bench

    def make(self, spec: ArraySpec) -> tuple[int, Any]:
        memory = self._bench.device.allocate(spec.nbytes, self._bench.stream)
        return memory.address, memory


@dataclass
class Variant:
    """A way of doing a row's work: what enqueues a call, the calls of a block, the copies of the stall before it."""

    name: str
    enqueue: Enqueue
    calls: int = 1
    stalls: int = 1


class Workbench:
    """A device, the stream that everything is timed on, and the buffer of stalls."""

    def __init__(self, device: Device, *, block_seconds: float):
        self.device = device
        self.stream: Stream = device.take_stream()
        self._block_seconds = block_seconds
        self._scratch = device.allocate(STALL_BYTES, self.stream)
        device.fill(self._scratch.address, 1, STALL_BYTES, self.stream)

    def close(self) -> None:
        """Frees what it holds."""
        self._scratch.free(self.stream)
        self.device.synchronize(self.stream)
        self.device.give_stream(self.stream)

    def sets(self, nbytes: int) -> int:
        """How many sets of so many bytes rotate: more than the L2 holds, at most a third of the free memory."""
        wanted = max(SETS[0], ceil(L2_MULTIPLE * self.device.l2_bytes / max(nbytes, 1)))
        fitting = self.device.free_memory() // 3 // max(nbytes, 1)
        return max(1, min(wanted, SETS[1], fitting))

    def fill(self, address: int, nbytes: int, block: np.ndarray[Any, Any]) -> None:
        """Fills memory with an array of the host, repeated as often as it takes."""
        for start in range(0, nbytes, max(1, block.nbytes)):
            source = int(block.ctypes.data) if start == 0 else address
            self.device.copy(address + start, source, min(block.nbytes, nbytes - start), self.stream)
        self.device.synchronize(self.stream)

    def prepare(self, variant: Variant) -> float:
        """Warms a variant up, and finds how many calls of it a block takes; the seconds of one in a short block."""
        for number in range(3):
            variant.enqueue(number)
        self.device.synchronize(self.stream)
        variant.calls = 2
        seconds = self.block(variant)
        variant.calls = max(CALLS[0], min(CALLS[1], ceil(self._block_seconds / max(seconds, 1e-7))))
        return seconds

    def block(self, variant: Variant) -> float:
        """Seconds of a call on the device: the mean over a block.

        Where the device had started on the block before the host was done with it, the block is timed again behind a
        longer stall."""
        while True:
            begin, end = self.device.event(timed=True), self.device.event(timed=True)
            self._stall(variant.stalls)
            self.device.record(begin, self.stream)
            for number in range(variant.calls):
                variant.enqueue(number)
            started = begin.is_done
            self.device.record(end, self.stream)
            self.device.synchronize(self.stream)
            if not started or variant.stalls >= MAX_STALLS:
                return self.device.seconds_between(begin, end) / variant.calls
            variant.stalls *= 2

    def host_block(self, variant: Variant) -> float:
        """Seconds of a call by the host's clock, from the start of the first to the end of the last one's work."""
        begin = time.perf_counter()
        self.enqueue_block(variant)
        return (time.perf_counter() - begin) / variant.calls

    def enqueue_block(self, variant: Variant) -> float:
        """Seconds of a call by the host's clock until it is enqueued; the device is waited for when all are."""
        begin = time.perf_counter()
        for number in range(variant.calls):
            variant.enqueue(number)
        end = time.perf_counter()
        self.device.synchronize(self.stream)
        return (end - begin) / variant.calls

    def _stall(self, copies: int) -> None:
        half = STALL_BYTES // 2
        for _ in range(copies):
            self.device.copy(self._scratch.address + half, self._scratch.address, half, self.stream)
