"""The induction variable of a loop in other iterations than the one at hand, as index arithmetic."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IndexType, IntegerAttr
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from irc.analysis.multiples import constant_of
from irc.ir.rewriting import give_location
from irc.scheduling.loops import trips


@dataclass(frozen=True)
class InductionValues:
    """Of a loop. Those of a clamped one are inside of its bounds."""

    loop: scf.ForOp
    is_clamped: bool

    def insert(self, ops: Sequence[Operation], where: InsertPoint) -> None:
        """Puts new ops at the location of the loop."""
        for op in ops:
            give_location(op, self.loop.location)
        Rewriter.insert_op(ops, where)

    def moved(self, start: SSAValue, steps: int, where: InsertPoint) -> SSAValue:
        """So many iterations behind a value of the loop's variable; before it where the number is negative."""
        if steps == 0:
            return start
        first, step = constant_of(start), constant_of(self.loop.step)
        if first is not None and step is not None:
            value = arith.ConstantOp(IntegerAttr(first + steps * step, IndexType()))
            self.insert([value], where)
            return value.result
        count = arith.ConstantOp(IntegerAttr(abs(steps), IndexType()))
        distance = arith.MuliOp(count.result, self.loop.step)
        moved = (arith.AddiOp if steps > 0 else arith.SubiOp)(start, distance.result)
        self.insert([count, distance, moved], where)
        return moved.result

    def inside(self, value: SSAValue, other: SSAValue, where: InsertPoint) -> SSAValue:
        """The value, or the other one where that is beyond the end of a clamped loop."""
        if not self.is_clamped or value is other:
            return value
        inside = self._before_end(value)
        clamped = arith.SelectOp(inside.result, value, other)
        self.insert([inside, clamped], where)
        return clamped.result

    def _before_end(self, value: SSAValue) -> arith.CmpiOp:
        """Bounds that are values may be negative."""
        return arith.CmpiOp(value, self.loop.ub, "slt" if trips(self.loop) is None else "ult")

    def behind(self, number: int) -> SSAValue:
        """The old loop's variable in iteration `number` behind its last one."""
        loop, where, known = self.loop, InsertPoint.before(self.loop), trips(self.loop)
        if known is not None:
            return self.moved(loop.lb, known + number, where)
        one = arith.ConstantOp(IntegerAttr(1, IndexType()))
        span = arith.SubiOp(loop.ub, loop.lb)
        last = arith.SubiOp(span.result, one.result)
        before = arith.DivUIOp(last.result, loop.step)
        distance = arith.MuliOp(before.result, loop.step)
        value = arith.AddiOp(loop.lb, distance.result)
        self.insert([one, span, last, before, distance, value], where)
        return self.moved(value.result, number + 1, where)

    def branch(self, value: SSAValue) -> InsertPoint:
        """The end of a branch before the new loop, where it costs nothing to leave out copies beyond the end."""
        branch = self.loop.prev_op
        condition = branch.cond.owner if isinstance(branch, scf.IfOp) else None
        if not isinstance(branch, scf.IfOp) or not isinstance(condition, arith.CmpiOp) or condition.lhs is not value:
            inside = self._before_end(value)
            branch = scf.IfOp(inside, [], Region(Block([scf.YieldOp()])))
            self.insert([inside, branch], InsertPoint.before(self.loop))
        assert branch.true_region.block.last_op is not None
        return InsertPoint.before(branch.true_region.block.last_op)
