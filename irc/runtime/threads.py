"""A pool of threads that run a kernel's tiles side by side, by machine code (`irc/codegen/cpu/threads.py`).

Machine code runs without the interpreter's lock, so Python's threads are enough. They look for work for a while after
each kernel, and wait in Python then. The calling thread is one of those that run a kernel.
"""

from __future__ import annotations

import atexit
import ctypes
import os
import threading
import time
from dataclasses import dataclass
from queue import SimpleQueue
from typing import Any

import numpy as np

from irc.runtime.linking import Loaded
from irc.support.pool_state import FUNCTIONS, LINE, WORK, WORKERS
from irc.support.processors import processor_count

RANGES = 16
"""Ranges of tiles for each thread: one that is late takes fewer, and all end within the time of one."""

MOST = 64
"""Threads of a pool: who has to be woken are bits of a word."""

KERNEL = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p)
"""A kernel: pointers, the first tile, the one behind the last, memory of the thread's own."""

_own = threading.local()
"""The memory that kernels have for a calling thread's own."""


def thread_count() -> int:
    """How many threads run a kernel: `IRC_THREADS`, else the cores that this process may use."""
    if (given := os.environ.get("IRC_THREADS", "")).isdigit():
        return max(1, int(given))
    return processor_count()


@dataclass
class _Memory:
    """Memory that begins at a line of the cache."""

    array: np.ndarray[Any, np.dtype[np.uint8]]
    size: int
    address: int

    @staticmethod
    def of(size: int) -> _Memory:
        array = np.zeros(size + LINE, np.uint8)
        return _Memory(array, size, -(-array.ctypes.data // LINE) * LINE)


class Pool:
    """Threads that wait for work; they end with the process."""

    def __init__(self, threads: int, content: bytes):
        """`content` is the object file of the code."""
        self.threads = min(threads, MOST)
        if self.threads == 1:
            return
        self._code = Loaded(content, FUNCTIONS)
        begin, finish, serve = map(self._code.address, FUNCTIONS)
        self._begin = ctypes.PYFUNCTYPE(ctypes.c_int64, ctypes.c_void_p)(begin)
        self._finish = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(finish)
        self._serve_until_idle = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64)(serve)
        workers = self.threads - 1
        self._state = _Memory.of(WORKERS + LINE * workers)
        self._word(WORK + 32).value = workers
        self._owns = [_Memory.of(0) for _ in range(workers)]
        self._wake: list[SimpleQueue[None]] = [SimpleQueue() for _ in range(workers)]
        self._busy = threading.Lock()
        for number in range(workers):
            threading.Thread(target=self._serve, args=(number,), name="irc", daemon=True).start()
        atexit.register(self._rest)

    def run(self, kernel: int, pointers: Any, own_bytes: int, tiles: int) -> None:
        """Runs all tiles of the kernel at an address. Where another thread has the pool, this one runs them alone."""
        if self.threads == 1 or tiles == 1 or not self._busy.acquire(blocking=False):
            run_alone(kernel, pointers, own_bytes, tiles)
            return
        try:
            self._give_memory(own_bytes)
            work = (tiles, -(-tiles // (RANGES * self.threads)), kernel, ctypes.addressof(pointers))
            for number, value in enumerate(work):
                self._word(WORK + 8 * number).value = value
            sleeping = self._begin(self._state.address)
            for number, queue in enumerate(self._wake):
                if sleeping >> number & 1:
                    queue.put(None)
            self._finish(self._state.address, _own_memory(own_bytes))
        finally:
            self._busy.release()

    def _word(self, offset: int) -> ctypes.c_int64:
        return ctypes.c_int64.from_address(self._state.address + offset)

    def _give_memory(self, size: int) -> None:
        """No worker runs a kernel now."""
        for number, own in enumerate(self._owns):
            if own.size < size:
                self._owns[number] = _Memory.of(size)
                self._word(WORKERS + LINE * number + 8).value = self._owns[number].address

    def _serve(self, number: int) -> None:
        while True:
            self._serve_until_idle(self._state.address, number)
            self._wake[number].get()

    def _rest(self) -> None:
        """Waits, for a tenth of a second at most, until all workers sleep: their code goes with the interpreter."""
        until = time.monotonic() + 0.1
        while time.monotonic() < until:
            if all(self._word(WORKERS + LINE * number).value for number in range(self.threads - 1)):
                return
            time.sleep(0.001)


def run_alone(kernel: int, pointers: Any, own_bytes: int, tiles: int) -> None:
    """Runs all tiles of the kernel at an address in this thread."""
    KERNEL(kernel)(pointers, 0, tiles, _own_memory(own_bytes))


def _own_memory(size: int) -> int:
    memory: _Memory | None = getattr(_own, "memory", None)
    if memory is None or memory.size < size:
        memory = _own.memory = _Memory.of(size)
    return memory.address


_lock = threading.Lock()
_pool: Pool | None = None


def pool(content: bytes) -> Pool:
    """The pool of this process; `content` is the object file of its code."""
    global _pool
    with _lock:
        if _pool is None:
            _pool = Pool(thread_count(), content)
        return _pool


def _forget() -> None:
    """A forked process has no threads but the one that forked."""
    global _pool, _lock
    _pool, _lock = None, threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
