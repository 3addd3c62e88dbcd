"""Where the intermediate buffers of a plan lie in the arena.

Two buffers may share bytes if every use of one is complete before the other is first written. Buffers are placed
largest first, each into the smallest gap between the buffers it conflicts with that holds it (greedy by size; Pisarchyk
and Lee, "Efficient Memory Management for Deep Neural Net Inference", 2020).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from irc.dialects.cuda.host import ARENA_ALIGNMENT


@dataclass(frozen=True)
class Lifetime:
    """A buffer of `size` bytes: written by the step `made`, last touched by the steps `users` (which may be none)."""

    size: int
    made: int
    users: tuple[int, ...]


@dataclass(frozen=True)
class Placement:
    """The offset of each buffer, and the size of the arena, in bytes."""

    offsets: tuple[int, ...]
    size: int


def place(buffers: Sequence[Lifetime], ordered: Callable[[int, int], bool]) -> Placement:
    """Places the buffers; `ordered(a, b)` says whether step `a` is complete before step `b` starts."""
    offsets: dict[int, int] = {}
    for index in sorted(range(len(buffers)), key=lambda i: (-buffers[i].size, i)):
        taken = [
            (offsets[other], offsets[other] + aligned(buffers[other].size))
            for other in offsets
            if buffers[other].size and not disjoint(buffers[index], buffers[other], ordered)
        ]
        offsets[index] = _best_gap(sorted(taken), aligned(buffers[index].size))
    ends = (offsets[index] + aligned(buffer.size) for index, buffer in enumerate(buffers))
    return Placement(tuple(offsets[index] for index in range(len(buffers))), max(ends, default=0))


def aligned(size: int) -> int:
    """The size rounded up to whole units of the arena."""
    return -(-size // ARENA_ALIGNMENT) * ARENA_ALIGNMENT


def disjoint(a: Lifetime, b: Lifetime, ordered: Callable[[int, int], bool]) -> bool:
    """Whether one buffer is dead before the other is made."""
    return _dead_before(a, b, ordered) or _dead_before(b, a, ordered)


def _dead_before(a: Lifetime, b: Lifetime, ordered: Callable[[int, int], bool]) -> bool:
    return all(ordered(step, b.made) for step in (a.made, *a.users))


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
