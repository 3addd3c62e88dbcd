"""Gradients of kernels written in Python: those that the user gives, and those of what a kernel computes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import irc_frontend as ir
from irc.support.diagnostics import IrcError, render
from irc_frontend.graph import LAUNCH, sorted_nodes
from irc_frontend.kernels import Kernel

pytestmark = pytest.mark.usefixtures("on_cpu")
X = np.random.default_rng(0).standard_normal((5, 6), np.float32)


def cubes() -> Kernel:
    @ir.kernel
    def cube(x: ir.Tensor, factor: float = 1.0) -> ir.Tensor:
        out = ir.empty_like(x)
        for m, n in ir.tiles(*x.shape):
            out[m, n] = x[m, n] * x[m, n] * x[m, n] * factor
        return out

    return cube


def test_the_gradient_of_what_a_kernel_computes() -> None:
    gradient = ir.grad(lambda x: ir.sin(cubes()(x, 2.0)).sum())(X)
    np.testing.assert_allclose(gradient.numpy(), np.cos(2 * X**3) * 6 * X**2, rtol=2e-5, atol=1e-5)


def test_a_gradient_has_a_gradient() -> None:
    cube = cubes()
    second = ir.grad(lambda x: (ir.grad(lambda x: cube(x).sum())(x) * X).sum())(X)
    np.testing.assert_allclose(second.numpy(), 6 * X * X, rtol=2e-5)


def test_the_value_is_what_the_kernel_gives() -> None:
    """The forward pass launches the kernel; nothing of the backward pass does."""
    cube = cubes()
    value, gradient = ir.value_and_grad(lambda x: cube(x).sum())(ir.Tensor(X))
    launches = [sum(node.op == LAUNCH for node in sorted_nodes([each.node])) for each in (value, gradient)]
    assert launches == [1, 0]


def test_a_gradient_that_the_user_gives() -> None:
    """It is used by every config of the kernel, and may be a kernel."""
    cube = cubes()

    @ir.kernel
    def slope(g: ir.Tensor, x: ir.Tensor, factor: float) -> ir.Tensor:
        out = ir.empty_like(x)
        for m, n in ir.tiles(*x.shape):
            out[m, n] = 100.0 * factor * g[m, n] * x[m, n]
        return out

    @cube.gradient
    def _(g: ir.Tensor, y: ir.Tensor, x: ir.Tensor, factor: float = 1.0) -> ir.Tensor:
        assert y.shape == x.shape
        return slope(g, x, factor)

    for kernel in (cube, cube.with_config(warps=2)):
        gradient = ir.grad(lambda x, kernel=kernel: (kernel(x, 3.0) * X).sum())(X)
        np.testing.assert_allclose(gradient.numpy(), 300 * X * X, rtol=1e-6)
    second = ir.grad(lambda x: ir.grad(lambda x: cube(x).sum())(x).sum())(X)
    np.testing.assert_allclose(second.numpy(), np.full_like(X, 100))


@ir.kernel
def moments(arrays: dict[str, ir.Tensor], rows: ir.Tensor) -> dict[str, Any]:
    """Trees, integers among arguments and results, and a constant among the latter."""
    x = arrays["x"]
    mean, square, first = ir.empty(x.shape[0]), ir.empty(x.shape[0]), ir.empty(x.shape[0], "i32")
    for m in ir.tiles(x.shape[0]):
        row = x[m, :] * arrays["w"][:]
        mean[m], square[m] = row.mean(axis=1), (row * row).mean(axis=1)
        first[m] = rows[m] + 1
    return {"mean": mean, "others": (square, first), "name": "moments"}


ROWS = np.arange(5, dtype=np.int32)
W = np.linspace(0.5, 1.5, 6, dtype=np.float32)


def _moments_loss(arrays: dict[str, Any]) -> Any:
    found = moments(arrays, ROWS)
    assert found["name"] == "moments"
    return (found["mean"] * found["others"][1].astype("f32")).sum() + ir.exp(found["others"][0]).sum()


def test_trees_of_arguments_and_results() -> None:
    def expected(arrays: dict[str, Any]) -> Any:
        row = arrays["x"] * arrays["w"]
        return (row.mean(axis=1) * (ROWS + 1).astype(np.float32)).sum() + ir.exp((row * row).mean(axis=1)).sum()

    arrays = {"x": ir.Tensor(X), "w": ir.Tensor(W)}
    for found, wanted in zip(ir.grad(_moments_loss)(arrays).values(), ir.grad(expected)(arrays).values(), strict=True):
        np.testing.assert_allclose(found.numpy(), wanted.numpy(), rtol=2e-5, atol=1e-6)


def test_a_given_gradient_of_trees() -> None:
    """What no result depends on has a cotangent of zeros, and None is no gradient."""

    def gradient(g: Any, y: Any, arrays: Any, rows: Any) -> Any:
        assert y["name"] == g["name"] == "moments"
        assert g["others"][0].shape == (5,)
        return g["mean"][:, None] + 0.0 * arrays["x"], None, None

    fresh = Kernel(moments.function)
    fresh.gradient(gradient)
    arrays = {"x": ir.Tensor(X), "w": ir.Tensor(W)}
    found = ir.grad(lambda arrays: (fresh(arrays, ROWS)["mean"] * 2.0).sum())(arrays)
    np.testing.assert_array_equal(found["x"].numpy(), np.full_like(X, 2))
    np.testing.assert_array_equal(found["w"].numpy(), np.zeros_like(W))


def test_host_code_and_kernels_inside() -> None:
    """What a kernel computes outside of its loops is differentiated too, with the gradients of kernels that it calls."""
    cube = cubes()

    @cube.gradient
    def _(g: ir.Tensor, y: ir.Tensor, x: ir.Tensor) -> ir.Tensor:
        return 7.0 * g

    @ir.kernel
    def outer(x: ir.Tensor) -> ir.Tensor:
        y = cube(x * 2.0)
        out = ir.empty_like(x)
        for m, n in ir.tiles(*x.shape):
            out[m, n] = y[m, n] * X_TENSOR[m, n]
        return out.sum(axis=1)

    gradient = ir.grad(lambda x: outer(x).sum())(X)
    np.testing.assert_allclose(gradient.numpy(), 14 * X, rtol=1e-6)


X_TENSOR = ir.Tensor(X)


def test_a_gradient_reads_other_arrays() -> None:
    """Those that the function finds around it, of the graph and of its arguments."""
    cube = cubes()
    table = ir.Tensor(np.full_like(X, 3))

    def model(x: ir.Tensor, w: ir.Tensor) -> ir.Tensor:
        @cube.gradient
        def _(g: ir.Tensor, y: ir.Tensor, x: ir.Tensor) -> ir.Tensor:
            return g * table * w

        return cube(x).sum()

    step = ir.jit(lambda x, w: ir.grad(model)(x, w))
    np.testing.assert_allclose(step(X, 2 * X).numpy(), 6 * X)


def test_a_jit_function_trains() -> None:
    cube = cubes()
    step = ir.jit(ir.value_and_grad(lambda x, y: ((cube(x) - y) ** 2).mean()))
    value, gradient = step(X, X)
    difference = X**3 - X
    np.testing.assert_allclose(float(value), (difference**2).mean(), rtol=1e-5)
    np.testing.assert_allclose(gradient.numpy(), 2 * difference * 3 * X**2 / X.size, rtol=2e-4, atol=1e-6)


# Errors


def test_a_kernel_without_a_gradient_names_its_line() -> None:
    @ir.kernel
    def last(x: ir.Tensor) -> ir.Tensor:
        out = ir.empty(x.shape[1], x.dtype)
        for b, n in ir.tiles(range(x.shape[0]), x.shape[1]):
            out[n] = x[b, n]  # here
        return out

    with pytest.raises(IrcError, match="last has no gradient: a store of several tiles to one place") as caught:
        ir.grad(lambda x: last(x).sum())(X)
    assert "# here" in render(caught.value).split("\n")[1]
    assert "@last.gradient" in (caught.value.hint or "")


@pytest.mark.parametrize(
    ("found", "message"),
    [
        (lambda g, x: (g, g), "gives 2 arrays, and its call has 1"),
        (lambda g, x: g.sum(axis=0), r"gives f32\[6\] for an array f32\[5, 6\]"),
        (lambda g, x: 1.0, r"gives float for an array"),
    ],
)
def test_a_given_gradient_that_does_not_fit(found: Any, message: str) -> None:
    cube = cubes()

    @cube.gradient
    def wrong(g: ir.Tensor, y: ir.Tensor, x: ir.Tensor) -> Any:
        return found(g, x)

    with pytest.raises(IrcError, match=message) as caught:
        ir.grad(lambda x: cube(x).sum())(X)
    assert "test_kernel_gradients.py" in render(caught.value)
    with pytest.raises(IrcError, match="a gradient is a function that `def` makes"):
        cube.gradient(np.exp)
