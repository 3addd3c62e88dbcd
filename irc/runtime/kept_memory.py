"""Memory of results, which is kept for later ones.

Memory that comes from the system has no pages until it is written: 12 MB of it take longer than a permutation of 12 MB.
So an array gives its memory back when nobody refers to it, and the next one of its size gets it. Memory begins at a
line of the cache.
"""

from __future__ import annotations

import threading
from collections import deque
from math import prod
from typing import Any

import numpy as np

from irc.support.integers import round_up
from irc.support.pool_state import LINE

LEAST = 1 << 16
"""Bytes of an array from which on its memory is kept. The C library has smaller ones at hand."""

MOST = 1 << 28
"""Bytes that are kept for later arrays. Those that were given back first go back to the system."""

Array = np.ndarray[Any, np.dtype[Any]]


class _Block:
    """Memory of one array: it is given back when the last array in it goes."""

    __slots__ = ("__array_interface__", "memory")

    def __init__(self, memory: Array):
        begin = round_up(memory.ctypes.data, LINE)
        self.memory = memory
        self.__array_interface__ = {
            "data": (begin, False),
            "shape": (memory.nbytes - LINE,),
            "typestr": "|u1",
            "version": 3,
        }

    def __del__(self) -> None:
        _kept.give(self.memory)


class _Kept:
    """Memory that nobody refers to, by its size. Arrays go at any time, also while this thread has the lock: who does
    not get it leaves the memory to the system, or takes new one."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._memory: deque[Array] = deque()
        self._bytes = 0

    def take(self, size: int) -> Array:
        if self._lock.acquire(blocking=False):
            try:
                for at in range(len(self._memory) - 1, -1, -1):
                    if self._memory[at].nbytes == size:
                        found = self._memory[at]
                        del self._memory[at]
                        self._bytes -= size
                        return found
            finally:
                self._lock.release()
        return np.empty(size, np.uint8)

    def give(self, memory: Array) -> None:
        if memory.nbytes > MOST or not self._lock.acquire(blocking=False):
            return
        try:
            self._memory.append(memory)
            self._bytes += memory.nbytes
            while self._bytes > MOST:
                self._bytes -= self._memory.popleft().nbytes
        finally:
            self._lock.release()


_kept = _Kept()


def empty(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    """An array that nobody else has, whose elements are whatever they are."""
    size = prod(shape) * dtype.itemsize
    if size < LEAST:
        return np.empty(shape, dtype)
    memory = np.asarray(_Block(_kept.take(round_up(size, LINE) + LINE)))
    return np.ndarray(shape, dtype, memory)


def is_fresh(x: Array) -> bool:
    """Whether an array may be written, and is in memory that `empty` or numpy made for an array of its own kind: no
    constant, and no view of an array that something else keeps."""
    return x.flags.writeable and (x.base is None or isinstance(getattr(x.base, "base", None), _Block))
