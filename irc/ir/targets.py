"""Facts of the GPU architectures that irc compiles for, and of the CPU.

Limits are those of the CUDA C++ Programming Guide, section Compute Capabilities (tables of technical specifications for
each compute capability): shared memory that one block may opt in to, registers, threads. What depends on the product
and not on the architecture (SM count, L2, bandwidth, peak rates) is that of one product for each, from its data
sheet: A100 SXM 80 GB, L40S, H200 SXM, B200 SXM. Peak rates are dense.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING

from irc.ir.target_costs import Costs, OperandCosts
from irc.support.diagnostics import IrcError

if TYPE_CHECKING:
    from xdsl.ir import IRNode, Operation

MAX_REGISTERS = 240
"""What setmaxnreg gives a thread at most here: 255 rounded down, less what ptxas keeps."""

KIB = 1024
MIB = 1024 * KIB
TERA = 1e12

TENSOR_MAP_RANK = 5
TENSOR_MAP_ALIGNMENT = 16
"""CUDA driver API, cuTensorMapEncodeTiled: at most 5 dimensions, strides but the innermost multiples of 16 bytes."""


@dataclass(frozen=True)
class Target:
    """One architecture.

    name: what NVRTC calls it, `sm_90a`. sms: streaming multiprocessors. shared_memory: bytes that one block can have.
    shared_memory_per_sm: bytes of an SM. registers: 32-bit registers of an SM. clock: boost clock, Hz.
    registers_per_thread, threads_per_block, threads_per_sm, blocks_per_sm, max_cluster (blocks of a cluster): limits.
    clusters: for sizes of clusters, how many run at once with a block an SM: a cluster stays inside a GPC, and SMs of
    GPCs that are no multiple of it stay empty (cuOccupancyMaxActiveClusters on the product).
    l2: bytes. bandwidth: of the device memory, bytes/s. l2_bytes_per_cycle: of the L2, for each SM; the A100's of its
    white paper (5120 bytes a cycle in all), taken for the others too.
    has_tma: tensor memory accelerator, mbarriers and clusters.
    has_tcgen05: Tensor Memory, and the products of sm_100a whose sums are there (`irc/layout/tcgen05.py`).
    mma: for each element of operands, the shapes (m, n, k) of the warp-wide `mma.sync` on it (PTX ISA, Warp-level
        matrix instructions); the largest shape first.
    wgmma: for each element of operands, the extent of k of `wgmma.mma_async` (PTX ISA, Asynchronous warpgroup-level
        matrix instructions); m is 64, n a multiple of 8 up to 256.
    flops: for each element of operands, the peak rate of products, operations/s (a multiply-add is two).
    costs: what passes weigh.
    exact_tiles: whether tiles may have any extents: nothing divides them among threads of warps.
    interprets: whether the interpreter, beside it, runs kernels that it cannot.
    """

    name: str
    sms: int
    shared_memory: int
    shared_memory_per_sm: int
    threads_per_sm: int
    blocks_per_sm: int
    l2: int
    bandwidth: float
    clock: float
    flops: Mapping[str, float]
    mma: Mapping[str, tuple[tuple[int, int, int], ...]]
    costs: Costs
    wgmma: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    has_tma: bool = False
    has_tcgen05: bool = False
    max_cluster: int = 1
    clusters: Mapping[int, int] = field(default_factory=lambda: MappingProxyType({}))
    l2_bytes_per_cycle: float = 5120 / 108
    registers: int = 65536
    registers_per_thread: int = 255
    threads_per_block: int = 1024
    warp_size: int = 32
    exact_tiles: bool = False
    interprets: bool = False

    @property
    def has_wgmma(self) -> bool:
        """The warp-group products of sm_90a."""
        return bool(self.wgmma)

    def resident_clusters(self, size: int) -> int:
        """Clusters of `size` blocks that run at once with a block an SM."""
        return self.clusters.get(size, self.sms // size if size == 1 else self.sms // (2 * size))

    def multiply_adds(self, element: str) -> float:
        """That an SM makes in a cycle, of operands of an element as irc multiplies them: f32 in three passes of tf32 by
        warp groups, else by fma, as other elements without a rate of their own."""
        name, passes = ("tf32", 3) if element == "f32" and self.has_wgmma else (element, 1)
        return self.costs.multiply_adds * self.flops.get(name, self.flops["f32"]) / self.flops["f16"] / passes

    @property
    def scalar_multiply_adds(self) -> float:
        """That an SM makes in a cycle without tensor cores, in f32."""
        return self.costs.multiply_adds * self.flops["f32"] / self.flops["f16"]

    @property
    def launch_time(self) -> float:
        """Seconds that one more launch takes, however little it does."""
        return self.costs.launch / (self.sms * self.clock)


_MMA_SM80: Mapping[str, tuple[tuple[int, int, int], ...]] = MappingProxyType(
    {
        "f16": ((16, 8, 16), (16, 8, 8)),
        "bf16": ((16, 8, 16), (16, 8, 8)),
        "tf32": ((16, 8, 8), (16, 8, 4)),
        "f64": ((8, 8, 4),),
        "i8": ((16, 8, 32), (16, 8, 16)),
        "u8": ((16, 8, 32), (16, 8, 16)),
    }
)
_MMA_SM89: Mapping[str, tuple[tuple[int, int, int], ...]] = MappingProxyType(
    {**_MMA_SM80, "f8e4m3": ((16, 8, 32),), "f8e5m2": ((16, 8, 32),)}
)
_MMA_SM90: Mapping[str, tuple[tuple[int, int, int], ...]] = MappingProxyType(
    {**_MMA_SM89, "f64": ((16, 8, 16), (16, 8, 8), (16, 8, 4), (8, 8, 4))}
)
_WGMMA_SM90: Mapping[str, int] = MappingProxyType(
    {"f16": 16, "bf16": 16, "tf32": 8, "f8e4m3": 32, "f8e5m2": 32, "i8": 32, "u8": 32}
)


def _rates(f64: float, f32: float, tf32: float, f16: float, f8: float, i8: float) -> Mapping[str, float]:
    """Peak rates by element, from TFLOP/s."""
    rates = {
        "f64": f64,
        "f32": f32,
        "tf32": tf32,
        "f16": f16,
        "bf16": f16,
        "f8e4m3": f8,
        "f8e5m2": f8,
        "i8": i8,
        "u8": i8,
    }
    return MappingProxyType({name: rate * TERA for name, rate in rates.items()})


TARGETS: tuple[Target, ...] = (
    Target(
        name="sm_80",
        sms=108,
        shared_memory=163 * KIB,
        shared_memory_per_sm=164 * KIB,
        threads_per_sm=2048,
        blocks_per_sm=32,
        l2=40 * MIB,
        bandwidth=2.039e12,
        clock=1.41e9,
        flops=_rates(f64=19.5, f32=19.5, tf32=156, f16=312, f8=312, i8=624),
        mma=_MMA_SM80,
        costs=Costs(
            multiply_adds=1024,
            operand_bytes=47,
            byte=0.075,
            launch=2.3e5,
            idle_elements=1 << 15,
            operand=OperandCosts.of_warps(47),
        ),
    ),
    Target(
        name="sm_89",
        sms=142,
        shared_memory=99 * KIB,
        shared_memory_per_sm=100 * KIB,
        threads_per_sm=1536,
        blocks_per_sm=24,
        l2=48 * MIB,
        bandwidth=0.864e12,
        clock=2.52e9,
        flops=_rates(f64=1.4, f32=91.6, tf32=183, f16=362, f8=733, i8=733),
        mma=_MMA_SM89,
        costs=Costs(
            multiply_adds=512,
            operand_bytes=47,
            byte=0.41,
            launch=5.5e5,
            idle_elements=1 << 13,
            operand=OperandCosts.of_warps(47),
        ),
    ),
    Target(
        name="sm_90a",
        sms=132,
        shared_memory=227 * KIB,
        shared_memory_per_sm=228 * KIB,
        threads_per_sm=2048,
        blocks_per_sm=32,
        l2=50 * MIB,
        bandwidth=4.8e12,
        clock=1.98e9,
        flops=_rates(f64=67, f32=67, tf32=494, f16=989, f8=1979, i8=1979),
        mma=_MMA_SM90,
        wgmma=_WGMMA_SM90,
        has_tma=True,
        costs=Costs(
            multiply_adds=2048,
            operand_bytes=62,
            byte=0.05,
            launch=4e5,
            idle_elements=1 << 16,
            operand=OperandCosts(tile=(128, 256), byte=0.0094, free_bytes=2.5, instruction=0.0032, written=0.22),
            row_tiles=(64,),
        ),
        max_cluster=16,
        clusters=MappingProxyType({2: 66, 4: 30, 8: 15, 16: 7}),
    ),
    Target(
        name="sm_100a",
        sms=148,
        shared_memory=227 * KIB,
        shared_memory_per_sm=228 * KIB,
        threads_per_sm=2048,
        blocks_per_sm=32,
        l2=126 * MIB,
        bandwidth=8.0e12,
        clock=1.965e9,
        flops=_rates(f64=37, f32=75, tf32=1100, f16=2250, f8=4500, i8=4500),
        mma=_MMA_SM90,
        has_tma=True,
        has_tcgen05=True,
        costs=Costs(
            multiply_adds=4096,
            operand_bytes=62,
            byte=0.036,
            launch=4.5e5,
            idle_elements=1 << 16,
            operand=OperandCosts.of_warps(62),
        ),
        max_cluster=16,
    ),
)
"""In the order of compute capability."""

CPU = Target(
    name="cpu",
    sms=8,
    shared_memory=512 * KIB,
    shared_memory_per_sm=MIB,
    threads_per_sm=1,
    blocks_per_sm=1,
    l2=MIB,
    bandwidth=5e10,
    clock=3e9,
    flops=MappingProxyType({"f64": 0.4e12, "f32": 0.8e12, "f16": 0.8e12}),
    mma=MappingProxyType({}),
    costs=Costs(
        multiply_adds=32,
        operand_bytes=32,
        byte=0.5,
        launch=2e5,
        idle_elements=1 << 13,
        operand=OperandCosts(tile=(256, 512), byte=1 / 16, free_bytes=4, instruction=1 / 16),
    ),
    exact_tiles=True,
    interprets=True,
)
"""Where there is no GPU: an "SM" is a core, of eight of an x86-64 with AVX-512. What is chosen by it does not depend on
the machine that runs it, so that sums are the same everywhere; threads take parts of the tiles."""

DEFAULT_TARGET = "sm_90a"


@cache
def _by_name() -> dict[str, Target]:
    return {target.name: target for target in (*TARGETS, CPU)}


def target(name: str) -> Target:
    """The architecture with this name; IrcError where irc has none such."""
    if (found := _by_name().get(name)) is None:
        known = ", ".join(t.name for t in TARGETS)
        raise IrcError(f"unknown architecture {name}", hint=f"irc compiles for {known}")
    return found


TARGET = "irc.target"
"""The attribute of a module that names its architecture."""


def target_of(op: IRNode) -> Target:
    """The architecture that the module of an op or a block is for: its `irc.target`, the default where it has none;
    IrcError where irc has none such."""
    named = getattr(op.get_toplevel_object(), "attributes", {}).get(TARGET)
    return target(DEFAULT_TARGET if named is None else getattr(named, "data", str(named)))


def set_target(module: Operation, name: str) -> None:
    """Says which architecture the module is for; IrcError where irc has none such, or the module is for another."""
    from xdsl.dialects.builtin import StringAttr

    if TARGET in module.attributes and (found := target_of(module)) is not target(name):
        hint = "the target interpret runs it" if target(name).exact_tiles else f"give --arch {found.name}"
        raise IrcError(f"the module is for {found.name}, not for {name}", module.location, hint)
    module.attributes[TARGET] = StringAttr(target(name).name)


SHARED_GPU = "irc.shared_gpu"
"""The attribute of a module beside whose kernels others hold SMs, as those of NCCL."""


def shares_gpu(op: IRNode) -> bool:
    """Whether others hold SMs beside the kernels of an op's module."""
    return SHARED_GPU in getattr(op.get_toplevel_object(), "attributes", {})


def share_gpu(module: Operation) -> None:
    """Says so of a module."""
    from xdsl.dialects.builtin import UnitAttr

    module.attributes[SHARED_GPU] = UnitAttr()
