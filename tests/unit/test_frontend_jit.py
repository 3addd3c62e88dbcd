"""`jit` on the cpu target."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import irc_frontend as ir
from irc.support.diagnostics import IrcError, render
from irc_frontend import nn, optim

X = np.random.default_rng(0).standard_normal((4, 3)).astype(np.float32)


pytestmark = pytest.mark.usefixtures("on_cpu")


def test_a_function_is_recorded_once_for_each_kind_of_arguments() -> None:
    calls: list[Any] = []

    @ir.jit
    def f(tree: dict[str, Any], scale: float = 2.0) -> Any:
        calls.append(tree["x"].shape)
        return {"y": tree["x"] * scale + tree["b"][0], "scale": scale, "nothing": None}

    for offset in (0, 1, 2):
        result = f({"x": X + np.float32(offset), "b": [np.float32(1)]})
        np.testing.assert_allclose(result["y"].numpy(), (X + offset) * 2 + 1, rtol=1e-6)
        assert result["scale"] == 2.0
        assert result["nothing"] is None
        assert result["y"].is_computed
    assert len(calls) == 1
    f({"x": X[:2], "b": [np.float32(1)]})
    f({"x": X, "b": [np.float32(1)]}, scale=3.0)
    f({"x": X, "b": (np.float32(1),)})
    f({"x": X.astype(np.float64), "b": [np.float64(1)]})
    assert len(calls) == 5
    f({"x": X, "b": [np.float32(5)]}, scale=3.0)
    assert len(calls) == 5


def test_lazy_arguments_and_values_from_outside() -> None:
    outside = ir.Tensor(X) * 2
    noise = ir.random_normal([4, 3], seed=3)

    @ir.jit
    def f(x: Any) -> Any:
        return x + outside + noise, outside, ir.zeros([2])

    lazy = ir.Tensor(X) * 3
    total, same, zeros = f(lazy)
    np.testing.assert_allclose(total.numpy(), 5 * X + noise.numpy(), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(same.numpy(), 2 * X)
    np.testing.assert_array_equal(zeros.numpy(), [0, 0])
    np.testing.assert_allclose(f(lazy * 0)[0].numpy(), 2 * X + noise.numpy(), rtol=1e-5, atol=1e-6)


def test_a_training_step_is_one_program() -> None:
    @ir.jit
    def step(w: Any, x: Any, y: Any, rate: Any) -> Any:
        value, gradient = ir.value_and_grad(lambda w: ((x @ w - y) ** 2).mean())(w)
        return w - rate * gradient, value

    rng = np.random.default_rng(1)
    truth = rng.standard_normal(3).astype(np.float32)
    w: Any = np.zeros(3, np.float32)
    values: list[float] = []
    for _ in range(200):
        x = rng.standard_normal((16, 3)).astype(np.float32)
        w, value = step(w, x, x @ truth, np.float32(0.1))
        values.append(value.item())
    np.testing.assert_allclose(w.numpy(), truth, atol=1e-4)
    assert values[-1] < 1e-6 < values[0]


def test_a_jit_function_inside_of_others() -> None:
    square = ir.jit(lambda x: x * x)
    np.testing.assert_allclose(ir.grad(lambda x: square(x).sum())(X).numpy(), 2 * X)
    twice = ir.jit(lambda x: square(square(x)))
    np.testing.assert_allclose(twice(X).numpy(), X**4, rtol=1e-5)
    slope = ir.jit(ir.grad(ir.grad(lambda x: x**3)))
    assert slope(np.float32(2)).item() == 12


def test_errors_and_exceptions() -> None:
    @ir.jit
    def asks(x: Any) -> Any:
        return x * x.sum().item()

    with pytest.raises(IrcError) as caught:
        asks(X)
    assert "a value is asked for while a function is recorded" in render(caught.value)

    @ir.jit
    def fails(x: Any) -> Any:
        raise KeyError("mine")

    for _ in range(2):
        with pytest.raises(KeyError, match="mine"):
            fails(X)
    with pytest.raises(IrcError, match="neither an array nor constant"):
        ir.jit(lambda x, s: x)(X, {1, 2})


def test_functions_without_arrays() -> None:
    assert ir.jit(lambda n: n + 1)(2) == 3
    np.testing.assert_array_equal(ir.jit(lambda n: ir.ones([n]))(2).numpy(), [1, 1])


@ir.jit(donate=0)
def decayed(params: Any, x: Any) -> Any:
    return {"w": params["w"] * 0.5 + x, "b": params["b"] * 0.5}, params["w"].sum()


def test_donated_tensors_cannot_be_used_again() -> None:
    params = {"w": ir.ones([4]), "b": ir.ones([3])}
    old = params["w"]
    later = old + 1
    x = np.ones(4, np.float32)
    params, _ = decayed(params, x)
    params, total = decayed(params, x)
    assert total.item() == 6
    np.testing.assert_array_equal(params["w"].numpy(), np.full(4, 1.75, np.float32))
    for use in (old.numpy, later.numpy, lambda: decayed({"w": old, "b": params["b"]}, x)):
        with pytest.raises(IrcError, match=r"a Tensor f32\[4\] was donated to decayed, and is used again"):
            use()


def test_a_tensor_is_donated_once() -> None:
    x = ir.ones([4])
    with pytest.raises(IrcError, match="a donated Tensor is given twice in one call"):
        decayed({"w": x, "b": ir.ones([3])}, x)
    assert x.sum().item() == 4


def test_donated_arguments_have_results_of_their_types() -> None:
    with pytest.raises(IrcError, match="argument 0 is donated, and no result of its type"):
        ir.jit(donate=0)(lambda x: x.sum())(ir.ones([4]))
    with pytest.raises(IrcError, match="jit donates positional argument 1, and 1 are given"):
        ir.jit(donate=(0, 1))(lambda x: x)(ir.ones([4]))


def test_a_function_that_was_recorded_with_a_tensor_that_is_donated_later() -> None:
    w = ir.Tensor(np.ones(4, np.float32))
    scaled = ir.jit(lambda x: x * w)
    scaled(ir.ones([4]))
    decayed({"w": w, "b": ir.ones([3])}, np.ones(4, np.float32))
    with pytest.raises(IrcError, match="was donated to decayed"):
        scaled(ir.ones([4]))


def test_a_step_on_donated_arguments_gives_the_same() -> None:
    model, optimizer = nn.Linear(8, 4), optim.AdamW(0.1)
    x, y = np.linspace(-1, 1, 48, dtype=np.float32).reshape(6, 8), np.arange(6) % 4

    def step(state: Any, x: Any, y: Any) -> Any:
        params, memory = state
        loss, gradients = ir.value_and_grad(lambda p: nn.cross_entropy(model(p, x), y))(params)
        return optimizer.update(params, gradients, memory), loss

    def trained(target: str, run: Any) -> Any:
        with ir.target(target):
            params = model.init(0)
            state: Any = (params, optimizer.init(params))
            for _ in range(3):
                state, _ = run(state, x, y)
            return [leaf.numpy() for leaf in ir.tree_leaves(state)]

    wanted = trained("cpu", ir.jit(step))
    for target in ("cpu", "sim"):
        for a, b in zip(trained(target, ir.jit(donate=0)(step)), wanted, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)
