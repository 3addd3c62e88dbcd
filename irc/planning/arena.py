"""Where the intermediate buffers of a plan lie in the arena.

Two buffers may share bytes if every use of one is complete before the other is first written. Buffers are placed
largest first, each into the smallest gap between the buffers it conflicts with that holds it (greedy by size; Pisarchyk
and Lee, "Efficient Memory Management for Deep Neural Net Inference", 2020).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from operator import and_

from irc.dialects.host import ARENA_ALIGNMENT
from irc.support.integers import round_up


@dataclass(frozen=True)
class Lifetime:
    """A buffer of `size` bytes: written by the step `made`, last touched by the steps `users` (which may be none).
    others: further steps that write to it, of which no other one comes first."""

    size: int
    made: int
    users: tuple[int, ...]
    others: tuple[int, ...] = ()


@dataclass(frozen=True)
class Placement:
    """The offset of each buffer, and the size of the arena, in bytes."""

    offsets: tuple[int, ...]
    size: int


def place(buffers: Sequence[Lifetime], before: Sequence[int]) -> Placement:
    """Places the buffers; `before` has for each step the set (as bits) of those that are complete when it starts."""
    touching = [_touching(buffer) for buffer in buffers]
    ready = [reduce(and_, (before[step] for step in (buffer.made, *buffer.others))) for buffer in buffers]
    offsets: dict[int, int] = {}
    ranges: list[tuple[int, int, int, int]] = []
    """Of the buffers placed so far with elements: the start, the end, `touching` and `ready`."""
    for index in sorted(range(len(buffers)), key=lambda i: (-buffers[i].size, i)):
        mine, mine_ready = touching[index], ready[index]
        taken = [
            (start, end)
            for start, end, others, others_ready in ranges
            # Neither is dead before the other is made.
            if others & ~mine_ready and mine & ~others_ready
        ]
        start, size = _best_gap(sorted(taken), aligned(buffers[index].size)), buffers[index].size
        offsets[index] = start
        if size:
            ranges.append((start, start + aligned(size), mine, mine_ready))
    ends = (offsets[index] + aligned(buffer.size) for index, buffer in enumerate(buffers))
    return Placement(tuple(offsets[index] for index in range(len(buffers))), max(ends, default=0))


def _touching(buffer: Lifetime) -> int:
    """The set (as bits) of the steps that touch the buffer."""
    steps = 1 << buffer.made
    for step in (*buffer.users, *buffer.others):
        steps |= 1 << step
    return steps


def aligned(size: int) -> int:
    """The size rounded up to whole units of the arena."""
    return round_up(size, ARENA_ALIGNMENT)


def _best_gap(taken: Sequence[tuple[int, int]], size: int) -> int:
    """The start of the smallest gap between the ranges that holds `size` bytes; the end of the last one if none
    does."""
    best: tuple[int, int] | None = None
    end = 0
    for start, stop in taken:
        gap = start - end
        if gap >= size and (best is None or gap < best[0]):
            best = (gap, end)
        end = max(end, stop)
    return end if best is None else best[1]
