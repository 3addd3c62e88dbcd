"""pair-steps: loops whose dots begin anew in each step take two steps at a time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IndexType, IntegerAttr, TensorType
from xdsl.ir import SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from irc.analysis.invariants import LAID_OUT
from irc.analysis.programs import ProgramPass
from irc.dialects import tile
from irc.ir.blocks import end_of
from irc.ir.properties import constant_of
from irc.scheduling.channels import stages_of
from irc.scheduling.dependences import body_of
from irc.scheduling.loops import trips
from irc.scheduling.registers import registers_of, registers_to_issue
from irc.scheduling.schedules import begins_anew, dots_of

MIN_STAGES = 4
"""Of the channel: two of its stages are held, and two are filled meanwhile."""


@dataclass(frozen=True)
class PairStepsPass(ProgramPass):
    """A loop of one wgmma dot that begins anew in each step, and whose result is added to what the loop carries, as
    that of a block of K with scales of its own -> the loop over two steps at a time. `schedule-loops` has what is
    computed of either dot run beside the other.

    Left alone are loops whose steps are not known to come in pairs, those whose channel has few stages, and those whose
    threads have no registers for the results of two dots.
    """

    name: ClassVar[str] = "pair-steps"
    requires = (LAID_OUT,)

    def run(self, program: tile.ProgramOp) -> None:
        for loop in [each for each in program.walk() if isinstance(each, scf.ForOp)]:
            if _comes_in_pairs(loop) and _has_room(loop):
                _pair(loop)


def _comes_in_pairs(loop: scf.ForOp) -> bool:
    known, ops = trips(loop), body_of(loop)
    waits = [op for op in ops if isinstance(op, tile.WaitOp)]
    is_alone = len(dots_of(loop)) == 1 and begins_anew(loop)
    return is_alone and len(waits) == 1 and stages_of(waits[0].channel) >= MIN_STAGES and bool(known) and known % 2 == 0


def _has_room(loop: scf.ForOp) -> bool:
    (dot,) = dots_of(loop)
    carried = [value for value in loop.iter_args if isinstance(value.type, TensorType)]
    return 2 * registers_of(dot.result) + sum(map(registers_of, carried)) <= registers_to_issue(loop)


def _pair(loop: scf.ForOp) -> None:
    block, end, step = loop.body.block, end_of(loop.body.block), constant_of(loop.step)
    assert step is not None
    ops = body_of(loop)
    following = arith.AddiOp(block.args[0], loop.step)
    copies: dict[SSAValue, SSAValue] = {block.args[0]: following.result}
    copies |= dict(zip(block.args[1:], end.operands, strict=True))
    both = [following, *(op.clone(copies) for op in ops)]
    block.insert_ops_before(both, end)
    end.operands = [copies.get(value, value) for value in end.operands]
    double = arith.ConstantOp(IntegerAttr(2 * step, IndexType()))
    for op in (following, double):
        op.location = loop.location
    Rewriter.insert_op(double, InsertPoint.before(loop))
    loop.operands[2] = double.result
