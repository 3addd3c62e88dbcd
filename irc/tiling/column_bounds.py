"""What conditions leave of a loop over columns: from where to where they can have anything for the rows of a tile.

A loop need not come to steps in which a mask hides all columns from all rows of the tile. A bound of places is
computed. One that an array has for each row, or for all of them, is looked up: of numbers that do not fall, the last
row of the tile has the largest. Where an array has numbers for the columns, which do not fall, the first step of the
loop is searched for, or the last one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerType
from xdsl.ir import SSAValue

from irc.dialects import tile
from irc.tiling.index_maps import DomainDim, Lin, atoms, lin_of
from irc.tiling.predicates import Element, Sum
from irc.tiling.program import Axis
from irc.tiling.stage import Stage
from irc.tiling.stage_code import StageCode
from irc.tiling.tile_numbers import LIMIT

BITS = 32
"""Of the narrowest integers of arrays that bounds are read from."""


@dataclass(frozen=True)
class ColumnBounds:
    """The loop over the columns, in steps, for a tile of rows. The stage has the rows."""

    stage: Stage
    rows: Axis
    column: DomainDim
    step: int

    def of(self, inequalities: Iterable[Sum]) -> tuple[SSAValue, SSAValue]:
        """From where to where the columns can have anything: the first is a multiple of a step, the last at most the
        last one there is."""
        first, end = self._code.index(0), self._code.index(self.column.extent)
        known = tuple(inequalities)
        for each in known:
            found = None if self._follows(each, known) else self._bound(each)
            if found is None:
                continue
            bound, is_end = found
            if is_end:
                end = self._code(arith.MinSIOp(bound, end))
            else:
                first = self._code(arith.MaxSIOp(bound, first))
        return first, end

    def _follows(self, each: Sum, known: Iterable[Sum]) -> bool:
        """Whether it says nothing that another inequality does not: of numbers that do not fall, that of a later place
        is at least that of an earlier one. Documents that are equal need no bound on the side on which causality is."""
        signs = {sign: element for element, sign in each.elements}
        if len(each.elements) != 2 or signs.keys() != {1, -1}:
            return False
        later, earlier = signs[1], signs[-1]
        is_one_array = later.argument == earlier.argument and later.is_ascending and earlier.is_ascending
        places = self.stage.program.resolve(each.places)
        if not is_one_array or not self._is_list(later) or places.terms or places.const < 0:
            return False
        distance = self._coords(later)[0] - self._coords(earlier)[0]
        others = [self.stage.program.resolve(other.places) for other in known if not other.elements]
        return any(not (rest := other - distance).terms and rest.const <= 0 for other in others)

    @property
    def _code(self) -> StageCode:
        return StageCode(self.stage)

    def _bound(self, inequality: Sum) -> tuple[SSAValue, bool] | None:
        """The first step, or the end of the columns, for which it can hold of a row; None where it has no such."""
        places = self.stage.program.resolve(inequality.places)
        factor = dict(places.terms).get(self.column, 0)
        rest = Lin(tuple((a, f) for a, f in places.terms if a != self.column), places.const)
        along = [(e, sign) for e, sign in inequality.elements if self._meets_columns(e)]
        others = [each for each in inequality.elements if each not in along]
        if not self._is_known(rest) or not all(self._is_read(e) for e, _ in others):
            return None
        if factor in (1, -1) and not along:
            if factor == -1:  # column <= rest
                return self._most(rest + 1, others), True
            return self._step_of(self._most(rest, others, negated=True)), False
        if factor == 0 and len(along) == 1 and self._is_searched(along[0][0]):
            element, sign = along[0]
            if sign == -1:  # element <= rest
                return self._end(element, self._most(rest, others)), True
            return self._begin(element, self._most(rest + 1, others, negated=True)), False
        return None

    def _meets_columns(self, element: Element) -> bool:
        return any(a == self.column for lin in self._coords(element) for a in atoms(lin))

    def _coords(self, element: Element) -> Sequence[Lin]:
        program = self.stage.program
        return program.domains.operands[element.argument].view_coords(program.domains.bindings, element.at)

    def _is_known(self, lin: Lin) -> bool:
        """Whether it is of the tile's rows, and of what is the same for the tile."""
        known = {self.rows.dim, *self.stage.scalars}
        return all(a in known for a, _ in lin.terms)

    def _is_list(self, element: Element) -> bool:
        """Whether the array has one dimension of integers that are wide enough."""
        view = self._code.view(element.argument).type
        assert isinstance(view, tile.ViewType)
        type = view.element_type
        is_wide = isinstance(type, IntegerType) and type.width.data >= BITS
        return view.rank == 1 and is_wide and self.column.extent < LIMIT

    def _is_read(self, element: Element) -> bool:
        """Whether one element is the largest of those of the tile's rows, and one the smallest."""
        if not self._is_list(element) or not self._is_known(at := self._coords(element)[0]):
            return False
        factor = self._factor(at)
        return factor == 0 or (factor > 0 and element.is_ascending)

    def _is_searched(self, element: Element) -> bool:
        is_along = self._is_list(element) and self._coords(element)[0] == lin_of(self.column)
        return is_along and element.is_ascending

    def _factor(self, lin: Lin) -> int:
        return dict(lin.terms).get(self.rows.dim, 0) if self.rows.dim is not None else 0

    def _most(self, rest: Lin, elements: Iterable[tuple[Element, int]], *, negated: bool = False) -> SSAValue:
        """The largest sum of any of the tile's rows, or its negative."""
        total = self._at(self._last(rest) * -1 if negated else self._last(rest))
        for element, sign in elements:
            at = self._coords(element)[0]
            number = self._read(element, self._at(self._last(at) if sign > 0 else at))
            total = self._code((arith.AddiOp if (sign > 0) != negated else arith.SubiOp)(total, number))
        return total

    def _last(self, lin: Lin) -> Lin:
        """An expression for the row of the tile for which it is largest, as one of the first row."""
        return lin + max(self._factor(lin), 0) * (self.rows.extent - 1)

    def _at(self, lin: Lin) -> SSAValue:
        """An expression for the first row of the tile."""
        code = self._code
        total = code.index(lin.const) if lin.const or not lin.terms else None
        for atom, factor in lin.terms:
            assert isinstance(atom, DomainDim)
            value = self.rows.offset if atom == self.rows.dim else self.stage.scalars[atom]
            if factor != 1:
                value = code(arith.MuliOp(value, code.index(factor)))
            total = value if total is None else code(arith.AddiOp(value, total))
        assert total is not None
        return total

    def _read(self, element: Element, at: SSAValue) -> SSAValue:
        """An element of an array; beyond its end, where no row is, the last one."""
        code, view = self._code, self._code.view(element.argument)
        assert isinstance(view.type, tile.ViewType)
        extent = view.type.get_shape()[0]
        varies = self.stage.program.domains.varies(extent)
        last = code(arith.SubiOp(code.index(extent), code.index(1))) if varies else code.index(extent - 1)
        return code(tile.LoadIndexOp(view, [code(arith.MinSIOp(at, last))], LIMIT, -LIMIT))

    def _step_of(self, column: SSAValue) -> SSAValue:
        """Where the step begins that a column is in."""
        steps = self._code(arith.FloorDivSIOp(column, self._code.index(self.step)))
        return self._code(arith.MuliOp(steps, self._code.index(self.step)))

    def _begin(self, element: Element, most: SSAValue) -> SSAValue:
        """Behind the steps whose last element is a number at most, of an array that does not fall."""
        return self._searched(element, most, self.step - 1)

    def _end(self, element: Element, most: SSAValue) -> SSAValue:
        """Behind the steps whose first element is a number at most, of an array that does not fall."""
        return self._searched(element, most, 0)

    def _searched(self, element: Element, most: SSAValue, place: int) -> SSAValue:
        """Behind the steps, of those that have such a place, whose element there is a number at most."""
        code, extent, rest = self._code, self.column.extent, self.step - 1 - place
        varies = self.stage.program.domains.varies(extent)

        def is_one(trial: SSAValue, known: SSAValue) -> SSAValue:
            step = code(arith.MuliOp(known, code.index(self.step)))
            at = code(arith.AddiOp(step, code.index(place - self.step)))
            if varies:  # no step may have the place
                at = code(arith.MaxSIOp(at, code.index(0)))
            number = code(tile.LoadIndexOp(code.view(element.argument), [at], LIMIT, -LIMIT))
            return code.compare("sle", number, most)

        if varies:
            whole = code(arith.AddiOp(code.index(extent), code.index(rest)))
            steps = code(arith.FloorDivSIOp(whole, code.index(self.step)))
        else:
            steps = code.index((extent + rest) // self.step)
        found = code.search((extent + rest) // self.step, steps, is_one)
        return code(arith.MuliOp(found, code.index(self.step)))
