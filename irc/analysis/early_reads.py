"""What a kernel reads, and may read, before it waits for the one launched before it (`cuda.dependency_wait`)."""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import BlockArgument, Operation, SSAValue

from irc.analysis.op_classes import behind_views, size_of
from irc.dialects.cuda import DependencyWaitOp, KernelOp
from irc.dialects.cuda.memory import GlobalLoadOp
from irc.dialects.kernel import LaunchOp
from irc.dialects.nd import ConstantOp
from irc.ir.donation import donations


def early_reads(kernel: KernelOp) -> set[int]:
    """The numbers of the kernel's arguments that it reads before it waits; none where it does not wait."""
    found = set[int]()
    for op in kernel.body.block.ops:
        if isinstance(op, DependencyWaitOp):
            return found
        found.update(_read(op))
    return set()


def _read(op: Operation) -> Iterator[int]:
    for inner in op.walk():
        if isinstance(inner, GlobalLoadOp) and isinstance(inner.pointer, BlockArgument):
            yield inner.pointer.index


def kept_operands(module: ModuleOp) -> dict[str, dict[int, int]]:
    """For each kernel the numbers of its launch operands that no launch of a function writes, and how many elements
    they have: arguments that are not donated, and constants. A kernel of which a launch reads nothing else has none, as
    it may be a function's first."""
    found: dict[str, dict[int, int]] = {}
    for function in [op for op in module.ops if isinstance(op, FuncOp) and not op.is_declaration]:
        donated = {function.body.block.args[argument] for argument in donations(function).values()}
        for launch in [op for op in function.walk() if isinstance(op, LaunchOp)]:
            kept = {i: size_of(value) for i, value in enumerate(launch.inputs) if _is_kept(value, donated)}
            kept = dict[int, int]() if len(kept) == len(launch.inputs) else kept
            name = launch.callee.root_reference.data
            known = found.get(name, kept)
            found[name] = {i: min(size, known[i]) for i, size in kept.items() if i in known}
    return found


def _is_kept(value: SSAValue, donated: set[BlockArgument]) -> bool:
    value = behind_views(value)
    return isinstance(value.owner, ConstantOp) or (isinstance(value, BlockArgument) and value not in donated)
