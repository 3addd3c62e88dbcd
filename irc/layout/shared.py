"""Layouts of shared memory: CuTe layouts composed with a swizzle."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

from irc.layout.algebra import ordered, tile_to_shape
from irc.layout.cute import Layout, composition, make_layout
from irc.layout.fragment import Coordinates
from irc.layout.requests import Addresses

IndexT = TypeVar("IndexT", int, Addresses)


@dataclass(frozen=True)
class Swizzle:
    """CuTe's Swizzle<b, m, s>: XORs bits [m + s, m + s + b) of an index into bits [m, m + b) (cute/swizzle.hpp)."""

    bits: int = 0
    base: int = 0
    shift: int = 0

    def __call__(self, index: IndexT) -> IndexT:
        """The place of an index, or of every index of an array."""
        mask = (1 << self.bits) - 1
        return index ^ (((index >> (self.base + self.shift)) & mask) << self.base)

    @property
    def is_identity(self) -> bool:
        return self.bits == 0


IDENTITY = Swizzle()

SMALLEST_SWIZZLE = 32
"""Bytes of a row of the narrowest swizzle pattern that TMA and wgmma know (PTX ISA, 5.5.6)."""


@dataclass(frozen=True)
class SharedLayout:
    """Element offset of a tile coordinate: `swizzle(layout(coordinate))`, CuTe's ComposedLayout without an offset. The
    layout has one top-level mode for each dimension of the tile."""

    layout: Layout
    swizzle: Swizzle = IDENTITY

    @cached_property
    def modes(self) -> tuple[tuple[tuple[int, int], ...], ...]:
        """The (size, stride) pairs of each dimension, innermost first."""
        return tuple(mode.flat for mode in self.layout.modes)

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(mode.size for mode in self.layout.modes)

    @property
    def size(self) -> int:
        """Elements from the first to one past the last."""
        return self.layout.cosize

    def __call__(self, coordinate: Sequence[int]) -> int:
        return self.swizzle(self.layout(tuple(coordinate)))

    def offsets(self, coordinates: Coordinates) -> Addresses:
        """The element offsets of arrays of coordinates, before the swizzle."""
        total = 0 * coordinates[0]
        for at, modes in zip(coordinates, self.modes, strict=True):
            for size, stride in modes[:-1]:
                total = total + at % size * stride
                at = at // size
            total = total + at * modes[-1][1]
        return total

    @property
    def fastest(self) -> int:
        """The dimension along which neighbors are neighbors in memory; the last where there is none."""
        return next(
            (d for d, modes in enumerate(self.modes) if modes[0][1] == 1 and modes[0][0] > 1), len(self.modes) - 1
        )

    def run(self, dim: int) -> int:
        """How many elements along `dim`, from a multiple of the result on, lie one after another."""
        size, stride = self.modes[dim][0]
        if stride != 1:
            return 1
        return size if self.swizzle.is_identity else min(size, 1 << self.swizzle.base)

    def compose(self, inner: Layout) -> SharedLayout:
        """The layout that takes a coordinate of `inner` to where this one has that element."""
        return SharedLayout(composition(self.layout, inner), self.swizzle)

    def permuted(self, dims: Sequence[int]) -> SharedLayout:
        """The layout of a tile whose dimension i is dimension `dims[i]` of this one's."""
        modes = self.layout.modes
        return SharedLayout(make_layout(*(modes[d] for d in dims)), self.swizzle)


def plain(shape: Sequence[int], order: Sequence[int], swizzle: Swizzle = IDENTITY) -> SharedLayout:
    """Dense strides along the dimensions of `order`, fastest first."""
    return SharedLayout(ordered(shape, order), swizzle)


def panels(shape: Sequence[int], dim: int, width: int, swizzle: Swizzle) -> SharedLayout:
    """A 2-d tile cut into panels of `width` elements along `dim`, each panel dense with `dim` fastest: what one TMA
    box of a hardware swizzle writes and wgmma's descriptors read (PTX ISA, "Shared Memory Matrix Layout")."""
    other = 1 - dim
    block = [1, 1]
    block[dim] = width
    return SharedLayout(tile_to_shape(ordered(block, (dim, other)), shape, (other, dim)), swizzle)
