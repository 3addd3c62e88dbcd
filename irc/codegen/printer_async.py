"""Printing of asynchronous copies and barriers: a call of the prelude's function of the same name."""

from __future__ import annotations

from xdsl.ir import SSAValue

from irc.codegen.printer import KernelPrinter, prints
from irc.codegen.printer_memory import slice_of
from irc.dialects.cuda import (
    BarrierArriveClusterOp,
    BarrierArriveOp,
    BarrierExpectOp,
    BarrierInitOp,
    BarrierWaitOp,
    CpAsyncCommitOp,
    CpAsyncOp,
    CpAsyncWaitOp,
    FenceBarrierInitOp,
    FenceProxyAsyncOp,
    PrefetchTensorMapOp,
    TmaLoadOp,
    TmaStoreCommitOp,
    TmaStoreOp,
    TmaStoreWaitOp,
)


def _call(p: KernelPrinter, function: str, *arguments: SSAValue | str | int) -> None:
    p.use(function)
    texts = [p.value(a) if isinstance(a, SSAValue) else str(a) for a in arguments]
    p.line(f"{function}({', '.join(texts)});")


def _instruction(p: KernelPrinter, text: str) -> None:
    """An instruction without operands, which orders memory accesses."""
    p.line(f'asm volatile("{text};" ::: "memory");')


@prints(CpAsyncOp)
def cp_async(p: KernelPrinter, op: CpAsyncOp) -> None:
    predicate = () if op.predicate is None else (op.predicate,)
    _call(p, f"cp_async_{op.bytes.value.data}", op.address, slice_of(p, op.pointer, op.offset), *predicate)


@prints(CpAsyncCommitOp)
def cp_async_commit(p: KernelPrinter, op: CpAsyncCommitOp) -> None:
    _instruction(p, "cp.async.commit_group")


@prints(CpAsyncWaitOp)
def cp_async_wait(p: KernelPrinter, op: CpAsyncWaitOp) -> None:
    _instruction(p, f"cp.async.wait_group {op.pending.value.data}")


@prints(TmaLoadOp)
def tma_load(p: KernelPrinter, op: TmaLoadOp) -> None:
    kind = f"{'im2col_' if op.moved else ''}{'' if op.mask is None else 'multicast_'}{len(op.coordinates)}d"
    mask = () if op.mask is None else (op.mask,)
    _call(p, f"tma_load_{kind}", op.map, op.address, op.barrier, *mask, *op.coordinates, *op.moved)


@prints(TmaStoreOp)
def tma_store(p: KernelPrinter, op: TmaStoreOp) -> None:
    _call(p, f"tma_{'add' if op.adds else 'store'}_{len(op.coordinates)}d", op.map, op.address, *op.coordinates)


@prints(TmaStoreCommitOp)
def tma_store_commit(p: KernelPrinter, op: TmaStoreCommitOp) -> None:
    _instruction(p, "cp.async.bulk.commit_group")


@prints(TmaStoreWaitOp)
def tma_store_wait(p: KernelPrinter, op: TmaStoreWaitOp) -> None:
    read = ".read" if op.read.value.data else ""
    _instruction(p, f"cp.async.bulk.wait_group{read} {op.pending.value.data}")


@prints(PrefetchTensorMapOp)
def prefetch_tensor_map(p: KernelPrinter, op: PrefetchTensorMapOp) -> None:
    _call(p, "prefetch_tensor_map", op.map)


@prints(BarrierInitOp)
def barrier_init(p: KernelPrinter, op: BarrierInitOp) -> None:
    _call(p, "barrier_init", op.address, op.count.value.data)


@prints(BarrierExpectOp)
def barrier_expect(p: KernelPrinter, op: BarrierExpectOp) -> None:
    _call(p, "barrier_expect", op.address, op.bytes.value.data)


@prints(BarrierWaitOp)
def barrier_wait(p: KernelPrinter, op: BarrierWaitOp) -> None:
    _call(p, "barrier_wait", op.address, op.phase)


@prints(BarrierArriveOp)
def barrier_arrive(p: KernelPrinter, op: BarrierArriveOp) -> None:
    _call(p, "barrier_arrive", op.address)


@prints(BarrierArriveClusterOp)
def barrier_arrive_cluster(p: KernelPrinter, op: BarrierArriveClusterOp) -> None:
    _call(p, "barrier_arrive_cluster", op.address, op.rank)


@prints(FenceBarrierInitOp)
def fence_barrier_init(p: KernelPrinter, op: FenceBarrierInitOp) -> None:
    _instruction(p, "fence.mbarrier_init.release.cluster")


@prints(FenceProxyAsyncOp)
def fence_proxy_async(p: KernelPrinter, op: FenceProxyAsyncOp) -> None:
    _instruction(p, "fence.proxy.async.shared::cta")
