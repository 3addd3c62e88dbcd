"""The functions of `irc_frontend` that gather, repeat, multiply, draw and normalize, against numpy on the cpu target."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import irc_frontend as ir
from irc.ir import philox
from irc.support.diagnostics import IrcError
from irc_frontend.build import build_module
from irc_frontend.graph import sorted_nodes

RANDOM = np.random.default_rng(1)
X = RANDOM.standard_normal((3, 4)).astype(np.float32)
CUBE = RANDOM.standard_normal((2, 3, 4)).astype(np.float32)
INTS = RANDOM.integers(-9, 10, (3, 4)).astype(np.int32)
INDICES = np.array([[2, 0], [1, 1], [3, 2]])


pytestmark = pytest.mark.usefixtures("on_cpu")


def close(tensor: Any, expected: Any, tolerance: float = 1e-5) -> None:
    """The same shape and dtype, and equal up to f32 rounding."""
    value, wanted = tensor.numpy(), np.asarray(expected)
    assert (value.shape, value.dtype) == (wanted.shape, wanted.dtype)
    assert (tensor.shape, tensor.dtype) == (wanted.shape, wanted.dtype)
    np.testing.assert_allclose(value, wanted, rtol=tolerance, atol=tolerance)


def test_gathers_are_numpys() -> None:
    close(ir.take(ir.Tensor(CUBE), INDICES, axis=2), np.take(CUBE, INDICES, axis=2))
    close(ir.take(ir.Tensor(X), np.array([5, 0])), np.take(X, [5, 0]))
    close(ir.take_along_axis(ir.Tensor(X), INDICES, 1), np.take_along_axis(X, INDICES, 1))
    row = np.array([[1, 0, 2, 2]])
    close(ir.take_along_axis(ir.Tensor(X), row, 0), np.take_along_axis(X, row, 0))
    order = np.argsort(CUBE, axis=1)
    close(ir.take_along_axis(ir.Tensor(CUBE), order, 1), np.sort(CUBE, axis=1))
    wide = np.array([[[3], [0], [1]]])
    close(ir.take_along_axis(ir.Tensor(CUBE), wide, -1), np.take_along_axis(CUBE, np.repeat(wide, 2, 0), -1))


def test_negative_indices_count_from_the_end() -> None:
    for element in (np.int8, np.int16, np.int32, np.int64):
        close(ir.Tensor(np.arange(4.0))[np.array([-1, -4, 3], element)], np.array([3.0, 0.0, 3.0]))
    close(ir.take(np.arange(300.0), np.array([-1, 127, -128], np.int8)), np.array([299.0, 127.0, 172.0]))
    close(ir.take(ir.Tensor(X), np.array([-1, 0]), axis=1), np.take(X, [-1, 0], axis=1))
    negative = np.array([[-1], [0], [-3]])
    close(ir.take_along_axis(ir.Tensor(X), negative, 1), np.take_along_axis(X, negative, 1))
    added = ir.scatter_add(ir.Tensor(X), np.array([-1]), np.ones((1, 4), np.float32))
    close(added, X + np.array([[0.0], [0.0], [1.0]], np.float32))


def test_indices_out_of_range_are_an_error() -> None:
    x = ir.Tensor(np.arange(4.0))
    for wrong in (4, -5):
        for make in (
            lambda i: x[i],
            lambda i: ir.take(x, i),
            lambda i: ir.take_along_axis(x, i, 0),
            lambda i: ir.scatter_add(x, i, np.ones(2)),
        ):
            with pytest.raises(IrcError, match=f"index {wrong} is out of range: -4 <= index < 4") as caught:
                make(np.array([0, wrong])).numpy()
            assert __file__ in str(caught.value)
    with pytest.raises(IrcError, match="index 4 is out of range"):
        x[np.array([4], np.uint8)].numpy()
    with pytest.raises(IrcError, match="index -1 is out of range: 0 <= index < 4"):
        ir.check_indices(np.array([-1]), 4).numpy()


def test_indices_are_clamped_where_that_is_asked_for() -> None:
    close(ir.take(ir.Tensor(X), np.array([-7, 99]), axis=0, mode="clip"), X[[0, 2]])


def test_scatter_add_is_numpys() -> None:
    updates = RANDOM.standard_normal((3, 4)).astype(np.float32)
    wanted = X.copy()
    np.add.at(wanted, np.array([2, 0, 2]), updates)
    close(ir.scatter_add(ir.Tensor(X), np.array([2, 0, 2]), updates), wanted)


def test_one_hot() -> None:
    close(ir.one_hot(np.array([1, 0, 2]), 3), np.eye(3, dtype=np.float32)[[1, 0, 2]])
    close(ir.one_hot(np.array([[1]]), 2, "i32"), np.array([[[0, 1]]], np.int32))


@pytest.mark.parametrize("reps", [2, (2, 1), (1, 3), (2, 1, 2), (0, 2)])
def test_tile_is_numpys(reps: Any) -> None:
    close(ir.tile(ir.Tensor(X), reps), np.tile(X, reps))


@pytest.mark.parametrize("axis", [None, 0, -1])
def test_repeat_is_numpys(axis: int | None) -> None:
    close(ir.repeat(ir.Tensor(X), 3, axis), np.repeat(X, 3, axis))


def test_axes_are_swapped_and_moved() -> None:
    x = ir.Tensor(CUBE)
    close(ir.swapaxes(x, 0, -1), np.swapaxes(CUBE, 0, -1))
    close(x.swapaxes(1, 1), CUBE)
    close(ir.moveaxis(x, 0, 2), np.moveaxis(CUBE, 0, 2))
    close(ir.moveaxis(x, -1, 0), np.moveaxis(CUBE, -1, 0))
    close(ir.ravel(x), CUBE.ravel())


@pytest.mark.parametrize("axis", [None, 0, -1])
def test_scans_are_numpys(axis: int | None) -> None:
    close(ir.cumsum(ir.Tensor(X), axis), np.cumsum(X, axis))
    close(ir.Tensor(X).cumprod(axis), np.cumprod(X, axis))
    close(ir.cumsum(ir.Tensor(INTS), axis), np.cumsum(INTS, axis, dtype=np.int32))


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_sorting_and_extremes_are_numpys(axis: int) -> None:
    close(ir.sort(ir.Tensor(X), axis), np.sort(X, axis))
    close(ir.argmax(ir.Tensor(INTS), axis), np.argmax(INTS, axis))
    close(ir.argmin(ir.Tensor(X), axis, keepdims=True), np.argmin(X, axis, keepdims=True))
    order = np.flip(np.argsort(X, axis), axis).take(range(2), axis)
    values, indices = ir.topk(ir.Tensor(X), 2, axis)
    close(values, np.take_along_axis(X, order, axis))
    close(indices, order)


def test_both_results_of_topk_come_from_one_op() -> None:
    values, indices = ir.topk(ir.Tensor(X), 2)
    module = build_module(sorted_nodes([values.node, indices.node]), [values.node, indices.node])
    assert [op.name for op in module.walk() if op.name.startswith("nd.")] == ["nd.topk"]
    first, second = ir.realize(values, indices)
    np.testing.assert_array_equal(np.take_along_axis(X, second, 1), first)


def test_triangles_flips_and_pads_are_numpys() -> None:
    x = ir.Tensor(CUBE)
    close(ir.tril(x, -1), np.tril(CUBE, -1))
    close(ir.triu(x, 1), np.triu(CUBE, 1))
    close(ir.flip(x), np.flip(CUBE))
    close(ir.flip(x, (0, 2)), np.flip(CUBE, (0, 2)))
    close(ir.pad(x, 1), np.pad(CUBE, 1))
    close(ir.pad(x, (2, 0), constant_values=-1), np.pad(CUBE, (2, 0), constant_values=-1))
    close(ir.pad(x, [(0, 0), (1, 2), (3, 0)]), np.pad(CUBE, [(0, 0), (1, 2), (3, 0)]))
    close(ir.clip(ir.Tensor(INTS), -2, 3), np.clip(INTS, -2, 3))


@pytest.mark.parametrize("axis", [None, 0, (0, 2)])
@pytest.mark.parametrize("correction", [0, 1])
def test_spread_is_numpys(axis: Any, correction: int) -> None:
    x = ir.Tensor(CUBE)
    close(ir.var(x, axis, correction=correction), CUBE.var(axis, ddof=correction))
    close(ir.std(x, axis, keepdims=True, correction=correction), CUBE.std(axis, ddof=correction, keepdims=True))
    assert ir.std(ir.Tensor(INTS)).element == "f32"


def test_made_arrays_are_numpys() -> None:
    close(ir.eye(3, 5, k=1), np.eye(3, 5, k=1, dtype=np.float32))
    close(ir.eye(2, dtype="i8"), np.eye(2, dtype=np.int8))
    close(ir.zeros_like(ir.Tensor(INTS)), np.zeros_like(INTS))
    close(ir.ones_like(X, dtype="f64"), np.ones_like(X, dtype=np.float64))
    close(ir.full_like(X, 2.5), np.full_like(X, 2.5))


def test_random_numbers_are_philoxs() -> None:
    close(ir.random_normal((3, 5), seed=7), philox.normal(7, 15, double=False).reshape(3, 5).astype(np.float32))
    close(ir.random_uniform(9, seed=-1, dtype="f64"), philox.uniform(-1, 9, double=True))
    uniform = ir.random_uniform((100, 100), seed=3).numpy()
    assert 0 <= uniform.min() < 0.01 < 0.99 < uniform.max() < 1
    normal = ir.random_normal((100, 100), seed=3).numpy()
    assert abs(normal.mean()) < 0.05
    assert abs(normal.std() - 1) < 0.05
    assert (normal != ir.random_normal((100, 100), seed=4).numpy()).mean() > 0.99


def softmax(x: np.ndarray[Any, Any], axis: int = -1) -> np.ndarray[Any, Any]:
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_normalizations(axis: int) -> None:
    x = ir.Tensor(CUBE)
    close(ir.softmax(x, axis), softmax(CUBE, axis))
    close(ir.log_softmax(x, axis), np.log(softmax(CUBE, axis)))
    centred = CUBE - CUBE.mean(axis, keepdims=True)
    close(ir.layer_norm(x, axis, eps=0.1), centred / np.sqrt(CUBE.var(axis, keepdims=True) + np.float32(0.1)))
    square = np.mean(CUBE * CUBE, axis, keepdims=True)
    close(ir.rms_norm(x, axis), CUBE / np.sqrt(square + np.float32(1e-6)))


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("scale", [None, 0.3])
def test_attention(causal: bool, scale: float | None) -> None:
    shapes = ((2, 5, 4), (2, 5, 4), (2, 5, 3))
    q, k, v = (RANDOM.standard_normal(shape).astype(np.float32) for shape in shapes)
    scores = q @ k.transpose(0, 2, 1) * np.float32(0.5 if scale is None else scale)
    if causal:
        scores = np.where(np.tri(5, dtype=bool), scores, np.float32(-np.inf))
    close(ir.attention(ir.Tensor(q), k, v, causal=causal, scale=scale), softmax(scores) @ v)
    shared = ir.attention(ir.Tensor(np.concatenate([q, q])), k[:1], v[:1], causal=causal, scale=scale)
    close(shared[::2], ir.attention(ir.Tensor(q[:1]), k[:1], v[:1], causal=causal, scale=scale).numpy().repeat(2, 0))
    sums = ir.attention_log_sum_exp(ir.Tensor(q), k, causal=causal, scale=scale)
    close(sums, np.log(np.exp(scores).sum(-1)))
    close(ir.attention_weights(ir.Tensor(q), k, sums, causal=causal, scale=scale), softmax(scores))
    apart = ir.attention_log_sum_exp(ir.Tensor(np.stack([q, q], 1)), k, causal=causal, scale=scale)
    close(apart[:, 1], sums)


@pytest.mark.parametrize("bias", [None, "floats", "bools"])
def test_attention_with_masks(bias: str | None) -> None:
    """A window of two, and a bias for each key."""
    q, k, v = (RANDOM.standard_normal((2, 5, 4)).astype(np.float32) for _ in range(3))
    added = np.linspace(-1, 1, 5, dtype=np.float32)
    scores = np.where(np.tri(5, dtype=bool) & ~np.tri(5, k=-2, dtype=bool), q @ k.transpose(0, 2, 1) / 2, -np.inf)
    scores = {None: scores, "floats": scores + added, "bools": np.where(added != 0, scores, -np.inf)}[bias]
    given = {None: None, "floats": added, "bools": added != 0}[bias]
    options: dict[str, Any] = {"causal": True, "window": 2, "bias": given}
    sums = ir.attention_log_sum_exp(ir.Tensor(q), k, **options)
    close(ir.attention(ir.Tensor(q), k, v, **options), softmax(scores) @ v)
    close(sums, np.log(np.exp(scores).sum(-1)))
    close(ir.attention_weights(ir.Tensor(q), k, sums, **options), softmax(scores))


def test_attention_with_a_soft_cap() -> None:
    """The bias is added to what is capped."""
    q, k, v = (RANDOM.standard_normal((2, 5, 4)).astype(np.float32) for _ in range(3))
    added = np.linspace(-1, 1, 5, dtype=np.float32)
    scores = np.where(np.tri(5, dtype=bool), 0.7 * np.tanh(q @ k.transpose(0, 2, 1) / 1.4) + added, -np.inf)
    options: dict[str, Any] = {"causal": True, "bias": added, "soft_cap": 0.7}
    sums = ir.attention_log_sum_exp(ir.Tensor(q), k, **options)
    close(ir.attention(ir.Tensor(q), k, v, **options), softmax(scores) @ v)
    close(sums, np.log(np.exp(scores).sum(-1)))
    close(ir.attention_weights(ir.Tensor(q), k, sums, **options), softmax(scores))


@pytest.mark.parametrize("shapes", [((4,), (4,)), ((3, 4), (4,)), ((2, 3, 4), (4, 5)), ((2, 3, 4), (6, 4, 5))])
def test_dot_is_numpys(shapes: tuple[tuple[int, ...], tuple[int, ...]]) -> None:
    a, b = (RANDOM.standard_normal(shape).astype(np.float32) for shape in shapes)
    close(ir.dot(ir.Tensor(a), b), np.dot(a, b))
    close(ir.Tensor(a).dot(2), a * 2)
    close(ir.outer(ir.Tensor(a), b), np.outer(a, b))


@pytest.mark.parametrize(
    ("element", "product"),
    [("f32", "f32"), ("f16", "f16"), ("bf16", "bf16"), ("f8e4m3", "f32"), ("i8", "i32"), ("u8", "i32"), ("i64", "i64")],
)
def test_products_have_the_languages_element_types(element: str, product: str) -> None:
    a = ir.ones((2, 3), element)
    for found in (a @ a.T, ir.dot(a, a.T), ir.einsum("ij,kj->ik", a, a)):
        assert found.element == product
        np.testing.assert_array_equal(found.numpy().astype(np.float32), np.full((2, 2), 3))
    assert ir.matmul(a, a.T, dtype="f64").element == "f64"


SUMS = (
    "ij,jk->ik ij,jk ij,kj->ki ij,ij->i ij,ij->ji ij,ij-> i,j->ij bij,bjk->bik bij,bkj->kbi ij->ji ij-> ij->j "
    "bhsd,bhtd->bhst ij,jk,kl->il ij,k-> a,ab,b-> bi,bj,bk->ijk"
)


@pytest.mark.parametrize("subscripts", SUMS.split())
def test_einsum_is_numpys(subscripts: str) -> None:
    terms = subscripts.partition("->")[0].split(",")
    extents = {index: 2 + number for number, index in enumerate(sorted(set("".join(terms))))}
    arrays = [RANDOM.standard_normal([extents[i] for i in term]).astype(np.float32) for term in terms]
    close(ir.einsum(subscripts, *arrays), np.einsum(subscripts, *arrays), 1e-4)


@pytest.mark.parametrize("subscripts", ["ij,kj->ik", "ij,kl->", "ij,ij->ij", "ij,ij,ij->i"])
def test_einsum_of_bytes_does_not_wrap(subscripts: str) -> None:
    ones = np.full((4, 5), 100, np.int8)
    arrays = [ones] * (subscripts.count(",") + 1)
    close(ir.einsum(subscripts, *arrays), np.einsum(subscripts, *(x.astype(np.int32) for x in arrays)))


def test_einsum_of_one_array_is_a_sum_or_a_permutation() -> None:
    bytes_ = np.full((4, 5), 100, np.int8)
    close(ir.einsum("ij->ji", bytes_), bytes_.T)
    close(ir.einsum("ij->j", bytes_), bytes_.sum(0, dtype=np.int32))


def test_tensors_have_dlpack() -> None:
    doubled = ir.Tensor(X) * 2
    np.testing.assert_array_equal(np.from_dlpack(doubled), X * 2)


def test_narrow_types_are_computed_wide() -> None:
    half = CUBE.astype(ml_dtypes.bfloat16)
    wide = half.astype(np.float32)
    found = ir.softmax(ir.Tensor(half)).numpy()
    np.testing.assert_array_equal(found, softmax(wide).astype(ml_dtypes.bfloat16))
    assert ir.std(ir.Tensor(half), dtype="f32").element == "f32"


BAD: list[tuple[Callable[[], Any], str]] = [
    (lambda: ir.take(ir.Tensor(X), X), "indices are integers"),
    (lambda: ir.take_along_axis(ir.Tensor(X), np.array([1]), 0), "one rank"),
    (lambda: ir.take(ir.Tensor(X), np.array([1]), mode="wrap"), "the mode 'wrap'"),
    (lambda: ir.scatter_add(ir.Tensor(X), np.array([1]), X), r"expected updates f32\[1, 4\]"),
    (lambda: ir.one_hot(np.array([1]), -1), "0 or more"),
    (lambda: ir.topk(ir.Tensor(X), 5), "k is 0 to 4"),
    (lambda: ir.tile(ir.Tensor(X), -1), "0 or more"),
    (lambda: ir.repeat(ir.Tensor(X), -1), "0 or more"),
    (lambda: ir.pad(ir.Tensor(X), [(1, 2, 3)]), "expected 2 pairs"),
    (lambda: ir.random_normal(3, seed=0, dtype="i32"), "makes floats"),
    (lambda: ir.random_uniform(3, seed=2**63), "64-bit"),
    (lambda: ir.attention(ir.Tensor(X), X, X.T.copy()), "do not fit"),
    (lambda: ir.attention(ir.zeros((3, 4, 8)), ir.zeros((2, 4, 8)), ir.zeros((2, 4, 8))), "do not fit"),
    (lambda: ir.attention(ir.Tensor(INTS), INTS, INTS), "takes floats"),
    (lambda: ir.attention_log_sum_exp(ir.zeros((3, 4, 8)), ir.zeros((2, 4, 8))), "do not fit"),
    (lambda: ir.attention(ir.Tensor(X), X, X, window=0), "a window of 1 or more"),
    (lambda: ir.attention(ir.Tensor(X), X, X, soft_cap=0.0), "a soft_cap greater than 0"),
    (
        lambda: ir.attention(ir.Tensor(X), X, X, bias=np.zeros((2, 3, 3), np.float32)),
        "does not broadcast to the scores",
    ),
    (lambda: ir.attention(ir.Tensor(X), X, X, bias=np.zeros(3, np.int32)), "floats or bools for bias"),
    (
        lambda: ir.attention_weights(ir.zeros((4, 8)), ir.zeros((5, 8)), ir.zeros(5)),
        r"expects f32\[4\] for log_sum_exp",
    ),
    (lambda: ir.std(ir.Tensor(X), axis=3), "out of range"),
    (lambda: ir.einsum("ij,jk->ik", ir.Tensor(X), X), "extents of 'j' differ"),
    (lambda: ir.einsum("ij,ij->", ir.Tensor(X), INTS), "cannot multiply"),
    (lambda: ir.einsum("ii->i", ir.Tensor(X)), "occurs twice"),
    (lambda: ir.einsum("ij->k", ir.Tensor(X)), "occur before"),
    (lambda: ir.einsum("i->i", ir.Tensor(X)), "names 1 axes"),
    (lambda: ir.einsum("ij", ir.Tensor(X), X), "1 terms for 2 arrays"),
]


@pytest.mark.parametrize(("wrong", "message"), BAD)
def test_errors_name_the_users_line(wrong: Callable[[], Any], message: str) -> None:
    with pytest.raises(IrcError, match=message) as caught:
        wrong()
    assert str(caught.value).startswith(f"{__file__}:{wrong.__code__.co_firstlineno}:")


def test_rows_in_another_order() -> None:
    """The gradient is in the order back."""
    x, order = np.arange(12.0).reshape(4, 3), np.array([2, 0, 3, 1])
    inverse = np.argsort(order)
    np.testing.assert_array_equal(ir.reorder(x, order, inverse).numpy(), x[order])
    g = ir.grad(lambda x: (ir.reorder(x, order, inverse) * np.array([[1.0], [2], [3], [4]])).sum())(ir.Tensor(x))
    np.testing.assert_array_equal(g.numpy()[:, 0], np.array([1.0, 2, 3, 4])[inverse])
    with pytest.raises(IrcError, match="reorder: expected 4 indices"):
        ir.reorder(x, order[:3], inverse)


def test_grouped_products() -> None:
    """Of either form, with empty groups and rows of none; gradients are of the other form."""
    rng = np.random.default_rng(0)
    x, w, g = rng.standard_normal((9, 4)), rng.standard_normal((3, 4, 5)), rng.standard_normal((9, 5))
    ends, groups = np.array([2, 2, 7], np.int32), [slice(0, 2), slice(2, 2), slice(2, 7)]
    wanted = np.zeros((9, 5))
    for rows, matrix in zip(groups, w, strict=True):
        wanted[rows] = x[rows] @ matrix
    np.testing.assert_allclose(ir.grouped_matmul(x, w, ends).numpy(), wanted)
    over_rows = np.stack([x[rows].T @ g[rows] for rows in groups])
    np.testing.assert_allclose(ir.grouped_matmul(x.T, g, ends).numpy(), over_rows)
    of_x, of_w = ir.grad(lambda x, w: (ir.grouped_matmul(x, w, ends) * g).sum(), (0, 1))(ir.Tensor(x), ir.Tensor(w))
    np.testing.assert_allclose(of_w.numpy(), over_rows)
    np.testing.assert_allclose(of_x.numpy()[2:7], g[2:7] @ w[2].T)
    assert not of_x.numpy()[7:].any()
    with pytest.raises(IrcError, match="cannot combine"):
        ir.grouped_matmul(x, w[:2], ends)
    with pytest.raises(IrcError, match="ends as integers"):
        ir.grouped_matmul(x, w, ends.astype(np.float32))


def test_convolutions() -> None:
    """Numbers for all axes of space or one for each; a transposed one, and gradients."""
    rng = np.random.default_rng(0)
    x, k = rng.standard_normal((2, 4, 5, 6)), rng.standard_normal((6, 2, 3, 3))
    found = ir.conv(x, k, 1, 1, [1, 2], groups=2)
    assert found.shape == (2, 6, 5, 7)
    padded, wanted = np.pad(x, [(0, 0), (0, 0), (1, 1), (1, 2)]), np.zeros((2, 6, 5, 7))
    for r, s in np.ndindex(3, 3):
        windows = padded[:, :, r : r + 5, s : s + 7].reshape(2, 2, 2, 5, 7)
        wanted += np.einsum("ngchw,goc->ngohw", windows, k[:, :, r, s].reshape(2, 3, 2)).reshape(2, 6, 5, 7)
    np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-12, atol=1e-12)
    spread = ir.conv(x, k[:4, :1].repeat(4, 1), low=2, high=2, input_dilation=2, flipped=True)
    assert spread.shape == (2, 4, 11, 13)
    of_x, of_k = ir.grad(lambda x, k: ir.conv(x, k, 2, dilation=[1, 2], groups=2).sum(), (0, 1))(
        ir.Tensor(x), ir.Tensor(k)
    )
    assert of_x.shape == x.shape and of_k.shape == k.shape
    with pytest.raises(IrcError, match="and groups=3"):
        ir.conv(x, k, groups=3)
    with pytest.raises(IrcError, match="2 integers of 1 or more for strides"):
        ir.conv(x, k, [1], groups=2)
