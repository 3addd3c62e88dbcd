"""Asynchronous ops on the simulator: kernels that are right, and the same with each kind of bug planted and found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from sim_async_kernels import CLUSTER, COPY_ASYNC, MMA, RING, ROUND_TRIP, TURNS, WGMMA, edited
from sim_kernels import parse_kernel

from irc.dialects.cuda import Cuda, InstructionOp, KernelOp, LookupOp, ReturnOp, channel, dot, exchange
from irc.interpreters.sim import Counters, Kernel, Memory, SimulationError, Span
from irc.interpreters.sim.registry import simulated_ops

Array = np.ndarray[Any, Any]

BF16 = np.dtype(ml_dtypes.bfloat16)
RNG = np.random.default_rng(0)


def floats(*shape: int) -> Array:
    return RNG.standard_normal(shape).astype(np.float32)


def launched(
    kernel: KernelOp, arrays: list[Array], result: Array, *, lazy: bool, counters: Counters | None = None
) -> Array:
    """What a kernel writes to its last argument, an array like `result`."""
    memories = [Memory.of(f"array {i}", array) for i, array in enumerate(arrays)]
    memories.append(Memory.empty("result", result.nbytes))
    Kernel(kernel).launch([Span(memory, 0, memory.size) for memory in memories], counters, lazy=lazy)
    return memories[-1].data[: result.nbytes].view(result.dtype).reshape(result.shape)


def copied_in_groups(x: Array) -> Array:
    made = x.reshape(2, 64, 4)[:, ::-1].copy()
    made[1, :4] = 0
    return made.reshape(-1)


@dataclass(frozen=True)
class Case:
    text: str
    arrays: list[Array]
    result: Array
    tolerance: float = 0.0


X = floats(8, 40)
A, B = floats(64, 16).astype(BF16), floats(32, 16).astype(BF16)
ROWS = floats(40, 32)
PART = floats(8, 32)
LINE = floats(512)
M, N = floats(16, 16).astype(BF16), floats(16, 8).astype(BF16)

CASES = {
    "round trip": Case(ROUND_TRIP, [X], 2 * X),
    "wgmma": Case(WGMMA, [A, B], A.astype(np.float32) @ B.astype(np.float32).T, 1e-5),
    "ring": Case(RING, [ROWS], ROWS.sum(axis=0), 1e-5),
    "turns": Case(TURNS, [], np.ones(64, np.float32)),
    "cluster": Case(CLUSTER, [PART], np.stack([PART, PART])),
    "cp.async": Case(COPY_ASYNC, [LINE], copied_in_groups(LINE)),
    "mma": Case(MMA, [M, N], (M.astype(np.float32) @ N.astype(np.float32)).astype(BF16), 4e-2),
}

both_times = pytest.mark.parametrize("lazy", [False, True], ids=["at once", "late"])


@both_times
@pytest.mark.parametrize("name", CASES)
def test_right_kernels_are_clean(name: str, lazy: bool) -> None:
    case = CASES[name]
    found = launched(parse_kernel(case.text), case.arrays, case.result, lazy=lazy)
    assert np.abs(found.astype(np.float64) - case.result.astype(np.float64)).max() <= case.tolerance


APART = """
  %gate = cuda.shared {offset = 3072}
  %opens = arith.cmpi eq, %thread, %c0 : index
  scf.if %opens {
    cuda.barrier_init %gate {count = 1}
    cuda.fence_barrier_init
  }
  cuda.sync  // gate
  %early = arith.cmpi ult, %thread, %c32 : index
  scf.if %early {
    cuda.barrier_wait %gate, %s0
  }
  %key = arith.cmpi eq, %thread, %c32 : index
  scf.if %key {
    cuda.barrier_arrive %gate
  }
"""
"""The first warp waits for the second one, with no other side of the branch."""


@both_times
def test_warps_go_on_by_themselves(lazy: bool) -> None:
    """Where lanes that run together are stuck: the products too are issued warp by warp."""
    case = CASES["wgmma"]
    kernel = parse_kernel(edited(case.text, "  %lhs = cuda.shared", APART + "  %lhs = cuda.shared"))
    counters = Counters()
    found = launched(kernel, case.arrays, case.result, lazy=lazy, counters=counters)
    assert np.abs(found - case.result).max() <= case.tolerance
    counts = {entry.op: entry.instructions for entry in counters.ops(kernel)}
    assert counts["cuda.wgmma"] == 4


SEEN = edited(
    edited(
        ROUND_TRIP,
        "{read = true}",
        "\n    cuda.load %seen[%tile] -> %r[%c0] : !cuda.ptr<f32> -> !cuda.registers<4 x f32>",
    ),
    ") grid",
    ", %seen: !cuda.ptr<f32>) grid",
)
"""The round trip, whose thread loads what it has stored."""


def load_back(text: str, *, lazy: bool) -> None:
    memories = [Memory.of("x", X), Memory.empty("result", X.nbytes)]
    spans = [Span(memory, 0, memory.size) for memory in memories]
    Kernel(parse_kernel(edited(text, "writes [0, 1]", "writes [0, 1, 0]"))).launch([*spans, spans[1]], lazy=lazy)


@both_times
def test_a_thread_sees_what_its_store_wrote_when_it_has_waited(lazy: bool) -> None:
    load_back(SEEN, lazy=lazy)
    early = edited(SEEN, "    cuda.tma_store_wait \n", "    cuda.tma_store_wait {read = true}\n")
    with pytest.raises(SimulationError, match="cuda.load reads .* a TMA store of thread 0") as caught:
        load_back(early, lazy=lazy)
    assert caught.value.kind == "race"


INITIALIZED = "cuda.sync  // initialized"
WAIT_FULL = "cuda.barrier_wait %full, %s0\n"
EXPECT = "cuda.barrier_expect %full {bytes = 1024}\n    cuda.tma_load"
STAGED = "cuda.sync  // staged"
STORE_WAIT = "    cuda.tma_store_wait {read = true}\n"
FENCE = "  cuda.fence_proxy_async\n"
WGMMA_WAIT = "  cuda.wgmma_wait\n"
AFTER = "  cuda.wgmma_wait\n  cuda.registers_fence %acc : !cuda.registers<16 x f32>\n"
THREE_BLOCKS = ("shared 4096", "shared 4096 min_blocks 3")

RELEASE = (
    "      cuda.warp_sync\n      %elected = arith.cmpi eq, %lane, %c0 : index\n"
    "      scf.if %elected {\n        cuda.barrier_arrive %e\n      }\n"
)
CLUSTER_RELEASE = "    cuda.warp_sync\n    scf.if %first {\n      cuda.barrier_arrive_cluster %empty, %s0\n    }\n"

BUGS: dict[str, tuple[str, list[tuple[str, str]], str, str]] = {
    "read before the wait": ("round trip", [(WAIT_FULL, "")], "race", "cuda.shared_load reads .* TMA"),
    "wait for the phase before": (
        "round trip",
        [(WAIT_FULL, "cuda.barrier_wait %full, %s1\n")],
        "race|uninitialized",
        "cuda.shared_load reads .* TMA|cuda.shared_load of .* nothing has written",
    ),
    "too few bytes expected": (
        "round trip",
        [("{bytes = 1024}", "{bytes = 512}")],
        "protocol",
        "512 bytes more than the phase was told",
    ),
    "too many bytes expected": (
        "round trip",
        [("{bytes = 1024}", "{bytes = 1040}")],
        "deadlock",
        r"threads 0-63 .*: waits on the barrier at byte 2048 .*0 of 1 arrivals and 16 bytes",
    ),
    "an arrival without the bytes": (
        "round trip",
        [(EXPECT, "cuda.barrier_arrive %full\n    cuda.tma_load")],
        "race",
        "cuda.shared_load reads .* TMA",
    ),
    "no arrival at all": (
        "round trip",
        [(EXPECT, "cuda.tma_load")],
        "deadlock",
        "1 of 1 arrivals and -1024 bytes",
    ),
    "more arrivals than come": (
        "round trip",
        [("{count = 1}", "{count = 2}")],
        "deadlock",
        "phase 0 waits for 1 of 2 arrivals",
    ),
    "an arrival too many": (
        "round trip",
        [(EXPECT, "cuda.barrier_expect %full {bytes = 2048}\n    cuda.barrier_arrive %full\n    cuda.tma_load")],
        "protocol",
        "an arrival beyond the 1 of a phase, which still waits for 2048 bytes",
    ),
    "a barrier used before it is seen": ("round trip", [(INITIALIZED, "")], "race", "barrier_wait on the barrier"),
    "a barrier that TMA cannot see": (
        "round trip",
        [("    cuda.fence_barrier_init\n", "")],
        "protocol",
        "no cuda.fence_barrier_init",
    ),
    "no barrier there": (
        "round trip",
        [("    cuda.barrier_init %full {count = 1}\n", "")],
        "uninitialized",
        "byte 2048 of shared memory, which is no barrier",
    ),
    "a barrier initialized by every thread": (
        "round trip",
        [
            (
                "  scf.if %first {\n    cuda.barrier_init",
                "  %all = arith.cmpi uge, %thread, %c0 : index\n  scf.if %all {\n    cuda.barrier_init",
            )
        ],
        "race",
        "cuda.barrier_init writes",
    ),
    "a box at an odd address": (
        "round trip",
        [("%box = cuda.shared {offset = 0, align = 1024}", "%box = cuda.shared {offset = 16}")],
        "misaligned",
        "no multiple of 128",
    ),
    "a box that begins between 16 bytes": (
        "round trip",
        [("%tile = arith.muli %block, %c32 : index", "%tile = arith.muli %block, %c2 : index")],
        "misaligned",
        "cuda.tma_load of rows that begin at byte 8, which is no multiple of 16",
    ),
    "a box beyond the end": (
        "round trip",
        [("%stage = cuda.shared {offset = 1024, align = 1024}", "%stage = cuda.shared {offset = 3200, align = 128}")],
        "out of bounds",
        "of 4096 bytes of shared memory",
    ),
    "staging that is not fenced": (
        "round trip",
        [(FENCE, "")],
        "race",
        "cuda.tma_store accesses byte 1024 of shared memory, which thread 0 .*fence_proxy_async",
    ),
    "staging fenced too early": (
        "round trip",
        [(FENCE, ""), ("  cuda.shared_store", "  cuda.fence_proxy_async\n  cuda.shared_store")],
        "race",
        "fence_proxy_async between",
    ),
    "staging without a barrier": ("round trip", [(STAGED, "")], "race", "cuda.tma_store reads .* thread"),
    "a store that nobody waits for": ("round trip", [(STORE_WAIT, "")], "protocol", "no cuda.tma_store_wait covers"),
    "a store that nobody commits": (
        "round trip",
        [("    cuda.tma_store_commit\n", "")],
        "protocol",
        "no cuda.tma_store_wait covers",
    ),
    "staging overwritten before it is read": (
        "round trip",
        [(STORE_WAIT, "    cuda.shared_store %r[%c0], %stage {count = 4} : !cuda.registers<4 x f32>\n" + STORE_WAIT)],
        "race",
        "cuda.shared_store writes .* a TMA store of thread 0",
    ),
    "operands that are not fenced": ("wgmma", [(FENCE, "")], "race", "cuda.wgmma accesses .*fence_proxy_async"),
    "operands without a barrier": (
        "wgmma",
        [(FENCE + "  cuda.sync\n", FENCE)],
        "race",
        "cuda.wgmma reads",
    ),
    "an accumulator read in flight": (
        "wgmma",
        [(WGMMA_WAIT, "")],
        "race",
        "cuda.store accesses registers that a wgmma in flight uses",
    ),
    "a wait for too few groups": (
        "wgmma",
        [(WGMMA_WAIT, "  cuda.wgmma_wait {pending = 1}\n")],
        "race",
        "a wgmma in flight",
    ),
    "a wait without a commit": (
        "wgmma",
        [("  cuda.wgmma_commit\n", "")],
        "race",
        "a wgmma in flight",
    ),
    "no compiler fence after the wait": ("wgmma", [(AFTER, WGMMA_WAIT)], "race", "no cuda.registers_fence .* after"),
    "no wgmma_fence": ("wgmma", [("  cuda.wgmma_fence\n", "")], "race", "since the last cuda.wgmma_fence"),
    "an accumulator set after the fence": (
        "wgmma",
        [("  cuda.wgmma_fence\n", "  cuda.wgmma_fence\n  cuda.set %acc[%c0], %zero : !cuda.registers<16 x f32>\n")],
        "race",
        "since the last cuda.wgmma_fence",
    ),
    "no compiler fence before the product": (
        "wgmma",
        [("  cuda.registers_fence %acc : !cuda.registers<16 x f32>\n  cuda.wgmma_fence\n", "  cuda.wgmma_fence\n")],
        "race",
        "no cuda.registers_fence",
    ),
    "operands overwritten in flight": (
        "wgmma",
        [(WGMMA_WAIT, "  cuda.shared_store %r[%c0], %lhs_at {count = 8} : !cuda.registers<8 x bf16>\n" + WGMMA_WAIT)],
        "race",
        "cuda.shared_store writes .* a wgmma of warp group 0",
    ),
    "a product of some warps": (
        "wgmma",
        [
            ("  cuda.wgmma %acc", "  scf.if %low {\n  cuda.wgmma %acc"),
            ("  cuda.wgmma_commit\n", "  }\n  cuda.wgmma_commit\n"),
        ],
        "protocol",
        "cuda.wgmma without all four warps",
    ),
    "registers that nobody gives back": (
        "wgmma",
        [
            ("  %lhs = cuda.shared", "  cuda.set_registers {count = 256, grow = true}\n  %lhs = cuda.shared"),
            THREE_BLOCKS,
        ],
        "deadlock",
        "threads 0-127: waits for 256 registers a thread",
    ),
    "registers that are too few to give back": (
        "wgmma",
        [
            ("  %lhs = cuda.shared", "  cuda.set_registers {count = 256, grow = false}\n  %lhs = cuda.shared"),
            THREE_BLOCKS,
        ],
        "protocol",
        "to keep 256, but the warp has 168 at most",
    ),
    "a stage released before it is read": (
        "ring",
        [(RELEASE, ""), ("      scf.for %row", RELEASE + "      scf.for %row")],
        "race",
        "cuda.tma_load writes .* thread",
    ),
    "a ring that is not released": (
        "ring",
        [("        cuda.barrier_arrive %e\n", "")],
        "deadlock",
        r"thread 0: waits on the barrier at byte 2064 .*1 of 1 arrivals.*thread.* 32-63: waits on the barrier",
    ),
    "a ring released by one lane for all": ("ring", [("      cuda.warp_sync\n", "")], "race", "cuda.tma_load writes"),
    "a producer that starts with the wrong phase": (
        "ring",
        [("%fresh = arith.xori %parity, %c1", "%fresh = arith.xori %parity, %c0")],
        "deadlock",
        "waits on the barrier at byte 2064",
    ),
    "a consumer that does not turn its phase": (
        "ring",
        [
            (
                "      %phase = arith.index_cast %parity : index to i32",
                "      %phase = arith.index_cast %c0 : index to i32",
            )
        ],
        "protocol",
        "waits for phase 0 of .* can miss it",
    ),
    "a turn ended by a lane that others have not reached": (
        "turns",
        [("    cuda.warp_sync\n", "")],
        "protocol",
        "thread 1, which waits for phase .* can miss it: it may look after the next is over",
    ),
    "a cluster used before it has started": (
        "cluster",
        [("cuda.cluster_sync  // initialized", "cuda.sync")],
        "race",
        "on the barrier .* no barrier of threads between",
    ),
    "a block that leaves its cluster": (
        "cluster",
        [("cuda.cluster_sync  // before leaving", "")],
        "protocol",
        "cuda.barrier_arrive_cluster on a barrier of block 0, which may have ended",
    ),
    "a multicast beyond the cluster": (
        "cluster",
        [("multicast %s3", "multicast %s7")],
        "out of bounds",
        "of a cluster of 2",
    ),
    "a multicast that one block does not expect": (
        "cluster",
        [
            (
                "      cuda.barrier_expect %full {bytes = 1024}\n",
                "      scf.if %leader {\n        cuda.barrier_expect %full {bytes = 1024}\n      }\n",
            )
        ],
        "deadlock",
        "1 of 1 arrivals and -1024 bytes",
    ),
    "a stage overwritten in the other block": (
        "cluster",
        [(CLUSTER_RELEASE, ""), ("    scf.for %row", CLUSTER_RELEASE + "    scf.for %row")],
        "race",
        "cuda.tma_load writes .* thread .* of the cluster has read",
    ),
    "copies that nobody waits for": (
        "cp.async",
        [("  cuda.cp_async_wait {pending = 0}\n", "")],
        "race",
        "cuda.shared_load reads .* a cp.async of thread",
    ),
    "a wait that leaves the copy out": (
        "cp.async",
        [("{pending = 1}", "{pending = 2}")],
        "race",
        "a cp.async of thread",
    ),
    "copies of others without a barrier": ("cp.async", [("cuda.sync  // second", "")], "race", "a cp.async of thread"),
    "copies that are not committed": (
        "cp.async",
        [("cuda.cp_async_commit  // 1", "")],
        "race",
        "a cp.async of thread",
    ),
    "copies at odd addresses": (
        "cp.async",
        [("%o = arith.muli %thread, %c4 : index", "%o = arith.muli %thread, %c3 : index")],
        "misaligned",
        "cuda.cp_async of 16 bytes",
    ),
    "matrices loaded before they are there": (
        "mma",
        [("  cuda.cp_async_wait\n", "")],
        "race",
        "cuda.ldmatrix reads .* a cp.async",
    ),
    "matrices loaded without a barrier": (
        "mma",
        [("  cuda.cp_async_wait\n  cuda.warp_sync\n", "  cuda.cp_async_wait\n")],
        "race",
        "cuda.ldmatrix reads .* a cp.async",
    ),
    "a stored matrix read at once": ("mma", [("cuda.warp_sync  // stored", "")], "race", "cuda.shared_load reads"),
    "a product of some lanes": (
        "mma",
        [
            ("  cuda.mma %rc", "  scf.if %half {\n  cuda.mma %rc"),
            ("  scf.for %i = %c0 to %c4 step %c1 {\n    %v", "  }\n  scf.for %i = %c0 to %c4 step %c1 {\n    %v"),
        ],
        "divergence",
        "cuda.mma needs all lanes of a warp",
    ),
}
"""For each bug: the kernel that it is planted in, the edits, the kind of the error and what its message says."""


@both_times
@pytest.mark.parametrize("bug", BUGS)
def test_planted_bugs_are_found(bug: str, lazy: bool) -> None:
    name, edits, kind, message = BUGS[bug]
    case = CASES[name]
    text = case.text
    for old, new in edits:
        text = edited(text, old, new)
    with pytest.raises(SimulationError, match=message) as caught:
        launched(parse_kernel(text), case.arrays, case.result, lazy=lazy)
    assert caught.value.kind in kind.split("|")


def test_every_op_of_the_device_has_a_meaning() -> None:
    """Those of products, channels and exchanges mean what passes make of them."""
    lowered = {op for op in Cuda.operations if op.__module__ in (channel.__name__, dot.__name__, exchange.__name__)}
    scalars = {InstructionOp, LookupOp}  # tests/unit/test_device_functions.py
    assert set(Cuda.operations) - simulated_ops() - lowered - scalars - {KernelOp, ReturnOp} == set()
