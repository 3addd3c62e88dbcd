"""Loads by way of shared memory: the words of memory that hold a tile's box are copied there as they are, then every
thread takes its elements (irc/layout/staging.py)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineExpr

from irc.analysis.accesses import access_of
from irc.dialects import cuda, tile
from irc.dialects.tile import fragment_layout
from irc.layout.affine import least
from irc.layout.box import box_of
from irc.layout.requests import WIDEST
from irc.layout.segments import Segments
from irc.layout.shared import SharedLayout
from irc.layout.staging import run_segments, staged_bytes
from irc.layout.traffic import global_vector
from irc.lowering.coordinates import Coordinate, Walk
from irc.lowering.emitter import Index
from irc.lowering.memory import by_tile, locate, store_registers, zero
from irc.lowering.row_ends import RowEnds
from irc.lowering.swizzled_runs import SwizzledRun
from irc.lowering.values import Code, Registers, element_bytes, tile_element
from irc.support.integers import ceil_div

MAX_RESTING = 4
"""Of so many threads one may rest while words are moved."""


class StagedLoad:
    """Offsets are in elements of the view and of the box."""

    def __init__(self, code: Code, op: tile.LoadOp, layout: SharedLayout) -> None:
        self.code, self.op, self.layout, self.swizzle = code, op, layout, op.lane_swizzle_values
        self.fragment = fragment_layout(op.result.type)
        self.access = access_of(op)
        box = box_of(self.access, self.fragment.shape)
        assert box is not None
        self.box = box
        self.element = tile_element(op.result.type)
        self.size = element_bytes(self.element)
        self.word = WIDEST // self.size
        self.symbols = [code.scalar(symbol) for symbol in op.symbols]
        self.offsets = [Coordinate(code.scalar(offset)) for offset in op.offsets]
        walk = Walk(code.e, ())
        self.origins = [walk.affine(expr, self.offsets, self.symbols).base for expr in box.origins]
        self.region = code.scratch(staged_bytes(layout, box, self.size))
        self.skip = self._skip()

    def emit(self) -> None:
        code = self.code
        words = self._load_words()
        code.access("write", self.region)
        self._write_words(words)
        if self._left:
            self._copy_left()
        code.access("read", self.region)
        store = self.op.next_op
        if isinstance(store, tile.StoreOp) and store.tile == self.op.result and self.op.result.has_one_use():
            self._store(store)
        else:
            code.values[self.op.result] = self._take()

    def _skip(self) -> Index:
        """The elements before the first row's in its word of memory. In shared memory as many are left out: rows are
        as far apart there as in memory, but for whole words."""
        if not self.box.is_misaligned:
            return 0
        e, begin = self.code.e, self._run_origin
        for dim in self.box.rows:
            begin = e.add(begin, e.mul(self.origins[dim], self._stride(dim)))
        return e.rem(begin, self.word)

    def _store(self, op: tile.StoreOp) -> None:
        """Stores the tile as it is taken, so that no thread holds more of it than a run."""
        run = self.fragment.values[0].size if self.fragment.vector[1] > 1 else 1
        array = self.code.e.value(cuda.RegistersOp(run, self.element), self.op.result.name_hint)
        strides = tuple(int(at == 0 and run > 1) for at in range(len(self.fragment.values)))
        held = Registers(array, self.fragment, strides)
        ends = RowEnds.of(self.code, op, self.fragment)
        if ends is None:
            store_registers(self.code, op, held, partial(self._take_vectors, held))
            return

        def stores(*, checked: bool) -> None:
            with self.code.each(self.fragment, ends.vector) as components:
                offset, conditions = locate(self.code, op, self.fragment, components, ends.vector)
                # Found outside of the branch, so that what runs have in common is found once.
                runs = self._run_addresses(components, ends.vector)
                with self.code.e.when(self.code.e.all(conditions) if checked else None):
                    for first, address, vector in runs:
                        self._insert(held, [first, *components[1:]], address, vector)
                    self._put_in_order(held, components, ends.vector)
                    register = self.code.e.index(self.code.register(held, components))
                    self.code.e.insert(ends.vector_store(array, register, offset))
            if checked:
                ends.emit(array, self._take_element)

        by_tile(self.code, op, self.fragment, ends.vector, stores)

    # Words of memory

    @property
    def _rows_at_once(self) -> int:
        """Rows whose words the threads move in a step, one each; the threads that are left over rest. 0 where those are
        many: then words are dealt out one after another."""
        count, words = self.code.group.count, self.box.words
        rows = min(count // words, self.box.row_count)
        return rows if rows * words * MAX_RESTING >= count * (MAX_RESTING - 1) else 0

    @property
    def _steps(self) -> int:
        if self._rows_at_once:
            return ceil_div(self.box.row_count, self._rows_at_once)
        return ceil_div(self.box.row_count * self.box.words, self.code.group.count)

    def _load_words(self) -> SSAValue:
        e = self.code.e
        array = e.value(cuda.RegistersOp(self._steps * self.word, self.element), self.op.result.name_hint)
        pointer = self.code.pointers[self.op.view]
        none = zero(self.code, self.element)
        with e.loop(0, self._steps, unroll=True) as step:
            word, at, exists = self._word(step)
            offset, conditions = self._source(word, at)
            if self._left:
                conditions.append(e.compare("sle", offset, e.sub(self._size, self.word)))
            register = e.mul(step, self.word)
            load = cuda.LoadOp(
                pointer,
                offset=e.index(offset),
                array=array,
                index=e.index(register),
                count=self.word,
                cache="read_only",
            )
            inside = e.all([*exists, *conditions])
            if inside is None:
                e.insert(load)
            else:
                e.branch(inside, partial(e.insert, load), partial(self._fill, array, register, none))
        return array

    @property
    def _left(self) -> bool:
        """Whether there may be elements of the view that fill no word."""
        return self.access.size % self.word != 0

    @property
    def _size(self) -> Index:
        """The elements of the view."""
        return self.code.extent(self.access.size)

    def _stride(self, dim: int) -> Index:
        """Of the view."""
        return self.code.extent(self.access.strides[dim])

    def _copy_left(self) -> None:
        """The elements of the view's last word, where it is not whole, one by one, by the threads that move it. Few
        tiles reach it: the others know before they look."""
        e, box = self.code.e, self.box
        left = e.rem(self._size, self.word)
        first = e.sub(self._size, left)
        last: Index = box.length - 1
        for dim in range(len(self.access.strides)):
            rows = box.counts[dim] - 1 if dim in box.rows else 0
            last = e.add(last, e.mul(e.add(self.origins[dim], rows), self._stride(dim)))
        array = e.value(cuda.RegistersOp(1, self.element))
        none = e.constant(0)
        with e.when(e.compare("sge", last, first)), e.loop(0, self._steps, unroll=1) as step:
            word, at, exists = self._word(step)
            offset, conditions = self._source(word, at)
            address = self._address(word, at)
            is_last = e.all([*exists, *conditions, e.compare("eq", offset, first)])
            with e.when(is_last), e.loop(0, left, unroll=1) as n:
                source = e.index(e.add(offset, n))
                e.insert(cuda.LoadOp(self.code.pointers[self.op.view], array, none, source))
                to = e.i32(e.add(address, e.mul(n, self.size)))
                e.insert(cuda.SharedStoreOp(to, array, none, count=1))

    def _fill(self, array: SSAValue, register: Index, value: SSAValue) -> None:
        e = self.code.e
        for n in range(self.word):
            e.insert(cuda.SetOp(array, e.index(e.add(register, n)), value))

    def _write_words(self, words: SSAValue) -> None:
        e = self.code.e
        with e.loop(0, self._steps, unroll=True) as step:
            word, at, exists = self._word(step)
            address = e.i32(self._address(word, at))
            register = e.index(e.mul(step, self.word))
            with e.when(e.all(exists)):
                e.insert(cuda.SharedStoreOp(address, words, register, count=self.word))

    def _address(self, word: Index, at: Sequence[Index]) -> Index:
        """Where a word of a row lies in shared memory."""
        e = self.code.e
        coordinates = [Coordinate(0)] * len(self.box.counts)
        for dim, index in zip(self.box.rows, at, strict=True):
            coordinates[dim] = Coordinate(index)
        row = e.add(self.skip, Walk(e, ()).offset(self.layout, coordinates).base)
        if self.box.is_misaligned:
            row = e.sub(row, e.rem(row, self.word))
        offset = e.add(row, e.mul(word, self.word))
        return e.add(self.code.as_index(self.region.address), e.mul(offset, self.size))

    def _word(self, step: Index) -> tuple[Index, list[Index], list[SSAValue]]:
        """The word that the thread moves in a step: its place in a row, the coordinates of the row in the box, and the
        conditions under which there is one."""
        e, box, group, at_once = self.code.e, self.box, self.code.group, self._rows_at_once
        counts = [box.counts[d] for d in box.rows]
        conditions: list[SSAValue] = []
        if at_once:
            word, first = e.split(group.thread, [box.words, at_once])
            row = e.add(first, e.mul(step, at_once))
            if at_once * box.words != group.count:
                conditions.append(e.compare("slt", first, at_once))
            if self._steps * at_once != box.row_count:
                conditions.append(e.compare("slt", row, box.row_count))
        else:
            number = e.add(group.thread, e.mul(step, group.count))
            word, row = e.split(number, [box.words, box.row_count])
            if self._steps * group.count != box.row_count * box.words:
                conditions.append(e.compare("slt", number, box.row_count * box.words))
        return word, e.split(row, counts) if counts else [], conditions

    def _source(self, word: Index, at: Sequence[Index]) -> tuple[Index, list[SSAValue]]:
        """Where a word of a row begins in the view, and the conditions under which it holds elements of the row."""
        e, box, access = self.code.e, self.box, self.access
        conditions: list[SSAValue] = []
        row: Index = 0
        for dim, index in zip(box.rows, at, strict=True):
            position = e.add(self.origins[dim], index)
            row = e.add(row, e.mul(position, self._stride(dim)))
            if dim in box.checked:
                if least(box.origins[dim]) < 0:
                    conditions.append(e.compare("sge", position, 0))
                conditions.append(e.compare("slt", position, self.code.extent(access.extents[dim])))
        begin = e.add(row, self._run_origin)
        skip = e.rem(begin, self.word) if box.is_misaligned else 0
        offset = e.add(e.sub(begin, skip), e.mul(word, self.word))
        end = e.add(begin, box.length)
        outer = box.run[-1]
        if outer in box.checked:
            most = e.add(row, self.code.extent(access.extents[outer] * access.strides[outer]))
            end = e.minimum(end, most)
            if least(box.origins[outer]) < 0:
                conditions.append(e.compare("sgt", e.add(offset, self.word), row))
        if box.is_misaligned or box.length % self.word or outer in box.checked:
            conditions.append(e.compare("slt", offset, end))
        return offset, conditions

    @property
    def _run_origin(self) -> Index:
        e, total = self.code.e, 0
        for dim in self.box.run:
            total = e.add(total, e.mul(self.origins[dim], self._stride(dim)))
        return total

    # Elements of threads

    def _take(self) -> Registers:
        code = self.code
        result = code.array(self.fragment, self.element, self.op.result.name_hint)
        vector = global_vector(self.fragment, self.access)
        run = self.fragment.vector[1]
        swizzled = SwizzledRun(code, self.swizzle, run)
        with code.each(self.fragment, vector) as components:
            self._take_at(result, components, vector, swizzled)
        if not swizzled.is_in_order:
            with code.each(self.fragment, run) as components:
                self._put_in_order(result, components, run)
        return result

    def _take_vectors(self, to: Registers, components: Sequence[Index], count: int) -> None:
        vector = min(count, global_vector(self.fragment, self.access))
        if not components:
            self._take_at(to, (), vector, None)
            return
        first, *others = components
        swizzled = SwizzledRun(self.code, self.swizzle, count)
        with self.code.e.loop(0, count, vector, unroll=True, hint="n") as n:
            self._take_at(to, [self.code.e.add(first, n), *others], vector, swizzled)
        self._put_in_order(to, components, count)

    def _take_at(self, to: Registers, components: Sequence[Index], vector: int, swizzled: SwizzledRun | None) -> None:
        taken = components if swizzled is None else [swizzled.position(components[0]), *components[1:]]
        offset = self._offset(self.code.linear_coordinates(self.fragment), taken, vector)
        self._insert(to, components, self._byte(offset), vector)

    def _put_in_order(self, held: Registers, components: Sequence[Index], count: int) -> None:
        """The elements of a run, or of as many of them as are stored together, which lanes took by a swizzle."""
        first, *others = components
        registers = [self.code.register(held, [self.code.e.add(first, n), *others]) for n in range(count)]
        SwizzledRun(self.code, self.swizzle, count).put_in_order(held.array, registers)

    def _run_addresses(self, components: Sequence[Index], count: int) -> list[tuple[Index, Index, int]]:
        """Where the elements of a run that is inside the view lie: for each vector its first component, its address and
        how many elements it has."""
        e, own = self.code.e, self.code.linear_coordinates(self.fragment)
        segments = run_segments(self.fragment, self.access, self.layout)
        first, *others = components
        vector = min(count, global_vector(self.fragment, self.access))
        at = [e.add(first, n) for n in range(0, count, vector)]
        # Where vectors are taken there is no swizzle.
        taken = SwizzledRun(self.code, self.swizzle, count).positions(count)[::vector]
        if segments is None:
            offsets = [self._offset(own, [e.add(first, n), *others], vector, checked=False) for n in taken]
            return [(each, self._byte(offset), vector) for each, offset in zip(at, offsets, strict=True)]
        step = sum(s * modes[-1][1] for s, modes in zip(segments.slopes, self.layout.modes, strict=True))
        starts: list[tuple[Index, Index]] = [(0, self._byte(self._offset(own, components, 1, checked=False)))]
        for _ in range(1, segments.count(count)):
            begin = e.add(starts[-1][0], segments.by) if len(starts) > 1 else self._first_end(segments, own, components)
            offset = self._offset(own, [e.add(first, begin), *others], 1, checked=False)
            starts.append((begin, self._byte(e.sub(offset, e.mul(begin, step)))))
        steps = [e.mul(n, step * self.size) for n in taken]
        return [(each, e.add(self._chosen(starts, n), by), 1) for each, n, by in zip(at, taken, steps, strict=True)]

    def _chosen(self, starts: Sequence[tuple[Index, Index]], n: Index) -> Index:
        """The address for element n of a run, before its step: of the last segment that has begun."""
        at = starts[0][1]
        for begin, address in starts[1:]:
            at = self.code.e.select(self.code.e.compare("sle", begin, n), address, at)
        return at

    def _first_end(self, segments: Segments, own: Sequence[Coordinate], components: Sequence[Index]) -> Index:
        """How many elements of a run belong to its first segment."""
        assert segments.dividend is not None
        e = self.code.e
        dividend = Walk(e, components).affine(segments.dividend, self._dims(own), self.symbols)
        return e.sub(segments.by, e.rem(dividend.at(e, components), segments.by))

    def _take_element(self, at: Sequence[Index], array: SSAValue) -> None:
        """An element of the tile that is inside the view, to the first of some registers."""
        address = self._byte(self._offset([Coordinate(c) for c in at], (), 1, checked=False))
        self.code.e.insert(cuda.SharedLoadOp(self.code.e.i32(address), array, self.code.e.index(0)))

    def _insert(self, to: Registers, components: Sequence[Index], address: Index, vector: int) -> None:
        e = self.code.e
        register = e.index(self.code.register(to, components))
        e.insert(cuda.SharedLoadOp(e.i32(address), to.array, register, count=vector))

    def _byte(self, offset: Index) -> Index:
        return self.code.e.add(self.code.as_index(self.region.address), self.code.e.mul(offset, self.size))

    def _clamped(self, at: Index, most: int, expr: AffineExpr) -> Index:
        """A coordinate inside the box: what is taken there instead of what is outside the view is not used."""
        e = self.code.e
        at = e.minimum(at, most)
        if least(expr) < 0:
            at = e.select(e.compare("slt", at, 0), 0, at)
        return at

    def _dims(self, own: Sequence[Coordinate]) -> list[Coordinate]:
        """The coordinates of elements of the tile in the space of all tiles."""
        return [Coordinate(self.code.e.add(o.base, p.base), p.steps) for o, p in zip(self.offsets, own, strict=True)]

    def _offset(
        self, own: Sequence[Coordinate], components: Sequence[Index], vector: int, *, checked: bool = True
    ) -> Index:
        """Where an element lies in the box. Vectors outside take the first one, which is aligned. Not checked: the
        element is inside the view."""
        e, box = self.code.e, self.box
        walk = Walk(e, components)
        dims = self._dims(own)
        inside: list[Coordinate] = []
        for dim, expr in enumerate(self.op.access_map.results):
            at = walk.affine(expr, dims, self.symbols)
            at = Coordinate(e.sub(at.base, self.origins[dim]), at.steps)
            if checked and dim in box.cut and vector == 1:
                at = Coordinate(self._clamped(at.at(e, components), box.counts[dim] - 1, expr))
            inside.append(at)
        offset = e.add(self.skip, walk.offset(self.layout, inside).at(e, components))
        if vector == 1 or not checked:
            return offset
        exists = e.all([self._is_there(d, inside[d].at(e, components), vector) for d in sorted(box.cut)])
        return offset if exists is None else e.select(exists, offset, 0)

    def _is_there(self, dim: int, at: Index, vector: int) -> SSAValue:
        """Whether a vector that begins at a coordinate in the box has elements of it. What comes before a row lies in
        the same word as its first element, or in the row before."""
        e, count = self.code.e, self.box.counts[dim]
        before = vector - 1 if dim == self.box.run[0] and least(self.op.access_map.results[dim]) < 0 else 0
        return e.compare("ult", e.add(at, before), count + before)
