"""The arithmetic of the prelude that is plain C++, run on the host where there is a C++ compiler, against numpy and Python."""

from __future__ import annotations

import ctypes
import itertools
import shutil
import subprocess
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from irc.codegen.prelude import snippets

COMPILER = shutil.which("g++") or shutil.which("clang++")

pytestmark = pytest.mark.skipif(COMPILER is None, reason="no C++ compiler")

SNIPPETS = (
    "f8e4m3",
    "f8e5m2",
    "float_to_f8",
    "f8e4m3_conversions",
    "f8e5m2_conversions",
    "float_to_integer",
    "division",
    "integer_power",
)

SHIMS = """
#include <algorithm>
#include <cmath>
#include <cstring>
using std::max; using std::min;
#define DEVICE static inline
#define __CUDA_ARCH__ 800
template <typename T, typename S> static T bits_as(S s) { T t; memcpy(&t, &s, sizeof t); return t; }
static unsigned __float_as_uint(float x) { return bits_as<unsigned>(x); }
static float __int_as_float(int x) { return bits_as<float>(x); }
struct f16 { unsigned short bits; };
static float f16_to_float(f16 x) {  // numbers that e5m2 has
  const int e = x.bits >> 10 & 31, m = x.bits & 1023;
  const float a = e == 31 ? (m ? NAN : INFINITY) : e ? ldexpf(1024 + m, e - 25) : ldexpf(m, -24);
  return x.bits >> 15 ? -a : a;
}
"""

EXPORTS = """
extern "C" {
void to_e4m3(const float* x, unsigned char* y, int n) { for (int i = 0; i < n; ++i) y[i] = float_to_f8e4m3(x[i]).bits; }
void to_e5m2(const float* x, unsigned char* y, int n) { for (int i = 0; i < n; ++i) y[i] = float_to_f8e5m2(x[i]).bits; }
float from_e4m3(unsigned char x) { return f8e4m3_to_float(f8e4m3{x}); }
float from_e5m2(unsigned char x) { return f8e5m2_to_float(f8e5m2{x}); }
int floored(int a, int b) { return floor_divide<int>(a, b); }
int ceiled(int a, int b) { return ceil_divide<int>(a, b); }
int divided(int a, int b) { return divide<int>(a, b); }
int left(int a, int b) { return remainder_of<int>(a, b); }
signed char floored8(signed char a, signed char b) { return floor_divide<signed char>(a, b); }
int power(int a, int b) { return integer_power<int>(a, b); }
int to_i8(float x) { return float_to_integer<signed char, float>(x, -128.0f, 128.0f, -128, 127); }
}
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    folder: Path = tmp_path_factory.mktemp("prelude")
    source = folder / "prelude.cpp"
    source.write_text(SHIMS + "".join(snippets()[name].text for name in SNIPPETS) + EXPORTS)
    command = [str(COMPILER), "-O1", "-std=c++17", "-shared", "-fPIC", "-o", str(folder / "prelude.so"), str(source)]
    subprocess.run(command, check=True)
    loaded = ctypes.CDLL(str(folder / "prelude.so"))
    loaded.from_e4m3.restype = loaded.from_e5m2.restype = ctypes.c_float
    loaded.floored8.restype = ctypes.c_byte
    loaded.to_i8.argtypes = [ctypes.c_float]
    return loaded


F8 = [("e4m3", ml_dtypes.float8_e4m3fn, 448.0), ("e5m2", ml_dtypes.float8_e5m2, 57344.0)]


@pytest.mark.parametrize("name, dtype, largest", F8)
def test_f8_by_hand_rounds_as_ml_dtypes(library: ctypes.CDLL, name: str, dtype: type, largest: float) -> None:
    every = np.arange(256, dtype=np.uint8).view(dtype).astype(np.float32)
    decode = getattr(library, f"from_{name}")
    assert np.array_equal(np.array([decode(code) for code in range(256)], np.float32), every, equal_nan=True)
    finite = np.sort(every[np.isfinite(every)])
    ties = (finite[1:] + finite[:-1]) / 2
    drawn = np.random.default_rng(0).integers(0, 2**32, 200_000, dtype=np.uint64).astype(np.uint32).view(np.float32)
    around = [np.nextafter(ties, np.float32(sign * 1e9)) for sign in (1, -1)]
    others = np.array([np.inf, -np.inf, 1e-45, -0.0], np.float32)
    values = np.concatenate([every, ties, *around, drawn, others])
    codes = np.zeros(len(values), np.uint8)
    pointers = (array.ctypes.data_as(ctypes.c_void_p) for array in (values, codes))
    getattr(library, f"to_{name}")(*pointers, len(values))
    nan = np.isnan(values)
    wanted = np.clip(values[~nan], -largest, largest).astype(dtype).view(np.uint8)
    assert np.array_equal(codes[~nan], wanted)
    assert np.isnan(codes[nan].view(dtype).astype(np.float32)).all()


def test_integer_division(library: ctypes.CDLL) -> None:
    def wrapped(value: int) -> int:
        return (value + 2**31) % 2**32 - 2**31

    for a, b in itertools.product((-7, -8, 0, 1, 5, 8, -(2**31), 2**31 - 1), (-3, 3, -1, 1, 4, -(2**31))):
        truncated = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
        assert library.floored(a, b) == wrapped(a // b)
        assert library.ceiled(a, b) == wrapped(-(-a // b))
        assert library.divided(a, b) == wrapped(truncated)
        assert library.left(a, b) == a - b * truncated
    assert library.floored(5, 0) == library.ceiled(5, 0) == library.divided(5, 0) == library.left(5, 0) == 0
    assert library.floored8(-128, -1) == -128 and library.floored8(-7, 2) == -4


def test_powers_and_saturation(library: ctypes.CDLL) -> None:
    assert [library.power(*p) for p in ((3, 4), (-1, -3), (2, -1), (0, 0), (-2, 31))] == [81, -1, 0, 1, -(2**31)]
    assert [library.to_i8(x) for x in (float("nan"), 1e30, -1e30, -3.9, 127.9)] == [0, 127, -128, -3, 127]
