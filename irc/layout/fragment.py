"""Fragments: how the elements of a tile are spread over the threads and registers of a block.

A fragment is a CuTe thread-value layout (CuTe documentation, "TV layouts"): a function from (thread, value) to the
tile's colexicographic index. Both halves are lists of modes (size, stride). Here a mode is kept in the form that code
generation wants: its size, the tile dimension that it walks along, and its step in elements of that dimension. A mode
that walks nowhere (stride 0) replicates: several threads hold the same element.

thread t has components (t // prod(sizes before)) % size, one for each thread mode; likewise value v, which is also the
index of the element in the thread's register array.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import NamedTuple

import numpy as np

from irc.layout.cute import Layout, make_layout
from irc.layout.requests import WARP, Addresses

Coordinates = Sequence[Addresses]
"""For each dimension of a tile an array; together the coordinates of many elements."""

REPLICATED = -1
"""The dimension of a mode that walks nowhere."""


class Mode(NamedTuple):
    """`size` elements along dimension `dim`, `step` apart."""

    size: int
    dim: int
    step: int

    @property
    def is_replicated(self) -> bool:
        return self.dim == REPLICATED


def _mode_of(size: int, stride: int, shape: Sequence[int]) -> Mode:
    if stride == 0:
        return Mode(size, REPLICATED, 0)
    unit = 1
    for dim, extent in enumerate(shape):
        if unit <= stride < unit * extent:
            step = stride // unit
            if stride % unit or (size - 1) * step >= extent:
                break
            return Mode(size, dim, step)
        unit *= extent
    raise ValueError(f"mode {size}:{stride} does not walk along one dimension of a tile of shape {tuple(shape)}")


@dataclass(frozen=True)
class Fragment:
    """A thread-value layout of a tile with extents `shape`."""

    shape: tuple[int, ...]
    threads: tuple[Mode, ...]
    values: tuple[Mode, ...]

    @staticmethod
    def from_layout(shape: Sequence[int], layout: Layout) -> Fragment:
        """From CuTe's layout (thread, value) -> colexicographic index of a tile of this shape."""
        threads, values = (tuple(_mode_of(n, s, shape) for n, s in mode.flat if n > 1) for mode in layout.modes)
        return Fragment(tuple(shape), threads, values)

    @property
    def extents(self) -> tuple[int, ...]:
        """One more than the largest coordinate of each dimension that a thread holds: the shape, where the fragment is
        one of a tile of this shape."""
        modes = [m for m in (*self.threads, *self.values) if not m.is_replicated]
        return tuple(1 + sum((m.size - 1) * m.step for m in modes if m.dim == dim) for dim in range(len(self.shape)))

    @property
    def has_holes(self) -> bool:
        """Whether no thread holds some of the elements: the modes of a dimension, from the smallest step on, do not
        begin where those before end."""
        for dim in range(len(self.shape)):
            reached = 1
            for step, size in sorted((m.step, m.size) for m in (*self.threads, *self.values) if m.dim == dim):
                if step > reached:
                    return True
                reached += (size - 1) * step
        return False

    @property
    def layout(self) -> Layout:
        """CuTe's layout (thread, value) -> colexicographic index of the tile."""
        return make_layout(self._layout(self.threads), self._layout(self.values))

    def _layout(self, modes: tuple[Mode, ...]) -> Layout:
        strides = [0 if m.is_replicated else m.step * prod(self.shape[: m.dim]) for m in modes]
        return Layout(tuple(m.size for m in modes), tuple(strides))

    @cached_property
    def thread_count(self) -> int:
        return prod(m.size for m in self.threads)

    @cached_property
    def value_count(self) -> int:
        """Registers (elements) per thread."""
        return prod(m.size for m in self.values)

    @cached_property
    def is_linear(self) -> bool:
        """Whether every bit of a thread's or a value's number moves the coordinate by a bit of its own: the fragment is
        a linear map over bits (Zhou et al., "Linear Layouts", 2025). Then what XORs and dense power-of-two strides
        make of one warp's request, they make of every other."""
        sizes = [*self.shape, *(n for m in (*self.threads, *self.values) for n in (m.size, max(m.step, 1)))]
        return all(n & (n - 1) == 0 for n in sizes)

    @cached_property
    def warps(self) -> bytes | None:
        """The number of the warp that holds each element, a byte each, dimension 0 the fastest; None where several
        hold one."""
        threads, values = np.arange(self.thread_count)[:, None], np.arange(self.value_count)
        element = np.zeros((self.thread_count, self.value_count), dtype=np.int64)
        for dim, at in enumerate(self.coordinates(threads, values)):
            element += at * prod(self.shape[:dim])
        held = np.zeros(prod(self.shape), dtype=np.uint8)
        warps = np.broadcast_to(threads // WARP, element.shape).astype(np.uint8)
        held[element] = warps
        return held.tobytes() if (held[element] == warps).all() else None

    def coordinates(self, threads: Addresses, values: Addresses) -> Coordinates:
        """The coordinates that the threads hold in the values: arrays of numbers, which are broadcast together."""
        zero = 0 * (threads + values)
        at = [zero] * len(self.shape)
        for index, modes in ((threads, self.threads), (values, self.values)):
            for mode in modes:
                if not mode.is_replicated:
                    at[mode.dim] = at[mode.dim] + index % mode.size * mode.step
                index = index // mode.size
        return at

    def requests(self, vector: int, most: int) -> Coordinates:
        """Where the accesses of the warps start when each thread accesses `vector` of its values at a time, at most
        `most` of the requests, spread over them: arrays of (request, lane)."""
        lanes = min(32, self.thread_count)
        warps, groups = self.thread_count // lanes, self.value_count // vector
        count = warps * groups
        chosen = np.arange(min(count, most), dtype=np.int64)
        if count > most:
            # An odd step, so that rows are met at every alignment.
            chosen = chosen * (3 * count // 8 | 1) % count
        threads = (chosen // groups * lanes)[:, None] + np.arange(lanes)
        return self.coordinates(threads, (chosen % groups * vector)[:, None])

    def coordinate(self, thread: int, value: int) -> tuple[int, ...]:
        """The tile coordinate held by a thread in a register."""
        at = [0] * len(self.shape)
        for index, modes in ((thread, self.threads), (value, self.values)):
            for mode in modes:
                index, component = divmod(index, mode.size)
                if not mode.is_replicated:
                    at[mode.dim] += component * mode.step
        return tuple(at)

    @property
    def vector(self) -> tuple[int, int]:
        """(dimension, length) of the run of contiguous elements that the first registers hold; length 1 if none."""
        if not self.values or self.values[0].step != 1:
            return (len(self.shape) - 1, 1)
        return (self.values[0].dim, self.values[0].size)

    def project(self, dims: Iterable[int]) -> Fragment:
        """The fragment of a tile that is size 1 along `dims` and broadcast to this one: threads that differ only along
        them hold copies, and a thread holds each element once."""
        dropped = set(dims)
        return Fragment(
            tuple(1 if d in dropped else e for d, e in enumerate(self.shape)),
            tuple(Mode(m.size, REPLICATED, 0) if m.dim in dropped else m for m in self.threads),
            tuple(m for m in self.values if m.dim not in dropped),
        )

    def folded(self, dims: Iterable[int]) -> Fragment:
        """The fragment of a tile that has, along `dims`, an element for each thread that holds others than its
        neighbors along them: what is left of the elements of a thread when it combines them."""
        dropped = set(dims)
        shape = [1 if d in dropped else e for d, e in enumerate(self.shape)]
        threads: list[Mode] = []
        for m in self.threads:
            threads.append(Mode(m.size, m.dim, shape[m.dim]) if m.dim in dropped else m)
            if m.dim in dropped:
                shape[m.dim] *= m.size
        return Fragment(tuple(shape), tuple(threads), tuple(m for m in self.values if m.dim not in dropped))

    def places(self, dim: int) -> Addresses:
        """The coordinates along a dimension, an array of (thread, value): those of the threads that differ along it."""
        threads, values = ([m for m in modes if m.dim == dim] for modes in (self.threads, self.values))
        own = Fragment(self.shape, tuple(threads), tuple(values))
        return own.coordinates(np.arange(own.thread_count)[:, None], np.arange(own.value_count))[dim]

    def onto(self, shape: Sequence[int]) -> Fragment:
        """The fragment of a tile of this shape, some of whose extents are 1, that is broadcast to this one."""
        return self.project(d for d, extent in enumerate(shape) if extent == 1 != self.shape[d])

    def permute(self, permutation: Sequence[int]) -> Fragment:
        """The fragment after a transpose: dimension i of the result is dimension permutation[i] of this one. Nothing
        moves."""
        where = {old: new for new, old in enumerate(permutation)}

        def moved(m: Mode) -> Mode:
            return m if m.is_replicated else Mode(m.size, where[m.dim], m.step)

        return Fragment(
            tuple(self.shape[p] for p in permutation), tuple(map(moved, self.threads)), tuple(map(moved, self.values))
        )

    def slice(self, dim: int, extent: int) -> Fragment | None:
        """The fragment of a slice of `extent` elements along `dim`, at a multiple of it, when the slices of every
        thread are whole value modes (the outermost of that dimension): nothing moves. None otherwise."""
        if extent == self.shape[dim]:
            return self
        values = list(self.values)
        outer = max((m.step for m in values if m.dim == dim), default=0)
        for at, mode in enumerate(values):
            if mode.dim != dim or mode.step != outer:
                continue
            if mode.size * mode.step != self.shape[dim] or extent % mode.step:
                return None
            values[at] = Mode(extent // mode.step, dim, mode.step)
            shape = list(self.shape)
            shape[dim] = extent
            kept = tuple(m for m in values if m.size > 1)
            return Fragment(tuple(shape), self.threads, kept)
        return None

    def part(self, shape: Sequence[int]) -> Fragment | None:
        """The fragment of a slice of this shape, as `slice` has it along each dimension."""
        fragment: Fragment | None = self
        for dim, extent in enumerate(shape):
            fragment = fragment.slice(dim, extent) if fragment is not None else None
        return fragment


def is_in_warps(a: Fragment, b: Fragment) -> bool:
    """Whether each warp holds the same elements in two fragments: nothing moves between warps."""
    return a.warps is not None and a.warps == b.warps


def is_same(a: Fragment, b: Fragment) -> bool:
    """Whether each thread holds the same elements in the same registers in two fragments."""
    if a.shape != b.shape or a.values != b.values or a.thread_count != b.thread_count:
        return False
    threads, first = np.arange(a.thread_count), np.zeros(1, dtype=np.int64)
    return all(map(np.array_equal, a.coordinates(threads, first), b.coordinates(threads, first)))
