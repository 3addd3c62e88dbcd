"""What the chip allows a program that is bound by memory: a copy of as many bytes, and reading as many."""

from __future__ import annotations

from math import ceil

import numpy as np

from irc.codegen.nvrtc import compile_source
from irc.runtime.driver import present_arch
from irc.runtime.launches import Cells, Slots
from irc.runtime.plan import Buffer, Launch, Scalar
from irc.runtime.workbench import L2_MULTIPLE, Enqueue, Workbench

THREADS = 256
BLOCKS_PER_PROCESSOR = 8
LOADS = 8
"""Independent 16-byte loads of a thread: 2048 threads of a multiprocessor keep 256 KB in flight, several times what
latency times bandwidth needs."""

WORD = 32
"""Bytes: sizes are rounded up to it, a sector."""

PAGE = 2 << 20
"""Bytes: where torch's large arrays and the runtime's start."""

BLOCK = 1 << 24
"""Bytes that are drawn; the rest repeats them."""

READ = f"""\
extern "C" __global__ void __launch_bounds__({THREADS}) read_all(const uint4* data, unsigned long long count,
                                                                 unsigned* found) {{
    unsigned long long stride = (unsigned long long)gridDim.x * {THREADS} * {LOADS};
    unsigned mixed = 0;
    for (unsigned long long at = (unsigned long long)blockIdx.x * {THREADS} * {LOADS} + threadIdx.x; at < count;
         at += stride) {{
        uint4 part[{LOADS}];
        #pragma unroll
        for (int i = 0; i < {LOADS}; ++i)
            part[i] = at + i * {THREADS} < count ? __ldcs(data + at + i * {THREADS}) : make_uint4(0, 0, 0, 0);
        #pragma unroll
        for (int i = 0; i < {LOADS}; ++i) mixed ^= part[i].x ^ part[i].y ^ part[i].z ^ part[i].w;
    }}
    if (mixed == 0x9e3779b9u) *found = mixed;  // hardly ever, and the compiler cannot know
}}
"""


class Buffers:
    """Memory that copies and reads rotate over: many times the L2, filled with bytes that are not all equal. A call has
    two halves of it, which both start at a page."""

    def __init__(self, bench: Workbench, nbytes: int):
        self.half = ceil(max(1, nbytes) / 2 / WORD) * WORD
        self.pages = ceil(self.half / PAGE) * PAGE
        self.count = max(2, ceil(L2_MULTIPLE * bench.device.l2_bytes / self.pages / 2))
        size = 2 * self.count * self.pages
        self._memory = bench.device.allocate(size, bench.stream)
        self._bench = bench
        bench.fill(self._memory.address, size, np.random.default_rng(0).integers(0, 256, BLOCK, dtype=np.uint8))

    def address(self, number: int) -> int:
        """Of the two halves that a call of this number uses."""
        return self._memory.address + number % self.count * 2 * self.pages

    def free(self) -> None:
        self._memory.free(self._bench.stream)


def copying(bench: Workbench, buffers: Buffers) -> Enqueue:
    """Moves as many bytes a call as the buffers were made for: half of them read, half written."""

    def enqueue(number: int) -> None:
        source = buffers.address(number)
        bench.device.copy(source + buffers.pages, source, buffers.half, bench.stream)

    return enqueue


def reading(bench: Workbench, buffers: Buffers) -> Enqueue:
    """Reads as many bytes a call as the buffers were made for, the two halves as one range."""
    size = 2 * buffers.half
    found = bench.device.allocate(16, bench.stream)
    blocks = bench.device.processors * BLOCKS_PER_PROCESSOR
    parameters = (Buffer("argument", 0, 0, size), Scalar("i64", size // 16), Buffer("result", 0, 0, 16))
    launch = Launch("read_all", (blocks, 1, 1), THREADS, (1, 1, 1), 0, parameters, 0)
    kernel = bench.device.load(compile_source(READ, present_arch(), name="read_all").cubin, "read_all", 0)
    cells = Cells([launch], Slots(1, 1), bench.device.map_encoder, 2)
    call = bench.device.kernel_call(launch, kernel, cells.parameters[0])

    def enqueue(number: int) -> None:
        cells.place((buffers.address(number), found.address))
        call.enqueue(bench.stream)

    return enqueue
