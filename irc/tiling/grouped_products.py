"""Products in groups whose ends are data: what a tile has of them, and from where to where its loop over K runs.

Where data cuts the rows, a tile has rows of one group: its number says which, and the rows behind the group's end are
not stored. Where data cuts what is contracted, a tile is of the result of one group, and its loop goes over the group's
part of K; of a step beyond the end of the group, 0 is multiplied.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects import arith
from xdsl.ir import SSAValue

from irc.ir.iteration import iteration_of
from irc.support.diagnostics import IrcError
from irc.tiling.index_maps import DomainDim, Lin, lin_of, point
from irc.tiling.nodes import Dot, Load
from irc.tiling.program import Axis, ProgramTiling
from irc.tiling.segments import Segmented
from irc.tiling.stage import Stage


@dataclass(frozen=True)
class Groups:
    """The groups of products. number: which of them a tile is of. contracts_rows: whether data cuts what is
    contracted."""

    cut: Segmented
    number: Lin
    contracts_rows: bool

    @staticmethod
    def of(program: ProgramTiling, dots: Sequence[Dot]) -> Groups | None:
        """Those of products that are all in the same ones; None where no data cuts anything."""
        first, *others = dots
        iteration = iteration_of(first.op)
        if (segments := iteration.segments) is None:
            return None
        number = point(iteration, first.at, first.inner)[segments.number]
        if not isinstance(first.ends, Load) or first.ends.at != (number,):
            raise IrcError("expected the ends of groups to be an array, found a computed one", first.location)
        for dot in others:
            if not isinstance(dot.ends, Load) or dot.ends.argument != first.ends.argument:
                raise IrcError("expected products of one kernel to be in the same groups", dot.location)
            for dim, known in zip(dot.inner, first.inner, strict=True):
                if dim not in dot.k:
                    program.domains.bindings.bind(dim, lin_of(known))
        along = iteration.dims[segments.along]
        cut = Segmented(first.ends.argument, iteration.dims[segments.number].extent, along.extent)
        return Groups(cut, number, along.role == "k")

    def rows(self, m: DomainDim, height: int) -> int:
        """How far the loop over tiles goes along the rows, with tiles, or clusters of tiles, of so many."""
        return m.extent if self.contracts_rows else self.cut.tiles(height) * height

    def begin(
        self,
        program: ProgramTiling,
        stage: Stage,
        m: Axis,
        scalars: dict[DomainDim, SSAValue],
        *,
        end: int,
        height: int,
    ) -> tuple[Axis, SSAValue, SSAValue]:
        """The axis of a tile's rows, whose offset says which tile it is, and from where to where the loop over K runs,
        which ends at `end` elsewhere. Puts the group's number among the scalars. Tiles of a cluster, of so many rows
        together, are of one group, and of one number of steps: they share operands."""
        location = program.op.location
        if self.contracts_rows:
            at = program.resolve(self.number)
            group = scalars[next(iter(dict(at.terms)))] if at.terms else stage.index(0)  # pyright: ignore
            first, last = self.cut.limits(stage, group)
            return m, first, last
        number = stage.insert(arith.DivUIOp(m.offset, stage.index(height)), location)
        group, first, last = self.cut.rows_of(stage, number, height)
        group.name_hint, first.name_hint, last.name_hint = "group", "first", "end"
        inside = stage.insert(arith.MinSIOp(group, stage.index(self.cut.count - 1)), location)
        scalars |= {dim: inside for dim in dict(self.number.terms) if isinstance(dim, DomainDim)}
        is_one = stage.insert(arith.CmpiOp(group, inside, "eq"), location)
        has_rows = stage.insert(arith.CmpiOp(first, last, "slt"), location)
        both = stage.insert(arith.AndIOp(is_one, has_rows), location)
        stop = stage.insert(arith.SelectOp(both, stage.index(end), stage.index(0)), location)
        if height > m.extent:
            within = stage.insert(arith.RemUIOp(m.offset, stage.index(height)), location)
            first = stage.insert(arith.AddiOp(first, within), location)
        return Axis(m.dim, first, m.extent, last), stage.index(0), stop

    def whole_steps(self, stage: Stage, begin: SSAValue, end: SSAValue, step: int) -> SSAValue:
        """Where the last step ends that is not beyond the end."""
        location = stage.program.op.location
        span = stage.insert(arith.MaxSIOp(stage.insert(arith.SubiOp(end, begin), location), stage.index(0)), location)
        count = stage.insert(arith.DivUIOp(span, stage.index(step)), location)
        whole = stage.insert(arith.MuliOp(count, stage.index(step)), location)
        return stage.insert(arith.AddiOp(begin, whole), location)
