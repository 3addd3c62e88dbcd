"""Ops of StableHLO beside numpy: bits, roundings, norms, windows, scatters, reductions of several arrays."""

from __future__ import annotations

from itertools import product
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import scipy.special

import irc_frontend as ir
from irc import IrcError
from irc.runtime.artifact import ELEMENT_NAMES
from irc_frontend.stablehlo import load

Array = np.ndarray[Any, Any]

NAMES = {"u8": "ui8", "bool": "i1"}


def _type(x: Array) -> str:
    element = ELEMENT_NAMES[x.dtype]
    return f"tensor<{''.join(f'{extent}x' for extent in x.shape)}{NAMES.get(element, element)}>"


def _values(body: str, results: str, *arrays: Array) -> tuple[Array, ...]:
    """What `body` gives as %0 for the arrays %a, %b, ...; `results` are its types."""
    named = [f"%{name}" for name in "abcdefg"[: len(arrays)]]
    taken = ", ".join(f"{name}: {_type(x)}" for name, x in zip(named, arrays, strict=True))
    count = results.count("tensor")
    returned = ", ".join(f"%0#{n}" for n in range(count)) if count > 1 else "%0"
    text = f"func.func @main({taken}) -> ({results}) {{\n{body}\nreturn {returned} : {results}\n}}"
    with ir.target("interpret"):
        found = load(text, "f.mlir")(*arrays)
    return found if isinstance(found, tuple) else (found,)


def _unary(name: str, x: Array) -> Array:
    return _values(f"%0 = {name} %a : {_type(x)}", _type(x), x)[0]


@pytest.mark.parametrize(("element", "ulps"), [(np.float64, 2), (np.float32, 2), (np.float16, 1)])
def test_cube_roots(element: Any, ulps: int) -> None:
    limits = np.finfo(element)
    drawn = np.random.default_rng(0).standard_normal(50) * 100
    x = np.asarray([*drawn, 8, -27, 0, -0.0, np.inf, -np.inf, np.nan, limits.max, -limits.tiny], element)
    found, expected = _unary("stablehlo.cbrt", x), np.cbrt(x.astype(np.float64)).astype(element)
    assert np.array_equal(np.signbit(found[:-3]), np.signbit(x[:-3]))
    is_plain = np.isfinite(x) & (x != 0)
    np.testing.assert_array_max_ulp(found[is_plain], expected[is_plain], ulps)
    np.testing.assert_array_equal(found[~is_plain], expected[~is_plain])


@pytest.mark.parametrize("name", ["erfc", "erf_inv"])
def test_error_functions(name: str) -> None:
    """jax.nn.gelu prints erfc where it is exact; far from 0 it has digits, too."""
    exact = {"erfc": scipy.special.erfc, "erf_inv": scipy.special.erfinv}[name]
    x = np.asarray([-3, -0.5, -1e-3, 0, 0.3, 0.999, 1, 6, 9, np.inf, np.nan], np.float32)
    found = _values(f"%0 = chlo.{name} %a : {_type(x)} -> {_type(x)}", _type(x), x)[0]
    np.testing.assert_allclose(found, exact(x.astype(np.float64)), rtol=2e-6, atol=1e-37)
    with pytest.raises(IrcError, match=f"chlo.{name} of f64 is not supported"):
        _unary(f"chlo.{name}", x.astype(np.float64))


def test_halves_are_rounded_away_from_zero() -> None:
    x = np.asarray([0.5, -0.5, 2.5, -2.5, 0.49999997, 1.4, -1.6, np.inf, -0.0, 8388609.0], np.float32)
    expected = [1, -1, 3, -3, 0, 1, -2, np.inf, 0, 8388609]
    np.testing.assert_array_equal(_unary("stablehlo.round_nearest_afz", x), np.asarray(expected, np.float32))


INTEGERS = [np.int8, np.int16, np.int32, np.int64, np.uint8]


def _integers(element: Any) -> Array:
    limits = np.iinfo(element)
    drawn = np.random.default_rng(1).integers(limits.min, limits.max, 40, dtype=element)
    return np.asarray([*drawn, 0, 1, limits.max, limits.min, element(-1) if limits.min else 255], element)


@pytest.mark.parametrize("element", INTEGERS)
def test_bits_of_integers(element: Any) -> None:
    x, width = _integers(element), 8 * np.dtype(element).itemsize
    texts = [np.binary_repr(each, width) if each >= 0 else bin(int(each) + (1 << width))[2:] for each in x]
    assert _unary("stablehlo.popcnt", x).tolist() == [text.count("1") for text in texts]
    zeros = [len(text) - len(text.lstrip("0")) for text in texts]
    assert _unary("stablehlo.count_leading_zeros", x).tolist() == zeros


@pytest.mark.parametrize("element", INTEGERS)
def test_shifts_that_bring_in_zeros(element: Any) -> None:
    width = 8 * np.dtype(element).itemsize
    x = _integers(element)
    unsigned = [int(each) % (1 << width) for each in x]
    for count in (0, 1, 3, width - 1, width, width + 1):
        counts = np.full_like(x, count)
        body = f"%0 = stablehlo.shift_right_logical %a, %b : {_type(x)}"
        (found,) = _values(body, _type(x), x, counts)
        assert [int(each) % (1 << width) for each in found] == [each >> count for each in unsigned]


def test_reduce_precision() -> None:
    x = np.asarray([1.00390625, 3.14159265, 1e30, -1e-20, 65520.0], np.float32)
    for name, dtype in (("e8m7", ml_dtypes.bfloat16), ("e5m10", np.float16), ("e11m52", np.float32)):
        with np.errstate(over="ignore"):
            expected = x.astype(dtype).astype(np.float32)
        body = f"%0 = stablehlo.reduce_precision %a, format = {name} : {_type(x)}"
        np.testing.assert_array_equal(_values(body, _type(x), x)[0], expected)
    with pytest.raises(IrcError, match="reduce_precision to e4m3 is not supported"):
        _values(f"%0 = stablehlo.reduce_precision %a, format = e4m3 : {_type(x)}", _type(x), x)


def test_comparisons_by_total_order() -> None:
    x = np.asarray([-np.nan, -np.inf, -1.5, -0.0, 0.0, 2.0, np.inf, np.nan], np.float32)
    a, b = (np.ascontiguousarray(each.reshape(-1)) for each in np.meshgrid(x, x, indexing="ij"))
    body = f"%0 = stablehlo.compare  LT, %a, %b,  TOTALORDER : ({_type(a)}, {_type(a)}) -> tensor<64xi1>"
    (found,) = _values(body, "tensor<64xi1>", a, b)
    np.testing.assert_array_equal(found.reshape(8, 8), np.less.outer(np.arange(8), np.arange(8)))
    generic = (
        '%0 = "stablehlo.compare"(%a, %b) <{comparison_direction = #stablehlo<comparison_direction GE>, '
        f"compare_type = #stablehlo<comparison_type FLOAT>}}> : ({_type(a)}, {_type(a)}) -> tensor<64xi1>"
    )
    np.testing.assert_array_equal(_values(generic, "tensor<64xi1>", a, b)[0], a >= b)


def test_small_ops() -> None:
    x = np.asarray([3, -2, 2, 5], np.int32)
    y = np.asarray([2, 3, 0, 1], np.int32)
    assert _values(f"%0 = stablehlo.power %a, %b : {_type(x)}", _type(x), x, y)[0].tolist() == [9, -8, 1, 5]
    both = f"{_type(x)}, {_type(x)}"
    found = _values(f"%0:2 = stablehlo.optimization_barrier %a, %b : {both}", both, x, y)
    assert [each.tolist() for each in found] == [x.tolist(), y.tolist()]
    size = f"%0 = stablehlo.get_dimension_size %a, dim = 0 : ({_type(x)}) -> tensor<i32>"
    assert _values(size, "tensor<i32>", x)[0] == 4
    z = np.asarray([np.inf, -np.inf, np.nan, 1], np.float32)
    for name, expected in (("is_pos_inf", [True, False, False, False]), ("is_neg_inf", [False, True, False, False])):
        body = f"%0 = chlo.{name} %a : {_type(z)} -> tensor<4xi1>"
        assert _values(body, "tensor<4xi1>", z)[0].tolist() == expected


def _normalized(x: Array, mean: Array, variance: Array) -> Array:
    return (x - mean[:, None]) / np.sqrt(variance[:, None] + 1e-3)


def test_batch_norms() -> None:
    rng = np.random.default_rng(2)
    x = rng.standard_normal((4, 3, 5), dtype=np.float32)
    s, o, m = (rng.standard_normal(3, dtype=np.float32) for _ in range(3))
    v, grad = rng.random(3, dtype=np.float32) + 0.5, rng.standard_normal(x.shape, dtype=np.float32)
    whole, some = _type(x), _type(s)
    settings = "<{epsilon = 1.000000e-03 : f32, feature_index = 1 : i64}>"

    body = f'%0 = "stablehlo.batch_norm_inference"(%a, %b, %c, %d, %e) {settings} : ({whole}, {some}, {some}, {some}, {some}) -> {whole}'
    (found,) = _values(body, whole, x, s, o, m, v)
    np.testing.assert_allclose(found, _normalized(x, m, v) * s[:, None] + o[:, None], rtol=1e-5, atol=1e-5)

    results = f"{whole}, {some}, {some}"
    body = f'%0:3 = "stablehlo.batch_norm_training"(%a, %b, %c) {settings} : ({whole}, {some}, {some}) -> ({results})'
    y, mean, variance = _values(body, results, x, s, o)
    np.testing.assert_allclose(mean, x.mean((0, 2)), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(variance, x.var((0, 2)), rtol=1e-5)
    expected = _normalized(x, x.mean((0, 2)), x.var((0, 2))) * s[:, None] + o[:, None]
    np.testing.assert_allclose(y, expected, rtol=1e-4, atol=1e-5)

    body = f'%0:3 = "stablehlo.batch_norm_grad"(%a, %b, %c, %d, %e) {settings} : ({whole}, {some}, {some}, {some}, {whole}) -> ({results})'
    dx, ds, do = _values(body, results, x, s, mean, variance, grad)
    normal = _normalized(x.astype(np.float64), x.mean((0, 2)), x.var((0, 2)))
    np.testing.assert_allclose(ds, (grad * normal).sum((0, 2)), rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(do, grad.sum((0, 2)), rtol=1e-4, atol=1e-5)

    def loss(z: Array) -> float:
        return float((_normalized(z, z.mean((0, 2)), z.var((0, 2))) * s[:, None] * grad).sum())

    for place in ((0, 0, 0), (3, 2, 4), (1, 1, 2)):
        step = np.zeros(x.shape)
        step[place] = 1e-5
        difference = (loss(x + step) - loss(x - step)) / 2e-5
        np.testing.assert_allclose(dx[place], difference, rtol=1e-3, atol=1e-4)


def _pool_gradient(x: Array, source: Array, pads: list[list[int]], strides: list[int], least: bool) -> Array:
    """As StableHLO defines it, window by window."""
    total = np.zeros_like(x)
    for window in np.ndindex(*source.shape):
        best = None
        for tap in product(range(3), range(2)):
            place = tuple(w * s + t - p[0] for w, s, t, p in zip(window, strides, tap, pads, strict=True))
            if not all(0 <= i < n for i, n in zip(place, x.shape, strict=True)):
                continue
            if best is None or not (x[best] <= x[place] if least else x[best] >= x[place]):
                best = place
        if best is not None:
            total[best] += source[window]
    return total


@pytest.mark.parametrize("direction", ["GE", "LE"])
@pytest.mark.parametrize(("pads", "strides"), [([[0, 0], [0, 0]], [1, 1]), ([[1, 2], [0, 1]], [2, 3])])
def test_select_and_scatter(direction: str, pads: list[list[int]], strides: list[int]) -> None:
    """Windows that overlap, padding, and elements that are equal: the first takes it."""
    rng = np.random.default_rng(3)
    x = rng.integers(-3, 3, (7, 6)).astype(np.float32)
    counts = [(n + sum(p) - k) // s + 1 for n, p, k, s in zip(x.shape, pads, (3, 2), strides, strict=True)]
    source = rng.standard_normal(counts).astype(np.float32)
    body = f"""%cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
  %0 = "stablehlo.select_and_scatter"(%a, %b, %cst) <{{padding = dense<{pads}> : tensor<2x2xi64>, window_dimensions = array<i64: 3, 2>, window_strides = array<i64: {strides[0]}, {strides[1]}>}}> ({{
  ^bb0(%p: tensor<f32>, %q: tensor<f32>):
    %1 = stablehlo.compare  {direction}, %p, %q,  FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  }}, {{
  ^bb0(%p: tensor<f32>, %q: tensor<f32>):
    %1 = stablehlo.add %p, %q : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }}) : ({_type(x)}, {_type(source)}, tensor<f32>) -> {_type(x)}"""
    (found,) = _values(body, _type(x), x, source)
    np.testing.assert_allclose(found, _pool_gradient(x, source, pads, strides, direction == "LE"), rtol=1e-5, atol=1e-6)
    with pytest.raises(IrcError, match="selection of a select_and_scatter is not supported"):
        _values(body.replace(f"compare  {direction}", "compare  GT"), _type(x), x, source)


@pytest.mark.parametrize(
    ("op", "start", "pads", "function"),
    [
        ("add", 0, [5, 0], lambda x: np.cumsum(x, 1)),
        ("add", 0, [0, 5], lambda x: np.cumsum(x[:, ::-1], 1)[:, ::-1]),
        ("multiply", 1, [5, 0], lambda x: np.cumprod(x, 1)),
        ("maximum", "0xFF800000", [5, 0], lambda x: np.maximum.accumulate(x, 1)),
    ],
)
def test_windows_as_long_as_an_axis(op: str, start: Any, pads: list[int], function: Any) -> None:
    x = np.random.default_rng(4).standard_normal((3, 6), dtype=np.float32)
    body = f"""%cst = stablehlo.constant dense<{start if isinstance(start, str) else float(start)}> : tensor<f32>
  %0 = "stablehlo.reduce_window"(%a, %cst) <{{padding = dense<[[0, 0], {pads}]> : tensor<2x2xi64>, window_dimensions = array<i64: 1, 6>}}> ({{
  ^bb0(%p: tensor<f32>, %q: tensor<f32>):
    %1 = stablehlo.{op} %p, %q : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }}) : ({_type(x)}, tensor<f32>) -> {_type(x)}"""
    np.testing.assert_allclose(_values(body, _type(x), x)[0], function(x), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("op", "function"),
    [("add", np.add), ("maximum", np.maximum), ("minimum", np.minimum), ("multiply", np.multiply)],
)
def test_scatters(op: str, function: Any) -> None:
    """Rows at indices that are named twice; those outside are left out, as in jax.ops.segment_max."""
    rng = np.random.default_rng(5)
    x, updates = rng.standard_normal((4, 3), dtype=np.float32), rng.standard_normal((6, 3), dtype=np.float32)
    indices = np.asarray([[1], [3], [1], [4], [-1], [0]], np.int32)
    body = f"""%0 = "stablehlo.scatter"(%a, %b, %c) <{{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = false}}> ({{
  ^bb0(%p: tensor<f32>, %q: tensor<f32>):
    %1 = stablehlo.{op} %p, %q : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }}) : ({_type(x)}, {_type(indices)}, {_type(updates)}) -> {_type(x)}"""
    expected = x.copy()
    for (row,), update in zip(indices, updates, strict=True):
        if 0 <= row < 4:
            expected[row] = function(expected[row], update)
    np.testing.assert_allclose(_values(body, _type(x), x, indices, updates)[0], expected, rtol=1e-5, atol=1e-6)
    with pytest.raises(IrcError, match="a scatter by such a function is not supported"):
        _values(body.replace(f"stablehlo.{op} %p", "stablehlo.divide %p"), _type(x), x, indices, updates)


def test_reductions_of_several_arrays() -> None:
    """The sum and the greatest element in one reduction, from starts of which one is not neutral."""
    x = np.random.default_rng(6).standard_normal((4, 5), dtype=np.float32)
    results = "tensor<4xf32>, tensor<4xf32>"
    body = f"""%cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
  %cst_0 = stablehlo.constant dense<5.000000e-01> : tensor<f32>
  %0:2 = stablehlo.reduce(%a init: %cst), (%b init: %cst_0) across dimensions = [1] : ({_type(x)}, {_type(x)}, tensor<f32>, tensor<f32>) -> ({results})
   reducer(%p: tensor<f32>, %q: tensor<f32>) (%r: tensor<f32>, %s: tensor<f32>)  {{
    %1 = stablehlo.add %p, %q : tensor<f32>
    %2 = stablehlo.maximum %r, %s : tensor<f32>
    stablehlo.return %1, %2 : tensor<f32>, tensor<f32>
  }}"""
    total, most = _values(body, results, x, -x)
    np.testing.assert_allclose(total, x.sum(1), rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(most, np.maximum((-x).max(1), 0.5))
    mixed = body.replace("stablehlo.maximum %r, %s", "stablehlo.maximum %p, %s")
    with pytest.raises(IrcError, match="a reduction of two arrays that is no argmax or argmin"):
        _values(mixed, results, x, -x)
