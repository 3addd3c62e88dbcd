"""`overlap-launches`: a kernel may start before what was launched before it is done."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod

from xdsl.context import Context
from xdsl.dialects import scf
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Block, Operation, SSAValue
from xdsl.traits import is_side_effect_free as is_pure

from irc.analysis.early_reads import kept_operands
from irc.analysis.invariants import THREADS
from irc.dialects.cuda import DependencyWaitOp, KernelOp, LaunchDependentsOp, RegistersOp
from irc.dialects.cuda.common import GLOBAL, AccessOp
from irc.dialects.cuda.memory import GlobalLoadOp, LoadAcrossOp
from irc.ir.blocks import behind, block_of, end_of, ops_in
from irc.ir.passes import Pass
from irc.ir.properties import values_of
from irc.ir.rewriting import location_of
from irc.ir.targets import target_of
from irc.scheduling.loops import trips

ONCE = 2
"""How many elements, for each of an array, the threads of a kernel load that read it once, some of them beyond its end:
fewer than this."""


@dataclass(frozen=True)
class OverlapLaunchesPass(Pass):
    """Let each kernel wait by itself for the one launched before it, and then let the one after it start.

    Blocks of a kernel are then placed, its launch is paid for and its barriers are set up while the kernel before runs,
    which may be the last of the call before (programmatic dependent launch, CUDA C++ Programming Guide; PTX ISA,
    griddepcontrol). A kernel waits before its first access to global memory, so that what came before the one before is
    done too; it lets the next one start only then, so that no more than one kernel holds places while it waits.

    Of a kernel that reads results of others, loads into registers of arguments that are not donated and that threads
    load once, as of weights, come before the wait: no launch of the plan writes these, and what came before the plan is
    done when the launch before waits no more. Such a launch overlaps with one of its plan alone. Kernels that have a
    wait already, those of the user's CUDA C++, and architectures before sm_90 are left alone.
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
                wait_first(kernel, kept.get(kernel.sym_name.data, {}))


def wait_first(kernel: KernelOp, kept: Mapping[int, int]) -> None:
    """The kernel waits before its first access to global memory. kept: its launch operands that no launch writes, with
    their elements."""
    block = kernel.body.block
    first = _first_access(block)
    wait = DependencyWaitOp()
    for made in (wait, LaunchDependentsOp()):
        made.location = location_of(kernel)
        block.insert_op_before(made, first)
    numbers = kernel.operand_of_argument
    early = {argument: kept[number] for argument, number in zip(block.args, numbers, strict=True) if number in kept}
    if early:
        threads = prod(values_of(kernel.grid)) * kernel.block.value.data
        _load_early(wait, {argument: ONCE * size / threads for argument, size in early.items()})


def _load_early(wait: Operation, early: Mapping[SSAValue, float]) -> None:
    """Moves loads of these arguments, and what they need, before the wait, where a thread loads fewer elements of one
    than it is given with. They pass the L1, which may have what was there before, and are instructions that the
    compiler keeps before the wait: one from memory that nothing writes during the kernel goes behind it."""
    places = {op: place for place, op in enumerate(behind(wait))}
    for op in list(places):
        for each in _needed(op, places, early) or ():
            del places[each]
            each.detach()
            block_of(wait).insert_op_before(each, wait)
            for load in (inner for inner in ops_in(each) if isinstance(inner, GlobalLoadOp)):
                load.cache = StringAttr("global")


def _needed(op: Operation, places: Mapping[Operation, int], early: Mapping[SSAValue, float]) -> list[Operation] | None:
    """A load of such arguments, or a loop of such loads, with what it needs of the ops behind the wait, in order; None
    where it is something else, or cannot go there. places: the place of each of those ops."""
    loads = [inner for inner in ops_in(op) if isinstance(inner, GlobalLoadOp)]
    if not loads or op.results or any(isinstance(load, LoadAcrossOp) for load in loads):
        return None
    if not all(load.pointer in early and _loaded(load, op) < early[load.pointer] for load in loads):
        return None
    if not all(isinstance(inner, GlobalLoadOp | scf.ForOp | scf.YieldOp) or is_pure(inner) for inner in ops_in(op)):
        return None
    found, waiting = {op}, [op]
    while waiting:
        operands = [operand for inner in waiting.pop().walk() for operand in inner.operands]
        for owner in (operand.owner for operand in operands):
            if isinstance(owner, Operation) and owner in places and owner not in found:
                if not (is_pure(owner) or isinstance(owner, RegistersOp)):
                    return None
                found.add(owner)
                waiting.append(owner)
    users = (block_of(op).find_ancestor_op_in_block(use.operation) for load in loads for use in load.array.uses)
    if any(user and places.get(user, places[op]) < places[op] for user in users):
        return None
    return sorted(found, key=places.__getitem__)


def _loaded(load: GlobalLoadOp, outermost: Operation) -> float:
    """How many elements a thread loads by an op in a nest of loops; infinitely many where that is not known."""
    count, op = load.elements, load.parent_op()
    while op is not None and (op is outermost or outermost.is_ancestor(op)):
        if not isinstance(op, scf.ForOp) or (times := trips(op)) is None:
            return float("inf")
        count, op = count * times, op.parent_op()
    return count


def _first_access(block: Block) -> Operation:
    """The first of the kernel's own ops that accesses global memory, by itself or inside; the last without any."""
    last = end_of(block)
    return next((op for op in block.ops if any(map(_is_access, ops_in(op)))), last)


def _is_access(op: Operation) -> bool:
    return isinstance(op, AccessOp) and GLOBAL in op.accesses
