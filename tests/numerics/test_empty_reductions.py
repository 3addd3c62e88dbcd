"""Reductions of arrays that have no elements, or no results, on the simulator."""

from __future__ import annotations

import numpy as np
import pytest

import irc


@pytest.mark.parametrize("op", ["sum", "max", "argmin"])
@pytest.mark.parametrize(
    ("shape", "axis"), [((100_000, 0), 0), ((4, 5, 0), 1), ((0, 100_000), 1), ((70_000, 0, 2), 0), ((5, 0, 2), 0)]
)
def test_no_results(shape: tuple[int, ...], axis: int, op: str) -> None:
    extents, kept = (list(n) for n in (shape, shape[:axis] + shape[axis + 1 :]))
    element = "i64" if op == "argmin" else "f32"
    text = f"func f(x: f32{extents}) -> {element}{kept} {{ return {op}(x, axis={axis}) }}"
    assert irc.compile(text, "sim", arch="sm_90a")(np.zeros(shape, np.float32)).shape == tuple(kept)


def test_sums_of_nothing_are_0() -> None:
    text = "func f(x: f32[0, 3, 7]) -> f32[3, 7] { return sum(x, axis=0) }"
    np.testing.assert_array_equal(
        irc.compile(text, "sim", arch="sm_90a")(np.zeros((0, 3, 7), np.float32)), np.zeros((3, 7))
    )
