"""What a thread holds of the windows that it reads, and how its elements lie so that they share much of that."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod

from irc.layout.requests import REGISTER_BYTES
from irc.support.integers import ceil_div

MAX_WINDOW_REGISTERS = 168
"""Registers that hold what a thread reads and sums: others of 255 hold addresses and what is compared."""

LOAD = 2
"""Instructions of a load and of the comparison that it takes, in those of a conversion."""


@dataclass(frozen=True)
class Reach:
    """Along an axis of an array: `count` elements of a thread are `step` apart there; each reads `places` elements, the
    last of them `reach` behind the first."""

    count: int
    step: int
    reach: int
    places: int

    @property
    def elements(self) -> int:
        """All from the first to the last, or those that are read where a thread has one element."""
        return (self.count - 1) * self.step + self.reach + 1 if self.count > 1 else self.places


@dataclass(frozen=True)
class Read:
    """Elements of an array that a thread reads, each of `size` bytes."""

    axes: tuple[Reach, ...]
    size: int

    @property
    def elements(self) -> int:
        return prod(axis.elements for axis in self.axes)


def registers(read: Sequence[Read], values: int) -> int:
    """Registers of what is read, and of a sum for each of so many elements of the result."""
    return sum(ceil_div(each.elements * each.size, REGISTER_BYTES) for each in read) + values


def instructions(read: Sequence[Read], run: int) -> int:
    """Loads of vectors of `run` elements, and conversions of those that are shorter than a register."""
    return sum(each.elements * (each.size < REGISTER_BYTES) + LOAD * ceil_div(each.elements, run) for each in read)


def closest_runs(
    each: int, vector: int, size: int, outer: Sequence[int], read: Callable[[Sequence[int]], Sequence[Read]]
) -> tuple[int, ...]:
    """How many of a thread's elements lie side by side along the contiguous dimension, at most `vector` of `size`
    bytes, and along others that windows reach along, with the extents `outer`, so that loads and conversions are the
    fewest. Products of the elements of windows take most of the instructions there are: those are left to save."""
    runs = list(_runs(each, vector, size, outer)) or [(min(vector, each), *[1] * len(outer))]
    return min(runs, key=lambda runs: instructions(read(runs), runs[0]))


def _runs(each: int, vector: int, size: int, outer: Sequence[int]) -> Iterator[tuple[int, ...]]:
    run = min(vector, each)
    while run:
        for rows in product(*([1 << bit for bit in range(extent.bit_length())] for extent in outer)):
            if run * prod(rows) == each:
                yield (run, *rows)
        run = run // 2 if run * size > REGISTER_BYTES else 0
