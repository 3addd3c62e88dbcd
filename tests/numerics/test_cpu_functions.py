"""Functions that `expand-math` makes polynomials of: their errors in units in the last place, and their special values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.special import erf

import irc

FUNCTIONS: dict[str, tuple[Callable[[Any], Any], float]] = {
    "exp": (np.exp, 1.1),
    "exp2": (np.exp2, 1.1),
    "log": (np.log, 1.0),
    "tanh": (np.tanh, 1.5),
    "erf": (erf, 1.1),
}
SPECIAL = [0.0, -0.0, np.inf, -np.inf, np.nan, 1e-40, -1e-40, 3e38, -3e38, 88.73, -103.98, 128.0, -149.0, 1.0]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions(name: str) -> None:
    exact, most = FUNCTIONS[name]
    rng = np.random.default_rng(0)
    drawn = [np.linspace(-110, 100, 100_003), 3 * rng.standard_normal(50_000), 10 ** rng.uniform(-38, 38, 50_000)]
    x = np.concatenate([*drawn, SPECIAL]).astype(np.float32)
    found = irc.compile(f"func f(x: f32[{len(x)}]) -> f32[{len(x)}] {{\n    return {name}(x)\n}}", "cpu")(x)
    with np.errstate(all="ignore"):
        expected = exact(x.astype(np.float64))
        rounded = expected.astype(np.float32)
    np.testing.assert_array_equal(np.isnan(found), np.isnan(rounded))
    np.testing.assert_array_equal(np.isinf(found), np.isinf(rounded))
    finite = np.isfinite(rounded)
    unit = np.spacing(np.maximum(np.abs(rounded[finite]), np.finfo(np.float32).tiny)).astype(np.float64)
    assert float((np.abs(found[finite] - expected[finite]) / unit).max()) <= most
