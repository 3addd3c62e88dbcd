"""Layers of images against float64 numpy, on the cpu target: pools, group norms, batch norms and their averages."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import irc_frontend as ir
from irc.support.diagnostics import IrcError, render
from irc_frontend import nn, optim

RNG = np.random.default_rng(7)
Array = np.ndarray[Any, Any]

pytestmark = pytest.mark.usefixtures("on_cpu")


def drawn(*shape: int) -> Array:
    return RNG.standard_normal(shape)


def pooled(x: Array, join: Callable[[Array], Any], window: int, stride: int, padding: int) -> Array:
    """Over two axes, one window after the other, of the elements that there are."""
    places = [(n + 2 * padding - window) // stride + 1 for n in x.shape[1:3]]
    y = np.zeros((len(x), *places, x.shape[-1]))
    for i, j in np.ndindex(*places):
        rows, columns = (range(max(0, at * stride - padding), at * stride - padding + window) for at in (i, j))
        y[:, i, j] = join(x[:, rows.start : rows.stop, columns.start : columns.stop])
    return y


@pytest.mark.parametrize(("window", "stride", "padding"), [(2, None, 0), (3, 2, 1), (3, 1, 0)])
def test_pools(window: int, stride: int | None, padding: int) -> None:
    x, numbers = drawn(2, 7, 6, 3), (window, stride or window, padding)
    for layer, join in ((nn.MaxPool, np.max), (nn.AvgPool, np.mean)):
        pool = layer((window, window), stride, padding)
        wanted = pooled(x, lambda part, join=join: join(part, (1, 2)), *numbers)
        np.testing.assert_allclose(pool(pool.init(0), x).numpy(), wanted, rtol=1e-12)
    total = ir.grad(lambda x: nn.AvgPool((window, window), stride, padding)({}, x).sum())(x).numpy().sum()
    np.testing.assert_allclose(total, np.prod(pooled(x, np.size, *numbers).shape), rtol=1e-9)


def normalized(x: Array, axes: tuple[int, ...], eps: float = 1e-5) -> Array:
    return (x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + eps)


@pytest.mark.parametrize("shape", [(3, 4, 5, 12), (3, 7, 12), (5, 12)])
@pytest.mark.parametrize("groups", [1, 4, 12])
def test_group_norms(shape: tuple[int, ...], groups: int) -> None:
    layer, x = nn.GroupNorm(12, groups), drawn(*shape) * 3 + 1
    params = ir.tree_map(lambda p: drawn(*p.shape), layer.init(0))
    apart = x.reshape(len(x), -1, groups, 12 // groups)
    wanted = normalized(apart, (1, 3)).reshape(shape) * params["scale"] + params["shift"]
    np.testing.assert_allclose(layer(params, x).numpy(), wanted, rtol=1e-9, atol=1e-9)


def test_batch_norms_train_by_the_batch_and_serve_by_the_averages() -> None:
    layer, batch = nn.BatchNorm(6), nn.Batch()
    params = {name: drawn(6) for name in ("scale", "shift", "mean")} | {"var": drawn(6) ** 2}
    x = drawn(4, 3, 5, 6) * 2 + 1
    wanted = normalized(x, (0, 1, 2)) * params["scale"] + params["shift"]
    np.testing.assert_allclose(layer(params, x, batch).numpy(), wanted, rtol=1e-9, atol=1e-9)
    moved = batch.averaged({"first": params, "others": [params["mean"]]}, rate=0.25)["first"]
    np.testing.assert_allclose(moved["mean"].numpy(), 0.75 * params["mean"] + 0.25 * x.mean((0, 1, 2)), rtol=1e-9)
    np.testing.assert_allclose(moved["var"].numpy(), 0.75 * params["var"] + 0.25 * x.var((0, 1, 2), ddof=1), rtol=1e-9)
    assert moved["scale"] is params["scale"]
    served = (x - params["mean"]) / np.sqrt(params["var"] + 1e-5) * params["scale"] + params["shift"]
    np.testing.assert_allclose(layer(params, x).numpy(), served, rtol=1e-9, atol=1e-9)


def test_averages_come_out_of_a_training_step() -> None:
    """As docs/training.md does it: they move, in a program that is compiled once, and the optimizer leaves them."""
    layer, optimizer = nn.BatchNorm(3), optim.AdamW(1e-2)
    params = layer.init(0)
    state = optimizer.init(params)

    @ir.jit
    def step(params: Any, state: Any, x: Any) -> Any:
        def loss(params: nn.Params) -> tuple[ir.Tensor, nn.Params]:
            batch = nn.Batch()
            return (layer(params, x, batch) ** 3).sum(), batch.averaged(params)

        (_, params), gradients = ir.value_and_grad(loss, has_aux=True)(params)
        return optimizer.update(params, gradients, state)

    x, mean = (drawn(64, 3) * 2 + 5).astype(np.float32), np.zeros(3)
    for _ in range(3):
        params, state = step(params, state, x)
        mean += 0.1 * (x.mean(0) - mean)
    np.testing.assert_allclose(params["mean"].numpy(), mean, rtol=1e-5)
    assert (params["scale"].numpy() != 1).all()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: nn.MaxPool((2, 2))({}, drawn(3, 4, 5)), "a window (2, 2) takes 4 axes, found f64[3, 4, 5]"),
        (lambda: nn.AvgPool((3,), padding=2)({}, drawn(3, 4, 5)), "a padding of at most half of it, found 2"),
        (lambda: nn.GroupNorm(6, 4).init(0), "a number of groups that divides 6 channels, found 4"),
        (lambda: nn.GroupNorm(6, 2)(nn.GroupNorm(6, 2).init(0), drawn(3, 5)), "6 channels takes them as the last"),
        (lambda: nn.BatchNorm(6)(nn.BatchNorm(6).init(0), drawn(6)), "the last of two axes or more, found f64[6]"),
    ],
)
def test_errors_name_the_users_line(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(IrcError) as caught:
        call()
    assert message in render(caught.value)
    assert "test_nn_images.py" in render(caught.value)
