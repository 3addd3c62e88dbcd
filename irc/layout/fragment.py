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
from math import prod
from typing import NamedTuple

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
    def from_strides(
        shape: Sequence[int], threads: Iterable[tuple[int, int]], values: Iterable[tuple[int, int]]
    ) -> Fragment:
        """From CuTe modes (size, stride over the colexicographic index)."""
        return Fragment(
            tuple(shape),
            tuple(_mode_of(size, stride, shape) for size, stride in threads),
            tuple(_mode_of(size, stride, shape) for size, stride in values),
        )

    def stride(self, mode: Mode) -> int:
        """The CuTe stride of one of the modes."""
        return 0 if mode.is_replicated else mode.step * prod(self.shape[: mode.dim])

    def strides(self) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
        """The CuTe modes of threads and values, as `from_strides` takes them."""
        return (
            [(m.size, self.stride(m)) for m in self.threads],
            [(m.size, self.stride(m)) for m in self.values],
        )

    @property
    def thread_count(self) -> int:
        return prod(m.size for m in self.threads)

    @property
    def value_count(self) -> int:
        """Registers (elements) per thread."""
        return prod(m.size for m in self.values)

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


def blocked(shape: Sequence[int], order: Sequence[int], vector: int, threads: int) -> Fragment:
    """Threads side by side along the dimensions of `order` (fastest first), each with `vector` contiguous elements of
    the first of them; what is left over is more registers, outermost last. Extents and `threads` are powers of two."""
    fastest = order[0]
    vector = min(vector, shape[fastest])
    step = [1] * len(shape)
    step[fastest] = vector
    values = [Mode(vector, fastest, 1)] if vector > 1 else []
    across: list[Mode] = []
    left = threads
    for dim in order:
        size = min(left, shape[dim] // step[dim])
        if size > 1:
            across.append(Mode(size, dim, step[dim]))
            step[dim] *= size
            left //= size
    if left > 1:
        across.append(Mode(left, REPLICATED, 0))
    for dim in order:
        if shape[dim] > step[dim]:
            values.append(Mode(shape[dim] // step[dim], dim, step[dim]))
    return Fragment(tuple(shape), tuple(across), tuple(values))
