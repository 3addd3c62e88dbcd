"""Memory as bytes: what pointers and shared addresses name, and whether anything was written there."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from irc.dialects import cuda
from irc.support.integers import round_up

if TYPE_CHECKING:
    from irc.interpreters.sim.register_use import RegisterUse

Array = np.ndarray[Any, Any]

PADDING = 16
"""Bytes. Memory is a multiple of it, so that it can be viewed as a table of accesses of any size."""

_WORDS: dict[int, tuple[str, int]] = {1: ("u1", 1), 2: ("u2", 1), 4: ("u4", 1), 8: ("u8", 1), 16: ("u8", 2)}
"""The dtype and number of words that hold as many bytes."""


@dataclass
class Memory:
    """An allocation of global memory, or the shared memory of a batch of blocks.

    data: its bytes, padded; size: those that count. written: 1 for each byte that holds something; None where all do.
    """

    name: str
    data: Array
    size: int
    written: Array | None = None
    _views: dict[tuple[Any, int], Array] = field(default_factory=dict[tuple[Any, int], Array])

    @staticmethod
    def empty(name: str, size: int) -> Memory:
        """Memory that nothing wrote."""
        padded = round_up(max(size, 1), PADDING)
        return Memory(name, np.zeros(padded, np.uint8), size, np.zeros(padded, np.uint8))

    @staticmethod
    def of(name: str, content: bytes | Array) -> Memory:
        """Memory that holds a copy of an array's bytes."""
        source = np.frombuffer(content, np.uint8) if isinstance(content, bytes) else content.reshape(-1).view(np.uint8)
        memory = Memory.empty(name, source.size)
        memory.data[: source.size] = source
        memory.written = None
        return memory

    def table(self, dtype: np.dtype[Any], count: int) -> Array:
        """The bytes as rows of `count` elements: row i is what an access at byte i * count * itemsize moves."""
        key = (dtype, count)
        if (found := self._views.get(key)) is None:
            found = self._views[key] = self.data.view(dtype).reshape(-1, count)
        return found

    def is_written(self, rows: Array, size: int) -> Array:
        """Whether all bytes of the accesses of `size` bytes at rows of that size were written."""
        if self.written is None:
            return np.ones(rows.shape, np.bool_)
        dtype, count = _WORDS[size]
        words = self.written.view(dtype)
        full = words.dtype.type(int("01" * words.dtype.itemsize, 16))
        if count == 1:
            return words[rows] == full
        return (words.reshape(-1, count)[rows] == full).all(axis=1)

    def mark(self, rows: Array, size: int) -> None:
        """Note that the accesses of `size` bytes wrote."""
        if self.written is None:
            return
        dtype, count = _WORDS[size]
        words = self.written.view(dtype)
        full = words.dtype.type(int("01" * words.dtype.itemsize, 16))
        if count == 1:
            words[rows] = full
        else:
            words.reshape(-1, count)[rows] = full


def get_elements(data: Array, byte_offsets: Array, size: int) -> Array:
    """The elements of `size` bytes at byte addresses of memory: a row of bytes for each."""
    return data[: len(data) // size * size].reshape(-1, size)[byte_offsets // size]


def put_elements(data: Array, byte_offsets: Array, size: int, values: Array) -> None:
    """The inverse of `get_elements`."""
    data[: len(data) // size * size].reshape(-1, size)[byte_offsets // size] = values


@dataclass(frozen=True)
class Span:
    """`size` bytes of a memory from byte `start` on: what a launch gets as a buffer."""

    memory: Memory
    start: int
    size: int

    def overlaps(self, other: Span) -> bool:
        """Whether they share a byte."""
        within = self.start < other.start + other.size and other.start < self.start + self.size
        return self.memory is other.memory and within

    def bytes(self) -> Array:
        return self.memory.data[self.start : self.start + self.size]


@dataclass(frozen=True)
class Pointer:
    """The value of a `!cuda.ptr`."""

    span: Span
    dtype: np.dtype[Any]
    tracked: bool
    """Whether the kernel writes the memory, so that accesses can race."""


@dataclass(frozen=True)
class TensorMap:
    """The value of a `!cuda.tensor_map`: its type and the array that it describes."""

    type: cuda.TensorMapType
    pointer: Pointer


class RegisterArray:
    """The value of a `!cuda.registers`: row i is element i of every lane of the frame. Freshly made it holds NaN or a
    large number, which nothing should read."""

    __slots__ = ("data", "use")

    def __init__(self, count: int, dtype: np.dtype[Any], lanes: int):
        self.use: RegisterUse | None = None
        """Where wgmma uses the array: who uses which of its elements."""
        self.data: Array = np.full((count, lanes * dtype.itemsize), 0x7F, np.uint8).view(dtype)
        if dtype == np.bool_:
            self.data[...] = False

    def columns(self, index: int, count: int, lanes: Array | None) -> Array:
        """`count` elements from `index` on of each of the lanes: (lanes, count)."""
        rows = self.data[index : index + count]
        return (rows if lanes is None else rows[:, lanes]).T

    def put(self, index: int, values: Array, lanes: Array | None) -> None:
        """Write (lanes, count) elements from `index` on; lanes None stands for all."""
        rows = self.data[index : index + values.shape[1]]
        if lanes is None:
            rows[...] = values.T
        else:
            rows[:, lanes] = values.T
