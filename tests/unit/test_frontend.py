"""`irc_frontend`: lazy tensors against numpy, on the cpu target."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import irc_frontend as ir
from irc.support.diagnostics import IrcError, render
from irc_frontend import evaluation
from irc_frontend.graph import sorted_nodes

RANDOM = np.random.default_rng(0)
X = RANDOM.standard_normal((3, 4)).astype(np.float32)
Y = RANDOM.standard_normal((3, 4)).astype(np.float32)
ROW = RANDOM.standard_normal(4).astype(np.float32)
INTS = RANDOM.integers(0, 10, (3, 4)).astype(np.int32)


pytestmark = pytest.mark.usefixtures("on_cpu")


def close(tensor: Any, expected: Any, tolerance: float = 2e-6) -> None:
    """The same shape and dtype, and equal up to f32 rounding."""
    value, wanted = tensor.numpy(), np.asarray(expected)
    assert value.shape == wanted.shape
    assert value.dtype == wanted.dtype
    assert tensor.shape == wanted.shape
    assert tensor.dtype == wanted.dtype
    np.testing.assert_allclose(value, wanted, rtol=tolerance, atol=tolerance)


OPERATORS: list[Callable[[Any, Any], Any]] = [
    lambda a, b: a + b,
    lambda a, b: a - b,
    lambda a, b: a * b,
    lambda a, b: a / b,
    lambda a, b: a // b,
    lambda a, b: a % b,
    lambda a, b: abs(a) ** b,
    lambda a, b: a < b,
    lambda a, b: a >= b,
    lambda a, b: a == b,
    lambda a, b: a != b,
]


@pytest.mark.parametrize("operator", OPERATORS)
def test_operators_are_numpys(operator: Callable[[Any, Any], Any]) -> None:
    close(operator(ir.Tensor(X), ir.Tensor(Y)), operator(X, Y), 1e-5)
    close(operator(ir.Tensor(X), ir.Tensor(ROW)), operator(X, ROW), 1e-5)
    close(operator(ir.Tensor(X), 1.5), operator(X, np.float32(1.5)), 1e-5)


def test_reflected_operators_and_numpy_on_the_left() -> None:
    x = ir.Tensor(X)
    close(2 - x, 2 - X)
    close(1 / (x * x + 1), 1 / (X * X + 1), 1e-5)
    close(Y + x, Y + X)
    close(X @ ir.Tensor(Y.T.copy()), X @ Y.T, 1e-5)


def test_integers_and_bools() -> None:
    i = ir.Tensor(INTS)
    close(i // 3, INTS // 3)
    close(i % 3 == 1, INTS % 3 == 1)
    close((i & 1) | (i << 2), (INTS & 1) | (INTS << 2))
    close(~(i > 4), ~(INTS > 4))
    close(i**2, INTS**2)


@pytest.mark.parametrize("name", ["exp", "tanh", "sin", "cos", "sign", "floor", "ceil", "abs", "negative", "round"])
def test_functions_are_numpys(name: str) -> None:
    close(getattr(ir, name)(ir.Tensor(X)), getattr(np, name)(X), 1e-6)


@pytest.mark.parametrize("name", ["sum", "prod", "mean", "max", "min", "argmax", "argmin"])
@pytest.mark.parametrize("axis", [None, 0, -1])
@pytest.mark.parametrize("keepdims", [False, True])
def test_reductions_are_numpys(name: str, axis: int | None, keepdims: bool) -> None:
    close(
        getattr(ir, name)(ir.Tensor(X), axis=axis, keepdims=keepdims),
        getattr(np, name)(X, axis=axis, keepdims=keepdims),
        1e-5,
    )


def test_reductions_over_several_axes() -> None:
    x = RANDOM.standard_normal((2, 3, 4)).astype(np.float32)
    close(ir.Tensor(x).sum((0, -1)), x.sum((0, 2)), 1e-5)
    close(ir.Tensor(x).var(axis=1, correction=1), x.var(axis=1, ddof=1), 1e-5)
    close((ir.Tensor(x) > 0).any(axis=(1, 2), keepdims=True), (x > 0).any(axis=(1, 2), keepdims=True))
    close((ir.Tensor(x) > 5).all(), np.all(x > 5))
    close(ir.cumsum(ir.Tensor(x), 1), np.cumsum(x, 1), 1e-5)
    close(ir.sort(ir.Tensor(x), 0), np.sort(x, 0))


SLICES: list[Any] = [
    1,
    -1,
    slice(1, None),
    (slice(None), slice(None, None, 2)),
    (..., 2),
    (None, 1),
    (slice(-2, None), None, 3),
    (slice(2, 1),),
]


@pytest.mark.parametrize("key", SLICES)
def test_indexing_is_numpys(key: Any) -> None:
    close(ir.Tensor(X)[key], X[key])


def test_gathering() -> None:
    close(ir.Tensor(X)[ir.Tensor(np.array([2, 0, 2]))], X[[2, 0, 2]])
    close(ir.take(ir.Tensor(X), np.array([[1, 3]]), axis=1), np.take(X, [[1, 3]], axis=1))


def test_shapes() -> None:
    x = ir.Tensor(X)
    close(x.reshape(2, -1), X.reshape(2, -1))
    close(x.T, X.T)
    close(ir.transpose(x.reshape(3, 2, 2), (2, 0, 1)), X.reshape(3, 2, 2).transpose(2, 0, 1))
    close(x.reshape(3, 2, 2).mT, np.swapaxes(X.reshape(3, 2, 2), 1, 2))
    close(ir.concatenate([x, ir.Tensor(Y)], axis=1), np.concatenate([X, Y], axis=1))
    close(ir.stack([x, ir.Tensor(Y)], axis=-1), np.stack([X, Y], axis=-1))
    close(ir.broadcast_to(ir.Tensor(ROW), (2, 3, 4)), np.broadcast_to(ROW, (2, 3, 4)))
    close(ir.expand_dims(x, 1), X[:, None])
    close(ir.squeeze(ir.expand_dims(x, 0)), X)
    close(ir.flip(x, 1), X[:, ::-1])
    close(ir.pad(x, [(1, 0), (0, 2)], constant_values=7), np.pad(X, [(1, 0), (0, 2)], constant_values=7))
    close(ir.tril(x, 1), np.tril(X, 1))
    close(ir.split(x, 2, axis=1)[1], X[:, 2:])
    assert x.flatten().shape == (12,)


def test_made_arrays() -> None:
    close(ir.zeros((2, 3)), np.zeros((2, 3), np.float32))
    close(ir.full(3, 7, "i32"), np.full(3, 7, np.int32))
    close(ir.arange(5), np.arange(5))
    close(ir.arange(10, 0, -3), np.arange(10, 0, -3))
    close(ir.arange(3, dtype="f32"), np.arange(3, dtype=np.float32))


def test_choice() -> None:
    x = ir.Tensor(X)
    close(ir.where(x > 0, x, 0), np.where(X > 0, X, np.float32(0)))
    close(ir.clip(x, -0.5, 0.5), np.clip(X, -0.5, 0.5))
    close(ir.maximum(x, ir.Tensor(ROW)), np.maximum(X, ROW))
    close(ir.relu(x), np.maximum(X, 0))


def test_softmax_and_norms() -> None:
    x = ir.Tensor(X)
    e = np.exp(X - X.max(-1, keepdims=True))
    close(ir.softmax(x), e / e.sum(-1, keepdims=True), 1e-5)
    centred = X - X.mean(-1, keepdims=True)
    close(ir.layer_norm(x), centred / np.sqrt(X.var(-1, keepdims=True) + 1e-5), 1e-5)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ((4,), (4,)),
        ((3, 4), (4,)),
        ((4,), (4, 5)),
        ((2, 3, 4), (4, 5)),
        ((2, 1, 3, 4), (5, 4, 2)),
        ((4,), (2, 4, 3)),
        ((2, 3, 4), (4,)),
    ],
)
def test_matmul_is_numpys(a: tuple[int, ...], b: tuple[int, ...]) -> None:
    x, y = RANDOM.standard_normal(a).astype(np.float32), RANDOM.standard_normal(b).astype(np.float32)
    close(ir.Tensor(x) @ ir.Tensor(y), x @ y, 1e-5)


def test_element_types() -> None:
    half = X.astype(ml_dtypes.bfloat16)
    total = ir.Tensor(half).sum()
    assert total.element == "bf16"
    assert ir.Tensor(half).sum(dtype="f32").element == "f32"
    assert ir.Tensor(INTS.astype(np.int8)).sum().element == "i32"
    assert ir.Tensor(INTS).mean().element == "f32"
    assert (ir.Tensor(INTS.astype(np.int8)) @ ir.Tensor(INTS.astype(np.int8)).T).element == "i32"
    close(ir.Tensor(X).astype("bf16"), half)
    close(ir.Tensor(half).astype(np.float64), half.astype(np.float64))
    assert ir.Tensor([1.5, 2.0]).element == "f32"
    assert ir.Tensor([1, 2], dtype="i8").element == "i8"


BAD: list[tuple[Callable[[], Any], str]] = [
    (lambda: ir.Tensor(X) + ir.Tensor(INTS), "cannot add"),
    (lambda: ir.Tensor(INTS) / 2, "cannot div"),
    (lambda: ir.Tensor(INTS) + 0.5, "meets an i32 array"),
    (lambda: ir.Tensor(INTS.astype(np.int8)) + 300, "out of the range of i8"),
    (lambda: (ir.Tensor(X) > 0) + (ir.Tensor(X) > 1), "cannot add bool"),
    (lambda: ir.Tensor(X) @ ir.Tensor(X), "contracted extents differ"),
    (lambda: ir.Tensor(X).reshape(5, -1), "cannot reshape"),
    (lambda: ir.Tensor(X)[5], "out of range"),
    (lambda: ir.Tensor(X)[::0], "cannot slice by"),
    (lambda: ir.Tensor(X)[True], "cannot index by one bool"),
    (lambda: ir.Tensor(X)[:, 0.5], "cannot index by float"),
    (lambda: ir.Tensor(X)[:, np.array([0.5])], "indices are integers"),
    (lambda: ir.Tensor(X).sum(axis=2), "out of range"),
    (lambda: ir.exp(ir.Tensor(INTS)), "cannot exp"),
    (lambda: ir.Tensor(np.zeros(3, np.complex64)), "no element type complex64"),
    (lambda: ir.zeros((0, 3)).max(), "over no elements"),
    (lambda: ir.concatenate([ir.Tensor(X), ir.Tensor(ROW)]), "cannot concatenate"),
    (lambda: ir.zeros((-1,)), "0 or more"),
]


@pytest.mark.parametrize(("wrong", "message"), BAD)
def test_errors_name_the_users_line(wrong: Callable[[], Any], message: str) -> None:
    with pytest.raises(IrcError, match=message) as caught:
        wrong()
    assert str(caught.value).startswith(f"{__file__}:{wrong.__code__.co_firstlineno}:")
    assert "ir." in render(caught.value).splitlines()[1]


def test_ops_carry_the_users_line_and_column() -> None:
    from irc.ir.locations import innermost
    from irc_frontend.build import build_module

    x = ir.Tensor(X)
    y = ir.exp(x) + 1
    module = build_module(sorted_nodes([y.node]), [y.node])
    place = {op.name: innermost(op.location) for op in module.walk()}["nd.exp"]
    assert place is not None
    assert place.filename.data == __file__
    source = open(__file__).read().splitlines()[place.line.data - 1]  # noqa: SIM115, PTH123
    assert source[place.column.data - 1 :].startswith("ir.exp(x)")


def test_the_same_structure_compiles_once() -> None:
    def program(x: Any, scale: float) -> Any:
        return ir.softmax(ir.Tensor(x) * scale).sum(axis=0)

    program(X, 0.125).numpy()
    before = evaluation.compiled_count()
    close(program(Y, 0.125), program(Y, 0.125).numpy())
    assert evaluation.compiled_count() == before
    program(X, 0.25).numpy()
    program(X[:2], 0.125).numpy()
    assert evaluation.compiled_count() == before + 2


def test_leaf_identity_is_part_of_the_structure() -> None:
    a = ir.Tensor(X)
    close(a * a, X * X)
    close(ir.Tensor(X) * ir.Tensor(Y), X * Y)


def test_results_are_kept_and_shared_parts_computed_once() -> None:
    x = ir.Tensor(X)
    shared = ir.exp(x)
    a, b = shared + 1, shared * 2
    first, second = ir.realize(a, b)
    np.testing.assert_allclose(first - 1, second / 2, rtol=1e-5)
    assert a.is_computed
    assert b.is_computed
    assert a.value() is first
    after = a + b
    assert len(sorted_nodes([after.node])) == 3
    assert repr(after) == "<Tensor f32[3, 4], not computed>"
    close(after, first + second)
    assert repr(after).startswith("Tensor([[")


def test_python_values() -> None:
    x = ir.Tensor(np.array([1.0, 2.0], np.float32))
    assert float(x[1]) == 2.0
    assert x.sum().item() == 3.0
    assert bool((x > 0).all())
    assert [t.item() for t in x] == [1.0, 2.0]
    assert len(x) == 2
    assert np.asarray(x + 1).tolist() == [2.0, 3.0]
    assert x.tolist() == [1.0, 2.0]


def test_a_deep_graph_needs_no_recursion() -> None:
    x = ir.Tensor(np.ones(2, np.float32))
    for _ in range(3000):
        x = x + 1
    assert len(sorted_nodes([x.node])) > 3000
    assert x.tolist() == [3001.0, 3001.0]


def test_importing_is_light() -> None:
    code = "import sys, irc_frontend; sys.exit('xdsl' in sys.modules or 'lark' in sys.modules)"
    assert (
        subprocess.run([sys.executable, "-c", code], env={"PYTHONPATH": ":".join(sys.path)}, check=False).returncode
        == 0
    )


@pytest.mark.parametrize(
    "key",
    [np.s_[::-1], np.s_[::-2, 1::2], np.s_[0:0:-1], np.s_[2:0:-2, ..., ::-1], np.s_[1, ::-3], np.s_[5:1], np.s_[:0:-1]],
)
def test_slices_with_negative_steps_are_numpys(key: Any) -> None:
    for x in (X, X[:0]):
        if isinstance(key, tuple) and 1 in key and not len(x):
            continue
        close(ir.Tensor(x)[key], x[key])


def test_printing() -> None:
    x = ir.Tensor(X) * 2
    assert "not computed" in repr(x)
    assert str(x) == str(X * 2)
    assert x.is_computed
    assert f"{x.sum():.3f}" == f"{(X * 2).sum():.3f}"
    assert f"{x}" == str(X * 2)
    shown: list[str] = []
    ir.jit(lambda a: shown.append(str(a * 2)) or a)(X)
    assert shown == [f"<Tensor f32[{X.shape[0]}, {X.shape[1]}], not computed>"]


def test_copies_and_pickles_have_the_value() -> None:
    x = ir.Tensor(X) + 1
    for copied in (pickle.loads(pickle.dumps(x)), copy.copy(x), copy.deepcopy(x)):
        close(copied, X + 1)
    half = ir.Tensor(X).astype("bf16")
    close(pickle.loads(pickle.dumps(half)), half.numpy())


def test_numpy_shares_memory() -> None:
    x = ir.Tensor(X)
    assert np.shares_memory(np.from_dlpack(x), X)
    assert np.shares_memory(x.numpy(), X)
    y = x + 1
    assert np.shares_memory(np.from_dlpack(y), y.numpy())


TRUTH = X > 0


@pytest.mark.parametrize("name", "equal not_equal less less_equal greater greater_equal mod".split())
def test_comparisons_are_numpys(name: str) -> None:
    other = np.where(TRUTH, X, X[::-1])
    close(getattr(ir, name)(ir.Tensor(X), other), getattr(np, name)(X, other))


def test_truth_values_and_bits_are_numpys() -> None:
    ints, more = INTS, INTS[::-1] + 3
    for name in ("logical_and", "logical_or", "logical_xor"):
        close(getattr(ir, name)(TRUTH, TRUTH[::-1]), getattr(np, name)(TRUTH, TRUTH[::-1]))
        close(getattr(ir, name)(TRUTH, True), getattr(np, name)(TRUTH, True))
    for name in ("bitwise_and", "bitwise_or", "bitwise_xor"):
        close(getattr(ir, name)(ints, more), getattr(np, name)(ints, more))
    close(ir.invert(ints), ~ints)
    close(ir.left_shift(ints, 2), ints << 2)
    close(ir.right_shift(ints, 1), ints >> 1)
    odd = np.array([1, np.nan, np.inf, -np.inf, 0], np.float32)
    close(ir.isfinite(odd), np.isfinite(odd))
    close(ir.count_nonzero(odd), np.count_nonzero(odd))
    close(ir.count_nonzero(TRUTH, axis=1), np.count_nonzero(TRUTH, axis=1))
    close(ir.square(X), np.square(X))


def test_a_target_that_there_is_not() -> None:
    with pytest.raises(IrcError, match="unknown target gpu") as caught, ir.target("gpu"):
        pass
    assert 'ir.target("gpu")' in render(caught.value)
