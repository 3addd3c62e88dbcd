"""Segments of a dimension whose ends are data: which of them a tile has rows of, and from where to where it runs.

Tiles do not cross from one segment to the next. They have numbers: segment i, which begins at row `begin`, has those
from `begin floordiv rows + i` on. That is at least as many as it needs, and at most one more: a tile without rows has
nothing to do. So a tile finds its segment by a binary search in the ends alone, and there are `extent floordiv rows`
tiles and one for each segment, whatever the ends. What no segment has is one more, behind the last.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects import arith
from xdsl.ir import Operation, SSAValue

from irc.dialects import tile
from irc.tiling.stage import Stage


@dataclass(frozen=True)
class Segmented:
    """A dimension of an extent that is cut into `count` segments; `ends` is the program's argument with their ends."""

    ends: int
    count: int
    extent: int

    def tiles(self, rows: int) -> int:
        """How many there are of so many rows, those without rows among them."""
        return self.extent // rows + self.count + 1

    def limits(self, stage: Stage, segment: SSAValue) -> tuple[SSAValue, SSAValue]:
        """From where to where a segment runs; number `count` is what no segment has."""
        code = _Code(stage)
        before, last = code(arith.SubiOp(segment, code.index(1))), code.index(self.count - 1)
        is_first, is_rest = code.compare("eq", segment, code.index(0)), code.compare("sgt", segment, last)
        begin = self._end(code, code(arith.MaxSIOp(before, code.index(0))))
        end = self._end(code, code(arith.MinSIOp(segment, last)))
        begin = code(arith.SelectOp(is_first, code.index(0), begin))
        return begin, code(arith.SelectOp(is_rest, code.index(self.extent), end))

    def rows_of(self, stage: Stage, number: SSAValue, rows: int) -> tuple[SSAValue, SSAValue, SSAValue]:
        """Of the tile with a number: its segment, its first row, and where its segment ends; it has no rows where that
        is not behind the first."""
        code = _Code(stage)
        segment = self._segment_of(code, number, rows)
        begin, end = self.limits(stage, segment)
        whole = code(arith.DivUIOp(begin, code.index(rows)))
        within = code(arith.SubiOp(number, code(arith.AddiOp(whole, segment))))
        first = code(arith.AddiOp(begin, code(arith.MuliOp(within, code.index(rows)))))
        return segment, first, end

    def _segment_of(self, code: _Code, number: SSAValue, rows: int) -> SSAValue:
        """The last segment whose tiles begin at the number, or before it."""
        segment = code.index(0)
        for power in reversed(range(self.count.bit_length())):
            trial = code(arith.AddiOp(segment, code.index(1 << power)))
            known = code(arith.MinSIOp(trial, code.index(self.count)))
            end = self._end(code, code(arith.SubiOp(known, code.index(1))))
            first = code(arith.AddiOp(trial, code(arith.DivUIOp(end, code.index(rows)))))
            begins = code(arith.AndIOp(code.compare("sle", first, number), code.compare("eq", trial, known)))
            segment = code(arith.SelectOp(begins, trial, segment))
        return segment

    def _end(self, code: _Code, segment: SSAValue) -> SSAValue:
        return code(tile.LoadIndexOp(code.view(self.ends), segment, self.extent))


@dataclass(frozen=True)
class _Code:
    """Index scalars at the end of a stage's block."""

    stage: Stage

    def __call__(self, op: Operation) -> SSAValue:
        return self.stage.insert(op, self.stage.program.op.location)

    def index(self, value: int) -> SSAValue:
        return self.stage.index(value)

    def compare(self, predicate: str, a: SSAValue, b: SSAValue) -> SSAValue:
        return self(arith.CmpiOp(a, b, predicate))

    def view(self, argument: int) -> SSAValue:
        return self.stage.program.argument(argument)
