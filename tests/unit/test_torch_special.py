"""Rules of torch's ops that are composed of irc's, against scipy and numpy: special functions, and stores at indices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.special
import torch
from drawing import long

import irc_frontend as ir
from irc_frontend.torch.ops.indexing import stored
from irc_frontend.torch.rules import RULES, Left

aten = torch.ops.aten

Array = np.ndarray[Any, Any]

POSITIVE = np.concatenate([np.logspace(-30, 30, 121), np.linspace(1e-3, 60, 701), [0.0]]).astype(np.float32)
REAL = np.concatenate([-POSITIVE, POSITIVE, [np.nan]]).astype(np.float32)
MODERATE = REAL[~(np.abs(REAL) > 1e6)]
UNIT = np.concatenate([np.linspace(-1, 1, 801), 1 - np.logspace(-7, -1, 50), np.logspace(-30, -1, 50), [1.5, np.nan]])

FUNCTIONS: dict[str, tuple[Any, Callable[[Array], Array], Array]] = {
    "lgamma": (aten.lgamma.default, scipy.special.gammaln, REAL),
    "digamma": (aten.digamma.default, scipy.special.digamma, MODERATE),
    "erfc": (aten.erfc.default, scipy.special.erfc, REAL),
    "erfcx": (aten.special_erfcx.default, scipy.special.erfcx, REAL),
    "erfinv": (aten.erfinv.default, scipy.special.erfinv, UNIT),
    "ndtri": (aten.special_ndtri.default, scipy.special.ndtri, UNIT),
    "i0": (aten.i0.default, scipy.special.i0, REAL),
    "i0e": (aten.special_i0e.default, scipy.special.i0e, REAL),
    "i1": (aten.special_i1.default, scipy.special.i1, REAL),
    "i1e": (aten.special_i1e.default, scipy.special.i1e, REAL),
    "j0": (aten.special_bessel_j0.default, scipy.special.j0, REAL),
    "j1": (aten.special_bessel_j1.default, scipy.special.j1, REAL),
    "y0": (aten.special_bessel_y0.default, scipy.special.y0, REAL),
    "y1": (aten.special_bessel_y1.default, scipy.special.y1, REAL),
    "k0": (aten.special_modified_bessel_k0.default, scipy.special.k0, REAL),
    "k1": (aten.special_modified_bessel_k1.default, scipy.special.k1, REAL),
    "k0e": (aten.special_scaled_modified_bessel_k0.default, scipy.special.k0e, REAL),
    "k1e": (aten.special_scaled_modified_bessel_k1.default, scipy.special.k1e, REAL),
    "asinh": (aten.asinh.default, np.arcsinh, REAL),
    "acosh": (aten.acosh.default, np.arccosh, REAL),
    "atanh": (aten.atanh.default, np.arctanh, UNIT),
    "asin": (aten.asin.default, np.arcsin, UNIT),
    "acos": (aten.acos.default, np.arccos, UNIT),
    "sinh": (aten.sinh.default, np.sinh, REAL),
    "cosh": (aten.cosh.default, np.cosh, REAL),
}


def close(found: Array, exact: Array, atol: float = 1e-37) -> None:
    with np.errstate(over="ignore"):
        np.testing.assert_allclose(found, exact.astype(np.float32), rtol=1e-6, atol=atol)


@long(3)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_are_right_to_the_last_digits_of_f32(name: str) -> None:
    """The logarithm of the gamma function to 1e-12 beside its zeros, too."""
    op, exact, places = FUNCTIONS[name]
    x = places.astype(np.float32)
    with ir.target("cpu"), np.errstate(all="ignore"):
        close(
            RULES[op].record(ir.Tensor(x)).numpy(),
            exact(x.astype(np.float64)),
            atol=1e-12 if name == "lgamma" else 1e-37,
        )


@pytest.mark.parametrize("op", [aten.i0.default, aten.special_i1.default])
def test_modified_bessel_functions_at_infinity(op: Any) -> None:
    """Not 0, by whatever bound of an exponential."""
    x = np.array([np.inf, -np.inf, np.nan, 3e38, -3e38], np.float32)
    with ir.target("cpu"), np.errstate(all="ignore"):
        close(RULES[op].record(ir.Tensor(x)).numpy(), op(torch.from_numpy(x)).numpy())


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_polygamma_is_right_on_both_sides_of_zero(n: int) -> None:
    x = np.concatenate([POSITIVE[(POSITIVE > 1e-4) & (POSITIVE < 1e6)], np.arange(-20, 0) + np.float32(0.375)])
    with ir.target("cpu"), np.errstate(all="ignore"):
        found = RULES[aten.polygamma.default].record(n, ir.Tensor(x.astype(np.float32))).numpy()
    wide = torch.from_numpy(x.astype(np.float32).astype(np.float64))
    close(found, torch.special.polygamma(n, wide).numpy())


@pytest.mark.parametrize("prefix", ["", "shifted_"])
@pytest.mark.parametrize("letter", "tuvw")
def test_chebyshev_polynomials_of_degrees_in_an_array(letter: str, prefix: str) -> None:
    """Between the ends, at them and beyond them; of degrees that are negative or no integers too."""
    name = f"special_{prefix}chebyshev_polynomial_{letter}"
    op = getattr(aten, name)
    x = np.concatenate([np.linspace(-1.5, 1.5, 61), [0.9999, -0.9999, 3.7, -9.0, 1e5, -1e5]]).astype(np.float32)
    n = np.concatenate([np.arange(-2, 7), [2.75, 20, 33]]).astype(np.float32)
    wanted = op(torch.from_numpy(x).double()[:, None], torch.from_numpy(n).double()).numpy()
    with ir.target("cpu"):
        found = RULES[op.default].record(ir.Tensor(x[:, None]), ir.Tensor(n)).numpy()
        of_three = RULES[op.n_scalar].record(ir.Tensor(x), 3).numpy()
    close(found, wanted, atol=1e-6)
    close(of_three, wanted[:, list(n).index(3)], atol=1e-6)


def of_two(op: Any, a: Array, b: Array) -> tuple[Array, Array, Array]:
    """The rule of all pairs, and the numbers of these in f64."""
    x, y = a.astype(np.float32)[:, None], b.astype(np.float32)[None]
    with ir.target("cpu"), np.errstate(all="ignore"):
        return RULES[op].record(ir.Tensor(x), ir.Tensor(y)).numpy(), x.astype(np.float64), y.astype(np.float64)


@pytest.mark.parametrize("name", ["igamma", "igammac"])
def test_incomplete_gamma_functions(name: str) -> None:
    """On both sides of the bell of the integrand, narrow and wide; at the ends, and where they are not defined."""
    shapes = np.concatenate([np.logspace(-3, 4, 57), [30, 30.001, 31], [0, np.inf, -1, np.nan]])
    places = np.concatenate([np.logspace(-4, 4.3, 83), [29, 30, 31, 32], [0, np.inf, -1, np.nan]])
    found, a, x = of_two(getattr(aten, name).default, shapes, places)
    wanted = getattr(torch.special, "gammainc" if name == "igamma" else "gammaincc")(
        *torch.broadcast_tensors(torch.from_numpy(a), torch.from_numpy(x))
    )
    close(found, wanted.numpy(), atol=1e-8)
    on_diagonal, a, x = of_two(getattr(aten, name).default, np.linspace(25, 500, 40), np.linspace(25, 500, 40))
    exact = scipy.special.gammainc if name == "igamma" else scipy.special.gammaincc
    close(on_diagonal, exact(a, x), atol=1e-8)


def test_hurwitz_zeta() -> None:
    """Also of negative places, where exponents that are no integers have no value, and of poles."""
    exponents = np.concatenate([[1.0, 0.5, np.nan, 1.0001], np.linspace(1.25, 40, 156)])
    places = np.concatenate([np.linspace(-40, 40, 161) + 0.25, [1e-3, 1e3, 0.0, -3.0, np.nan]])
    found, x, q = of_two(aten.special_zeta.default, exponents, places)
    wanted = torch.special.zeta(*torch.broadcast_tensors(torch.from_numpy(x), torch.from_numpy(q))).numpy()
    close(found, wanted)


def test_airy_function() -> None:
    x = np.concatenate([np.linspace(-60, 20, 1601), [-8, 2, 100, 120, -1e4, np.inf, -np.inf, np.nan]])
    with ir.target("cpu"), np.errstate(all="ignore"):
        found = RULES[aten.special_airy_ai.default].record(ir.Tensor(np.float32(x))).numpy()
    wanted = scipy.special.airy(np.float32(x).astype(np.float64))[0]
    close(found, np.where(np.isinf(x), np.nan, wanted), atol=1e-8)


@pytest.mark.parametrize("letter", ["h", "he"])
def test_hermite_polynomials_of_degrees_in_an_array(letter: str) -> None:
    op = getattr(aten, f"special_hermite_polynomial_{letter}")
    found, x, n = of_two(op.default, np.linspace(-4, 4, 33), np.concatenate([np.arange(-2, 12), [2.75, 20, 30, 129]]))
    wanted = op.default(*torch.broadcast_tensors(torch.from_numpy(x), torch.from_numpy(n))).numpy()
    wanted[:, -1] = np.nan
    np.testing.assert_allclose(found, np.float32(wanted), rtol=1e-6, atol=1e-3)


def test_f64_stays_with_torch() -> None:
    with pytest.raises(Left, match="in f64"):
        RULES[aten.lgamma.default].record(ir.Tensor(np.ones(2)))


def test_of_several_stores_to_one_place_the_last_stays() -> None:
    rng = np.random.default_rng(0)
    x, updates = rng.normal(size=(2, 7, 3)), rng.normal(size=(2, 40, 3))
    indices = rng.integers(0, 6, 40)
    wanted = x.copy()
    wanted[:, indices] = updates
    with ir.target("cpu"):
        found = stored(ir.Tensor(x), ir.Tensor(indices), ir.Tensor(updates), 1).numpy()
    np.testing.assert_array_equal(found, wanted)
    assert (found[:, 6] == x[:, 6]).all()


def test_powers_of_f64_are_not_those_of_f32() -> None:
    x, exponent = torch.tensor([0.0, 5.0, -1.0], dtype=torch.float64), torch.tensor([709.5, 700.0, -745.0])
    for each in (exponent.double(), exponent):
        torch._dynamo.reset()
        found = torch.compile(torch.ldexp, backend="irc")(x, each)
        torch.testing.assert_close(found, torch.ldexp(x, each), equal_nan=True)
