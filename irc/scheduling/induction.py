"""The induction variable of a loop in other iterations than the one at hand, as index arithmetic; and loops that may
have too few iterations for what is made of them, in a branch that runs where they have enough."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.builder import Builder
from xdsl.dialects import arith, scf
from xdsl.ir import Block, Region, SSAValue
from xdsl.rewriter import InsertPoint

from irc.dialects import tile
from irc.ir.properties import constant_of
from irc.ir.rewriting import Inserter, give_location
from irc.scheduling.loops import trips


@dataclass(frozen=True)
class InductionValues:
    """Of a loop. Those of a clamped one are inside of its bounds."""

    loop: scf.ForOp
    is_clamped: bool

    def at(self, where: InsertPoint) -> Inserter:
        """Puts new ops at the location of the loop."""
        return Inserter(Builder(where), self.loop.location)

    def moved(self, start: SSAValue, steps: int, where: InsertPoint) -> SSAValue:
        """So many iterations behind a value of the loop's variable; before it where the number is negative."""
        if steps == 0:
            return start
        at, first, step = self.at(where), constant_of(start), constant_of(self.loop.step)
        if first is not None and step is not None:
            return at.index(first + steps * step)
        distance = at.value(arith.MuliOp(at.index(abs(steps)), self.loop.step))
        return at.value((arith.AddiOp if steps > 0 else arith.SubiOp)(start, distance))

    def inside(self, value: SSAValue, other: SSAValue, where: InsertPoint) -> SSAValue:
        """The value, or the other one where that is beyond the end of a clamped loop."""
        if not self.is_clamped or value is other:
            return value
        at = self.at(where)
        return at.value(arith.SelectOp(at.value(self._before_end(value)), value, other))

    def _before_end(self, value: SSAValue) -> arith.CmpiOp:
        """Bounds that are values may be negative."""
        return arith.CmpiOp(value, self.loop.ub, "slt" if trips(self.loop) is None else "ult")

    def behind(self, number: int) -> SSAValue:
        """The old loop's variable in iteration `number` behind its last one."""
        loop, where, known = self.loop, InsertPoint.before(self.loop), trips(self.loop)
        if known is not None:
            return self.moved(loop.lb, known + number, where)
        at = self.at(where)
        one, span = at.index(1), at.value(arith.SubiOp(loop.ub, loop.lb))
        before = at.value(arith.DivUIOp(at.value(arith.SubiOp(span, one)), loop.step))
        last = at.value(arith.AddiOp(loop.lb, at.value(arith.MuliOp(before, loop.step))))
        return self.moved(last, number + 1, where)

    def branch(self, value: SSAValue) -> InsertPoint:
        """The end of a branch before the new loop, where it costs nothing to leave out copies beyond the end."""
        branch = self.loop.prev_op
        condition = branch.cond.owner if isinstance(branch, scf.IfOp) else None
        if not isinstance(branch, scf.IfOp) or not isinstance(condition, arith.CmpiOp) or condition.lhs is not value:
            at = self.at(InsertPoint.before(self.loop))
            branch = at(scf.IfOp(at.value(self._before_end(value)), [], Region(Block([scf.YieldOp()]))))
        assert branch.true_region.block.last_op is not None
        return InsertPoint.before(branch.true_region.block.last_op)


def guard(loop: scf.ForOp, iterations: int) -> None:
    """Puts a loop into a branch that runs where it has so many iterations, at least 1. Elsewhere it runs as it stands,
    without its schedule; where it has none, its results are what it begins with."""
    used = [result for result in loop.results if result.uses]
    plain = _plain(loop) if iterations > 1 else None
    starts = [(plain.results if plain is not None else loop.iter_args)[result.index] for result in used]
    at, last = Inserter.before(loop), loop.lb
    if iterations > 1:
        distance = at.value(arith.MuliOp(at.index(iterations - 1), loop.step))
        last = at.value(arith.AddiOp(loop.lb, distance))
    runs = at.value(arith.CmpiOp(last, loop.ub, "slt"))
    otherwise = Block([*([plain] if plain is not None else []), scf.YieldOp(*starts)])
    then = Block()
    branch = at(scf.IfOp(runs, [result.type for result in used], Region(then), Region(otherwise)))
    for old, new in zip(used, branch.results, strict=True):
        new.name_hint = old.name_hint
        old.replace_all_uses_with(new)
    loop.detach()
    end = scf.YieldOp(*used)
    give_location(end, loop.location)
    then.add_ops([loop, end])


def _plain(loop: scf.ForOp) -> scf.ForOp:
    """A copy of the loop without its schedule."""
    copy = loop.clone()
    for op in copy.body.block.ops:
        op.attributes.pop(tile.SCHEDULED, None)
    return copy
