"""A pool of threads that run ranges of a kernel's tiles side by side.

Machine code runs without the interpreter's lock, so Python's threads are enough: each takes the next range until none
is left. The calling thread is one of them.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count
from queue import SimpleQueue

RANGES = 4
"""Ranges for each thread: one that is late takes fewer."""

Run = Callable[[int, int], None]
"""Runs the tiles from the first number to the one before the second."""


def thread_count() -> int:
    """How many threads run a kernel: `IRC_THREADS`, else the cores that this process may use."""
    if (given := os.environ.get("IRC_THREADS", "")).isdigit():
        return max(1, int(given))
    if hasattr(os, "sched_getaffinity"):
        return max(1, len(os.sched_getaffinity(0)))
    return os.cpu_count() or 1


@dataclass
class _Work:
    """The tiles of one launch, taken range by range."""

    run: Run
    tiles: int
    each: int
    taken: count[int] = field(default_factory=count)
    done: SimpleQueue[BaseException | None] = field(default_factory=SimpleQueue["BaseException | None"])

    def take_all(self) -> None:
        while (first := next(self.taken) * self.each) < self.tiles:
            self.run(first, min(first + self.each, self.tiles))


class Pool:
    """Threads that wait for work; they end with the process."""

    def __init__(self, threads: int):
        self.threads = threads
        self._waiting: SimpleQueue[_Work] = SimpleQueue()
        for _ in range(threads - 1):
            threading.Thread(target=self._serve, name="irc", daemon=True).start()

    def _serve(self) -> None:
        while True:
            work = self._waiting.get()
            try:
                work.take_all()
                work.done.put(None)
            except BaseException as error:  # handed to the caller
                work.done.put(error)

    def run(self, run: Run, tiles: int) -> None:
        """Runs all tiles; an exception of one of the threads is raised here."""
        helpers = min(self.threads, tiles) - 1
        if helpers < 1:
            run(0, tiles)
            return
        work = _Work(run, tiles, -(-tiles // (RANGES * self.threads)))
        for _ in range(helpers):
            self._waiting.put(work)
        work.take_all()
        failed = [error for error in (work.done.get() for _ in range(helpers)) if error is not None]
        if failed:
            raise failed[0]


_lock = threading.Lock()
_pool: Pool | None = None


def pool() -> Pool:
    """The pool of this process."""
    global _pool
    with _lock:
        if _pool is None:
            _pool = Pool(thread_count())
        return _pool


def _forget() -> None:
    """A forked process has no threads but the one that forked."""
    global _pool, _lock
    _pool, _lock = None, threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
