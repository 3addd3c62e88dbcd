"""What a kernel does, and may do, before it waits for the one launched before it (`cuda.dependency_wait`)."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from irc.analysis.op_classes import behind_views
from irc.dialects.cuda import DependencyWaitOp, KernelOp, LaunchDependentsOp
from irc.dialects.cuda.async_ops import TmaLoadOp
from irc.dialects.cuda.memory import GlobalLoadOp
from irc.dialects.kernel import LaunchOp
from irc.dialects.nd import ConstantOp
from irc.ir.blocks import ops_in
from irc.ir.donation import donations


def begins_early(kernel: KernelOp) -> bool:
    """Whether the kernel reads an argument, or lets the launch behind it start, before it waits; False where it does
    not wait."""
    found = False
    for op in ops_in(kernel):
        if isinstance(op, DependencyWaitOp):
            return found
        found = found or isinstance(op, LaunchDependentsOp) or _reads_argument(op)
    return False


def _reads_argument(op: Operation) -> bool:
    return isinstance(op, TmaLoadOp) or (isinstance(op, GlobalLoadOp) and isinstance(op.pointer, BlockArgument))


def kept_operands(module: ModuleOp) -> dict[str, set[int]]:
    """For each kernel whose launches all read what the function computes, so that none of them begins it, the launch
    operands that no launch of a function writes: arguments that are not donated, and constants."""
    found: dict[str, set[int]] = {}
    first = set[str]()
    for function in [op for op in module.ops if isinstance(op, FuncOp) and not op.is_declaration]:
        donated = {function.body.block.args[argument] for argument in donations(function).values()}
        for launch in [op for op in function.walk() if isinstance(op, LaunchOp)]:
            kept = {i for i, value in enumerate(launch.inputs) if _is_kept(value, donated)}
            name = launch.callee.root_reference.data
            if not any(map(_is_computed, launch.inputs)):
                first.add(name)
            found[name] = found.get(name, kept) & kept
    return {name: kept for name, kept in found.items() if name not in first}


def _is_computed(value: SSAValue) -> bool:
    return not isinstance(behind_views(value).owner, Block | ConstantOp)


def _is_kept(value: SSAValue, donated: set[BlockArgument]) -> bool:
    value = behind_views(value)
    return isinstance(value.owner, ConstantOp) or (isinstance(value, BlockArgument) and value not in donated)
