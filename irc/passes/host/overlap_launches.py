"""`overlap-launches`: kernels of one function may start before the one before is done."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.passes import ModulePass

from irc.dialects.cuda import DependencyWaitOp, KernelOp, LaunchDependentsOp
from irc.dialects.kernel import LaunchOp
from irc.rewriting import location_of
from irc.targets import target


@dataclass(frozen=True)
class OverlapLaunchesPass(ModulePass):
    """Let each kernel of a function with several launches wait by itself for the one before it, and then let the one
    after it start.

    Blocks of a kernel are then placed, and their launch is paid for, while the kernel before runs (programmatic
    dependent launch, CUDA C++ Programming Guide; PTX ISA, griddepcontrol). Every such kernel waits before its first
    access, so that what came before the one before is done too; it lets the next one start only then, so that no more
    than one kernel holds places while it waits. A function with one launch, kernels that have a wait already, and
    architectures before sm_90 are left alone.
    """

    name = "overlap-launches"

    arch: str = "sm_90a"
    """The architecture."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if not target(self.arch).has_tma:
            return
        launched = {name for function in op.ops if isinstance(function, FuncOp) for name in _launched(function)}
        for kernel in op.ops:
            if isinstance(kernel, KernelOp) and kernel.sym_name.data in launched:
                _wait_first(kernel)


def _launched(function: FuncOp) -> list[str]:
    """The kernels of a function with several launches."""
    launches = [op for op in function.walk() if isinstance(op, LaunchOp)]
    if len(launches) < 2:
        return []
    return [op.callee.root_reference.data for op in launches]


def _wait_first(kernel: KernelOp) -> None:
    block = kernel.body.block
    first = block.first_op
    if first is None or any(isinstance(op, DependencyWaitOp) for op in kernel.walk()):
        return
    for made in (DependencyWaitOp(), LaunchDependentsOp()):
        made.location = location_of(kernel)
        block.insert_op_before(made, first)
