"""Copies to shared memory that a kernel makes before it waits for the one launched before it: the first stages of what
no launch writes, as of weights."""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass
from math import prod

from xdsl.dialects import arith, scf
from xdsl.ir import Operation, SSAValue
from xdsl.traits import is_side_effect_free as is_pure

from irc.dialects.cuda import KernelOp, RegistersOp
from irc.dialects.cuda.async_ops import BarrierExpectOp, BarrierWaitOp, TmaLoadOp
from irc.dialects.cuda.common import GLOBAL, AccessOp
from irc.dialects.cuda.thread import GetOp, SetOp
from irc.ir.blocks import begin_of, block_of, ops_in
from irc.ir.properties import constant_of, values_of
from irc.ir.rewriting import Inserter

EQUAL = 0
"""The predicate `eq` of `arith.cmpi`."""


def copy_early(kernel: KernelOp, wait: Operation, early: Set[SSAValue]) -> bool:
    """Moves the kernel's wait behind its first copies of these arguments by TMA; whether it did.

    That is where one thread copies in a loop, `for i: wait for a stage, expect its bytes, copy w, copy x`, in a branch
    that nothing but the loop accesses global memory in, and the other branch is of all threads that use what was
    copied. For as many iterations as there are stages, which are free, bytes are expected and w is copied in a loop
    ahead of the wait. The loop itself then begins with x alone. The threads of the other branch wait where it begins.
    Left alone are blocks in clusters, loops in loops, and stages of which one barrier does not count all bytes.
    """
    branch, cluster = wait.next_op, values_of(kernel.cluster)
    if not isinstance(branch, scf.IfOp) or prod(cluster) > 1 or not branch.false_region.blocks:
        return False
    if any(map(_accesses, _behind(branch))):
        return False
    loop = _copying_loop(branch)
    found = None if loop is None else _Copies.of(loop, early)
    if loop is None or found is None:
        return False
    others = branch.false_region.block
    others.insert_op_before(wait.clone(), begin_of(others))
    found.split(wait)
    return True


def _behind(op: Operation) -> list[Operation]:
    found: list[Operation] = []
    while (following := op.next_op) is not None:
        found.append(op := following)
    return found


def _accesses(op: Operation) -> bool:
    return any(isinstance(inner, AccessOp) and GLOBAL in inner.accesses for inner in ops_in(op))


def _copying_loop(branch: scf.IfOp) -> scf.ForOp | None:
    """The loop in which one thread of the branch copies, if nothing else in it accesses global memory."""
    inner = [op for op in branch.true_region.block.ops if _accesses(op)]
    if len(inner) != 1 or not isinstance(inner[0], scf.IfOp) or inner[0].false_region.blocks:
        return None
    thread = inner[0].cond.owner
    if not isinstance(thread, arith.CmpiOp) or thread.predicate.value.data != EQUAL:
        return None
    loops = [op for op in inner[0].true_region.block.ops if _accesses(op)]
    return loops[0] if len(loops) == 1 and isinstance(loops[0], scf.ForOp) and not loops[0].iter_args else None


@dataclass(frozen=True)
class _Copies:
    """A loop that copies. arrays: registers of its stage; first: what makes a stage ready, and copies what may be
    copied early; others: the other copies; early: iterations that have free stages, of `count`."""

    loop: scf.ForOp
    arrays: Sequence[RegistersOp]
    first: Sequence[Operation]
    others: Sequence[Operation]
    early: int
    count: int

    @staticmethod
    def of(loop: scf.ForOp, early: Set[SSAValue]) -> _Copies | None:
        """None where the loop is of another kind, or copies none of the arguments."""
        bounds = [constant_of(value) for value in (loop.lb, loop.ub, loop.step)]
        ops = [op for op in loop.body.block.ops if not isinstance(op, scf.YieldOp)]
        effects = [op for op in ops if not is_pure(op) and not isinstance(op, GetOp)]
        sets = [op for op in effects if isinstance(op, SetOp)]
        loads = [op for op in effects if isinstance(op, TmaLoadOp)]
        ready = [op for op in effects if isinstance(op, BarrierWaitOp | BarrierExpectOp)]
        kept = [op for op in loads if op.map in early]
        stages = _stages(sets)
        if None in bounds or stages is None or not kept or len(effects) != len(sets) + len(loads) + len(ready):
            return None
        if [type(op) for op in ready] != [BarrierWaitOp, BarrierExpectOp] or any(op.mask is not None for op in loads):
            return None
        if effects[:2] != ready or effects[-len(sets) :] != sets or _gets_behind(ops, sets[0]):
            return None
        arrays = _arrays(loop, ops)
        low, high, step = (value for value in bounds if value is not None)
        if arrays is None or step < 1 or high <= low:
            return None
        count = -(-(high - low) // step)
        others = [op for op in loads if op not in kept]
        return _Copies(loop, arrays, [*ready, *kept], others, min(stages, count), count)

    def split(self, wait: Operation) -> None:
        """Puts a loop of the early copies, and the wait, before the loop, where all else stands behind those."""
        body, at = self.loop.body.block, Inserter.before(self.loop)
        low, step = constant_of(self.loop.lb), constant_of(self.loop.step)
        assert low is not None
        assert step is not None
        end = at.index(low + self.early * step)
        at(self._ahead(end))
        wait.detach()
        at(wait)
        place = next(op for op in body.ops if isinstance(op, SetOp))
        for op in (*self.first, *self.others):
            op.detach()
        at = Inserter.before(place)
        if self.early < self.count:
            is_late = at.value(arith.CmpiOp(body.args[0], end, "sge"))
            at(scf.IfOp(is_late, [], [*self.first, scf.YieldOp()]))
        for op in self.others:
            at(op)

    def _ahead(self, end: SSAValue) -> scf.ForOp:
        """The loop up to `end`, with registers of its own, without the other copies, and without waiting for stages."""
        known: dict[SSAValue, SSAValue] = {}
        at = Inserter.before(self.loop)
        for array in self.arrays:
            at(array.clone(known))
        for op in _behind(self.arrays[0]):
            if op is self.loop:
                break
            if isinstance(op, SetOp) and op.array in known:
                at(op.clone(known))
        ahead = self.loop.clone({**known, self.loop.ub: end})
        pairs = zip(self.loop.body.block.ops, list(ahead.body.block.ops), strict=True)
        for op, copy in pairs:
            if op in self.others or isinstance(op, BarrierWaitOp):
                copy.detach()
                copy.erase()
        return ahead


def _stages(sets: Sequence[SetOp]) -> int | None:
    """How many stages there are, of which the number of one is set: `select(next == stages, 0, next)`."""
    for each in sets:
        chosen = each.value.owner
        if not isinstance(chosen, arith.SelectOp) or constant_of(chosen.lhs) != 0:
            continue
        is_last = chosen.cond.owner
        if isinstance(is_last, arith.CmpiOp) and is_last.lhs is chosen.rhs and is_last.predicate.value.data == EQUAL:
            return constant_of(is_last.rhs)
    return None


def _gets_behind(ops: Sequence[Operation], first: Operation) -> bool:
    """Whether registers are read behind the first op that sets some."""
    return any(isinstance(op, GetOp) for op in ops[ops.index(first) :])


def _arrays(loop: scf.ForOp, ops: Sequence[Operation]) -> list[RegistersOp] | None:
    """The registers of the loop, in order; None where they are not of the block that it is in."""
    found = dict.fromkeys(op.array.owner for op in ops if isinstance(op, GetOp | SetOp))
    arrays = [owner for owner in found if isinstance(owner, RegistersOp) and owner.parent is loop.parent]
    places = {op: place for place, op in enumerate(block_of(loop).ops)}
    return sorted(arrays, key=places.__getitem__) if len(arrays) == len(found) else None
