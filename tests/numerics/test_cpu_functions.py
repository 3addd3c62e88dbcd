"""Functions that `expand-math` makes polynomials of, and those of the C library: their errors in units in the last place,
and their special values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.special import erf

import irc
from irc.codegen.cpu.compiling import assemble, functions, vectors
from irc.codegen.cpu.printer import print_kernel
from irc.dialects.cpu import KernelOp
from irc.driver.lowering import lower
from irc.driver.program import isolate, parse

FUNCTIONS: dict[str, tuple[Callable[[Any], Any], float]] = {
    "exp": (np.exp, 1.1),
    "exp2": (np.exp2, 1.1),
    "log": (np.log, 1.0),
    "tanh": (np.tanh, 1.5),
    "erf": (erf, 1.5),
    "sin": (np.sin, 4.0),
    "cos": (np.cos, 4.0),
    "tan": (np.tan, 4.0),
    "log1p": (np.log1p, 4.0),
    "expm1": (np.expm1, 4.0),
    "atan": (np.arctan, 4.0),
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


@pytest.mark.parametrize(
    ("text", "exact"),
    [("x ** y", np.power), ("atan2(x, y)", np.arctan2), ("sin(x) + exp(y)", lambda x, y: np.sin(x) + np.exp(y))],
)
@pytest.mark.parametrize("element", ["f32", "f64"])
def test_vectors_of_the_library(text: str, exact: Callable[[Any, Any], Any], element: str) -> None:
    """As many elements as vectors have, and some more."""
    dtype = {"f32": np.float32, "f64": np.float64}[element]
    x, y = (np.random.default_rng(seed).uniform(0.1, 9, 10_007).astype(dtype) for seed in (0, 1))
    type = f"{element}[10007]"
    found = irc.compile(f"func f(x: {type}, y: {type}) -> {type} {{\n    return {text}\n}}", "cpu")(x, y)
    expected = exact(x.astype(np.longdouble), y.astype(np.longdouble))
    assert float((np.abs(found - expected) / np.spacing(np.abs(found) + 1)).max()) <= 4


@pytest.mark.skipif(not functions(), reason="the C library has no functions on vectors")
def test_loops_call_functions_on_vectors() -> None:
    module = parse("func f(x: f32[4096]) -> f32[4096] {\n    return sin(x)\n}", "sin")
    (kernel,) = [op for op in lower(isolate(module), "cpu", arch="cpu").ops if isinstance(op, KernelOp)]
    code = print_kernel(kernel, vectors=vectors(), has_pairs=False, functions=functions())
    assert functions()["sinf"].name.encode() in assemble([code.text])
