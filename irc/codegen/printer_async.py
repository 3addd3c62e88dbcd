"""Printing of asynchronous copies, and of what waits for them."""

from __future__ import annotations

from irc.codegen.printer import KernelPrinter, prints
from irc.codegen.printer_memory import slice_of
from irc.codegen.printer_sync import instruction
from irc.dialects import cuda


@prints(cuda.CpAsyncOp)
def cp_async(p: KernelPrinter, op: cuda.CpAsyncOp) -> None:
    predicate = () if op.predicate is None else (op.predicate,)
    p.call(f"cp_async_{op.bytes.value.data}", op.address, slice_of(p, op.pointer, op.offset), *predicate)


@prints(cuda.CpAsyncWaitOp)
def cp_async_wait(p: KernelPrinter, op: cuda.CpAsyncWaitOp) -> None:
    p.line(instruction(f"cp.async.wait_group {op.pending.value.data}"))


@prints(cuda.TmaLoadOp)
def tma_load(p: KernelPrinter, op: cuda.TmaLoadOp) -> None:
    kind = f"{'im2col_' if op.moved else ''}{'' if op.mask is None else 'multicast_'}{len(op.coordinates)}d"
    mask = () if op.mask is None else (op.mask,)
    p.call(f"tma_load_{kind}", op.map, op.address, op.barrier, *mask, *op.coordinates, *op.moved)


@prints(cuda.TmaStoreOp)
def tma_store(p: KernelPrinter, op: cuda.TmaStoreOp) -> None:
    p.call(f"tma_{'add' if op.adds else 'store'}_{len(op.coordinates)}d", op.map, op.address, *op.coordinates)


@prints(cuda.TmaStoreWaitOp)
def tma_store_wait(p: KernelPrinter, op: cuda.TmaStoreWaitOp) -> None:
    read = ".read" if op.read.value.data else ""
    p.line(instruction(f"cp.async.bulk.wait_group{read} {op.pending.value.data}"))
