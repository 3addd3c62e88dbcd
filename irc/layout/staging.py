"""Staging: the box of a view that a tile covers, in shared memory as it lies in memory.

Rows that begin at any byte cannot be read in vectors where the elements of a thread are. So the aligned words of 16
bytes that hold the rows are copied to shared memory, where a row keeps its place within a word; each thread takes its
elements from there, whatever its fragment.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from math import gcd, prod
from typing import Any

import numpy as np
from xdsl.ir.affine import (
    AffineBinaryOpExpr,
    AffineBinaryOpKind,
    AffineConstantExpr,
    AffineDimExpr,
    AffineExpr,
    AffineSymExpr,
)

from irc.layout.access import MemoryAccess
from irc.layout.cost import INSTRUCTION_CYCLES
from irc.layout.cute import IntTuple, Layout
from irc.layout.fragment import Coordinates, Fragment
from irc.layout.requests import LINE_BYTES, WARP, WIDEST, Addresses, fewest_wavefronts, wavefronts
from irc.layout.segments import Segments, segments_of
from irc.layout.shared import SharedLayout
from irc.layout.traffic import Traffic, global_vector, ideal_units
from irc.support.integers import ceil_div

MAX_COUNTED = 8
"""Requests whose bank conflicts are counted for each layout."""

LOOKED_AT = 16
"""Threads whose values are compared."""

PITCHES = 8
"""Pitches of rows that are tried: after 8 words of 16 bytes banks repeat."""


@dataclass(frozen=True)
class _Range:
    """The values of an expression over a tile: they are among the `count` from `first` on, an expression of the tile's
    offsets that is a multiple of `align` (0: it is 0). is_exact: wherever the tile is, the first and the last of these
    are values of it."""

    first: AffineExpr
    count: int
    align: int
    is_exact: bool = True


@dataclass(frozen=True)
class Box:
    """What a tile covers of a view: `counts` elements from `origins` (of the tile's offsets and symbols) on, along each
    dimension of the view.

    run: the dimensions whose elements are neighbors in memory, innermost first; a row is `length` elements of them.
    rows: the others, those with the shortest step first. cut: the dimensions where coordinates of the tile are outside
    the box, as they are outside the view. checked: the dimensions where the box reaches over the ends of the view.
    words: the words of memory that hold a row; rows begin at any element of the first one where `is_misaligned`."""

    origins: tuple[AffineExpr, ...]
    counts: tuple[int, ...]
    run: tuple[int, ...]
    rows: tuple[int, ...]
    cut: frozenset[int]
    checked: frozenset[int]
    length: int
    words: int
    is_misaligned: bool

    @property
    def row_count(self) -> int:
        return prod(self.counts[d] for d in self.rows)


@cache
def box_of(access: MemoryAccess, shape: tuple[int, ...]) -> Box | None:
    """The box of a tile; None where its elements are anywhere, or where the view's address is not that of a word."""
    if any(access.gathers) or access.align % WIDEST or WIDEST % access.element_bytes:
        return None
    ranges = [_range(expr, access, shape) for expr in access.map.results]
    if any(r is None for r in ranges):
        return None
    known = [_whole(r, n) for r, n in zip(ranges, access.extents, strict=True) if r is not None]
    reach = [(r.align, r.count, n) for r, n in zip(ranges, access.extents, strict=True) if r is not None]
    cut = frozenset(d for d, (align, count, n) in enumerate(reach) if count > n or (count == n and align))
    checked = frozenset(access.checked) | {d for d, r in enumerate(known) if not r.is_exact}
    counts = tuple(r.count for r in known)
    run = _run(access, known, counts)
    if not run:
        return None
    rows = tuple(sorted((d for d in range(len(counts)) if d not in run), key=lambda d: access.strides[d]))
    length = 1 + sum((counts[d] - 1) * access.strides[d] for d in run)
    word = WIDEST // access.element_bytes
    steps = [access.strides[d] for d in rows if counts[d] > 1 or known[d].align]
    starts = [known[d].align * access.strides[d] for d in run]
    is_misaligned = any(n % word for n in (*steps, *starts))
    words = ceil_div(length, word) if not is_misaligned else (length + word - 2) // word + 1
    origins = tuple(r.first for r in known)
    return Box(origins, counts, run, rows, cut, checked, length, words, is_misaligned)


def _whole(values: _Range, extent: int) -> _Range:
    """All of a dimension of the view instead, where there are as many values."""
    return _Range(AffineExpr.constant(0), extent, 0) if values.count >= extent else values


def _run(access: MemoryAccess, ranges: Sequence[_Range], counts: Sequence[int]) -> tuple[int, ...]:
    found: list[int] = []
    step = 1
    while (
        dim := next(
            (d for d, s in enumerate(access.strides) if s == step and access.extents[d] > 1 and d not in found), None
        )
    ) is not None:
        found.append(dim)
        if ranges[dim].align or counts[dim] != access.extents[dim]:
            break
        step *= access.extents[dim]
    return tuple(found)


def _range(expr: AffineExpr, access: MemoryAccess, shape: Sequence[int]) -> _Range | None:
    match expr:
        case AffineConstantExpr():
            return _Range(expr, 1, abs(expr.value))
        case AffineSymExpr():
            return _Range(expr, 1, access.symbols[expr.position])
        case AffineDimExpr():
            return _Range(expr, shape[expr.position], access.offsets[expr.position])
        case AffineBinaryOpExpr():
            lhs, rhs = _range(expr.lhs, access, shape), _range(expr.rhs, access, shape)
            return None if lhs is None or rhs is None else _combine(expr, lhs, rhs)
        case _:
            return None


def _combine(expr: AffineBinaryOpExpr, lhs: _Range, rhs: _Range) -> _Range | None:
    if expr.kind is AffineBinaryOpKind.Add:
        apart = lhs.count == 1 or rhs.count == 1 or expr.lhs.used_dims().isdisjoint(expr.rhs.used_dims())
        is_exact = lhs.is_exact and rhs.is_exact and apart
        return _Range(lhs.first + rhs.first, lhs.count + rhs.count - 1, gcd(lhs.align, rhs.align), is_exact)
    if not isinstance(expr.rhs, AffineConstantExpr):
        return None
    by, more = expr.rhs.value, lhs.count - 1
    if expr.kind is AffineBinaryOpKind.Mul:
        least = min(more * by, 0)
        first = lhs.first * by + least if least else lhs.first * by
        return _Range(first, more * abs(by) + 1, gcd(lhs.align * by, least), lhs.is_exact)
    if by < 1:
        return None
    step = gcd(lhs.align, by)
    starts = step == by
    if expr.kind is AffineBinaryOpKind.FloorDiv:
        most = (more + by - step) // by
        is_exact = lhs.is_exact and most == more // by
        return _Range(lhs.first // by, most + 1, lhs.align // by if starts else 1, is_exact)
    if expr.kind is AffineBinaryOpKind.Mod:
        if lhs.count == 1:
            return _Range(lhs.first % by, 1, step, lhs.is_exact)
        if starts and more < by:
            return _Range(AffineExpr.constant(0), lhs.count, 0, lhs.is_exact)
        return _Range(AffineExpr.constant(0), by, 0, False)
    return None


PLACE_INSTRUCTIONS, DIVISION_INSTRUCTIONS = 6, 4
"""Instructions for an element's place in a box, and those that each division of its coordinates adds."""

CLAMP_INSTRUCTIONS = 3
"""Instructions that keep an element inside the box, for each dimension that the tile reaches beyond."""

CHOICE_INSTRUCTIONS = 2
"""A comparison and a selection, for each segment of a run but the first."""


@dataclass(frozen=True)
class Staged:
    """A box on its way to a fragment: the layout of shared memory, by the coordinates of the box, what the threads'
    reads cost there, and the instructions of all warps that find the elements."""

    layout: SharedLayout
    reads: Traffic
    instructions: float

    @property
    def cycles(self) -> float:
        return self.reads.units + self.instructions * INSTRUCTION_CYCLES


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
    """The cheapest layout of a box, over pitches of the rows and a word more after every so many of them; the smallest
    of those. is_copied: the elements are stored as they are taken."""
    box, size = box_of(access, fragment.shape), access.element_bytes
    assert box is not None
    vector = global_vector(fragment, access)
    inside = _inside(fragment.requests(vector, MAX_COUNTED), access, box)
    layouts = list(_layouts(box, access))
    offsets = np.stack([layout.offsets(inside) for layout in layouts])
    counts = wavefronts(offsets * size, vector * size).mean(axis=-1)
    requests = max(1, fragment.thread_count // WARP) * (fragment.value_count // vector)
    is_even = np.array([all(len(modes) == 1 for modes in layout.modes) for layout in layouts])
    found: list[Staged] = []
    for kind in (is_even, ~is_even):
        if not kind.any():
            continue
        best = int(np.where(kind, counts, np.inf).argmin())
        fewest = fewest_wavefronts(offsets[best] * size, vector * size).mean()
        reads = Traffic(vector, requests, float(counts[best]) * requests, float(fewest) * requests)
        each = _instructions(fragment, access, layouts[best], is_copied=is_copied)
        found.append(Staged(layouts[best], reads, each * requests))
    return min(found, key=lambda each: (each.cycles, each.layout.size))


MAX_SEGMENTS = 4
"""More of them take as many instructions to choose from as divisions do."""

SMALL, SHORT_RUN = 2, 4
"""Bytes of elements that are many for what memory takes, and the fewest of them in a run that is worth code of its own.
Where 4 bytes are an element, its instructions are not what counts."""


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
    first = layout.offsets(_inside(fragment.coordinates(threads, values), access, box))
    alike, step = 1, 1
    for at, mode in enumerate(fragment.values):
        if at or run == 1:
            moved = layout.offsets(_inside(fragment.coordinates(threads, values + step), access, box))
            if len(np.unique(moved - first)) == 1:
                alike *= mode.size
        step *= mode.size
    return alike


def _inside(coordinates: Coordinates, access: MemoryAccess, box: Box) -> list[Addresses]:
    """The coordinates in the box of elements of a tile, for offsets of 0."""
    dims: Any = list(coordinates)
    zeros = [0] * len(dims), [0] * access.map.num_symbols
    at = [expr.eval(dims, zeros[1]) + 0 * dims[0] for expr in access.map.results]
    origins = [origin.eval(*zeros) for origin in box.origins]
    return [np.clip(a - o, 0, n - 1) for a, o, n in zip(at, origins, box.counts, strict=True)]


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
