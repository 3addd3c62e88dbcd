"""How often an op of a tile's body runs for another tile: index arithmetic on that tile's offsets."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IndexType, IntegerAttr
from xdsl.ir import Block, Operation, SSAValue

from irc.dialects import tile
from irc.ir.properties import constant_of
from irc.scheduling.loops import trips
from irc.support.diagnostics import IrcError

Count = int | SSAValue
"""A known number, or a value of type index."""


class TripCounts:
    """Counts for the tile at `offsets`. `ops` computes those that are no known numbers, in order.

    Bounds and conditions are copied with what they are computed from: constants, and `arith` on the tile's offsets and
    on indices that are loaded.
    """

    def __init__(self, loop: tile.ForTilesOp, offsets: Sequence[SSAValue]):
        self._loop = loop
        self._values: dict[SSAValue, SSAValue] = dict(zip(loop.offsets, offsets, strict=True))
        self._constants: dict[int, SSAValue] = {}
        self.ops: list[Operation] = []

    def of(self, op: Operation) -> Count:
        """How often an op runs: the trips of the loops around it, and none where a branch around it is not taken."""
        count: Count = 1
        while (parent := op.parent_op()) is not None and parent is not self._loop:
            if isinstance(parent, scf.ForOp):
                count = self._product(count, self._trips(parent))
            elif isinstance(parent, scf.IfOp):
                taken = op.parent_region() is parent.true_region
                sides = [self.value(count if side is taken else 0) for side in (True, False)]
                count = self._put(arith.SelectOp(self._copied(parent.cond), *sides))
            op = parent
        return count

    def sum(self, counts: Sequence[Count]) -> Count:
        known = sum(count for count in counts if isinstance(count, int))
        total: Count | None = known or None
        for count in counts:
            if not isinstance(count, int):
                total = count if total is None else self._put(arith.AddiOp(self.value(total), count))
        return total or 0

    def value(self, count: Count) -> SSAValue:
        if not isinstance(count, int):
            return count
        if count not in self._constants:
            self._constants[count] = self._put(arith.ConstantOp(IntegerAttr(count, IndexType())))
        return self._constants[count]

    def _product(self, a: Count, b: Count) -> Count:
        if isinstance(a, int) and isinstance(b, int):
            return a * b
        if a == 1 or b == 1:
            return b if a == 1 else a
        return self._put(arith.MuliOp(self.value(a), self.value(b)))

    def _trips(self, loop: scf.ForOp) -> Count:
        known = trips(loop)
        if known is not None:
            return known
        low, high, step = (self._copied(value) for value in (loop.lb, loop.ub, loop.step))
        span = self._put(arith.SubiOp(high, low))
        whole = constant_of(step)
        most = self.value(whole - 1) if whole is not None else self._put(arith.SubiOp(step, self.value(1)))
        count = self._put(arith.FloorDivSIOp(self._put(arith.AddiOp(span, most)), step))
        return self._put(arith.MaxSIOp(count, self.value(0)))

    def _copied(self, value: SSAValue) -> SSAValue:
        """The value for the other tile."""
        owner = value.owner
        if value in self._values or not self._loop.is_ancestor(owner):
            return self._values.get(value, value)
        loads = tile.LoadIndexOp, tile.FindSegmentOp
        if isinstance(owner, Block) or not (owner.dialect_name() == "arith" or isinstance(owner, loads)):
            what = "a loop's variable or argument" if isinstance(owner, Block) else owner.name
            raise IrcError(
                f"expected how often a tile's stages are filled to depend on the tile's offsets, found {what}",
                self._loop.location if isinstance(owner, Block) else owner.location,
                'the schedule "pingpong" needs it; "persistent" does not',
            )
        if (number := constant_of(value)) is not None:
            return self.value(number)
        copy = owner.clone({operand: self._copied(operand) for operand in owner.operands})
        self.ops.append(copy)
        self._values.update(zip(owner.results, copy.results, strict=True))
        return self._values[value]

    def _put(self, op: Operation) -> SSAValue:
        self.ops.append(op)
        return op.results[0]
