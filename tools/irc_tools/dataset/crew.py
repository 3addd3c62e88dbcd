"""Processes that work side by side: of what there is to do they take what comes first."""

from __future__ import annotations

import itertools
import queue
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeVar

from irc.tuning.bench import Fault
from irc.tuning.workers import Setup, Worker

T = TypeVar("T")

Order = tuple[int, ...]

Done = Callable[[Any], None]
"""Takes what was made of a job, or its `Fault`."""

LAST: Order = ()
"""Before all others: the end."""


@dataclass(order=True)
class _Task:
    """What a process is asked for; the least comes first."""

    order: tuple[Order, int]
    job: Any = field(compare=False)
    done: Done | None = field(compare=False)


class Crew:
    """Asks the benches of its processes to compile. timeout: seconds for a job."""

    def __init__(self, setup: Setup, count: int, timeout: float):
        self._timeout = timeout
        self._tasks: queue.PriorityQueue[_Task] = queue.PriorityQueue()
        self._lock, self._count, self._is_closed = threading.RLock(), itertools.count(), False
        self._workers = [Worker(setup) for _ in range(count)]
        self._threads = [threading.Thread(target=self._work, args=(each,), daemon=True) for each in self._workers]
        for thread in self._threads:
            thread.start()

    def put(self, order: Order, job: Any, done: Done) -> None:
        """Has a job done; jobs of a lesser order come first. done: is called by one thread at a time."""
        self._tasks.put(_Task((order, next(self._count)), job, done))

    def close(self) -> None:
        """Ends the processes, whatever they do."""
        with self._lock:
            self._is_closed = True
        for _ in self._threads:
            self._tasks.put(_Task((LAST, next(self._count)), None, None))
        for thread, worker in zip(self._threads, self._workers, strict=True):
            while thread.is_alive():
                worker.interrupt()
                thread.join(0.1)
        for worker in self._workers:
            worker.close()

    def _work(self, worker: Worker) -> None:
        while (task := self._tasks.get()).done is not None:
            try:
                found = worker.ask("compile", task.job, timeout=self._timeout)
            except Fault as fault:
                found = fault
            with self._lock:
                if not self._is_closed:
                    task.done(found)


def arrivals(ready: queue.SimpleQueue[T | None], deadline: float) -> Iterator[T]:
    """What comes, until None does or the time is up."""
    while (left := deadline - time.monotonic()) > 0:
        try:
            item = ready.get(timeout=left)
        except queue.Empty:
            return
        if item is None:
            return
        yield item
