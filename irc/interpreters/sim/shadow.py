"""The shadow of a memory: who accessed each granule last, so that races are found.

A granule is the smallest access that the kernel makes, in bytes; accesses are aligned to their size, so that each
covers whole granules. The last write is kept, and of reads that nothing orders the first and the last lane of two
instructions: a race with others alone would be missed.
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from xdsl.ir import Operation

from irc.interpreters.sim.clocks import UNTOUCHED, agent_of, op_of
from irc.interpreters.sim.memory import Array
from irc.ir.locations import describe
from irc.support.integers import ceil_div

if TYPE_CHECKING:
    from irc.interpreters.sim.strands import Strand

BLOCKS_WRITE = (
    "no barrier orders blocks: each writes elements of its own, with what is summed in a loop inside of the block, or "
    "they add by atomics, in a kernel of Python `atomic_add(out, place, tile)`"
)
"""What to write instead where several blocks write to one place."""

READERS = 4
"""Readers of a granule that are kept: two pairs."""


class Conflicts(NamedTuple):
    """Accesses that nothing orders: the row of the lane that finds it out, and the key and block of the one before."""

    rows: Array
    keys: Array
    blocks: Array


class Shadow:
    """The accesses to the bytes of a memory, in granules; with `blocks`, to global memory: then blocks are kept too."""

    def __init__(self, content: Array, granule: int, name: str, *, blocks: bool = False, pitch: int = 0):
        """`name` and `pitch` (bytes of a block, of shared memory) are for messages."""
        count = ceil_div(len(content), granule) + 16
        self._content = content
        self._name = name
        self._pitch = pitch
        self.granule = granule
        self.writes: Array = np.zeros(count, np.int64)
        self.reads: list[Array] = [np.zeros(count, np.int64) for _ in range(READERS)]
        self.write_blocks: Array | None = np.zeros(count, np.int64) if blocks else None
        self.read_blocks: list[Array] = [np.zeros(count, np.int64) for _ in self.reads] if blocks else []
        self._is_read = False

    def _granules(self, addresses: Array, size: int) -> Array:
        """(accesses, granules of each)."""
        first = addresses // self.granule
        per = size // self.granule
        return first[:, None] if per == 1 else first[:, None] + np.arange(per)

    def _conflicts(
        self, s: Strand, lanes: Array, granules: Array, keys: Array, blocks: Array | None
    ) -> Conflicts | None:
        """Of the accesses that left `keys` (and blocks) those that are not ordered before; None where all are."""
        found = keys[granules]
        clocks = s.frame.clocks
        column = lanes[:, None]
        if blocks is None:
            wrong = clocks.unordered(column, found)
        else:
            before = blocks[granules]
            mine = s.frame.block[lanes][:, None]
            wrong = (before == mine) & clocks.unordered(column, found)
            others = (before != mine) & (found != UNTOUCHED)
            if others.any():
                rows = np.broadcast_to(column, others.shape)[others]
                wrong[others] |= ~s.frame.order.orders(rows, before[others], found[others])
        if not wrong.any():
            return None
        which = np.nonzero(wrong)
        mine = s.frame.block[lanes[which[0]]]
        return Conflicts(which[0], found[which], mine if blocks is None else blocks[granules[which]])

    def read(
        self, s: Strand, op: Operation, lanes: Array, addresses: Array, size: int, keys: Array | None = None
    ) -> None:
        """Note reads of `size` bytes by lanes; `keys` is what they leave where an asynchronous agent reads."""
        granules = self._granules(addresses, size)
        wrong = self._conflicts(s, lanes, granules, self.writes, self.write_blocks)
        if wrong is not None:
            self._race(s, op, lanes, addresses, wrong, "reads", "written")
        mine = (s.frame.clocks.key[lanes] if keys is None else keys) + s.frame.code.number(op)
        self._note_read(s, lanes, granules, np.broadcast_to(mine[:, None], granules.shape))

    def _note_read(self, s: Strand, lanes: Array, granules: Array, mine: Array) -> None:
        clocks = s.frame.clocks
        self._is_read = True
        kept = clocks.unordered(lanes[:, None], self.reads[0][granules])
        if self.read_blocks:
            kept |= (self.read_blocks[0][granules] != s.frame.block[lanes][:, None]) & (
                self.reads[0][granules] != UNTOUCHED
            )
        if not kept.any():
            self._put(s, 0, lanes, granules, mine)
            return
        self._put(s, 2, lanes, granules, mine, kept)
        self._put(s, 0, lanes, granules, mine, ~kept)

    def _put(
        self, s: Strand, pair: int, lanes: Array, granules: Array, mine: Array, which: Array | None = None
    ) -> None:
        """Into a pair of places: the last and the first of the accesses to each granule."""
        blocks = np.broadcast_to(s.frame.block[lanes][:, None], granules.shape) if self.read_blocks else None
        if which is not None:
            granules, mine = granules[which], mine[which]
            blocks = None if blocks is None else blocks[which]
        self.reads[pair][granules] = mine
        self.reads[pair + 1][granules[::-1]] = mine[::-1]
        if blocks is not None:
            self.read_blocks[pair][granules] = blocks
            self.read_blocks[pair + 1][granules[::-1]] = blocks[::-1]

    def write(
        self,
        s: Strand,
        op: Operation,
        lanes: Array,
        addresses: Array,
        size: int,
        keys: Array | None = None,
        values: Array | None = None,
    ) -> None:
        """Note writes of `size` bytes by lanes. `values` has a row of bytes for each, which is compared where two
        threads write to one place with nothing between: writing what is there already is no race."""
        granules = self._granules(addresses, size)
        wrong = self._conflicts(s, lanes, granules, self.writes, self.write_blocks)
        if wrong is not None:
            self._check_values(s, op, lanes, addresses, wrong, values)
        for i, reads in enumerate(self.reads if self._is_read else ()):
            wrong = self._conflicts(s, lanes, granules, reads, self.read_blocks[i] if self.read_blocks else None)
            if wrong is not None:
                self._race(s, op, lanes, addresses, wrong, "writes", "read")
        mine = (s.frame.clocks.key[lanes] if keys is None else keys) + s.frame.code.number(op)
        self.writes[granules] = mine[:, None]
        if self.write_blocks is not None:
            self.write_blocks[granules] = s.frame.block[lanes][:, None]
        if keys is None and self._overwritten(s, lanes, granules[:, 0], mine):
            self._check_overlap(s, op, lanes, addresses, values)

    def _overwritten(self, s: Strand, lanes: Array, granules: Array, mine: Array) -> bool:
        """Whether some of the accesses that have just been noted are not the last ones of their granule."""
        lost = self.writes[granules] != mine
        if self.write_blocks is not None:
            lost |= self.write_blocks[granules] != s.frame.block[lanes]
        return bool(lost.any())

    def adopt(self, addresses: Array, size: int, key: int, own: int) -> None:
        """Writes of `size` bytes that left `key`, and are still the last, count from now on as if they had left
        `own`."""
        granules = self._granules(addresses, size)
        self.writes[granules] = np.where(self.writes[granules] == key, own, self.writes[granules])

    def copy(self) -> Shadow:
        """A shadow of the same memory with the same accesses."""
        made = copy.copy(self)
        made.writes = self.writes.copy()
        made.reads = [reads.copy() for reads in self.reads]
        made.write_blocks = None if self.write_blocks is None else self.write_blocks.copy()
        made.read_blocks = [blocks.copy() for blocks in self.read_blocks]
        return made

    def _check_values(
        self,
        s: Strand,
        op: Operation,
        lanes: Array,
        addresses: Array,
        wrong: Conflicts,
        values: Array | None,
    ) -> None:
        """A race unless the bytes are there already."""
        rows = wrong.rows
        if values is not None:
            there = self._content[addresses[rows][:, None] + np.arange(values.shape[1])]
            changed = (there != values[rows]).any(axis=1)
            if not changed.any():
                return
            wrong = Conflicts(rows[changed], wrong.keys[changed], wrong.blocks[changed])
        self._race(s, op, lanes, addresses, wrong, "writes", "written")

    def _check_overlap(self, s: Strand, op: Operation, lanes: Array, addresses: Array, values: Array | None) -> None:
        """An error where two lanes of one instruction write different values to one place. Their accesses are aligned
        and of one size, so that two overlap only where they are the same."""
        order = np.argsort(addresses, kind="stable")
        same = np.flatnonzero(addresses[order[1:]] == addresses[order[:-1]])
        if not len(same):
            return
        first, second = order[same], order[same + 1]
        differ = np.ones(len(same), np.bool_) if values is None else (values[first] != values[second]).any(axis=1)
        if not differ.any():
            return
        first, second = lanes[first[differ]], lanes[second[differ]]
        wrong = np.isin(s.numbers, np.concatenate([first, second]))
        ones, others = s.frame.block[first], s.frame.block[second]
        if (ones == others).all():
            s.fail("race", op, f"{op.name} writes different values to one place from several threads", wrong)
        at = int(np.argmax(ones != others))
        place = self._place(int(addresses[order[same]][differ][at]))
        text = f"{op.name} writes different values to {place} from blocks {ones[at]} and {others[at]}"
        s.fail("race", op, text, wrong, hint=BLOCKS_WRITE)

    def _race(
        self, s: Strand, op: Operation, lanes: Array, addresses: Array, wrong: Conflicts, does: str, was: str
    ) -> None:
        frame = s.frame
        key, block = int(wrong.keys[0]), int(wrong.blocks[0])
        row = wrong.rows[0]
        other = frame.code.accesses[int(op_of(key))]
        who = frame.agent_text(int(agent_of(key)))
        is_other_block = block != int(frame.block[lanes[row]])
        if is_other_block:
            who += f" of block {block}"
        s.fail(
            "race",
            op,
            f"{op.name} {does} {self._place(int(addresses[row]))}, which {who} has {was} with no barrier between "
            f"({other.name} at {describe(other.location)})",
            np.isin(s.numbers, lanes[wrong.rows]),
            hint=BLOCKS_WRITE if is_other_block and (does, was) == ("writes", "written") else None,
        )

    def _place(self, address: int) -> str:
        return f"byte {address % self._pitch if self._pitch else address} of {self._name}"
