"""All ranks of a mesh in one process: a thread for each, which exchanges arrays with the others."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextvars import copy_context
from functools import reduce
from typing import Any

import numpy as np

from irc.support.communicator import Array, communicating
from irc.support.mesh import Mesh

JOINED: dict[str, Callable[[Array, Array], Array]] = {
    "sum": np.add,
    "prod": np.multiply,
    "max": np.maximum,
    "min": np.minimum,
}
"""What a monoid makes of two arrays."""


class _Meeting:
    """Where the threads of all ranks put their arrays, in turns."""

    def __init__(self, mesh: Mesh):
        self.mesh = mesh
        self.barrier = threading.Barrier(mesh.size)
        self.arrays: list[Sequence[Array]] = [()] * mesh.size


class _Rank:
    """The communicator of one thread."""

    def __init__(self, meeting: _Meeting, rank: int):
        self._meeting, self._rank = meeting, rank

    def _exchanged(self, arrays: Sequence[Array], axes: Sequence[str]) -> list[Sequence[Array]]:
        meeting = self._meeting
        # Copies: a plan writes over what it gave, while other ranks still add it up.
        meeting.arrays[self._rank] = [np.array(x) for x in arrays]
        meeting.barrier.wait()
        found = [meeting.arrays[rank] for rank in meeting.mesh.group(self._rank, axes)]
        meeting.barrier.wait()
        return found

    def all_reduce(self, arrays: Sequence[Array], monoid: str, axes: Sequence[str]) -> list[Array]:
        return [reduce(JOINED[monoid], each) for each in zip(*self._exchanged(arrays, axes), strict=True)]

    def all_gather(self, x: Array, axes: Sequence[str]) -> Array:
        return np.concatenate([each[0] for each in self._exchanged([x], axes)])

    def reduce_scatter(self, x: Array, monoid: str, axes: Sequence[str]) -> Array:
        whole = self.all_reduce([x], monoid, axes)[0]
        group = self._meeting.mesh.group(self._rank, axes)
        return np.split(whole, len(group))[group.index(self._rank)]


def on_ranks(mesh: Mesh, run: Callable[[int], Any]) -> list[Any]:
    """What `run` gives for each rank of a mesh, all of them at a time in threads of this process. The first exception
    of a rank is raised, and ends the others."""
    meeting = _Meeting(mesh)
    results: list[Any] = [None] * mesh.size
    failures: list[BaseException] = []

    def one(rank: int) -> None:
        try:
            with communicating(_Rank(meeting, rank)):
                results[rank] = run(rank)
        except threading.BrokenBarrierError:
            pass
        except BaseException as error:
            failures.append(error)
            meeting.barrier.abort()

    threads = [threading.Thread(target=copy_context().run, args=(one, rank)) for rank in range(mesh.size)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]
    return results
