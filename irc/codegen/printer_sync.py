"""Printing of synchronization and of shuffles."""

from __future__ import annotations

from irc.codegen.printer import KernelPrinter, prints
from irc.codegen.printer_arith import Narrow
from irc.dialects.cuda import (
    AnyOp,
    ClusterSyncOp,
    DependencyWaitOp,
    FenceOp,
    LaunchDependentsOp,
    NamedArriveOp,
    NamedSyncOp,
    SetRegistersOp,
    ShuffleOp,
    SyncOp,
    WarpSyncOp,
    size_of,
)


@prints(SyncOp)
def sync(p: KernelPrinter, op: SyncOp) -> None:
    p.line("__syncthreads();")


@prints(WarpSyncOp)
def warp_sync(p: KernelPrinter, op: WarpSyncOp) -> None:
    p.line("__syncwarp();")


@prints(ClusterSyncOp, DependencyWaitOp, LaunchDependentsOp)
def bare(p: KernelPrinter, op: ClusterSyncOp | DependencyWaitOp | LaunchDependentsOp) -> None:
    name = op.name.removeprefix("cuda.")
    p.use(name)
    p.line(f"{name}();")


@prints(NamedSyncOp, NamedArriveOp)
def named(p: KernelPrinter, op: NamedSyncOp | NamedArriveOp) -> None:
    name = op.name.removeprefix("cuda.")
    p.use(name)
    p.line(f"{name}({p.value(op.id)}, {op.threads.value.data});")


@prints(FenceOp)
def fence(p: KernelPrinter, op: FenceOp) -> None:
    p.line("__threadfence_block();" if op.scope.data == "block" else "__threadfence();")


@prints(SetRegistersOp)
def set_registers(p: KernelPrinter, op: SetRegistersOp) -> None:
    name = "grow_registers" if op.grow.value.data else "shrink_registers"
    p.use(name)
    p.line(f"{name}<{op.count.value.data}>();")


@prints(AnyOp)
def any_of_warp(p: KernelPrinter, op: AnyOp) -> None:
    p.define(op.result, f"__any_sync(0xffffffffu, {p.value(op.condition)})")


_SHUFFLES = {"xor": "__shfl_xor_sync", "up": "__shfl_up_sync", "down": "__shfl_down_sync", "index": "__shfl_sync"}


@prints(ShuffleOp)
def shuffle(p: KernelPrinter, op: ShuffleOp) -> None:
    """The intrinsics take 4 and 8 bytes; narrower values travel in an int."""
    function, lane, type = _SHUFFLES[op.mode.data], p.value(op.lane), p.type(op.value.type)
    value = p.value(op.value)
    if isinstance(op.value.type, Narrow):
        storage = "unsigned char" if size_of(op.value.type) == 1 else "unsigned short"
        p.define(op.result, f"{type}{{({storage}){function}(0xffffffffu, (int){value}.bits, {lane})}}")
        return
    if size_of(op.value.type) < 4:
        p.define(op.result, f"({type}){function}(0xffffffffu, (int){value}, {lane})")
        return
    p.define(op.result, f"{function}(0xffffffffu, {value}, {lane})")
