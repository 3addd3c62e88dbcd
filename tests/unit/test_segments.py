"""Runs of affine maps in segments, against every element of them."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.ir.affine import AffineExpr

from irc.layout.segments import Segments, segments_of

D0, D1 = AffineExpr.dimension(0), AffineExpr.dimension(1)


def _check(exprs: Sequence[AffineExpr], segments: Segments, other: int, first: int, length: int) -> None:
    """Each element is where its segment begins and the slopes lead, and there are no more segments than are told."""
    begin, count = 0, 1
    for n in range(length):
        here = [expr.eval([other, first + n], []) for expr in exprs]
        if n and segments.dividend is not None and segments.dividend.eval([other, first + n], []) % segments.by == 0:
            begin, count = n, count + 1
        start = [expr.eval([other, first + begin], []) for expr in exprs]
        assert here == [at + (n - begin) * slope for at, slope in zip(start, segments.slopes, strict=True)]
    assert count <= segments.count(length)


@settings(max_examples=60)
@given(
    st.integers(2, 40),
    st.integers(2, 5),
    st.integers(0, 31),
    st.integers(0, 90),
    st.integers(0, 200),
    st.integers(2, 16),
)
def test_rows_of_merged_dimensions(by: int, outer: int, skew: int, other: int, first: int, length: int) -> None:
    """w -> (w mod by, w div by mod outer, w div (by outer), another), of rows that begin anywhere in a sector."""
    w = D1 - D0 * skew % 32
    exprs = [w % by, w // by % outer, w // (by * outer), D0 + D1 * 3]
    segments = segments_of(exprs, 1)
    assert segments is not None
    assert (segments.slopes, segments.by) == ((1, 0, 0, 3), by)
    _check(exprs, segments, other, first + 32, length)


def test_coordinates_that_are_not_divided_are_one_segment() -> None:
    assert segments_of([D1 - D0 * 7 % 16, D0 // 3], 1) == Segments((1, 0))
    assert Segments((1, 0)).count(16) == 1


def test_the_fewest_segments_that_a_run_can_need() -> None:
    segments = segments_of([D1 // 17], 1)
    assert segments is not None
    assert [segments.count(n) for n in (1, 2, 16, 18, 19)] == [1, 2, 2, 2, 3]


@pytest.mark.parametrize(
    "exprs",
    [
        [D1 % 7, D1 // 5],
        [D1 % 7, (D1 + D0) // 7],
        [D1 * 2 % 7],
        [D1 % 21 // 4, D1 % 21],
    ],
    ids=["two divisors", "two dividends", "a step of 2", "a remainder that is divided"],
)
def test_runs_that_end_in_several_ways_have_no_segments(exprs: list[AffineExpr]) -> None:
    assert segments_of(exprs, 1) is None
