"""Stores of rows that begin at any element, in whole words of 16 bytes, out of shared memory.

A tile lies in shared memory with its rows as they are in the result, but rows of an odd pitch begin anywhere in a
word of memory. So the thread that holds the word at element w of a row stores the one from w + skip on, where skip is
the number of elements before the first whole word of memory. It is put together from two words of shared memory. What
is before the first whole word of a row and after the last one, together a word, is stored element by element.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import prod

from xdsl.ir import SSAValue

from irc.analysis.accesses import access_of
from irc.dialects import cuda, tile
from irc.layout.traffic import realigned_vector
from irc.lowering.coordinates import Coordinate
from irc.lowering.emitter import Index
from irc.lowering.memory import by_tile, locate_at, shared_address
from irc.lowering.values import Code, Exchanged, Registers
from irc.support.integers import ceil_div


class RealignedStore:
    """The store of an exchanged tile. Coordinates are those of the tile; `dim` is the dimension of the rows."""

    def __init__(self, code: Code, op: tile.StoreOp, source: Exchanged) -> None:
        self.code, self.op, self.source = code, op, source
        self.fragment = source.fragment
        access = access_of(op)
        self.vector = realigned_vector(self.fragment, access)
        self.dim = self.fragment.vector[0]
        self.length = self.fragment.shape[self.dim]
        self.symbols = [code.scalar(symbol) for symbol in op.symbols]
        self.ends = {d for d in op.checked_dims if self.dim in access.map.results[d].used_dims()}
        self.pointer = code.pointers[op.view]

    def emit(self) -> None:
        self.code.access("read", self.source.region)
        words, ends = self._load_words(), self._load_ends()
        by_tile(self.code, self.op, self.fragment, self.vector, partial(self._store_words, words))
        by_tile(self.code, self.op, self.fragment, self.vector, partial(self._store_ends, ends))

    # Whole words

    def _load_words(self) -> Registers:
        code = self.code
        words = code.array(self.fragment, self.source.buffer.element)
        with code.each(self.fragment, self.vector) as components:
            at = code.coordinates(self.fragment, components)
            low = shared_address(code, self.source.buffer, at)
            # The word after the last one of a row is its first: it is read, and not stored.
            beyond = code.e.rem(code.e.add(at[self.dim], self.vector), self.length)
            high = shared_address(code, self.source.buffer, self._moved(at, beyond))
            register = code.e.index(code.register(words, components))
            code.e.insert(cuda.SharedLoadAcrossOp(low, high, code.e.index(self._skip(at)), words.array, register))
        return words

    def _store_words(self, words: Registers, *, checked: bool) -> None:
        e = self.code.e
        with self.code.each(self.fragment, self.vector) as components:
            at = self.code.coordinates(self.fragment, components)
            first = e.add(at[self.dim], self._skip(at))
            register = self.code.register(words, components)
            offset, conditions = self._locate(self._moved(at, first), self.vector)
            word = cuda.StoreOp(words.array, e.index(register), self.pointer, e.index(offset), count=self.vector)
            inside = e.all(conditions) if checked else None
            with e.when(e.compare("sle", first, self.length - self.vector)):
                if inside is None:
                    e.insert(word)
                else:
                    each = partial(self._store_each, words, register, at, first)
                    e.branch(inside, partial(e.insert, word), each)

    def _store_each(self, words: Registers, register: Index, at: Sequence[Index], first: Index) -> None:
        """The elements of a word that the end of the view is in."""
        e = self.code.e
        with e.loop(0, self.vector, unroll=True, hint="n") as n:
            self._store(words.array, e.add(register, n), self._moved(at, e.add(first, n)), checked=True)

    # The ends of rows

    @property
    def _steps(self) -> int:
        return ceil_div(self._rows * self.vector, self.code.group.count)

    @property
    def _rows(self) -> int:
        return prod(self.fragment.shape) // self.length

    def _load_ends(self) -> SSAValue:
        e = self.code.e
        array = e.value(cuda.RegistersOp(self._steps, self.source.buffer.element))
        with e.loop(0, self._steps, unroll=True) as step:
            at, condition = self._end(step)
            address = shared_address(self.code, self.source.buffer, at)
            with e.when(condition):
                e.insert(cuda.SharedLoadOp(address, array, e.index(step)))
        return array

    def _store_ends(self, ends: SSAValue, *, checked: bool) -> None:
        e = self.code.e
        with e.loop(0, self._steps, unroll=True) as step:
            at, condition = self._end(step)
            with e.when(condition):
                self._store(ends, step, at, checked=checked)

    def _end(self, step: Index) -> tuple[list[Index], SSAValue]:
        """The element that the thread stores in a step, and the condition under which there is one: as many before the
        first word as there are in `skip`, the others after the last one."""
        e = self.code.e
        number = e.add(self.code.group.thread, e.mul(step, self.code.group.count))
        others = [d for d in range(len(self.fragment.shape)) if d != self.dim]
        at: list[Index] = [0] * len(self.fragment.shape)
        sizes = [self.vector, *(self.fragment.shape[d] for d in others)]
        position, *coordinates = e.split(number, sizes)
        for d, coordinate in zip(others, coordinates, strict=True):
            at[d] = coordinate
        skip = self._skip(at)
        conditions = [e.compare("ne", skip, 0)]
        if self._steps * self.code.group.count > self._rows * self.vector:
            conditions.append(e.compare("slt", number, self._rows * self.vector))
        is_before = e.compare("slt", position, skip)
        at[self.dim] = e.select(is_before, position, e.add(position, self.length - self.vector))
        condition = e.all(conditions)
        assert condition is not None
        return at, condition

    # Coordinates

    def _store(self, array: SSAValue, register: Index, at: Sequence[Index], *, checked: bool) -> None:
        """One element."""
        e = self.code.e
        offset, conditions = self._locate(at, 1)
        with e.when(e.all(conditions) if checked else None):
            e.insert(cuda.StoreOp(array, e.index(register), self.pointer, e.index(offset)))

    def _skip(self, at: Sequence[Index]) -> Index:
        """The elements from one at a multiple of a word of the tile to the first whole word of memory."""
        offset, _ = self._locate(at, 1)
        return self.code.e.rem(self.code.e.sub(0, offset), self.vector)

    def _moved(self, at: Sequence[Index], to: Index) -> list[Index]:
        return [to if d == self.dim else coordinate for d, coordinate in enumerate(at)]

    def _locate(self, at: Sequence[Index], vector: int) -> tuple[Index, list[SSAValue]]:
        return locate_at(self.code, self.op, [Coordinate(c) for c in at], self.symbols, (), vector, self.ends)
