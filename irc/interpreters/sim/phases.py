"""Whether all that wait for a phase of an mbarrier have looked before the next phase is over.

A wait names its phase by a parity: two phases further it would wait on. So a phase must not complete before every
thread that waits for the one before has seen that. The order in which threads run here may never show it; the clocks
do, as they do of accesses to memory: whoever completes a phase knows of those waits, by barriers in between. The warps
of a group that multiply together have all waited before.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

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

    def wait(self, lanes: Array) -> Wait:
        self._time += 1
        clocks = self._frame.clocks
        return Wait(lanes, clocks.clock[lanes], clocks.epoch[lanes // self._frame.threads], self._time)

    def multiply(self, lanes: Array) -> None:
        self._time += 1
        self._multiplied[lanes] = self._time

    def unseen(self, wait: Wait, row: Array) -> Array:
        """The lanes of which what a phase makes known says nothing of the wait."""
        clocks, lanes = self._frame.clocks, wait.lanes
        known = row[0, clocks.agent[lanes]] >= wait.clocks
        known |= clocks.epoch[lanes // self._frame.threads] > wait.epochs
        multiplied = self._multiplied[lanes] > wait.time
        groups = lanes // WARP_GROUP
        known |= multiplied & np.isin(groups, groups[known & multiplied])
        return lanes[~known]


def waits_of(s: Strand) -> Waits:
    return kept(s, "waits", lambda: Waits(s.frame))
