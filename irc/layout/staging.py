"""Staging: the box of a view that a tile covers, in shared memory as it lies in memory.

Rows that begin at any byte cannot be read in vectors where the elements of a thread are. So the aligned words of 16
bytes that hold the rows are copied to shared memory, where a row keeps its place within a word; each thread takes its
elements from there, whatever its fragment.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache

import numpy as np

from irc.ir.target_costs import ACCESSES
from irc.layout.access import MemoryAccess
from irc.layout.box import Box, box_of
from irc.layout.box_traffic import SMALL, Reads, Side, box_writes, inside
from irc.layout.cute import IntTuple, Layout
from irc.layout.fragment import Fragment
from irc.layout.lane_swizzles import LaneSwizzle, best_lane_swizzle, exchanged
from irc.layout.requests import LINE_BYTES, WARP, WIDEST, Addresses
from irc.layout.segments import Segments, segments_of
from irc.layout.shared import SharedLayout
from irc.layout.traffic import Traffic, global_vector, ideal_units
from irc.support.integers import ceil_div

SWIZZLED = 8
"""Layouts for which lane swizzles are tried: as many as there are pitches."""

NEARLY = 1.02
"""How near to the fewest wavefronts no more swizzles are tried."""

LOOKED_AT = 16
"""Threads whose values are compared."""

PITCHES = 8
"""Pitches of rows that are tried: after 8 words of 16 bytes banks repeat."""


PLACE_INSTRUCTIONS, DIVISION_INSTRUCTIONS = 6, 4
"""Instructions for an element's place in a box, and those that each division of its coordinates adds."""

CLAMP_INSTRUCTIONS = 3
"""Instructions that keep an element inside the box, for each dimension that the tile reaches beyond."""

CHOICE_INSTRUCTIONS = 2
"""A comparison and a selection, for each segment of a run but the first."""


EXCHANGE_INSTRUCTIONS = 1
"""Selections for an element of a run, for each distance at which elements change places."""


@dataclass(frozen=True)
class Staged:
    """A box on its way to a fragment: the layout of shared memory, by the coordinates of the box, what the writes of
    its words and the threads' reads cost there, the instructions of all warps that find the elements, and
    by which swizzle lanes take those of a run."""

    layout: SharedLayout
    writes: Traffic
    reads: Traffic
    instructions: float
    lane_swizzle: LaneSwizzle = ()

    @property
    def cycles(self) -> float:
        return self.writes.units + self.reads.units + self.instructions * ACCESSES.instruction


def staged_bytes(layout: SharedLayout, box: Box, size: int) -> int:
    """Bytes of shared memory: of all words of the rows, the last of which can begin at any element of its first one."""
    word = WIDEST // size
    last = layout.size - box.length
    return (ceil_div(last, word) + box.words) * WIDEST


@cache
def copied_traffic(access: MemoryAccess, shape: tuple[int, ...]) -> Traffic:
    """The requests of copying the words of a tile's box."""
    box = box_of(access, shape)
    assert box is not None
    ideal, ideal_lines = ideal_units(access, shape)
    requests = box.row_count * box.words / WARP
    lines = box.row_count * (1 + (box.words - 1) * WIDEST / LINE_BYTES)
    return Traffic(WIDEST // access.element_bytes, requests, ideal, ideal, lines, ideal_lines)


@cache
def staged(fragment: Fragment, access: MemoryAccess, is_copied: bool = False) -> Staged:
    """The cheapest layout of a box, over pitches of the rows and a word more after every so many of them, with the
    lane swizzle by which lanes meet in few banks there; the smallest of those that are nearly as cheap. is_copied: the
    elements are stored as they are taken."""

    def weighed(found: Staged) -> Staged:
        each = _instructions(fragment, access, found.layout, is_copied=is_copied) + _exchange_instructions(
            found.lane_swizzle
        )
        return replace(found, instructions=each * found.reads.requests)

    return min(map(weighed, _fewest(fragment, access)), key=lambda each: (each.cycles, each.layout.size))


@cache
def _fewest(fragment: Fragment, access: MemoryAccess) -> tuple[Staged, ...]:
    """The layouts with the fewest wavefronts: of those whose rows are evenly apart, and of the others."""
    box = box_of(access, fragment.shape)
    assert box is not None
    layouts = list(_layouts(box, access))
    is_even = [all(len(modes) == 1 for modes in layout.modes) for layout in layouts]
    reads, writes = Reads.of(fragment, access, box, layouts), box_writes(box, layouts, access.element_bytes)
    kinds = [[at for at, even in enumerate(is_even) if even == kind] for kind in (True, False)]
    return tuple(_best(layouts, reads, writes, np.array(kind)) for kind in kinds if kind)


def _best(layouts: Sequence[SharedLayout], reads: Reads, writes: Side, among: Addresses) -> Staged:
    """The best of some of the layouts, with a lane swizzle, which is tried where there are few conflicts without it."""
    both = writes.units[among] + reads.side().units[among]
    among = among[both.argsort(kind="stable")[:SWIZZLED]]

    def cost(swizzle: LaneSwizzle) -> float:
        units = writes.units[among] + reads.side(swizzle, among).units
        return float(units.min()) + reads.requests * _exchange_instructions(swizzle) * ACCESSES.instruction

    side, swizzle = reads.side((), among), ()
    if reads.has_runs:
        fewest = float((writes.ideal[among] + side.ideal).min())
        swizzle = best_lane_swizzle(reads.run, cost, fewest * NEARLY)
        side = reads.side(swizzle, among)
    units = writes.units[among] + side.units
    nearly = np.flatnonzero(units <= units.min() * ACCESSES.smaller_box)
    best = min(map(int, nearly), key=lambda at: (layouts[among[at]].size, units[at]))
    return Staged(
        layouts[among[best]],
        writes.traffic(int(among[best]), reads.word),
        side.traffic(best, reads.vector),
        0.0,
        swizzle,
    )


def _exchange_instructions(swizzle: LaneSwizzle) -> float:
    """Instructions for an element, to put a run in order."""
    return sum(1 for _ in exchanged(swizzle)) * EXCHANGE_INSTRUCTIONS


MAX_SEGMENTS = 4
"""More of them take as many instructions to choose from as divisions do."""

SHORT_RUN = 4
"""The fewest small elements in a run that is worth code of its own. Where 4 bytes are an element, its instructions are
not what counts."""


def run_segments(fragment: Fragment, access: MemoryAccess, layout: SharedLayout) -> Segments | None:
    """The segments of the runs of a fragment that are taken element by element, each of which lies at equal distances
    in the box; None where there are no runs, or finding each element takes fewer instructions."""
    dim, run = fragment.vector
    if access.element_bytes > SMALL or run < SHORT_RUN or global_vector(fragment, access) > 1:
        return None
    segments = segments_of(access.map.results, dim)
    if segments is None or segments.count(run) > min(MAX_SEGMENTS, run // 2):
        return None
    moves = zip(segments.slopes, layout.modes, strict=True)
    if any(slope and len(modes) > 1 for slope, modes in moves):
        return None
    each = _place_instructions(fragment, access, layout)
    return segments if _segment_instructions(segments, run, each) <= each else None


def _instructions(fragment: Fragment, access: MemoryAccess, layout: SharedLayout, *, is_copied: bool) -> float:
    """Instructions that find an element."""
    box = box_of(access, fragment.shape)
    each = _place_instructions(fragment, access, layout)
    if not is_copied and access.element_bytes <= SMALL and box is not None:
        return each + len(box.cut) * CLAMP_INSTRUCTIONS
    segments = run_segments(fragment, access, layout)
    return each if segments is None else _segment_instructions(segments, fragment.vector[1], each)


def _segment_instructions(segments: Segments, run: int, each: float) -> float:
    """Instructions for an element of a run in segments. each: where every element is found by itself."""
    count = segments.count(run)
    return each * count / run + (count - 1) * CHOICE_INSTRUCTIONS


@cache
def _place_instructions(fragment: Fragment, access: MemoryAccess, layout: SharedLayout) -> float:
    """Instructions for an element's place, where it is not at a fixed distance from another one of the thread."""
    box = box_of(access, fragment.shape)
    assert box is not None
    place = PLACE_INSTRUCTIONS + access.divisions * DIVISION_INSTRUCTIONS
    return place / _alike(fragment, access, box, layout, global_vector(fragment, access))


def _alike(fragment: Fragment, access: MemoryAccess, box: Box, layout: SharedLayout, vector: int) -> int:
    """How many values of a thread are at fixed distances from each other in the box, in every thread and for every
    value of its first run."""
    threads = np.arange(0, fragment.thread_count, max(1, fragment.thread_count // LOOKED_AT), dtype=np.int64)[:, None]
    run = fragment.values[0].size if fragment.vector[1] > 1 else 1
    values = np.arange(0, run, vector, dtype=np.int64)
    first = layout.offsets(inside(fragment.coordinates(threads, values), access, box))
    alike, step = 1, 1
    for at, mode in enumerate(fragment.values):
        if at or run == 1:
            moved = layout.offsets(inside(fragment.coordinates(threads, values + step), access, box))
            if len(np.unique(moved - first)) == 1:
                alike *= mode.size
        step *= mode.size
    return alike


def _layouts(box: Box, access: MemoryAccess) -> Iterator[SharedLayout]:
    word = WIDEST // access.element_bytes
    for more in range(PITCHES):
        least = (box.words + more) * word
        yield _layout(box, access, least, None, 0)
        for dim in box.rows:
            for every in range((box.counts[dim] - 1).bit_length()):
                yield _layout(box, access, least, dim, 1 << every)


def _layout(box: Box, access: MemoryAccess, least: int, skewed: int | None, every: int) -> SharedLayout:
    """Rows at least so many elements apart, and as far as in memory but for whole words: then where a row begins in a
    word is as linear in its coordinates as where it lies. `skewed`: a word more after `every` of them along a
    dimension."""
    word = WIDEST // access.element_bytes
    modes: list[tuple[IntTuple, IntTuple]] = [(1, 0)] * len(box.counts)
    for dim in box.run:
        modes[dim] = (box.counts[dim], access.strides[dim])
    step = least
    for dim in box.rows:
        count = box.counts[dim]
        step += (access.strides[dim] - step) % word if count > 1 else 0
        modes[dim] = (count, step)
        if dim == skewed:
            groups = ceil_div(count, every)
            modes[dim] = ((every, groups), (step, step * every + word))
            step = (count - 1) // every * (step * every + word) + (count - 1) % every * step + step
        else:
            step *= count
    return SharedLayout(Layout(tuple(n for n, _ in modes), tuple(s for _, s in modes)))
