"""`overlap-launches`: a kernel may start before what was launched before it is done."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.traits import is_side_effect_free as is_pure

from irc.analysis.early_reads import kept_operands
from irc.analysis.invariants import THREADS
from irc.dialects.cuda import DependencyWaitOp, KernelOp, LaunchDependentsOp, RegistersOp
from irc.dialects.cuda.common import GLOBAL, AccessOp
from irc.dialects.cuda.memory import GlobalLoadOp
from irc.ir.blocks import begin_of, block_of, end_of, ops_in
from irc.ir.passes import Pass
from irc.ir.rewriting import location_of
from irc.ir.targets import target_of
from irc.planning.early_copies import copy_early


@dataclass(frozen=True)
class OverlapLaunchesPass(Pass):
    """Let each kernel wait by itself for the one launched before it, and then let the one after it start.

    Blocks of a kernel are then placed, its launch is paid for and its barriers are set up while the kernel before runs,
    which may be the last of the call before (programmatic dependent launch, CUDA C++ Programming Guide; PTX ISA,
    griddepcontrol). A kernel waits before its first access to global memory, so that what came before the one before is
    done too.

    A kernel that reads results of others lets the next one start at its own beginning: of a chain of short kernels
    those that find places are all there when the first one runs. A kernel that may be a plan's first does so when it
    has waited: what came before the plan is done when a second one starts. So loads of arguments that are not donated,
    as of weights, into registers, or by TMA into free stages, come before the wait in kernels that read results of
    others, too: no launch of the plan writes these. Such launches overlap with one of their plan alone. Kernels that
    have a wait already, those of the user's CUDA C++, and architectures before sm_90 are left alone.
    """

    name = "overlap-launches"
    requires = (THREADS,)

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if not target_of(op).has_tma:
            return
        kernels = [kernel for kernel in op.ops if isinstance(kernel, KernelOp) and kernel.code is None]
        waiting = [kernel for kernel in kernels if any(isinstance(inner, DependencyWaitOp) for inner in ops_in(kernel))]
        kept = {} if waiting else kept_operands(op)
        for kernel in kernels:
            if kernel not in waiting:
                wait_first(kernel, kept.get(kernel.sym_name.data))


def wait_first(kernel: KernelOp, kept: Set[int] | None) -> None:
    """The kernel waits before its first access to global memory. kept: its launch operands that no launch writes; None
    where it may be the first of a plan."""
    block = kernel.body.block
    first = _first_access(block)
    wait, start = DependencyWaitOp(), LaunchDependentsOp()
    for made in (wait, start):
        made.location = location_of(kernel)
        block.insert_op_before(made, first)
    if kept is None:
        return
    start.detach()
    block.insert_op_before(start, begin_of(block))
    numbers = kernel.operand_of_argument
    early = {argument for argument, number in zip(block.args, numbers, strict=True) if number in kept}
    if early and not copy_early(kernel, wait, early):
        _load_early(wait, early)


def _load_early(wait: Operation, early: Set[SSAValue]) -> None:
    """Moves loads of these arguments, and what they need, before the wait."""
    behind = {op: place for place, op in enumerate(_behind(wait))}
    for op in list(behind):
        for each in _needed(op, behind, early) or ():
            del behind[each]
            each.detach()
            block_of(wait).insert_op_before(each, wait)


def _behind(op: Operation) -> Iterator[Operation]:
    following = op.next_op
    while following is not None:
        yield following
        following = following.next_op


def _needed(op: Operation, behind: Mapping[Operation, int], early: Set[SSAValue]) -> list[Operation] | None:
    """A load of such arguments, or a loop of such loads, with what it needs of the ops behind the wait, in order; None
    where it is something else, or cannot go there. behind: the place of each of those ops."""
    loads = [inner for inner in ops_in(op) if isinstance(inner, GlobalLoadOp)]
    if not loads or not all(load.pointer in early for load in loads) or op.results:
        return None
    if not all(isinstance(inner, GlobalLoadOp | scf.ForOp | scf.YieldOp) or is_pure(inner) for inner in ops_in(op)):
        return None
    found, waiting = {op}, [op]
    while waiting:
        operands = [operand for inner in waiting.pop().walk() for operand in inner.operands]
        for owner in (operand.owner for operand in operands):
            if isinstance(owner, Operation) and owner in behind and owner not in found:
                if not (is_pure(owner) or isinstance(owner, RegistersOp)):
                    return None
                found.add(owner)
                waiting.append(owner)
    users = (block_of(op).find_ancestor_op_in_block(use.operation) for load in loads for use in load.array.uses)
    if any(user and behind.get(user, behind[op]) < behind[op] for user in users):
        return None
    return sorted(found, key=behind.__getitem__)


def _first_access(block: Block) -> Operation:
    """The first of the kernel's own ops that accesses global memory, by itself or inside; the last without any."""
    last = end_of(block)
    return next((op for op in block.ops if any(map(_is_access, ops_in(op)))), last)


def _is_access(op: Operation) -> bool:
    return isinstance(op, AccessOp) and GLOBAL in op.accesses
