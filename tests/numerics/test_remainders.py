"""Remainders and floored quotients of floats are numpy's, however great the quotient or its operands are; a remainder of
0 has the sign of the divisor, a quotient of 0 that of x / y."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import irc
from irc.ir.dtypes import element_named

TEXT = """func f(x: {t}[N], y: {t}[N]) -> ({t}[N], {t}[N], {t}[N], {t}[N]) {{
    return x % y, x // y, x % 3, x // 3
}}
"""
N = 250
ENDS = [np.inf, np.nan, 0.0, 1.0]


@pytest.mark.parametrize("target", ["cpu", "sim"])
@pytest.mark.parametrize(("element", "most"), [("f32", 37), ("f64", 300), ("bf16", 37)])
def test_remainders_are_exact(element: str, most: int, target: str) -> None:
    rng = np.random.default_rng(0)
    dtype, wide = element_named(element).dtype, np.float64 if element == "f64" else np.float32
    x = (rng.standard_normal(N) * 10.0 ** rng.integers(-30, most, N)).astype(dtype)
    y = (rng.standard_normal(N) * 10.0 ** rng.integers(-5, 9, N)).astype(dtype)
    largest = float(ml_dtypes.finfo(dtype).max)
    ends = [sign * end for end in (*ENDS, largest, 0.3 * largest) for sign in (1, -1)]
    pairs = [(a, b) for a in ends for b in ends]
    x[: len(pairs)], y[: len(pairs)] = zip(*pairs, strict=True)
    x[-4:], y[-4:] = (6, 6, -6, -6), (3, -3, 3, -3)
    found = irc.compile(f"dim N = {N}\n{TEXT.format(t=element)}", target, arch="sm_90a")(x, y)
    a, b, three = x.astype(wide), y.astype(wide), wide(3)
    with np.errstate(all="ignore"):
        expected = [each.astype(dtype) for each in (a % b, a // b, a % three, a // three)]
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one.astype(wide), other.astype(wide))
        np.testing.assert_array_equal(np.signbit(one)[other == 0], np.signbit(other)[other == 0])
