"""The order between blocks: what a thread has fenced is known to whoever updates the same word of global memory later.

A row says, for each block of the grid, the epoch before which everything is complete, and the clock of one of its
threads, the last that published: (epoch, agent, clock). A thread's fence covers what its block did before the last
barrier, and what it did itself; fences of all threads cover, after a barrier, what they did before the fences.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from irc.interpreters.sim.clocks import EPOCH_UNIT, NEVER, agent_of, clock_of
from irc.interpreters.sim.memory import Array

if TYPE_CHECKING:
    from irc.interpreters.sim.frame import Frame


class BlockOrder:
    """What the threads of a frame know of other blocks. `words` has what updates of each word made known so far; all
    frames of a grid share it."""

    def __init__(self, frame: Frame, words: dict[Any, Array]):
        self._frame = frame
        self._words = words
        self._rows: list[Array] = []
        self._row_of: Array = np.full(frame.lane_count, NEVER)
        """The number of each lane's row; NEVER where it knows nothing."""
        self._fenced: Array | None = None
        """By lane, of its last fence: the epoch, the one after it, the clock."""

    def fence(self, lanes: Array) -> None:
        """These lanes order their accesses for the device."""
        frame = self._frame
        if self._fenced is None:
            self._fenced = np.full((3, frame.lane_count), NEVER)
        epochs = frame.clocks.epoch[lanes // frame.threads]
        self._fenced[:, lanes] = epochs, epochs + 1, frame.clocks.clock[lanes]
        frame.clocks.advance(lanes)

    def publish(self, word: Any, lane: int) -> None:
        """A thread updates a word: it makes known what is fenced, and learns what earlier updates made known."""
        frame = self._frame
        number = int(self._row_of[lane])
        row = np.full((3, frame.grid.blocks), NEVER) if number == NEVER else self._rows[number].copy()
        if self._fenced is not None:
            block, start = int(frame.block[lane]), lane - int(frame.thread[lane])
            together = int(self._fenced[1, start : start + frame.block_threads].min())
            passed = together <= frame.clocks.epoch[lane // frame.threads]
            epoch = max(int(self._fenced[0, lane]), together if passed else NEVER, int(row[0, block]))
            row[:, block] = epoch, frame.clocks.agent[lane], self._fenced[2, lane]
        before = self._words.get(word)
        self._words[word] = row = row if before is None else _joined(row, before)
        self._learn(np.array([lane]), row)

    def sync_blocks(self, blocks: Array) -> None:
        """The threads of each of these blocks learn what one of them knows."""
        threads = self._frame.threads
        for block in blocks if self._rows else ():
            self.share(np.arange(block * threads, (block + 1) * threads))

    def share(self, lanes: Array) -> None:
        """These lanes learn what one of them knows."""
        numbers = [n for n in np.unique(self._row_of[lanes]).tolist() if n != NEVER]
        if not numbers:
            return
        row = self._rows[numbers[0]]
        for number in numbers[1:]:
            row = _joined(row, self._rows[number])
        self._learn(lanes, row)

    def _learn(self, lanes: Array, row: Array) -> None:
        self._row_of[lanes] = len(self._rows)
        self._rows.append(row)

    def orders(self, lanes: Array, blocks: Array, keys: Array) -> Array:
        """Whether accesses by other blocks, which left these keys, are ordered before what the lanes do now."""
        numbers = self._row_of[lanes]
        ordered = np.zeros(keys.shape, np.bool_)
        for number in np.unique(numbers).tolist():
            if number != NEVER:
                mine = numbers == number
                epochs, agents, clocks = self._rows[number][:, blocks[mine]]
                own = (agent_of(keys[mine]) == agents) & (clock_of(keys[mine]) <= clocks)
                ordered[mine] = (keys[mine] // EPOCH_UNIT < epochs) | own
        return ordered


def _joined(a: Array, b: Array) -> Array:
    """What two rows say together."""
    newer = np.where(a[2] >= b[2], a, b)
    newer[0] = np.maximum(a[0], b[0])
    return newer
