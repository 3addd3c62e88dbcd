"""The tile with a number, where tiles lie in segments whose ends are data."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass

from xdsl.dialects import arith, scf
from xdsl.ir import Block, SSAValue

from irc.dialects import cuda, tile
from irc.lowering.emitter import INDEX, Emitter, Index, emitted_before
from irc.lowering.loads import read_index
from irc.lowering.values import Code


def lower_find_segment(code: Code, op: tile.FindSegmentOp) -> None:
    """A walk from the segment that the tile before was in, back and then forth. Tiles of a block have numbers that
    grow, or nearly so: it passes few segments. Where it came to stays in registers from tile to tile."""
    e, walk = code.e, _Walk(code, op, code.scalar(op.number))
    registers = _before_loops(e)
    segment, first, begin = _repeated(e, [e.read(each) for each in registers], walk.is_before, walk.back)
    place = [segment, first, begin, walk.end(segment)]
    segment, first, begin, end = _repeated(e, place, walk.is_behind, walk.forth)
    for register, value in zip(registers, (segment, first, begin), strict=True):
        e.insert(cuda.SetOp(register, e.index(0), value))
    within = e.mul(e.sub(walk.number, first), op.rows_value)
    code.values |= {op.segment: segment, op.first: e.add(begin, within), op.end: end}


@dataclass(frozen=True)
class _Walk:
    """Steps from segment to segment. A place is a segment, the number of its first tile, and where it begins."""

    code: Code
    op: tile.FindSegmentOp
    number: Index

    def end(self, segment: Index) -> SSAValue:
        e, op = self.code.e, self.op
        read = read_index(self.code, op.ends, [e.minimum(segment, op.count - 1)], op.most_value)
        return e.value(arith.SelectOp(e.compare("slt", segment, op.count), read, e.constant(op.most_value)))

    def is_before(self, segment: SSAValue, first: SSAValue, begin: SSAValue) -> SSAValue:
        """Whether the tile lies before the place."""
        return self.code.e.compare("slt", self.number, first)

    def back(self, segment: SSAValue, first: SSAValue, begin: SSAValue) -> Sequence[Index]:
        e = self.code.e
        before = e.sub(segment, 1)
        has_others = e.compare("sgt", before, 0)
        read = read_index(self.code, self.op.ends, [e.maximum(e.sub(before, 1), 0)], self.op.most_value)
        start = e.value(arith.SelectOp(has_others, read, e.constant(0)))
        return before, e.sub(first, self._tiles(start, begin)), start

    def is_behind(self, segment: SSAValue, first: SSAValue, begin: SSAValue, end: SSAValue) -> SSAValue:
        """Whether the tile lies behind the place's segment, which ends at `end`."""
        e = self.code.e
        is_beyond = e.compare("sge", self.number, e.add(first, self._tiles(begin, end)))
        return e.value(arith.AndIOp(is_beyond, e.compare("slt", segment, self.op.count)))

    def forth(self, segment: SSAValue, first: SSAValue, begin: SSAValue, end: SSAValue) -> Sequence[Index]:
        e = self.code.e
        behind = e.add(segment, 1)
        return behind, e.add(first, self._tiles(begin, end)), end, self.end(behind)

    def _tiles(self, begin: Index, end: Index) -> Index:
        e = self.code.e
        return e.div(e.add(e.maximum(e.sub(end, begin), 0), self.op.rows_value - 1), self.op.rows_value)


def _before_loops(e: Emitter) -> list[SSAValue]:
    """Registers of three indices, which are 0 before the loops around this place."""
    outermost, parent = None, e.block.parent_op()
    while isinstance(parent, scf.ForOp | scf.WhileOp):
        outermost, parent = parent, parent.parent_op()
    with nullcontext(e) if outermost is None else emitted_before(outermost, e.location) as before:
        return [before.counter() for _ in range(3)]


def _repeated(
    e: Emitter, initial: Sequence[SSAValue], more: Callable[..., SSAValue], step: Callable[..., Sequence[Index]]
) -> Sequence[SSAValue]:
    """Values of which there are others as long as there are more."""
    types = [INDEX] * len(initial)
    before, after = Block(arg_types=types), Block(arg_types=types)
    loop = scf.WhileOp(initial, types, [before], [after])
    e.insert(loop)
    with e.inside(before):
        e.insert(scf.ConditionOp(more(*before.args), *before.args))
    with e.inside(after):
        e.insert(scf.YieldOp(*map(e.index, step(*after.args))))
    return loop.results
