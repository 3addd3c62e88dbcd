"""Boxes of views against brute force, and where threads find their elements in them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np
import pytest
from drawing import examples
from hypothesis import assume, example, given
from hypothesis import strategies as st
from xdsl.ir.affine import AffineExpr, AffineMap

from irc.layout.access import MemoryAccess
from irc.layout.box_traffic import box_writes
from irc.layout.candidates import partition
from irc.layout.cute import Layout
from irc.layout.requests import WIDEST, Addresses, wavefronts
from irc.layout.shared import SharedLayout
from irc.layout.staging import Box, box_of, staged
from irc.layout.traffic import global_vector

D0, D1, S0 = AffineExpr.dimension(0), AffineExpr.dimension(1), AffineExpr.symbol(0)


def skewed(rows: int, columns: int, size: int, tile: int = 64) -> tuple[MemoryAccess, MemoryAccess]:
    """The load and the store of x[rows, columns] transposed, in tiles that begin where words of the result do."""
    word = WIDEST // size
    at = D1 - D0 * (rows % word) % word
    load = MemoryAccess(
        AffineMap(2, 0, (at, D0)), (rows, columns), (columns, 1), frozenset((0, 1)), size, 16, (tile, tile), ()
    )
    store = MemoryAccess(load.map, load.extents, (1, rows), load.checked, size, 16, (tile, tile), ())
    return load, store


@examples(40)
@given(st.integers(60, 200), st.sampled_from([1, 2, 4, 8]), st.integers(0, 1), st.integers(0, 1))
def test_words_of_skewed_tiles_are_words_of_memory(rows: int, size: int, u: int, w: int) -> None:
    access, word = skewed(rows, 150, size)[1], WIDEST // size
    assert access.vector(1, 64) == word
    for d0, first in product(range(0, 64, 7), range(0, 64, word)):
        (at,) = access.addresses([np.array([64 * u + d0]), np.array([64 * w + first])])
        assert at % WIDEST == 0
    assert access.vector(0, 64) == 1


@examples(40)
@given(st.integers(3, 40), st.integers(2, 9), st.integers(3, 40), st.integers(0, 3))
def test_a_box_holds_what_its_tile_reads(a: int, b: int, c: int, tile: int) -> None:
    """x[a, b, c] -> y[b, a, c], tiles of 64 of the rows (a, c) from where words begin."""
    at = D1 - D0 * (a * c % 4) % 4
    load = AffineMap(2, 0, (at // c, D0, at % c))
    access = MemoryAccess(load, (a, b, c), (b * c, c, 1), frozenset((0, 1)), 4, 16, (2, 64), ())
    box = box_of(access, (2, 64))
    assert box is not None
    origins = [o.eval([0, 64 * tile], []) for o in box.origins]
    for d0, d1 in product(range(2), range(64)):
        found = load.eval([d0, 64 * tile + d1], [])
        inside = all(0 <= at < n for at, n in zip(found, access.extents, strict=True))
        within = [o <= at < o + n for at, o, n in zip(found, origins, box.counts, strict=True)]
        assert all(within) or not inside
        assert all(w or d in box.cut for d, w in enumerate(within))


NUMBERS = st.sampled_from((1, 2, 3, 4, 5, 7, 8, 12, 13))
STEPS = st.sampled_from((1, 2, 3, 4, 6, 8))
SHAPE, TILES = (4, 6), 6


def _wider(terms: st.SearchStrategy[AffineExpr]) -> st.SearchStrategy[AffineExpr]:
    sums = st.builds(lambda a, b: a + b, terms, terms)
    products = st.builds(lambda term, by: term * by, terms, NUMBERS | st.integers(-3, -1))
    quotients = st.builds(lambda term, by: term // by, terms, NUMBERS)
    rests = st.builds(lambda term, by: term % by, terms, NUMBERS)
    return sums | products | quotients | rests


EXPRESSIONS = st.recursive(
    st.sampled_from((D0, D1, S0)) | st.builds(AffineExpr.constant, st.integers(0, 9)), _wider, max_leaves=6
)


def _values(expr: AffineExpr, dims: Any, symbol: Any) -> Addresses:
    """xDSL's evaluation only adds, multiplies and divides, so that it works on arrays as on numbers."""
    found: Any = expr.eval(dims, [symbol])
    return found + 0 * sum(dims, symbol)


@dataclass(frozen=True)
class Walked:
    """A map, and how it walks a view. wanted: extents of the view; 0: what the tiles need. gaps: elements between the rows of each dimension. steps: what the tiles' offsets
    and the symbol are multiples of."""

    maps: tuple[AffineExpr, ...]
    wanted: tuple[int, ...]
    gaps: tuple[int, ...]
    order: tuple[int, ...]
    steps: tuple[int, int, int]
    size: int

    @cached_property
    def extents(self) -> tuple[int, ...]:
        needed = (max(1, int(at.max()) + 1) for at in self.coordinates)
        return tuple(n or least for n, least in zip(self.wanted, needed, strict=True))

    @property
    def strides(self) -> tuple[int, ...]:
        found = dict[int, int]()
        step = 1
        for dim in self.order:
            found[dim] = step
            step = (step * self.extents[dim]) + self.gaps[dim]
        return tuple(found[dim] for dim in range(len(self.order)))

    @cached_property
    def tiles(self) -> list[Addresses]:
        """The offsets and the symbol of some tiles, as columns."""
        grid = np.indices([TILES] * 3).reshape(3, -1, 1)
        return [at * step for at, step in zip(grid, self.steps, strict=True)]

    def at(self, expr: AffineExpr) -> Addresses:
        """The values of an expression of a tile's offsets and the symbol."""
        *offsets, symbol = self.tiles
        return _values(expr, offsets, symbol)

    @cached_property
    def coordinates(self) -> list[Addresses]:
        """In the view, of the elements of tiles: a row for each tile."""
        *offsets, symbol = self.tiles
        dims = [o + i for o, i in zip(offsets, np.indices(SHAPE).reshape(2, 1, -1), strict=True)]
        return [_values(expr, dims, symbol) for expr in self.maps]


@st.composite
def walked(draw: st.DrawFn) -> Walked:
    rank = draw(st.integers(1, 3))
    each = st.tuples(*[st.tuples(EXPRESSIONS, st.just(0) | NUMBERS, st.sampled_from((0, 0, 0, 1, 8)))] * rank)
    maps, wanted, gaps = zip(*draw(each), strict=True)
    order = draw(st.permutations(range(rank)))
    return Walked(maps, wanted, gaps, tuple(order), draw(st.tuples(STEPS, STEPS, STEPS)), draw(st.sampled_from([1, 4])))


@examples(200)
@given(walked())
@example(Walked((D0 // 5, D1), (0, 0), (0, 0), (1, 0), (4, 6, 1), 1))
def test_boxes_of_any_map(walk: Walked) -> None:
    """Wherever a tile is, its box holds what it reads of the view, is known where it reaches over the view's ends, and
    has rows that begin where words do, unless it says that they may not."""
    coordinates = walk.coordinates
    inside = [(c >= 0) & (c < n) for c, n in zip(coordinates, walk.extents, strict=True)]
    access = MemoryAccess(
        AffineMap(2, 1, walk.maps),
        walk.extents,
        walk.strides,
        frozenset(d for d, i in enumerate(inside) if not i.all()),
        walk.size,
        WIDEST,
        walk.steps[:2],
        walk.steps[2:],
    )
    box = box_of(access, SHAPE)
    assume(box is not None)
    assert box is not None
    origins = [walk.at(origin) for origin in box.origins]
    within = [(o <= c) & (c < o + n) for c, o, n in zip(coordinates, origins, box.counts, strict=True)]
    assert np.all(np.all(within, axis=0) | ~np.all(inside, axis=0))
    assert box.cut >= {d for d, w in enumerate(within) if not w.all()}
    ends = zip(origins, box.counts, walk.extents, strict=True)
    assert box.checked >= {d for d, (o, count, n) in enumerate(ends) if np.any((o < 0) | (o + count > n))}
    begin = np.sum([origins[d] * walk.strides[d] for d in box.run], axis=0)
    rows = [(origins[d] + np.arange(box.counts[d])) * walk.strides[d] for d in box.rows]
    assert box.is_misaligned or all(np.all((begin + row) % (WIDEST // walk.size) == 0) for row in rows or [0])


def _box(rows: int, columns: int, size: int) -> Box:
    box = box_of(skewed(rows, columns, size)[0], (64, 64))
    assert box is not None
    return box


def test_rows_of_a_box_are_whole_words_of_memory() -> None:
    odd = _box(1021, 523, 4)
    assert (odd.counts, odd.run, odd.rows) == ((67, 64), (1,), (0,))
    assert (odd.length, odd.words, odd.is_misaligned) == (64, 17, True), "17 words hold 64 that begin anywhere"
    even = _box(1021, 512, 4)
    assert (even.words, even.is_misaligned) == (16, False)


def test_whole_dimensions_are_one_row() -> None:
    """y[c, b, a] of x[a, b, c], b and c whole: a row is both of them, whatever begins where."""
    access = MemoryAccess(
        AffineMap(2, 0, (D1 // 13, D1 % 13, D0)),
        (50, 13, 29),
        (400, 29, 1),
        frozenset((0, 2)),
        1,
        16,
        (0, 256),
        (),
    )
    box = box_of(access, (32, 256))
    assert box is not None
    assert (box.counts, box.run, box.length) == ((21, 13, 29), (2, 1), 377)
    assert box.cut == {2}, "3 of the 32 are outside the view"


@pytest.mark.parametrize("size", [1, 2, 4, 8])
def test_elements_lie_where_memory_has_them_within_a_word(size: int) -> None:
    access, word = skewed(1021, 523, size, 128)[0], WIDEST // size
    fragment = partition((128, 128), (1, 0), (1, min(word, 16)), (4, 8), (8, 1), 1)
    assert global_vector(fragment, access) == 1
    found = staged(fragment, access)
    assert found.reads.requests == 128 * 128 / 32
    assert found.reads.ideal <= found.reads.units <= 2.5 * found.reads.ideal
    rows, columns = found.layout.modes
    assert columns == ((128, 1),)
    assert all((stride - 523) % word == 0 for _, stride in rows), "a row begins where it does in a word of memory"
    assert min(stride for _, stride in rows) >= 128 + word


def test_a_word_more_after_some_rows_keeps_columns_out_of_one_bank() -> None:
    """Threads that store 16 bytes of a column take elements of rows 16 apart: of one bank, were the rows equally far."""
    access = skewed(4096, 4096, 1, 128)[0]
    fragment = partition((128, 128), (1, 0), (1, 16), (4, 8), (8, 1), 1)
    found = staged(fragment, access)
    coordinates = fragment.requests(1, 1)
    plain = coordinates[1] * 144 + coordinates[0]
    assert wavefronts(plain, 1).mean() == 8
    assert found.reads.units == found.reads.ideal


@pytest.mark.parametrize("words", [1, 7, 8, 12, 28, 31, 32, 33])
def test_lanes_without_a_word_write_no_further_wavefront(words: int) -> None:
    """A row of so many words: eight lanes write 128 bytes, which are a wavefront, and fewer lanes one too."""
    load = AffineMap(2, 0, (D0, D1))
    access = MemoryAccess(load, (1, 4 * words), (4 * words, 1), frozenset(), 4, 16, (1, 4 * words), ())
    box = box_of(access, (1, 4 * words))
    assert box is not None
    assert box.row_count * box.words == words
    side = box_writes(box, [SharedLayout(Layout((1, 4 * words), (0, 1)))], 4)
    assert side.units == side.ideal == words / 32 * np.ceil(min(words, 32) / 8)
