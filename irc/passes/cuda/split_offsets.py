"""`split-offsets`: whether the terms of an access's offset are added to the pointer one by one."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, SSAValue

from irc.analysis.invariants import THREADS
from irc.dialects.cuda import AtomicOp, LoadOp, LoadOrOp, StoreOp
from irc.ir.blocks import ops_in
from irc.ir.passes import Pass
from irc.ir.walks import operands_behind, reached

_DIVISIONS = (arith.DivUIOp, arith.RemUIOp, arith.FloorDivSIOp)


@dataclass(frozen=True)
class SplitOffsetsPass(Pass):
    """Give accesses to global memory whose offset is a sum both of its terms: `%x[%sum]` becomes `%x[%a + %b]`.

    Each term is then added to the pointer by itself, in 64 bits: the compiler finds the common part of many addresses,
    and their differences become part of the instructions. Where a term is divided anew for each step of a loop there
    are no such differences, and one addition in 32 bits takes fewer instructions than two in 64: such sums are left
    alone, and so are the offsets of `cuda.cp_async` and `cuda.load_across`.
    """

    name = "split-offsets"
    requires = (THREADS,)

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for access in ops_in(op):
            if isinstance(access, LoadOp | LoadOrOp | StoreOp | AtomicOp) and access.rest is None:
                _split(access)


def _split(access: LoadOp | LoadOrOp | StoreOp | AtomicOp) -> None:
    total = access.offset.owner
    if isinstance(total, arith.AddiOp) and not _is_divided(access.offset):
        access.operands = [*access.operands[:-1], total.lhs, total.rhs]


def _is_divided(value: SSAValue) -> bool:
    """Whether a value is made of a quotient or a remainder of what differs between the steps of a loop."""
    owners = [each.owner for each in reached([value], operands_behind)]
    dividends = [owner.operands[0] for owner in owners if isinstance(owner, _DIVISIONS)]
    owners = [each.owner for each in reached(dividends, operands_behind)]
    return any(isinstance(owner, Block) and isinstance(owner.parent_op(), scf.ForOp) for owner in owners)
