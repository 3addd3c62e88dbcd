"""Whether all that wait for a phase of an mbarrier have looked before the next phase is over.

A wait names its phase by a parity: two phases further it would wait on. So a phase must not complete before every
thread that waits for the one before has seen that. The order in which threads run here may never show it; the clocks
do, as they do of accesses to memory: whoever completes a phase knows of those waits, by barriers in between. The warps
of a group that multiply together have all waited before. So has the thread that committed products of tcgen05 when they
are complete, and so have those that it knew of: their arrival makes none of its accesses known, but comes behind them.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass

import numpy as np

from irc.interpreters.sim.clocks import NEVER
from irc.interpreters.sim.frame import Frame
from irc.interpreters.sim.memory import Array
from irc.interpreters.sim.strands import Strand
from irc.interpreters.sim.units import kept
from irc.layout.instructions import WARP_GROUP


@dataclass
class Wait:
    """Lanes that have seen that a phase is complete, and when: by their clocks, by the epochs of their blocks, and
    among the waits and products of the frame."""

    lanes: Array
    clocks: Array
    epochs: Array
    time: int


class Waits:
    """The waits of a frame, in order, and when each lane last issued a product of its warp group."""

    def __init__(self, frame: Frame):
        self._frame = frame
        self._multiplied: Array = np.full(frame.lane_count, -1)
        self._time = 0
        self._committed: dict[tuple[int, int], tuple[list[int], list[Array]]] = {}
        """For each cluster and unit the groups of products that were committed, and what was known then."""

    def wait(self, lanes: Array) -> Wait:
        self._time += 1
        clocks = self._frame.clocks
        return Wait(lanes, clocks.clock[lanes], clocks.epoch[lanes // self._frame.threads], self._time)

    def multiply(self, lanes: Array) -> None:
        self._time += 1
        self._multiplied[lanes] = self._time

    def commit(self, lane: int, unit: int, group: int) -> None:
        """A lane commits a group of products of its unit."""
        clocks = self._frame.clocks
        groups, rows = self._committed.setdefault((lane // clocks.domain, unit), ([], []))
        groups.append(group)
        rows.append(clocks.release(np.array([lane]))[0])

    def _come_before(self, cluster: int, row: Array) -> Array:
        """The clocks of what came before those who know a row."""
        while True:
            further = row
            for (own, unit), (groups, rows) in self._committed.items():
                latest = bisect_right(groups, row[unit]) if own == cluster and unit < len(row) else 0
                if latest:
                    further = np.maximum(further, _padded(rows[latest - 1], len(row)))
            if further is row or (further == row).all():
                return row
            row = further

    def unseen(self, wait: Wait, row: Array) -> Array:
        """The lanes of which what a phase makes known says nothing of the wait."""
        clocks, lanes = self._frame.clocks, wait.lanes
        before = self._come_before(int(lanes[0]) // clocks.domain, row[0]) if self._committed else row[0]
        known = before[clocks.agent[lanes]] >= wait.clocks
        known |= clocks.epoch[lanes // self._frame.threads] > wait.epochs
        multiplied = self._multiplied[lanes] > wait.time
        groups = lanes // WARP_GROUP
        known |= multiplied & np.isin(groups, groups[known & multiplied])
        return lanes[~known]


def _padded(row: Array, size: int) -> Array:
    """A row that was made before some agents came, which it says nothing of."""
    return np.pad(row, (0, size - len(row)), constant_values=NEVER)


def waits_of(s: Strand) -> Waits:
    return kept(s, "waits", lambda: Waits(s.frame))
