"""Remainders and floored quotients of floats are numpy's, however great the quotient is; a remainder of 0 has the sign
of the divisor."""

from __future__ import annotations

import numpy as np
import pytest

import irc

TEXT = """func f(x: {t}[N], y: {t}[N]) -> ({t}[N], {t}[N], {t}[N], {t}[N]) {{
    return x % y, x // y, x % 3, x // 3
}}
"""
N = 200
ENDS = [np.inf, -np.inf, np.nan, 0.0, -0.0, 1.0, -1.0]


@pytest.mark.parametrize("target", ["cpu", "sim"])
@pytest.mark.parametrize(("element", "most"), [("f32", 37), ("f64", 300)])
def test_remainders_are_exact(element: str, most: int, target: str) -> None:
    rng = np.random.default_rng(0)
    dtype = np.float32 if element == "f32" else np.float64
    x = (rng.standard_normal(N) * 10.0 ** rng.integers(-30, most, N)).astype(dtype)
    y = (rng.standard_normal(N) * 10.0 ** rng.integers(-5, 9, N)).astype(dtype)
    pairs = [(a, b) for a in ENDS for b in ENDS]
    x[: len(pairs)], y[: len(pairs)] = zip(*pairs, strict=True)
    x[-4:], y[-4:] = (6, 6, -6, -6), (3, -3, 3, -3)
    found = irc.compile(f"dim N = {N}\n{TEXT.format(t=element)}", target, arch="sm_90a")(x, y)
    three = dtype(3)
    with np.errstate(all="ignore"):
        for a, b in zip(found, (x % y, x // y, x % three, x // three), strict=True):
            np.testing.assert_array_equal(a, b)
        for a, b in zip(found[::2], (x % y, x % three), strict=True):
            np.testing.assert_array_equal(np.signbit(a)[b == 0], np.signbit(b)[b == 0])
