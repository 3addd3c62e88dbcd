"""Printing of synchronization and of shuffles: tables of the ops that are a line of their own, or a call."""

from __future__ import annotations

from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Operation

from irc.codegen.printer import KernelPrinter, prints
from irc.codegen.printer_arith import Narrow
from irc.dialects import cuda

CALLS: tuple[type[Operation], ...] = (
    cuda.BarrierArriveClusterOp,
    cuda.BarrierArriveOp,
    cuda.BarrierExpectOp,
    cuda.BarrierInitOp,
    cuda.BarrierWaitOp,
    cuda.ClusterSyncOp,
    cuda.DependencyWaitOp,
    cuda.LaunchDependentsOp,
    cuda.NamedArriveOp,
    cuda.NamedSyncOp,
    cuda.PrefetchTensorMapOp,
    cuda.RegistersFenceOp,
    cuda.WgmmaCommitOp,
    cuda.WgmmaFenceOp,
)
"""Calls of the prelude's function of the op's name, with the op's operands and its number."""


def instruction(text: str) -> str:
    """The line of an instruction without operands, which orders memory accesses."""
    return f'asm volatile("{text};" ::: "memory");'


LINES: dict[type[Operation], str] = {
    cuda.CpAsyncCommitOp: instruction("cp.async.commit_group"),
    cuda.FenceBarrierInitOp: instruction("fence.mbarrier_init.release.cluster"),
    cuda.FenceProxyAsyncOp: instruction("fence.proxy.async.shared::cta"),
    cuda.SyncOp: "__syncthreads();",
    cuda.TmaStoreCommitOp: instruction("cp.async.bulk.commit_group"),
    cuda.WarpSyncOp: "__syncwarp();",
}


@prints(*CALLS)
def call(p: KernelPrinter, op: Operation) -> None:
    numbers = [number.value.data for number in op.properties.values() if isinstance(number, IntegerAttr)]
    p.call(op.name.removeprefix("cuda."), *op.operands, *numbers)


@prints(*LINES)
def line(p: KernelPrinter, op: Operation) -> None:
    p.line(LINES[type(op)])


@prints(cuda.FenceOp)
def fence(p: KernelPrinter, op: cuda.FenceOp) -> None:
    p.line("__threadfence_block();" if op.scope.data == "block" else "__threadfence();")


@prints(cuda.SetRegistersOp)
def set_registers(p: KernelPrinter, op: cuda.SetRegistersOp) -> None:
    name = "grow_registers" if op.grow.value.data else "shrink_registers"
    p.use(name)
    p.line(f"{name}<{op.count.value.data}>();")


@prints(cuda.AnyOp)
def any_of_warp(p: KernelPrinter, op: cuda.AnyOp) -> None:
    p.define(op.result, f"__any_sync(0xffffffffu, {p.value(op.condition)})")


_SHUFFLES = {"xor": "__shfl_xor_sync", "up": "__shfl_up_sync", "down": "__shfl_down_sync", "index": "__shfl_sync"}


@prints(cuda.ShuffleOp)
def shuffle(p: KernelPrinter, op: cuda.ShuffleOp) -> None:
    """The intrinsics take 4 and 8 bytes; narrower values travel in an int."""
    function, lane, type = _SHUFFLES[op.mode.data], p.value(op.lane), p.type(op.value.type)
    value = p.value(op.value)
    if isinstance(op.value.type, Narrow):
        storage = "unsigned char" if cuda.size_of(op.value.type) == 1 else "unsigned short"
        p.define(op.result, f"{type}{{({storage}){function}(0xffffffffu, (int){value}.bits, {lane})}}")
        return
    if cuda.size_of(op.value.type) < 4:
        p.define(op.result, f"({type}){function}(0xffffffffu, (int){value}, {lane})")
        return
    p.define(op.result, f"{function}(0xffffffffu, {value}, {lane})")
