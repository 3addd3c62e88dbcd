"""What nd ops that move, index, reduce, make and multiply arrays mean, against formulas written independently."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from nd_functions import BF16, E4M3, E5M2, INF, INTEGERS, NAN, array, random, run, run_all, same, wrapped
from xdsl.dialects.builtin import bf16, f32, f64, i8, i32, i64

from irc.dialects import nd
from irc.ir import philox
from irc.ir.dtypes import element_of_dtype

# Shapes and indices


def test_moves() -> None:
    x = np.arange(24, dtype=np.int32).reshape(2, 3, 4)
    same(
        run(lambda v: nd.PermuteOp(v, [2, 0, 1]), x),
        [[[x[j, k, i] for k in range(3)] for j in range(2)] for i in range(4)],
    )
    same(run(lambda v: nd.ReshapeOp(v, [6, 4]), x), np.arange(24).reshape(6, 4))
    same(run(lambda v: nd.SliceOp(v, [1, 0, 1], [2, 3, 4], [1, 2, 2]), x), x[1:2, 0:3:2, 1:4:2])
    same(run(lambda v: nd.FlipOp(v, [0, 2]), x), x[::-1, :, ::-1])
    same(run(lambda v: nd.TileOp(v, [1, 2, 0]), x), np.zeros((2, 6, 0)))
    same(run(lambda v: nd.TileOp(v, [2, 1, 1]), x), list(x) * 2)
    same(run(lambda v: nd.ConcatOp([v, v], 1), x), [[*a, *a] for a in x.tolist()])
    same(run(lambda v: nd.BroadcastOp(v, [2, 5, 3, 4], [0, 2, 3]), x), [[x[i]] * 5 for i in range(2)])


def test_broadcast_in_any_order_of_dims() -> None:
    x = array([[1, 2, 3]], np.int8)
    same(run(lambda v: nd.BroadcastOp(v, [3, 2], [1, 0]), x), [[1, 1], [2, 2], [3, 3]])
    same(run(lambda v: nd.BroadcastOp(v, [2, 2], []), array(7, np.int8)), [[7, 7], [7, 7]])


def test_pad_concat_and_triangles_keep_bf16() -> None:
    x = array([[1, 2], [3, 4]], BF16)
    same(run(lambda v, w: nd.PadOp(v, w, [1, 0], [0, 1]), x, array(9, BF16)), [[9, 9, 9], [1, 2, 9], [3, 4, 9]])
    same(run(lambda v: nd.TrilOp(v, 0), x), [[1, 0], [3, 4]])
    same(run(lambda v: nd.TriuOp(v, 1), x), [[0, 2], [0, 0]])
    same(run(lambda v: nd.TrilOp(v, -(2**62)), x), [[0, 0], [0, 0]])


def test_indices_are_clamped() -> None:
    x = array([[10, 11, 12], [20, 21, 22]], np.int32)
    i = array([-5, 2, 99], np.int64)
    same(run(lambda v, w: nd.TakeOp(v, w, 1), x, i), [[10, 12, 12], [20, 22, 22]])
    same(run(lambda v, w: nd.TakeOp(v, w, 0), x, array(200, np.uint8)), [20, 21, 22])
    same(run(lambda v, w: nd.TakeAlongOp(v, w, 1), x, array([[9], [-1]], np.int8)), [[12], [20]])
    same(run(lambda v: nd.OneHotOp(v, 3, f32), i), [[1, 0, 0], [0, 0, 1], [0, 0, 1]])


def test_scatter_add_adds_up() -> None:
    x, i = np.zeros((2, 3), np.float32), array([[0, 2], [2, 7]], np.int32)
    updates = array([[[1, 2], [3, 4]], [[10, 20], [30, 40]]])
    found = run(lambda v, w, u: nd.ScatterAddOp(v, w, u, 1), x, i, updates)
    same(found, [[1, 0, 2 + 3 + 4], [10, 0, 20 + 30 + 40]])
    assert not x.any()


# Reductions


@pytest.mark.parametrize("axes", [(), (0,), (1, 2), (0, 1, 2)])
def test_sums_of_floats_are_accurate(axes: tuple[int, ...]) -> None:
    x = (random((40, 50, 60)) + 100).astype(np.float32)
    exact = x.astype(np.float64)
    np.testing.assert_allclose(run(lambda v: nd.SumOp(v, axes), x), exact.sum(axis=axes), rtol=2e-7)
    np.testing.assert_allclose(run(lambda v: nd.MeanOp(v, axes), x), exact.mean(axis=axes), rtol=2e-7)
    np.testing.assert_allclose(run(lambda v: nd.VarOp(v, axes), x), exact.var(axis=axes), rtol=2e-6)


def test_accumulation_types() -> None:
    same(run(lambda v: nd.SumOp(v, [0]), array([100, 100], np.int8)), -56)
    same(run(lambda v: nd.SumOp(v, [0], i32), array([100, 100], np.int8)), 200)
    same(run(lambda v: nd.SumOp(v, [0]), array([True] * 300, bool)), 300)
    same(run(lambda v: nd.SumOp(v, [0]), array([1.0] * 1000, BF16)), 1000)
    same(run(lambda v: nd.SumOp(v, [0], f32), array([255, 1], np.uint8)), 256)
    same(run(lambda v: nd.SumOp(v, [0], i8), array([1.9, 300.0])), -128)
    same(run(lambda v: nd.ProdOp(v, [0]), array([2, 3, 7], np.int64)), 42)
    same(run(lambda v: nd.MeanOp(v, [0], f32), array([1, 2], np.int32)), 1.5)
    same(run(lambda v: nd.VarOp(v, [0], 1), array([1.0, 3.0])), 2)
    same(run(lambda v: nd.VarOp(v, [0], 2), array([1.0, 3.0])), INF)


def test_reductions_over_nothing() -> None:
    x = np.zeros((2, 0), np.float32)
    same(run(lambda v: nd.SumOp(v, [1]), x), [0, 0])
    same(run(lambda v: nd.ProdOp(v, [1]), x), [1, 1])
    same(run(lambda v: nd.MeanOp(v, [1]), x), [NAN, NAN])
    same(run(lambda v: nd.MaxOp(v, [0]), x), [])
    same(run(lambda v: nd.ArgmaxOp(v, 0), x), [])
    same(run(lambda v: nd.AnyOp(v, [1]), x.astype(bool)), [False, False])
    same(run(lambda v: nd.AllOp(v, [1]), x.astype(bool)), [True, True])


@pytest.mark.parametrize("dtype", [np.float32, BF16, np.float16, np.float64])
def test_extremes(dtype: Any) -> None:
    x = array([[3, 1, 3, 1], [1, NAN, 2, NAN]], dtype)
    same(run(lambda v: nd.MaxOp(v, [1]), x), [3, NAN])
    same(run(lambda v: nd.MinOp(v, [1]), x), [1, NAN])
    same(run(lambda v: nd.ArgmaxOp(v, 1), x), [0, 1])
    same(run(lambda v: nd.ArgminOp(v, 1), x), [1, 1])
    same(run(lambda v: nd.SortOp(v, 1), x), [[1, 1, 3, 3], [1, 2, NAN, NAN]])
    values, indices = run_all(lambda v: nd.TopkOp(v, 3, 1), x)
    same(values, [[3, 3, 1], [NAN, NAN, 2]])
    same(indices, [[0, 2, 1], [1, 3, 2]])


def test_scans() -> None:
    x = array([[1, 2, 3], [4, 5, 6]], np.int8)
    same(run(lambda v: nd.CumsumOp(v, 0), x), [[1, 2, 3], [5, 7, 9]])
    same(run(lambda v: nd.CumprodOp(v, 1), x), [[1, 2, 6], [4, 20, 120]])
    same(run(lambda v: nd.CumsumOp(v, 0), np.ones(600, BF16))[[255, 511, 599]], [256, 512, 600])


# Made


def test_made() -> None:
    same(run(lambda: nd.IotaOp(nd.tensor([2, 3], i8), 1)), [[0, 1, 2], [0, 1, 2]])
    assert run(lambda: nd.IotaOp(nd.tensor([300], i8), 0))[[127, 128, 299]].tolist() == [127, -128, 43]
    same(run(lambda: nd.IotaOp(nd.tensor([260], bf16), 0))[[255, 257, 259]], [255, 256, 260])
    same(run(lambda: nd.ConstantOp.splat(2, nd.tensor([2, 2], i64))), [[2, 2], [2, 2]])
    same(run(lambda: nd.ConstantOp.splat(0.1, nd.tensor([], f32)), precision="float64"), float(np.float32(0.1)))


def test_philox_known_answers() -> None:
    """The three vectors of Random123's kat_vectors file for philox4x32-10."""
    vectors = [
        ("00000000 " * 4, "00000000 " * 2, "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
        ("ffffffff " * 4, "ffffffff " * 2, "408f276d 41c83b0e a20bc7c6 6d5451fd"),
        ("243f6a88 85a308d3 13198a2e 03707344", "a4093822 299f31d0", "d16cfe09 94fdcceb 5001e420 24126ea1"),
    ]
    for counter, key, expected in vectors:
        words = [np.array([int(w, 16)], np.uint64) for w in counter.split()]
        k0, k1 = (int(w, 16) for w in key.split())
        found = philox.block((words[0], words[1], words[2], words[3]), (k0, k1))
        assert [f"{int(w[0]):08x}" for w in found] == expected.split()


def drawn(cls: type[nd.RandomOp], seed: int, shape: list[int], element: Any) -> list[nd.NdOp]:
    number = nd.ConstantOp.splat(seed, nd.tensor([], i64))
    return [number, cls(number, nd.tensor(shape, element))]


@pytest.mark.parametrize("element", [f32, f64])
def test_random_numbers(element: Any) -> None:
    uniform = run(lambda: drawn(nd.RandomUniformOp, 5, [40, 501], element))
    normal = run(lambda: drawn(nd.RandomNormalOp, -5, [40, 501], element))
    assert uniform.min() >= 0 and uniform.max() < 1
    assert abs(uniform.mean() - 0.5) < 0.01 and abs(uniform.var() - 1 / 12) < 0.005
    assert abs(normal.mean()) < 0.03 and abs(normal.var() - 1) < 0.04
    assert len(np.unique(normal)) > 20000
    prefix = run(lambda: drawn(nd.RandomNormalOp, -5, [7], element))
    same(prefix, normal.reshape(-1)[:7])
    same(run(lambda: drawn(nd.RandomUniformOp, 1, [0, 3], element)), np.zeros((0, 3)))


def test_first_uniform_numbers_of_seed_0() -> None:
    expected = [int(w, 16) >> 8 for w in "6627e8d5 e169c58d bc57ac4c 9b00dbd8".split()]
    same(run(lambda: drawn(nd.RandomUniformOp, 0, [4], f32)), np.array(expected) / 2**24)


# Products


def product(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any], subscripts: str) -> np.ndarray[Any, Any]:
    return np.einsum(subscripts, a.astype(np.float64), b.astype(np.float64))


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16, BF16, E4M3, E5M2])
def test_matmul_with_dimension_numbers(dtype: Any) -> None:
    a, b = random((3, 5, 2, 7), dtype, 1), random((7, 4, 2, 3), dtype, 2)
    numbers: dict[str, Any] = {"lhs_batch": [2], "rhs_batch": [2], "lhs_contract": [0, 3], "rhs_contract": [3, 0]}
    element = f64 if dtype is np.float64 else f32
    found = run(lambda x, y: nd.MatmulOp(x, y, **numbers, element=element), a, b)
    np.testing.assert_allclose(found, product(a, b, "ambk,knba->bmn"), rtol=1e-5, atol=1e-5)


def test_matmul_rounds_to_the_result_type() -> None:
    a, b = np.ones((1, 257), BF16), np.ones((257, 1), BF16)
    numbers: dict[str, Any] = {"lhs_contract": [1], "rhs_contract": [0]}
    same(run(lambda x, y: nd.MatmulOp(x, y, **numbers), a, b), [[256]])
    same(run(lambda x, y: nd.MatmulOp(x, y, **numbers, element=f32), a, b), [[257]])


@pytest.mark.parametrize("dtype", INTEGERS)
def test_matmul_of_integers_is_exact(dtype: Any) -> None:
    info = np.iinfo(dtype)
    rng = np.random.default_rng(3)
    a = rng.integers(info.min, info.max, (3, 40), dtype, endpoint=True)
    b = rng.integers(info.min, info.max, (40, 2), dtype, endpoint=True)
    exact = [[sum(int(x) * int(y) for x, y in zip(row, column, strict=True)) for column in b.T] for row in a]
    for element in (i32, element_of_dtype(np.dtype(dtype)).type):
        found = run(lambda x, y, e=element: nd.MatmulOp(x, y, lhs_contract=[1], rhs_contract=[0], element=e), a, b)
        assert found.tolist() == [[wrapped(v, found.dtype) for v in row] for row in exact]


def test_matmul_without_axes_and_with_empty_ones() -> None:
    same(run(lambda x, y: nd.MatmulOp(x, y, lhs_contract=[], rhs_contract=[]), array(2.0), array(3.0)), 6)
    found = run(
        lambda x, y: nd.MatmulOp(x, y, lhs_contract=[1], rhs_contract=[0]),
        np.zeros((2, 0), np.float32),
        np.zeros((0, 3), np.float32),
    )
    same(found, np.zeros((2, 3)))


def test_precision_rounds_operands() -> None:
    a, b = array([[1 + 2**-11]]), array([[1.0]])
    numbers: dict[str, Any] = {"lhs_contract": [1], "rhs_contract": [0]}
    results = {
        p: run(lambda x, y, p=p: nd.MatmulOp(x, y, **numbers, precision=p), a, b).item()
        for p in ("f32", "tf32", "bf16")
    }
    assert results == {"f32": 1 + 2**-11, "tf32": 1 + 2**-10, "bf16": 1.0}


def direct_conv(x: Any, kernel: Any, strides: Any, low: Any, high: Any, dilation: Any, spread: Any, groups: int) -> Any:
    """A convolution by its definition, in loops."""
    n, c, h, w = x.shape
    o, cg, kh, kw = kernel.shape
    inner = np.zeros((n, c, (h - 1) * spread[0] + 1, (w - 1) * spread[1] + 1))
    inner[:, :, :: spread[0], :: spread[1]] = x
    padded = np.pad(inner, [(0, 0), (0, 0), (low[0], high[0]), (low[1], high[1])])
    rows = (padded.shape[2] - (kh - 1) * dilation[0] - 1) // strides[0] + 1
    columns = (padded.shape[3] - (kw - 1) * dilation[1] - 1) // strides[1] + 1
    result = np.zeros((n, o, rows, columns))
    for index in np.ndindex(result.shape):
        batch, out, i, j = index
        first = out // (o // groups) * cg
        for ch, p, q in np.ndindex(cg, kh, kw):
            place = padded[batch, first + ch, i * strides[0] + p * dilation[0], j * strides[1] + q * dilation[1]]
            result[index] += place * kernel[out, ch, p, q]
    return result


@pytest.mark.parametrize(
    ("strides", "low", "high", "dilation", "spread", "groups"),
    [
        ([1, 1], [0, 0], [0, 0], [1, 1], [1, 1], 1),
        ([2, 1], [1, 0], [0, 2], [1, 2], [1, 1], 2),
        ([1, 2], [2, 2], [2, 2], [2, 1], [2, 3], 4),
    ],
)
def test_conv(strides: Any, low: Any, high: Any, dilation: Any, spread: Any, groups: int) -> None:
    x, kernel = random((2, 4, 5, 6), np.float64), random((8, 4 // groups, 3, 2), np.float64, 1)
    found = run(
        lambda a, b: nd.ConvOp(
            a, b, strides=strides, low=low, high=high, dilation=dilation, input_dilation=spread, groups=groups
        ),
        x,
        kernel,
    )
    expected = direct_conv(x, kernel, strides, low, high, dilation, spread, groups)
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    last = [0, 3, 1, 2]
    found = run(
        lambda a, b: nd.ConvOp(
            a,
            b,
            strides=strides,
            low=low,
            high=high,
            dilation=dilation,
            input_dilation=spread,
            groups=groups,
            x_axes=last,
            kernel_axes=[3, 2, 0, 1],
            result_axes=last,
            flipped=True,
        ),
        x.transpose(0, 2, 3, 1),
        kernel[:, :, ::-1, ::-1].transpose(2, 3, 1, 0),
    )
    np.testing.assert_allclose(found, expected.transpose(0, 2, 3, 1), rtol=1e-12)


# Composed


def test_softmax_and_norms() -> None:
    x = random((3, 5, 4), np.float64) * 10
    e = np.exp(x)
    np.testing.assert_allclose(run(lambda v: nd.SoftmaxOp(v, 1), x), e / e.sum(1, keepdims=True), rtol=1e-12)
    np.testing.assert_allclose(
        run(lambda v: nd.LogSoftmaxOp(v, 1), x), x - np.log(e.sum(1, keepdims=True)), rtol=1e-10, atol=1e-13
    )
    centred = x - x.mean(-1, keepdims=True)
    norm = centred / np.sqrt(x.var(-1, keepdims=True) + 0.5)
    np.testing.assert_allclose(run(lambda v: nd.LayerNormOp(v, -1, 0.5), x), norm, rtol=1e-12)
    norm = x / np.sqrt((x * x).mean(0, keepdims=True) + 0.5)
    np.testing.assert_allclose(run(lambda v: nd.RmsNormOp(v, 0, 0.5), x), norm, rtol=1e-12)


def test_softmax_of_large_and_empty_arrays() -> None:
    same(run(nd.SoftmaxOp, array([1e30, -1e30, 1e30])), [0.5, 0, 0.5])
    same(run(lambda v: nd.SoftmaxOp(v, 1), np.zeros((2, 0), np.float32)), np.zeros((2, 0)))
    assert abs(run(nd.SoftmaxOp, np.zeros(1000, BF16)).astype(np.float64).sum() - 1) < 1e-2


@pytest.mark.parametrize("causal", [False, True])
def test_attention(causal: bool) -> None:
    q, k, v = random((2, 3, 5, 4), np.float64), random((2, 3, 6, 4), np.float64, 1), random((2, 3, 6, 7), np.float64, 2)
    scores = np.einsum("bhsd,bhtd->bhst", q, k) / 2
    if causal:
        scores[..., np.triu(np.ones((5, 6), bool), 1)] = -INF
    weights = np.exp(scores)
    expected = np.einsum("bhst,bhte->bhse", weights / weights.sum(-1, keepdims=True), v)
    found = run(lambda *args: nd.AttentionOp(*args, causal=causal), q, k, v)
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    sums = run(lambda *args: nd.AttentionLogSumExpOp(*args, causal=causal), q, k)
    np.testing.assert_allclose(sums, np.log(weights.sum(-1)), rtol=1e-12)
    found = run(lambda *args: nd.AttentionWeightsOp(*args, causal=causal), q, k, sums)
    np.testing.assert_allclose(found, weights / weights.sum(-1, keepdims=True), rtol=1e-12)


def test_attention_with_shared_keys() -> None:
    q, k, v = random((2, 6, 5, 4), np.float64), random((2, 3, 6, 4), np.float64, 1), random((2, 3, 6, 7), np.float64, 2)
    whole = run(nd.AttentionOp, q, np.repeat(k, 2, 1), np.repeat(v, 2, 1))
    np.testing.assert_array_equal(run(nd.AttentionOp, q, k, v), whole)
    apart = q.reshape(2, 3, 2, 5, 4)
    sums = run(nd.AttentionLogSumExpOp, apart, k)
    np.testing.assert_array_equal(sums.reshape(2, 6, 5), run(nd.AttentionLogSumExpOp, q, np.repeat(k, 2, 1)))
    weights = run(nd.AttentionWeightsOp, apart, k, sums)
    np.testing.assert_allclose((weights @ v[:, :, None]).reshape(whole.shape), whole, rtol=1e-12)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("window", [0, 2])
@pytest.mark.parametrize("bias", ["none", "floats", "bools"])
def test_attention_with_masks(causal: bool, window: int, bias: str) -> None:
    """Rows that see nothing are 0; the first one does not see by its bias, the last ones by a window."""
    q, k, v = random((2, 8, 4), np.float64), random((2, 6, 4), np.float64, 1), random((2, 6, 7), np.float64, 2)
    scores, away = q @ k.swapaxes(1, 2) / 2, np.arange(6)[None] - np.arange(8)[:, None]
    added, seen = random((2, 8, 6), np.float64, 3), random((2, 8, 6), np.float64, 4) > -1
    added[:, 0], seen[:, 0] = -INF, False
    given = {"none": None, "floats": added, "bools": seen}[bias]
    scores += added if bias == "floats" else 0
    scores[np.broadcast_to((away > 0) & causal | (abs(away) >= (window or 99)), scores.shape)] = -INF
    if bias == "bools":
        scores[~seen] = -INF
    weights = np.exp(scores)
    total = weights.sum(-1, keepdims=True)
    options: dict[str, Any] = {"causal": causal, "window": window}
    biases = [] if given is None else [given]

    def attend(q: Any, k: Any, v: Any, *bias: Any) -> Any:
        return nd.AttentionOp(q, k, v, **options, bias=bias[0] if bias else None)

    def sum_up(q: Any, k: Any, *bias: Any) -> Any:
        return nd.AttentionLogSumExpOp(q, k, **options, bias=bias[0] if bias else None)

    def weigh(q: Any, k: Any, sums: Any, *bias: Any) -> Any:
        return nd.AttentionWeightsOp(q, k, sums, **options, bias=bias[0] if bias else None)

    with np.errstate(divide="ignore", invalid="ignore"):
        expected = np.nan_to_num(weights / total)
        sums = np.log(total)[..., 0]
    np.testing.assert_allclose(run(attend, q, k, v, *biases), expected @ v, rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(run(sum_up, q, k, *biases), sums, rtol=1e-12)
    np.testing.assert_allclose(run(weigh, q, k, sums, *biases), expected, rtol=1e-12)


def test_attention_without_keys() -> None:
    q, k = np.zeros((5, 4), np.float32), np.zeros((0, 4), np.float32)
    same(run(nd.AttentionLogSumExpOp, q, k), np.full(5, -INF))
    same(run(nd.AttentionWeightsOp, q, k, np.zeros(5, np.float32)), np.zeros((5, 0)))
