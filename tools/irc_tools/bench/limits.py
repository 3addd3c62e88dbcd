"""What the chip allows a program that is bound by memory: a copy of as many bytes, and reading as many."""

from __future__ import annotations

from collections.abc import Callable
from math import ceil

import numpy as np

from irc.codegen.nvrtc import compile_source
from irc.runtime.driver import present_arch
from irc.runtime.plan import Launch
from irc_tools.bench.workbench import L2_MULTIPLE, Enqueue, Workbench

THREADS = 256
BLOCKS_PER_PROCESSOR = 8
LOADS = 8
"""Independent 16-byte loads of a thread: 2048 threads of a multiprocessor keep 256 KB in flight, several times what
latency times bandwidth needs."""

ALIGNMENT = 512
"""Bytes: a copy to or from an address that is no multiple of it would be slower. Sizes are rounded up to it."""

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
    """Memory that copies and reads rotate over: many times the L2, filled with bytes that are not all equal."""

    def __init__(self, bench: Workbench, nbytes: int):
        self.nbytes = ceil(max(1, nbytes) / (2 * ALIGNMENT)) * 2 * ALIGNMENT
        self.count = max(2, ceil(L2_MULTIPLE * bench.device.l2_bytes / self.nbytes))
        self._memory = bench.device.allocate(self.count * self.nbytes, bench.stream)
        self._bench = bench
        block = np.random.default_rng(0).integers(0, 256, min(self.nbytes, 1 << 24), dtype=np.uint8)
        bench.fill(self._memory.address, self.count * self.nbytes, block)

    def address(self, number: int) -> int:
        """Of the part that a call of this number uses."""
        return self._memory.address + number % self.count * self.nbytes

    def free(self) -> None:
        self._memory.free(self._bench.stream)


def copying(bench: Workbench, buffers: Buffers) -> Enqueue:
    """Moves `buffers.nbytes` a call: half of them read, half written."""
    half = buffers.nbytes // 2

    def enqueue(number: int) -> None:
        source = buffers.address(number)
        bench.device.copy(source + half, source, half, bench.stream)

    return enqueue


def reading(bench: Workbench, buffers: Buffers) -> Enqueue:
    """Reads `buffers.nbytes` a call."""
    kernel, launch = _read_kernel(bench)
    count = np.uint64(buffers.nbytes // 16)
    found = bench.device.allocate(16, bench.stream)

    def enqueue(number: int) -> None:
        launch(kernel, (buffers.address(number), count, found.address))

    return enqueue


def _read_kernel(bench: Workbench) -> tuple[object, Callable[[object, tuple[object, ...]], None]]:
    cubin = compile_source(READ, present_arch(), name="read_all").cubin
    blocks = bench.device.processors * BLOCKS_PER_PROCESSOR
    config = bench.device.launch_config(Launch("read_all", (blocks, 1, 1), THREADS, (1, 1, 1), 0, (), 0))
    kernel = bench.device.load(cubin, "read_all", 0)
    return kernel, lambda loaded, arguments: bench.device.launch(bench.stream, config, loaded, arguments)
