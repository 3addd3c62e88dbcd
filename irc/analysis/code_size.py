"""How much code a kernel takes for each element of its results.

All ops of a kernel are unrolled over a thread's elements. What slices, windows or gathers read is computed at each of
the places that they read, so nested windows multiply.
"""

from __future__ import annotations

from collections.abc import Iterable

from xdsl.ir import Operation, SSAValue

from irc.analysis.op_classes import instructions_of, is_move, is_window, reads_elsewhere, taps_of
from irc.dialects.kernel import FusedOp

MAX_WORK = 1024
"""Instructions for each element, about, from which on a kernel takes in no more work: 4 elements of a thread stay below
10,000 then, which NVRTC compiles in three seconds."""

LITTLE_WORK = 64
"""Work that is not worth to be stored for another kernel."""

MAX_UNROLLED = 4 * MAX_WORK
"""Instructions of all elements of a thread, about."""

MAX_READ = 96
"""Registers of a thread that hold what it reads at several places for each element; with 128 some windows spill."""

INDEXED = 8
"""Instructions for a read at a place of its own: index, comparisons with the ends, load."""


PER_TAP = 3
"""Instructions for a place of a window: it is joined, and a part of its load, which neighboring windows share."""


def work_of(op: Operation) -> int:
    """Instructions for an element at one place, about."""
    if is_window(op):
        return PER_TAP * taps_of(op)
    return INDEXED if is_move(op) else instructions_of(op)


def places_of(uses: Iterable[tuple[Operation, bool, int]]) -> int:
    """At how many places a value is needed for an element of the results. Of each use: the op that reads the value,
    whether it moves what it reads, and at how many places its own result is needed. Elementwise uses share theirs."""
    moved: dict[Operation, int] = {}
    most = 1
    for op, moves, places in uses:
        if moves:
            moved[op] = max(places * taps_of(op), moved.get(op, 0))
        most = max(most, places)
    return max(most, sum(moved.values()))


class Unrolled:
    """What a kernel computes and reads for each element: `work`, in instructions; `places`, of each operand."""

    def __init__(self, kernel: FusedOp) -> None:
        self.work = 0
        places: dict[SSAValue, int] = {}

        def needed(value: SSAValue) -> int:
            users = [use.operation for use in value.uses if use.operation.results]
            return places_of((op, reads_elsewhere(op), max(places[r] for r in op.results)) for op in users)

        for op in reversed(list(kernel.block.ops)):
            places |= {result: needed(result) for result in op.results}
            self.work += work_of(op) * max((places[result] for result in op.results), default=0)
        self.places = [needed(argument) for argument in kernel.block.args]

    @property
    def most_elements(self) -> int:
        """That a thread may have."""
        reads = sum(places for places in self.places if places > 1)
        most = MAX_UNROLLED // max(self.work, 1)
        return max(1, min(most, MAX_READ // reads) if reads else most)
