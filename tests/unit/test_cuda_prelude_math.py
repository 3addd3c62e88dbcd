"""The approximate functions of the prelude, run on the host where there is a C++ compiler, against scipy in float64.

The machine's instructions (`ex2.approx`, `rcp.approx`, ...) are stood for by the host's functions: what is tested is the
reduction of arguments, the polynomials, and what happens to infinities and NaN.
"""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import special

from irc.codegen.prelude import snippets

COMPILER = shutil.which("g++") or shutil.which("clang++")

pytestmark = pytest.mark.skipif(COMPILER is None, reason="no C++ compiler")

SHIMS = """
#include <cmath>
#include <cstring>
using std::isinf;
#define DEVICE static inline
static int __float_as_int(float x) { int r; memcpy(&r, &x, 4); return r; }
static float __int_as_float(int x) { float r; memcpy(&r, &x, 4); return r; }
#define __logf logf
#define __log2f log2f
#define __sinf sinf
#define __cosf cosf
#define __tanf tanf
#define __constant__
static float approximate_exp2(float x) { return exp2f(x); }
static float approximate_reciprocal(float x) { return 1.0f / x; }
"""

Function = Callable[[NDArray[np.float64]], NDArray[np.float64]]
FUNCTIONS: dict[str, Function] = {
    "exp": np.exp,
    "expm1": np.expm1,
    "log1p": np.log1p,
    "tanh": np.tanh,
    "erf": special.erf,
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
}
PERIODIC = ("sin", "cos", "tan")
ACCURACY = 2.0**-19
"""What is asked of the formulas; the instructions add their own 2 ** -22."""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    folder: Path = tmp_path_factory.mktemp("prelude")
    source = folder / "math.cpp"
    names = ["near_fraction", "fraction_of_revolution", *(f"approximate_{name}" for name in (*FUNCTIONS, "pow"))]
    text = SHIMS + "".join(snippets()[name].text for name in names) + 'extern "C" {\n'
    for name in FUNCTIONS:
        text += (
            f"void all_{name}(const float* x, float* y, int n) {{ "
            f"for (int i = 0; i < n; ++i) y[i] = approximate_{name}(x[i]); }}\n"
        )
    source.write_text(text + "float power(float x, float y) { return approximate_pow(x, y); }\n}\n")
    command = [str(COMPILER), "-O1", "-std=c++17", "-shared", "-fPIC", "-o", str(folder / "math.so"), str(source)]
    subprocess.run(command, check=True)
    loaded = ctypes.CDLL(str(folder / "math.so"))
    loaded.power.argtypes = [ctypes.c_float, ctypes.c_float]
    loaded.power.restype = ctypes.c_float
    return loaded


def evaluate(library: ctypes.CDLL, name: str, values: NDArray[np.float32]) -> NDArray[np.float32]:
    results = np.zeros_like(values)
    pointers = (array.ctypes.data_as(ctypes.c_void_p) for array in (values, results))
    getattr(library, f"all_{name}")(*pointers, len(values))
    return results


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_have_the_accuracy_that_16_bits_need(library: ctypes.CDLL, name: str) -> None:
    rng = np.random.default_rng(0)
    largest = 1.9 if name.startswith("exp") else 38 if name in PERIODIC else 4
    sizes = 10.0 ** rng.uniform(-8, largest, 100_000)
    x = (sizes * rng.choice([-1.0, 1.0], sizes.shape)).astype(np.float32)
    x = np.abs(x) if name == "log1p" else x
    wanted = FUNCTIONS[name](x.astype(np.float64))
    got = evaluate(library, name, x)
    scale = np.maximum(np.abs(wanted), 1e-37)
    if name in PERIODIC:  # beyond a radian the error is that of the angle
        scale = np.where(np.abs(x) < 1, scale, 1 + wanted**2 if name == "tan" else 1)
    if name.startswith("exp"):
        scale *= np.maximum(1, np.abs(x) / 8)
    worst = np.abs(got - wanted) / scale
    assert (worst <= ACCURACY).all(), (x[np.argmax(worst)], worst.max())


@pytest.mark.parametrize("name", FUNCTIONS)
def test_infinities_and_nan(library: ctypes.CDLL, name: str) -> None:
    x = np.array([np.inf, -np.inf, np.nan, 0.0, -0.0], np.float32)
    with np.errstate(invalid="ignore"):
        wanted = FUNCTIONS[name](x.astype(np.float64)).astype(np.float32)
    got = evaluate(library, name, x)
    np.testing.assert_array_equal(got, wanted)


def test_powers(library: ctypes.CDLL) -> None:
    special_values = [0.0, -0.0, 1.0, -1.0, 2.0, -2.0, 0.25, 3.0, -3.0, 2.5, -2.5, np.inf, -np.inf, np.nan]
    for x in special_values:
        for y in special_values:
            with np.errstate(all="ignore"):
                wanted = float(np.power(np.float64(x), np.float64(y)))
            np.testing.assert_allclose(library.power(x, y), wanted, rtol=1e-5, err_msg=f"{x} ** {y}")
