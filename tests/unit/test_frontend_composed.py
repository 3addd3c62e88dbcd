"""numpy's functions that are composed of others, beside numpy's."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import irc
import irc_frontend as ir

RANDOM = np.random.default_rng(7)
SQUARE = RANDOM.standard_normal((3, 4)).astype(np.float32)
CUBE = RANDOM.standard_normal((2, 3, 4)).astype(np.float32)
INTS = RANDOM.integers(-3, 4, (3, 5)).astype(np.int32)
ENDS = np.array([-np.inf, -1e30, -2.5, -1.0, -0.5, -1e-20, -0.0, 0.0, 1e-20, 0.5, 1.0, 2.5, 80.0, 1e30, np.inf, np.nan])
FLOATS = ENDS.astype(np.float32)
UNARY = "sinh cosh arcsin arccos arctan arcsinh arccosh arctanh log10 deg2rad rad2deg signbit trunc nan_to_num".split()
BINARY = "hypot logaddexp copysign fmax fmin fmod".split()


@pytest.fixture(autouse=True)
def quiet():
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def close(found: Any, wanted: Any, rtol: float = 1e-6) -> None:
    value = found.numpy() if isinstance(found, ir.Tensor) else np.asarray(found)
    assert value.shape == np.shape(wanted)
    np.testing.assert_allclose(value, wanted, rtol=rtol, atol=1e-37)


@pytest.mark.parametrize("name", UNARY)
def test_functions_of_one_array(name: str) -> None:
    wanted = getattr(np, name)(FLOATS.astype(np.float64))
    if name == "nan_to_num":
        wanted = np.nan_to_num(FLOATS)
    elif wanted.dtype == np.float64:
        wanted = wanted.astype(np.float32)
    close(getattr(ir, name)(ir.Tensor(FLOATS)), wanted)


@pytest.mark.parametrize("name", BINARY)
def test_functions_of_two_arrays(name: str) -> None:
    a, b = (x.ravel() for x in np.meshgrid(FLOATS, FLOATS))
    wanted = getattr(np, name)(a.astype(np.float64), b.astype(np.float64)).astype(np.float32)
    found = getattr(ir, name)(ir.Tensor(a), b).numpy()
    if name == "fmod":
        there = ~np.isnan(wanted)
        np.testing.assert_array_equal(np.signbit(found[there]), np.signbit(wanted[there]))
    if name == "logaddexp":  # irc's NaN beside an infinity
        found, wanted = found[~np.isnan(a + b)], wanted[~np.isnan(a + b)]
    close(found, wanted)


@pytest.mark.parametrize("dtype", [np.int8, np.int32, np.uint8])
def test_remainders_of_integers_at_the_ends_of_their_types(dtype: Any) -> None:
    ends = np.iinfo(dtype)
    numbers = np.unique(
        np.clip([int(ends.min), ends.min + 1, -7, -1, 0, 1, 5, ends.max - 1, ends.max], ends.min, ends.max)
    )
    a, b = (x.ravel().astype(dtype) for x in np.meshgrid(numbers, numbers[numbers != 0]))
    np.testing.assert_array_equal(ir.fmod(ir.Tensor(a), b).numpy(), np.fmod(a, b))


def test_narrow_floats_are_rounded_once() -> None:
    x = SQUARE.astype(ml_dtypes.bfloat16)
    found = ir.sinh(ir.Tensor(x))
    assert found.element == "bf16"
    np.testing.assert_array_equal(found.numpy(), np.sinh(x.astype(np.float32)).astype(ml_dtypes.bfloat16))


ARRANGED: dict[str, Callable[[Any, Any], Any]] = {
    "roll": lambda m, x: m.roll(x(SQUARE), 5),
    "roll axis": lambda m, x: m.roll(x(CUBE), -2, 1),
    "roll axes": lambda m, x: m.roll(x(CUBE), (1, 2), (0, -1)),
    "diagonal": lambda m, x: m.diagonal(x(SQUARE)),
    "diagonal above": lambda m, x: m.diagonal(x(CUBE), 2, 1, 2),
    "diagonal below": lambda m, x: m.diagonal(x(CUBE), -1, 2, 0),
    "diagonal beyond": lambda m, x: m.diagonal(x(SQUARE), 9),
    "diag": lambda m, x: m.diag(x(SQUARE), 1),
    "diag of a row": lambda m, x: m.diag(x(SQUARE[0])),
    "diag above": lambda m, x: m.diag(x(INTS[0]), 2),
    "diag below": lambda m, x: m.diag(x(SQUARE[0]), -1),
    "trace": lambda m, x: m.trace(x(SQUARE)),
    "median": lambda m, x: m.median(x(SQUARE)),
    "median axis": lambda m, x: m.median(x(CUBE), 1, keepdims=True),
    "median nan": lambda m, x: m.median(x(FLOATS)),
    "diff": lambda m, x: m.diff(x(CUBE), 2, 1),
    "diff of all": lambda m, x: m.diff(x(SQUARE), 9),
    "vstack": lambda m, x: m.vstack([x(SQUARE[0]), x(SQUARE[1])]),
    "hstack": lambda m, x: m.hstack([x(SQUARE), x(SQUARE)]),
    "hstack rows": lambda m, x: m.hstack([x(SQUARE[0]), x(SQUARE[1])]),
    "rot90": lambda m, x: m.rot90(x(SQUARE)),
    "rot90 back": lambda m, x: m.rot90(x(CUBE), -1, (1, 2)),
    "argsort": lambda m, x: m.argsort(x(CUBE), 1),
    "argsort nan": lambda m, x: m.argsort(x(FLOATS)),
    "inner": lambda m, x: m.inner(x(CUBE), x(SQUARE)),
    "vdot": lambda m, x: m.vdot(x(SQUARE), x(SQUARE)),
    "tensordot": lambda m, x: m.tensordot(x(CUBE), x(SQUARE)),
    "tensordot axes": lambda m, x: m.tensordot(x(CUBE), x(SQUARE), ([1], [0])),
    "tensordot of one pair": lambda m, x: m.tensordot(x(CUBE), x(SQUARE), (1, 0)),
    "tensordot outer": lambda m, x: m.tensordot(x(SQUARE), x(SQUARE), 0),
    "kron": lambda m, x: m.kron(x(SQUARE), x(SQUARE.T)),
    "isclose": lambda m, x: m.isclose(x(FLOATS), x(FLOATS * np.float32(1 + 1e-6))),
    "isclose nan": lambda m, x: m.isclose(x(FLOATS), x(FLOATS), equal_nan=True),
    "allclose": lambda m, x: m.allclose(x(SQUARE), x(SQUARE)),
    "array_equal": lambda m, x: m.array_equal(x(INTS), x(INTS + 1)),
    "arrays of two shapes": lambda m, x: m.array_equal(x(SQUARE), x(CUBE)),
}


@pytest.mark.parametrize("name", ARRANGED)
def test_arrangements_are_numpys(name: str) -> None:
    close(ARRANGED[name](ir, ir.Tensor), ARRANGED[name](np, lambda array: array), 1e-5)


@pytest.mark.parametrize("element", ["f8e4m3", "f8e5m2", "bf16", "f16"])
def test_signs_of_narrow_floats(element: str) -> None:
    x = ir.Tensor(np.array([1, -2, -0.0, 0, np.inf], np.float32)).astype(element)
    close(ir.signbit(x), np.array([False, True, True, False, False]))
    close(ir.copysign(x, -x).astype("f32"), (-x).astype("f32").numpy())


@pytest.mark.parametrize("indexing", ["xy", "ij"])
def test_grids(indexing: Any) -> None:
    arrays = [np.arange(3), np.arange(4), np.arange(2)]
    for found, wanted in zip(
        ir.meshgrid(*arrays, indexing=indexing), np.meshgrid(*arrays, indexing=indexing), strict=True
    ):
        close(found, wanted)
    for found, wanted in zip(ir.broadcast_arrays(SQUARE, CUBE), np.broadcast_arrays(SQUARE, CUBE), strict=True):
        close(found, wanted)


@pytest.mark.parametrize("arguments", [(0, 1), (2, -3, 7), (0, 1, 1), (0, 1, 0), (0, 1, 5, False)])
def test_linspace(arguments: Any) -> None:
    close(ir.linspace(*arguments, dtype="f64"), np.linspace(*arguments), 1e-15)


def test_gradients_pass_through() -> None:
    x = np.array([0.25, 0.5], np.float32)
    for function, slope in ((ir.arcsin, 1 / np.sqrt(1 - x * x)), (ir.sinh, np.cosh(x)), (ir.arctan, 1 / (1 + x * x))):
        close(ir.grad(lambda a, function=function: function(a).sum())(x), slope, 1e-5)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: ir.sinh(ir.Tensor(INTS)), "sinh of i32\\[3, 5\\]"),
        (lambda: ir.deg2rad(ir.Tensor(INTS)), "deg2rad of i32\\[3, 5\\]"),
        (lambda: ir.diagonal(ir.Tensor(SQUARE[0])), "diagonal needs two axes or more"),
        (lambda: ir.diag(ir.Tensor(CUBE)), "diag takes one axis or two"),
        (lambda: ir.roll(ir.Tensor(CUBE), (1, 2), 0), "2 shifts along 1 axes"),
        (lambda: ir.tensordot(SQUARE, SQUARE, 1), "cannot contract axes"),
        (lambda: ir.median(np.zeros((0,), np.float32)), "median over no elements"),
        (lambda: ir.fmax(ir.Tensor(SQUARE), INTS), "i32.*y.astype\\('f32'\\) stays in f32"),
        (lambda: ir.linspace(0, 1, -1), "the count is 0 or more"),
        (lambda: ir.meshgrid(SQUARE[0], indexing="yx"), "indexing is 'xy' or 'ij'"),
    ],
)  # fmt: skip
def test_bad_calls_are_one_clear_error(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(irc.IrcError, match=message):
        call()
