"""The ends of rows, apart from what is between them: a thread stores 16 bytes where all of them are in the result, and
the elements that are left before and after these are stored one by one, each by a thread of its own.

Where a warp's lanes hold the words of a row, one of them has the row's first elements. Were it to store them, the
others would wait for it, in every warp.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod

from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineExpr

from irc.analysis.accesses import access_of
from irc.dialects import cuda, tile
from irc.layout.affine import bounds, least, slope_of
from irc.layout.box_traffic import SMALL
from irc.layout.fragment import Fragment
from irc.layout.staging import SHORT_RUN
from irc.layout.traffic import global_vector
from irc.lowering.coordinates import MAX_BELOW, Coordinate, Walk
from irc.lowering.emitter import Index
from irc.lowering.memory import locate_at
from irc.lowering.values import Code
from irc.support.integers import ceil_div

MAX_UNROLLED = 4


@dataclass(frozen=True)
class RowEnds:
    """The ends of the rows of a tile in its store. dim: the tile's dimension along the rows; along: that of the view.
    vector: the elements that are stored together elsewhere."""

    code: Code
    op: tile.StoreOp
    fragment: Fragment
    vector: int
    dim: int
    along: int

    @staticmethod
    def of(code: Code, op: tile.StoreOp, fragment: Fragment) -> RowEnds | None:
        """None where elements are large or vectors short, or none of these can be partly outside of the view, or in
        several dimensions of it."""
        access, dim = access_of(op), fragment.vector[0]
        vector = global_vector(fragment, access)
        straddled = access.straddled(dim, vector)
        if access.element_bytes > SMALL or vector < SHORT_RUN or len(straddled) != 1:
            return None
        (along,) = straddled
        depends = [d for d in op.checked_dims if dim in access.map.results[d].used_dims()]
        is_row = depends == [along] and slope_of(access.map.results[along], dim) == 1
        if not is_row or any(access.gathers) or any(mode.is_replicated for mode in fragment.threads):
            return None
        return RowEnds(code, op, fragment, vector, dim, along)

    def vector_store(self, array: SSAValue, register: SSAValue, offset: Index) -> cuda.StoreOp:
        """The store of a vector that is inside the view; NVRTC 13.0 makes four of some 16 bytes of 2-byte elements."""
        to = self.code.pointers[self.op.view], self.code.e.index(offset)
        return cuda.StoreOp(array, register, *to, count=self.vector, cache="write_back")

    @property
    def length(self) -> int:
        return self.fragment.shape[self.dim]

    def emit(self, array: SSAValue, take: Callable[[Sequence[Index], SSAValue], None]) -> None:
        """Stores the ends. `take` brings the element with some coordinates in the tile to the first register."""
        e, expr = self.code.e, self._expr
        first, extent = self.code.scalar(self.op.offsets[self.dim]), self._extent
        before = least(expr)
        if before < 0:
            # Where no bound of it is known, any tile can begin before its rows.
            with e.when(e.compare("slt", first, -before) if before > -MAX_BELOW else None):
                self._side(array, take, self._starts)
        _, after = bounds(self._at_first(expr))
        last = None if after is None else e.compare("sgt", e.add(first, self.length + after), extent)
        with e.when(last):
            self._side(array, take, self._stops)

    @property
    def _extent(self) -> Index:
        return self.code.extent(self.op.view_type.get_shape()[self.along])

    @property
    def _expr(self) -> AffineExpr:
        return self.op.access_map.results[self.along]

    def _at_first(self, expr: AffineExpr) -> AffineExpr:
        """An expression where the row begins at 0."""
        dims = [AffineExpr.dimension(d) for d in range(len(self.op.offsets))]
        dims[self.dim] = AffineExpr.constant(0)
        return expr.replace_dims_and_symbols(dims, [AffineExpr.symbol(s) for s in range(len(self.op.symbols))])

    def _side(
        self,
        array: SSAValue,
        take: Callable[[Sequence[Index], SSAValue], None],
        begin: Callable[[Index], Index],
    ) -> None:
        """`begin`: from where on in the tile the elements of a side are, by where the row begins in the view."""
        e, code = self.code.e, self.code
        others = [d for d in range(len(self.fragment.shape)) if d != self.dim]
        slots = self.vector * prod(self.fragment.shape[d] for d in others)
        steps = ceil_div(slots, code.group.count)
        with e.loop(0, steps, unroll=True if steps <= MAX_UNROLLED else 1) as step:
            number = e.add(code.group.thread, e.mul(step, code.group.count))
            position, *coordinates = e.split(number, [self.vector, *(self.fragment.shape[d] for d in others)])
            at: list[Index] = [0] * len(self.fragment.shape)
            for d, coordinate in zip(others, coordinates, strict=True):
                at[d] = coordinate
            at[self.dim] = e.add(begin(self._place(at)), position)
            offset, conditions = self._locate(at)
            conditions.append(e.compare("ult", at[self.dim], self.length))
            if steps * code.group.count > slots:
                conditions.append(e.compare("slt", number, slots))
            with e.when(e.all(conditions)):
                take(at, array)
                e.insert(cuda.StoreOp(array, e.index(0), self.code.pointers[self.op.view], e.index(offset)))

    def _starts(self, place: Index) -> Index:
        return self.code.e.sub(self._first_vector(place), self.vector)

    def _stops(self, place: Index) -> Index:
        e, extent = self.code.e, self._extent
        end = e.sub(extent, place)
        last = e.sub(end, e.rem(end, self.vector))
        first = self._first_vector(place)
        return e.select(e.compare("slt", last, first), first, last)

    def _first_vector(self, place: Index) -> Index:
        """Where the first whole vector of a row begins in the tile."""
        e = self.code.e
        before = e.sub(0, place)
        inside = e.select(e.compare("slt", before, 0), 0, before)
        up = e.add(inside, self.vector - 1)
        return e.sub(up, e.rem(up, self.vector))

    def _place(self, at: Sequence[Index]) -> Index:
        """Where the row that has these other coordinates in the tile begins along the view's dimension."""
        e = self.code.e
        dims = [Coordinate(e.add(self.code.scalar(o), c)) for o, c in zip(self.op.offsets, at, strict=True)]
        return Walk(e, ()).affine(self._expr, dims, self._symbols).at(e, ())

    def _locate(self, at: Sequence[Index]) -> tuple[Index, list[SSAValue]]:
        return locate_at(self.code, self.op, [Coordinate(c) for c in at], self._symbols, (), 1, ())

    @property
    def _symbols(self) -> list[Index]:
        return [self.code.scalar(symbol) for symbol in self.op.symbols]
