"""`grad`, `value_and_grad` and trees in Python, on the cpu target."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest

import irc_frontend as ir
from irc.support.diagnostics import IrcError, render
from irc_frontend.evaluation import compiled_count

RANDOM = np.random.default_rng(0)
X = RANDOM.standard_normal((5, 3)).astype(np.float32)
Y = RANDOM.standard_normal(5).astype(np.float32)


class Layer(NamedTuple):
    w: Any
    b: Any


pytestmark = pytest.mark.usefixtures("on_cpu")


def params() -> dict[str, Any]:
    rng = np.random.default_rng(1)
    layer = Layer(rng.standard_normal((3, 4)).astype(np.float32), np.zeros(4, np.float32))
    return {"hidden": layer, "out": [rng.standard_normal(4).astype(np.float32)], "unused": None}


def loss(p: dict[str, Any], x: Any, y: Any) -> tuple[Any, dict[str, Any]]:
    hidden = ir.tanh(x @ p["hidden"].w + p["hidden"].b)
    return ((hidden @ p["out"][0] - y) ** 2).mean(), {"hidden": hidden, "name": "mlp"}


def test_gradients_are_trees_like_the_arguments() -> None:
    (value, aux), gradients = ir.value_and_grad(loss, has_aux=True)(params(), ir.Tensor(X), Y)
    assert list(gradients) == ["hidden", "out", "unused"]
    assert isinstance(gradients["hidden"], Layer)
    assert isinstance(gradients["out"], list)
    assert gradients["unused"] is None
    assert aux["name"] == "mlp"
    p = params()
    hidden = np.tanh(X @ p["hidden"].w)
    error = hidden @ p["out"][0] - Y
    np.testing.assert_allclose(value.numpy(), (error**2).mean(), rtol=1e-5)
    np.testing.assert_allclose(aux["hidden"].numpy(), hidden, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(gradients["out"][0].numpy(), 2 / 5 * hidden.T @ error, rtol=1e-4, atol=1e-5)
    d_hidden = np.outer(2 / 5 * error, p["out"][0]) * (1 - hidden**2)
    np.testing.assert_allclose(gradients["hidden"].w.numpy(), X.T @ d_hidden, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(gradients["hidden"].b.numpy(), d_hidden.sum(0), rtol=1e-4, atol=1e-5)


def test_value_and_gradients_are_one_program() -> None:
    before = compiled_count()
    (value, _), gradients = ir.value_and_grad(loss, has_aux=True)(params(), X + np.float32(1), Y)
    ir.realize(value, *ir.tree_leaves(gradients))
    (value, _), gradients = ir.value_and_grad(loss, has_aux=True)(params(), X + np.float32(2), Y)
    ir.realize(value, *ir.tree_leaves(gradients))
    assert compiled_count() == before + 1


def test_higher_order() -> None:
    def f(x: Any) -> Any:
        return x**3

    third = ir.grad(ir.grad(ir.grad(f)))
    assert third(2.0).item() == 6
    x = np.array([1.0, 2.0], np.float32)
    hessian_vector = ir.grad(lambda x: (ir.grad(lambda x: (x**3).sum())(x) * x).sum())
    np.testing.assert_allclose(hessian_vector(x).numpy(), 9 * x**2)


def test_inner_gradients_see_outer_values() -> None:
    """An inner function uses the outer's argument; the two are differentiated independently of each other."""

    def outer(x: Any) -> Any:
        return ir.grad(lambda y: x * y * y)(x) * x

    np.testing.assert_allclose(ir.grad(outer)(3.0).numpy(), 6 * 3.0**2)


def test_several_arguments_and_those_left_alone() -> None:
    def f(x: Any, n: Any, y: Any) -> Any:
        return (x * y).sum() * n.astype("f32")

    dy, dx = ir.grad(f, wrt=(2, 0))(X, ir.Tensor(np.array(2)), X + 1)
    np.testing.assert_allclose(dx.numpy(), 2 * (X + 1))
    np.testing.assert_allclose(dy.numpy(), 2 * X)


def test_a_gradient_of_a_computed_tensor_is_lazy_and_not_computed_twice() -> None:
    x = ir.Tensor(X) * 2
    g = ir.grad(lambda x: (x * x).sum())(x)
    assert not g.is_computed
    assert not x.is_computed
    np.testing.assert_allclose(g.numpy(), 4 * X)


def test_a_result_that_does_not_depend_on_the_argument() -> None:
    value, gradient = ir.value_and_grad(lambda x: ir.Tensor(Y).sum())(X)
    np.testing.assert_allclose(value.numpy(), Y.sum(), rtol=1e-6)
    np.testing.assert_array_equal(gradient.numpy(), np.zeros_like(X))
    assert ir.grad(lambda x: x)(2.0).item() == 1


def test_gradients_at_negative_indices() -> None:
    x = ir.Tensor(np.arange(6.0).reshape(2, 3))
    found = ir.grad(lambda x: (ir.take(x, np.array([-1, 0]), 1) * np.array([2.0, 3.0])).sum())(x).numpy()
    np.testing.assert_array_equal(found, [[3.0, 0.0, 2.0]] * 2)
    found = ir.grad(lambda x: ir.take_along_axis(x, np.array([[-1], [-3]]), 1).sum())(x).numpy()
    np.testing.assert_array_equal(found, [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]])


def test_gradients_of_topk_take_and_narrow_floats() -> None:
    """Ops with several results, with integers, and deferred casts come back as nodes."""

    def f(x: Any) -> Any:
        values, indices = ir.topk(x, 2)
        return (values * ir.take(x, indices, 0)).sum().astype("f32")

    x = ir.Tensor(np.array([1.0, 3.0, 2.0], np.float32)).astype("bf16")
    np.testing.assert_array_equal(ir.grad(f)(x).astype("f32").numpy(), [0, 6, 4])


def error_of(function: Any, *args: Any, **options: Any) -> str:
    with pytest.raises(IrcError) as caught:
        ir.grad(function, **options)(*args)
    return render(caught.value)


def test_errors_name_the_users_line() -> None:
    assert "cannot differentiate with respect to i64[2], argument [0]['n']" in error_of(
        lambda p: p["n"].sum(), {"n": np.arange(2)}
    )
    assert "a gradient is of one float, found f32[5, 3]" in error_of(lambda x: x, X)
    assert "a gradient is of one float, found i32[]" in error_of(lambda x: (x > 0).sum(), X)
    assert "gives a Tensor, found float" in error_of(lambda x: 1.0, X)
    assert "wrt names argument 1, found 1" in error_of(lambda x: x.sum(), X, wrt=1)
    assert "gives a pair" in error_of(lambda x: x.sum(), X, has_aux=True)
    shown = error_of(lambda x: x.sum() * float(x.sum()), X)
    assert "a value is asked for while a function is recorded" in shown
    assert "test_frontend_gradients.py" in shown


def test_a_function_that_raises_leaves_nothing_behind() -> None:
    def broken(x: Any) -> Any:
        raise ZeroDivisionError(x.shape)

    with pytest.raises(ZeroDivisionError):
        ir.grad(broken)(X)
    np.testing.assert_allclose(ir.grad(lambda x: x.sum())(X).numpy(), np.ones_like(X))


def test_trees() -> None:
    tree = {"a": [1, (2, None)], "b": Layer(3, 4)}
    assert ir.tree_leaves(tree) == [1, 2, 3, 4]
    assert ir.tree_map(lambda a, b: a + b, tree, tree) == {"a": [2, (4, None)], "b": Layer(6, 8)}
    with pytest.raises(ValueError, match="trees of different shapes"):
        ir.tree_map(max, tree, {"a": 1})
