"""A mesh of ranks, and how arrays are divided among them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import prod
from typing import TypeAlias

from irc.support.diagnostics import IrcError, unknown_name

Sharding: TypeAlias = tuple[tuple[str, ...], ...]
"""For each axis of an array the axes of the mesh that divide it, the outermost first."""


@dataclass(frozen=True)
class Mesh:
    """names and sizes: of the axes. Ranks are numbered in row-major order."""

    names: tuple[str, ...]
    sizes: tuple[int, ...]

    @property
    def size(self) -> int:
        """The number of ranks."""
        return prod(self.sizes)

    def count(self, axes: Iterable[str]) -> int:
        """The number of ranks along some axes."""
        return prod(self.sizes[self.names.index(axis)] for axis in axes)

    def coordinates(self, rank: int) -> tuple[int, ...]:
        """Of a rank, along each axis."""
        found: list[int] = []
        for size in reversed(self.sizes):
            rank, coordinate = divmod(rank, size)
            found.append(coordinate)
        return tuple(reversed(found))

    def group(self, rank: int, axes: Sequence[str]) -> list[int]:
        """The ranks that differ from one along these axes alone, in the order of their coordinates there."""
        own = self.coordinates(rank)
        places = [self.names.index(axis) for axis in axes]
        others = [i for i in range(len(self.sizes)) if i not in places]
        members = [r for r in range(self.size) if all(self.coordinates(r)[i] == own[i] for i in others)]
        return sorted(members, key=lambda r: [self.coordinates(r)[i] for i in places])

    def number(self, rank: int, axes: Sequence[str]) -> int:
        """Of a rank in its group."""
        return self.group(rank, axes).index(rank)

    def check(self, sharding: Sharding, shape: Sequence[int], what: str) -> None:
        """IrcError unless an array of this shape can be divided so."""
        if len(sharding) != len(shape):
            raise IrcError(f"{what}: expected a sharding of {len(shape)} axes, found {len(sharding)}")
        used = [axis for axes in sharding for axis in axes]
        for axis in used:
            if axis not in self.names:
                raise unknown_name("axis", axis, self.names, f"the mesh has {', '.join(self.names)}", " of the mesh")
        if len(set(used)) != len(used):
            raise IrcError(f"{what}: expected each axis of the mesh once, found {text(sharding)}")
        for number, (axes, extent) in enumerate(zip(sharding, shape, strict=True)):
            if extent % self.count(axes):
                raise IrcError(
                    f"{what}: axis {number} of extent {extent} does not divide among the {self.count(axes)} ranks of "
                    f"{'+'.join(axes)}"
                )

    def local(self, shape: Sequence[int], sharding: Sharding) -> tuple[int, ...]:
        """The shape of each rank's part."""
        return tuple(extent // self.count(axes) for extent, axes in zip(shape, sharding, strict=True))

    def part(self, rank: int, shape: Sequence[int], sharding: Sharding) -> tuple[slice, ...]:
        """Where a rank's part is in an array of this shape."""
        parts = self.local(shape, sharding)
        starts = [self.number(rank, axes) * size if axes else 0 for axes, size in zip(sharding, parts, strict=True)]
        return tuple(slice(start, start + size) for start, size in zip(starts, parts, strict=True))


def text(sharding: Sharding) -> str:
    """`data, -, model+data`."""
    return ", ".join("+".join(axes) or "-" for axes in sharding)
