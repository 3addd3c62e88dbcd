"""Functions that `expand-device-math` makes arithmetic and instructions of, on the simulator: their errors, and what
happens to infinities and NaN. Instructions are exact there: a GPU adds their errors, up to 2 ** -22 each."""

from __future__ import annotations

import numpy as np
import pytest
from unit.device_functions import (
    BLOCK,
    FUNCTIONS,
    SPECIAL,
    Array,
    Function,
    expanded_kernel,
    function_kernel,
    kernel_with,
)
from unit.sim_kernels import run
from xdsl.dialects.math import Math

from irc.dialects.cuda import INSTRUCTIONS
from irc.expansion.device_functions import APPROXIMATIONS, PERIODIC
from irc.expansion.device_functions import FUNCTIONS as ACCURATE
from irc.ir.rounding import fused_multiply_add

BLOCKS = 80


def evaluated(function: Function, *arguments: Array) -> Array:
    return run(function_kernel(function, len(arguments[0]) // BLOCK), *arguments, np.zeros_like(arguments[0]))[-1]


def test_every_function_is_tested() -> None:
    tested = {function.op.partition(" ")[0] for function in FUNCTIONS.values()}
    assert {op.name for op in (*APPROXIMATIONS, *ACCURATE, *PERIODIC)} == tested | {"math.powf"}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_errors(name: str) -> None:
    function = FUNCTIONS[name]
    arguments = function.arguments(BLOCKS * BLOCK)
    found = evaluated(function, *arguments)
    wanted = function.exact(*(x.astype(np.float64) for x in arguments))
    scale = np.maximum(np.abs(wanted), 2.0**-126)
    if function.is_angle:  # beyond a radian the error is that of the angle
        scale = np.where(np.abs(arguments[0]) < 1, scale, 1 + wanted**2 if "tan" in name else 1)
    error = np.abs(found - wanted) / scale
    assert error.max() <= function.error, (arguments[0][error.argmax()], error.max())


@pytest.mark.parametrize("name", [name for name, each in FUNCTIONS.items() if each.operands == 1])
def test_infinities_and_nan(name: str) -> None:
    x = np.resize(np.array(SPECIAL, np.float32), BLOCK)
    found = evaluated(FUNCTIONS[name], x)
    with np.errstate(all="ignore"):
        wanted = FUNCTIONS[name].exact(x.astype(np.float64)).astype(np.float32)
    rough = 2.0**-126 if "approximate" in name else 0.0
    np.testing.assert_allclose(found, wanted, rtol=2e-5, atol=1e-4 if FUNCTIONS[name].is_angle else rough)
    if "approximate" not in name:
        zero = wanted == 0
        np.testing.assert_array_equal(np.signbit(found[zero]), np.signbit(wanted[zero]))


def test_powers() -> None:
    values = [0.0, -0.0, 1.0, -1.0, 2.0, -2.0, 0.25, 3.0, -3.0, 2.5, -2.5, np.inf, -np.inf, np.nan, 1e8, 16777217.0]
    x, y = (each.reshape(-1).astype(np.float32) for each in np.meshgrid(values, values))
    power = Function("math.powf fastmath<afn>", np.power, 1e-5, operands=2)
    with np.errstate(all="ignore"):
        wanted = np.power(x.astype(np.float64), y.astype(np.float64)).astype(np.float32)
    np.testing.assert_allclose(evaluated(power, x, y), wanted, rtol=1e-5)


def divided(number: float, x: Array, flags: str = "") -> Array:
    text = f"%n = arith.constant {number:.60f} : f32\n%r = arith.divf %a, %n {flags} : f32"
    return run(expanded_kernel(text, 1, len(x) // BLOCK), x, np.zeros_like(x))[-1]


@pytest.mark.parametrize("number", [3.0, -20.0, 255.0, 50257.0, 0.75, 1048573.0, 5 * 2.0**-40, 2.0**60])
def test_quotients_by_a_number(number: float) -> None:
    """Every bit, but of the last of those below 2 ** -100: of drawn numbers, and of those next to the middles of two
    quotients."""
    rng = np.random.default_rng(0)
    drawn = rng.integers(0, 2**32, 40 * BLOCK, np.uint32).view(np.float32)
    middles = (rng.integers(2**24, 2**25, 40 * BLOCK) | 1) * 2.0**-25 * number
    x = np.concatenate([drawn, middles.astype(np.float32), np.resize(np.array(SPECIAL, np.float32), BLOCK)])
    found = divided(number, x)
    with np.errstate(all="ignore"):
        wanted = x / np.float32(number)
    is_tiny = (np.abs(wanted) < 2.0**-100) & (wanted != 0)
    np.testing.assert_array_equal(found[~is_tiny], wanted[~is_tiny])
    assert (np.signbit(found) == np.signbit(wanted))[~np.isnan(wanted)].all()
    assert np.abs(found[is_tiny].view(np.int32) - wanted[is_tiny].view(np.int32)).max(initial=0) <= 1


def test_approximate_quotients_by_a_number() -> None:
    x = np.resize(np.array(SPECIAL, np.float32), BLOCK)
    found = divided(0.1, x, "fastmath<afn>")
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(found, x / np.float32(0.1), rtol=1e-6)


@pytest.mark.parametrize("number", [0.1, 2.0**-110, 1e-40, 0.0])
def test_quotients_by_numbers_of_many_digits_or_far_from_1_stay(number: float) -> None:
    text = f"%n = arith.constant {number:.60f} : f32\n%r = arith.divf %a, %n : f32"
    assert any(op.name == "arith.divf" for op in expanded_kernel(text, 1, 1).walk())


def test_functions_that_stay() -> None:
    """Those of f64, and those for which CUDA's library has the algorithm."""
    known = {op.name for op in (*APPROXIMATIONS, *ACCURATE, *PERIODIC)}
    assert {"math.sinh", "math.cbrt", "math.atan2"} <= {op.name for op in Math.operations} - known
    wide = "%w = arith.extf %a : f32 to f64\n%e = math.exp %w : f64\n%r = arith.truncf %e : f64 to f32"
    assert any(op.name == "math.exp" for op in kernel_with(wide, 1, 1).walk())


def test_multiply_add_rounds_once() -> None:
    """Against integers: a b + c is a multiple of 2 ** -60."""
    rng = np.random.default_rng(0)
    a, b = ((rng.integers(2**23, 2**24, 4000) * 2.0**-30).astype(np.float32) for _ in range(2))
    c = (np.float32(rng.integers(1, 2**24, 4000)) * np.float32(2.0) ** rng.integers(-60, -20, 4000)).astype(np.float32)
    c *= rng.choice([-1, 1], 4000).astype(np.float32)
    lows = fused_multiply_add(a, b, c, down=True)
    for index, found in enumerate(fused_multiply_add(a, b, c)):
        low = lows[index]
        exact = int(float(a[index]) * 2**30) * int(float(b[index]) * 2**30) + round(float(c[index]) * 2**60)
        around = [np.nextafter(found, np.float32(toward)) for toward in (-np.inf, np.inf)]
        distances = [abs(int(float(each) * 2**90) - (exact << 30)) for each in (found, *around)]
        assert distances[0] <= min(distances[1:])
        assert int(float(low) * 2**90) <= exact << 30 < int(float(np.nextafter(low, np.float32(np.inf))) * 2**90)


def test_flushed_and_saturated_results() -> None:
    def meaning(name: str, *values: float) -> list[float]:
        return [float(x) for x in INSTRUCTIONS[name].meaning(*(np.array([value], np.float32) for value in values))]

    assert meaning("ex2.approx.ftz.f32", -127.0) == [0.0]
    assert meaning("ex2.approx.f32", -127.0) == [2.0**-127]
    assert meaning("rcp.approx.ftz.f32", 1e-40) == [np.inf]
    assert meaning("div.approx.f32", 3.0, 2.0**127) == [0.0]
    assert meaning("div.full.f32", 3.0, 2.0**127) == [3.0 * 2**-127]
    assert meaning("fma.rn.sat.f32", np.nan, 1.0, 1.0) == [0.0]
    assert meaning("fma.rn.sat.f32", 3.0, 1.0, 1.0) == [1.0]
