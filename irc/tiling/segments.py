"""Segments of a dimension whose ends are data: which of them a tile has rows of, and from where to where it runs.

Tiles do not cross from one segment to the next. They have numbers, one segment after the other, by which
`tile.find_segment` finds their rows. There are at most `extent floordiv rows` tiles and one for each segment, whatever
the ends: those numbers that are left come last, and have no rows. What no segment has is one more, behind the last.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects import arith
from xdsl.ir import SSAValue

from irc.dialects import tile
from irc.tiling.stage import Stage
from irc.tiling.stage_code import StageCode


@dataclass(frozen=True)
class Segmented:
    """A dimension of an extent that is cut into `count` segments; `ends` is the program's argument with their ends."""

    ends: int
    count: int
    extent: int

    def tiles(self, rows: int) -> int:
        """How many there are of so many rows at most."""
        return self.extent // rows + self.count + 1

    def limits(self, stage: Stage, segment: SSAValue) -> tuple[SSAValue, SSAValue]:
        """From where to where a segment runs; number `count` is what no segment has."""
        code = StageCode(stage)
        before, last = code(arith.SubiOp(segment, code.index(1))), code.index(self.count - 1)
        is_first, is_rest = code.compare("eq", segment, code.index(0)), code.compare("sgt", segment, last)
        begin = self._end(code, code(arith.MinSIOp(code(arith.MaxSIOp(before, code.index(0))), last)))
        end = self._end(code, code(arith.MinSIOp(segment, last)))
        begin = code(arith.SelectOp(is_first, code.index(0), begin))
        return begin, code(arith.SelectOp(is_rest, code.index(self.extent), end))

    def rows_of(self, stage: Stage, number: SSAValue, rows: int) -> tuple[SSAValue, SSAValue, SSAValue]:
        """Of the tile with a number: its segment, its first row, and where its segment ends; it has no rows where that
        is not behind the first."""
        code = StageCode(stage)
        found = tile.FindSegmentOp(code.view(self.ends), number, rows, self.extent)
        code(found)
        return found.segment, found.first, found.end

    def _end(self, code: StageCode, segment: SSAValue) -> SSAValue:
        return code(tile.LoadIndexOp(code.view(self.ends), [segment], self.extent))
