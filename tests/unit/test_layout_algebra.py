"""The layout algebra: examples of the CuTe documentation, and what each operation means, against brute force."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from math import prod
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from irc.layout.algebra import (
    blocked_product,
    ordered,
    tile_to_shape,
)
from irc.layout.cute import (
    Layout,
    coalesce,
    complement,
    composition,
    logical_product,
)
from irc.layout.fragment import Fragment, Mode


@st.composite
def dense(draw: st.DrawFn, rank: int = 2, most: int = 3) -> Layout:
    """Any order of any extents that are powers of two."""
    shape = [1 << draw(st.integers(0, most)) for _ in range(rank)]
    return ordered(shape, draw(st.permutations(range(rank))))


@st.composite
def strided(draw: st.DrawFn) -> Layout:
    """Modes of any stride, nested or not."""
    modes = draw(st.lists(st.tuples(st.integers(1, 6), st.integers(0, 12)), min_size=1, max_size=4))
    return Layout(tuple(n for n, _ in modes), tuple(s for _, s in modes))


def test_shape_and_stride_nest_alike() -> None:
    with pytest.raises(ValueError, match="differ"):
        Layout((4, (2, 2)), (1, 4))


@given(strided())
def test_coalesce_keeps_the_function(layout: Layout) -> None:
    assert list(coalesce(layout)) == list(layout)


@given(dense(3), dense(2))
def test_composition_is_composition(a: Layout, b: Layout) -> None:
    assume(b.size <= a.size)
    assert list(composition(a, b)) == [a(i) for i in b]


@given(strided(), st.builds(Layout, st.integers(1, 12), st.integers(0, 12)))
def test_a_composition_with_one_mode_that_is_defined_is_one(a: Layout, b: Layout) -> None:
    assume(b.cosize <= a.size)
    try:
        composed = composition(a, b)
    except ValueError:
        return
    assert list(composed) == [a(i) for i in b]


OPERATIONS: dict[str, Callable[..., Layout]] = {
    "coalesce": coalesce,
    "complement": complement,
    "composition": composition,
    "logical_product": logical_product,
}


@pytest.mark.parametrize("name", OPERATIONS)
@given(a=strided(), b=strided())
def test_operations_agree_with_cutlass_s_own(name: str, a: Layout, b: Layout) -> None:
    """Where both define a result; pycute defines some that lose elements."""
    pycute: Any = pytest.importorskip("pycute")
    theirs = [pycute.Layout(layout.shape, layout.stride) for layout in (a, b)]
    if name == "complement":
        own, other = [a, b.size], [theirs[0], b.size]
    else:
        count = 2 if name in ("composition", "logical_product") else 1
        own, other = [a, b][:count], theirs[:count]
    try:
        result, expected = OPERATIONS[name](*own), getattr(pycute, name)(*other)
    except (AssertionError, ZeroDivisionError, ValueError):
        return
    assert (result.shape, result.stride) == (expected.shape, expected.stride)


@given(dense(2))
def test_a_complement_fills_what_is_left(layout: Layout) -> None:
    spread = Layout(layout.shape, tuple(3 * s for _, s in layout.flat))
    rest = complement(spread, 6 * layout.size)
    assert sorted(i + j for i in spread for j in rest) == list(range(6 * layout.size))


def test_what_is_not_defined_is_an_error() -> None:
    with pytest.raises(ValueError, match="composition is not defined"):
        composition(Layout((6, 2), (8, 2)), Layout(4, 4))


@given(dense(2, 2), dense(2, 2))
def test_products_repeat_a_block(block: Layout, tiler: Layout) -> None:
    """Coordinate = inside + block * number."""
    blocked = blocked_product(block, tiler)
    inner, outer = [m.size for m in block.modes], [m.size for m in tiler.modes]
    for i in product(*map(range, inner)):
        for o in product(*map(range, outer)):
            offset = block(i) + block.size * tiler(o)
            assert blocked(tuple(a + n * b for a, b, n in zip(i, o, inner, strict=True))) == offset


@given(dense(2, 2), st.tuples(st.integers(1, 4), st.integers(1, 4)), st.permutations([0, 1]))
def test_tile_to_shape_fills_the_shape_with_blocks(block: Layout, copies: tuple[int, int], order: list[int]) -> None:
    shape = [m.size * n for m, n in zip(block.modes, copies, strict=True)]
    tiled = tile_to_shape(block, shape, order)
    grid = ordered(copies, order)
    assert [m.size for m in tiled.modes] == shape
    for i, j in product(*map(range, shape)):
        (a, b), (m, n) = (i, j), (block.modes[0].size, block.modes[1].size)
        assert tiled((i, j)) == block((a % m, b % n)) + block.size * grid((a // m, b // n))


def test_a_block_that_does_not_fill_is_refused() -> None:
    with pytest.raises(ValueError, match="do not fill"):
        tile_to_shape(Layout((8, 64), (64, 1)), (12, 128))


def test_a_fragment_is_a_thread_value_layout() -> None:
    """32 threads along rows of 8 lanes, each with 2 x 4 neighbors."""
    layout = Layout(((8, 4), (4, 2)), ((32, 2), (8, 1)))
    fragment = Fragment.from_layout((8, 32), layout)
    assert fragment.threads == (Mode(8, 1, 4), Mode(4, 0, 2))
    assert fragment.values == (Mode(4, 1, 1), Mode(2, 0, 1))
    assert prod(fragment.shape) == fragment.thread_count * fragment.value_count
