"""Scratch memory where warps meet: what each of them has to say about every element of some tiles."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from xdsl.ir import SSAValue

from irc.dialects import cuda
from irc.lowering.emitter import Index
from irc.lowering.values import Bytes, Code, Registers, element_bytes
from irc.support.integers import round_up


@dataclass(frozen=True)
class Partials:
    """`count` values of each element of `tiles`, which share a fragment; `starts` are byte offsets in the region."""

    code: Code
    tiles: Sequence[Registers]
    count: int
    starts: tuple[int, ...]
    region: Bytes
    """All of them."""

    @staticmethod
    def of(code: Code, tiles: Sequence[Registers], count: int) -> Partials:
        """In scratch memory, one tile after another, each aligned to its elements."""
        starts: list[int] = []
        total = 0
        for tile in tiles:
            size = element_bytes(tile.element)
            starts.append(round_up(total, size))
            total = starts[-1] + count * prod(tile.fragment.shape) * size
        return Partials(code, tiles, count, tuple(starts), code.scratch(total, rotates=True))

    def address(self, which: int, element: Index, place: Index) -> SSAValue:
        """The address of the value at `place` for an element, by its colexicographic number, of tile `which`."""
        e, tile = self.code.e, self.tiles[which]
        at = e.add(e.mul(place, prod(tile.fragment.shape)), element)
        start = e.add(self.code.as_index(self.region.address), self.starts[which])
        return e.i32(e.add(start, e.mul(at, element_bytes(tile.element))))

    def write(self, components: Sequence[Index], place: Index) -> None:
        """Puts the thread's elements with these components at `place`."""
        code = self.code
        element = code.colexicographic(self.tiles[0].fragment, components)
        for which, tile in enumerate(self.tiles):
            register = code.e.index(code.register(tile, components))
            code.e.insert(cuda.SharedStoreOp(self.address(which, element, place), tile.array, register))

    def read(self, element: Index, place: Index) -> list[SSAValue]:
        """Arrays of one register, a tile each, with the values of an element at `place`."""
        e = self.code.e
        arrays: list[SSAValue] = [e.value(cuda.RegistersOp(1, tile.element)) for tile in self.tiles]
        for which, array in enumerate(arrays):
            e.insert(cuda.SharedLoadOp(self.address(which, element, place), array, e.index(0)))
        return arrays
