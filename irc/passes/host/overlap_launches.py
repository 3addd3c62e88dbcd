"""`overlap-launches`: a kernel may start before what was launched before it is done."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation

from irc.analysis.invariants import THREADS
from irc.dialects.cuda import (
    AtomicOp,
    CpAsyncOp,
    DependencyWaitOp,
    KernelOp,
    LaunchDependentsOp,
    StoreOp,
    TmaLoadOp,
    TmaStoreOp,
)
from irc.dialects.cuda.memory import GlobalLoadOp
from irc.ir.blocks import end_of
from irc.ir.passes import Pass
from irc.ir.rewriting import location_of
from irc.ir.targets import target_of

ACCESSES = (GlobalLoadOp, StoreOp, AtomicOp, CpAsyncOp, TmaLoadOp, TmaStoreOp)
"""The ops that read or write global memory."""


@dataclass(frozen=True)
class OverlapLaunchesPass(Pass):
    """Let each kernel wait by itself for the one launched before it, and then let the one after it start.

    Blocks of a kernel are then placed, its launch is paid for and its barriers are set up while the kernel before runs,
    which may be the last of the call before (programmatic dependent launch, CUDA C++ Programming Guide; PTX ISA,
    griddepcontrol). A kernel waits before its first access to global memory, so that what came before the one before is
    done too; it lets the next one start only then, so that no more than one kernel holds places while it waits. Kernels
    that have a wait already, and architectures before sm_90, are left alone.
    """

    name = "overlap-launches"
    requires = (THREADS,)

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if not target_of(op).has_tma:
            return
        for kernel in op.ops:
            if isinstance(kernel, KernelOp):
                _wait_first(kernel)


def _wait_first(kernel: KernelOp) -> None:
    block = kernel.body.block
    if any(isinstance(op, DependencyWaitOp) for op in kernel.walk()):
        return
    first = _first_access(block)
    for made in (DependencyWaitOp(), LaunchDependentsOp()):
        made.location = location_of(kernel)
        block.insert_op_before(made, first)


def _first_access(block: Block) -> Operation:
    """The first of the kernel's own ops that accesses global memory, by itself or inside; the last without any."""
    last = end_of(block)
    return next((op for op in block.ops if any(isinstance(inner, ACCESSES) for inner in op.walk())), last)
