"""vmap against loops, jacobian against differences, and functions with gradients of their own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import irc_frontend as ir
from irc.support.diagnostics import IrcError

DRAWN = np.random.default_rng(7)
X = DRAWN.standard_normal((3, 4, 5)).astype(np.float32)
INDICES = DRAWN.integers(0, 4, (3, 2))


pytestmark = pytest.mark.usefixtures("on_interpreter")


def close(found: Any, wanted: Any) -> None:
    value = found.numpy()
    assert (value.shape, found.shape) == (np.shape(wanted),) * 2
    np.testing.assert_allclose(value, wanted, rtol=1e-4, atol=1e-5)


W = DRAWN.standard_normal((5, 5)).astype(np.float32)
TABLE = DRAWN.standard_normal((4, 5)).astype(np.float32)

FUNCTIONS: dict[str, Callable[[Any, Any], Any]] = {
    "elementwise": lambda x, i: ir.tanh(x) * 2 + ir.maximum(x, TABLE) - ir.where(x > 0, x, 1.0),
    "row beside a matrix": lambda x, i: x + x[0] + TABLE[0],
    "cast": lambda x, i: (x * 10).astype("i32").astype("f32"),
    "moved": lambda x, i: ir.flip(x.T, 0).reshape(2, 10)[:, ::3],
    "padded": lambda x, i: ir.pad(x, [(1, 0), (0, 2)], constant_values=3.0),
    "edges": lambda x, i: ir.pad(x, 1, "reflect"),
    "joined": lambda x, i: ir.concatenate([x, TABLE, x * 2], 1),
    "tiled": lambda x, i: ir.tile(x, (2, 1, 2)),
    "triangles": lambda x, i: ir.tril(x) + ir.triu(x, 1) * 2,
    "sums": lambda x, i: x.sum(0) + x.mean(axis=(0, 1)) * x.var(1).max(),
    "products": lambda x, i: (x.prod(1), x.any(0), (x > 0).all(), x.argmax(1), x.argmin()),
    "scans": lambda x, i: x.cumsum(0) + ir.cumprod(x, 1),
    "sorted": lambda x, i: (ir.sort(x, 0), ir.topk(x, 2, 1), ir.argsort(x, 1)),
    "norms": lambda x, i: ir.softmax(x, 0) + ir.layer_norm(x) + ir.rms_norm(x) + ir.log_softmax(x),
    "matmul left": lambda x, i: x @ W,
    "matmul right": lambda x, i: W[:, :4] @ x,
    "matmul both": lambda x, i: x @ x.T,
    "vectors": lambda x, i: (x[0] @ x[1], x @ W[0], TABLE[:, 0] @ x),
    "batches": lambda x, i: ir.einsum("ij,kjl->kil", x, np.stack([W, 2 * W])),
    "batches of both": lambda x, i: ir.einsum("ij,ij->i", x, TABLE),
    "batches right": lambda x, i: ir.einsum("kij,il->kjl", np.stack([TABLE, 2 * TABLE]), x),
    "take from a table": lambda x, i: ir.take(TABLE, i, 0),
    "take along another axis": lambda x, i: ir.take(TABLE.T, i, 1),
    "take with": lambda x, i: ir.take(x, i, 0) + ir.take(x, np.array([0, 1]), 0),
    "take with another axis": lambda x, i: ir.take(x, i, 1),
    "take of several axes": lambda x, i: x[i, i] + x[i[::-1], 2],
    "take along axis": lambda x, i: ir.take_along_axis(x, i.reshape(2, 1), 0),
    "scatter": lambda x, i: ir.scatter_add(x, np.array([1, 1]), x[:2]) + ir.scatter_add(x, i, x[:2] * 2),
    "scatter of another axis": lambda x, i: ir.scatter_add(x, i, x[:, :2], axis=1),
    "updates": lambda x, i: x.at[i].set(7.0).at[0].add(1.0),
    "one hot": lambda x, i: ir.one_hot(i, 4),
    "constants": lambda x, i: (ir.zeros(3), ir.arange(4) + i[0]),
    "windows": lambda x, i: ir.reduce_window(x, (2, 2), "max"),
    "conv": lambda x, i: ir.conv(x.reshape(1, 1, 4, 5), TABLE[:2, :2].reshape(1, 1, 2, 2)),
    "conv of kernels": lambda x, i: ir.conv(TABLE.reshape(1, 1, 4, 5), x[:2, :2].reshape(1, 1, 2, 2)),
    "attention": lambda x, i: ir.attention(x, x * 0.5, TABLE, causal=True),
    "random": lambda x, i: ir.random_uniform(3, i[0]),
    "gradient": lambda x, i: ir.grad(lambda y: (ir.tanh(y @ W) ** 2).sum())(x),
    "gradient of indices": lambda x, i: ir.grad(lambda y: (ir.take(y, i, 0) ** 2).sum())(x),
    "nested": lambda x, i: ir.vmap(lambda row, j: row * 2 + j, (0, None))(x, i[0].astype("f32")),
    "stopped": lambda x, i: ir.grad(lambda y: (ir.stop_gradient(y) * y).sum())(x),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_vmap_is_a_loop(name: str) -> None:
    function = FUNCTIONS[name]
    found = ir.tree_leaves(ir.vmap(function)(X, INDICES))
    rows = [ir.tree_leaves(function(ir.Tensor(x), ir.Tensor(i))) for x, i in zip(X, INDICES, strict=True)]
    for number, leaf in enumerate(found):
        close(leaf, np.stack([row[number].numpy() for row in rows]))


def test_axes_of_batches() -> None:
    mapped = ir.vmap(lambda x, p: x @ p["w"], in_axes=(1, None), out_axes=1)
    close(mapped(X[0], {"w": W[:4]}), (X[0].T @ W[:4]).T)
    close(ir.vmap(lambda x: x.sum(), in_axes=-1)(X), X.sum((0, 1)))
    close(ir.grad(lambda x: ir.vmap(lambda row: (row**2).sum())(x).sum())(X), 2 * X)
    close(ir.jit(ir.vmap(lambda x: x @ x.T))(X), X @ X.transpose(0, 2, 1))
    with pytest.raises(IrcError, match="a batch has one size, found \\[2, 3\\]"):
        ir.vmap(lambda a, b: a)(X, X[:2])
    with pytest.raises(IrcError, match="in_axes has 1 axes for 2 arguments"):
        ir.vmap(lambda a, b: a, in_axes=(0,))(X, X)


@ir.kernel
def doubled(x: Any) -> Any:
    out = ir.empty_like(x)
    for m in ir.tiles(x.shape[0]):
        out[m] = x[m] * 2
    return out


def test_kernels_and_programs_in_a_batch() -> None:
    rows = X[:, 0]
    with ir.target("cpu"):
        close(ir.vmap(doubled)(rows), 2 * rows)
        close(ir.grad(lambda x: (ir.vmap(doubled)(x) ** 2).sum())(rows), 8 * rows)
        close(ir.vmap(ir.jit(ir.grad(lambda row: (doubled(row) ** 2).sum())))(rows), 8 * rows)


def test_jacobians() -> None:
    x = DRAWN.standard_normal(4)

    def function(x: Any) -> Any:
        return ir.stack([ir.sin(x[0]) * x[1], (x**3).sum(), x[2] / x[3]])

    found, step = ir.jacobian(function)(x).numpy(), 1e-6
    for i in range(4):
        moved = [function(ir.Tensor(x + s * np.eye(4)[i])).numpy() for s in (step, -step)]
        np.testing.assert_allclose(found[:, i], (moved[0] - moved[1]) / (2 * step), rtol=1e-6, atol=1e-8)
    tree = ir.jacobian(lambda p, y: p["w"] @ y, 0)({"w": X[0]}, X[0, 0])
    close(tree["w"], np.einsum("ik,l->ikl", np.eye(4), X[0, 0]))
    hessian = ir.jacobian(ir.grad(lambda x: (x[0] ** 2 * x[1]).sum()))(np.array([2.0, 3.0], np.float32))
    close(hessian, [[6, 4], [4, 0]])


def test_gradients_stop() -> None:
    x = np.array([1.0, 2.0], np.float32)
    close(ir.grad(lambda x: (ir.stop_gradient(x * 3) * x).sum())(x), 3 * x)
    close(ir.grad(lambda x: ir.stop_gradient({"a": x})["a"].sum())(x), 0 * x)
    close(ir.stop_gradient(x), x)


@ir.custom_vjp
def scaled(x: Any, w: Any) -> Any:
    return {"y": x * w, "n": x.sum()}


def _forward(x: Any, w: Any) -> Any:
    return {"y": x * w, "n": x.sum()}, (x, w)


def _backward(kept: Any, g: Any) -> Any:
    _x, w = kept
    return ir.clip(g["y"] * w, -1.0, 1.0) + g["n"] * 10, None


scaled.defvjp(_forward, _backward)


def test_gradients_of_ones_own() -> None:
    x, w = np.array([1.0, 2.0, 3.0], np.float32), np.array([0.5, 4.0, -9.0], np.float32)
    close(scaled(x, w)["y"], x * w)
    first, second = ir.grad(lambda x, w: scaled(x, w)["y"].sum() + scaled(x, w)["n"], (0, 1))(x, w)
    close(first, np.clip(w, -1, 1) + 10)
    close(second, 0 * w)
    rows = np.stack([x, 2 * x])
    found = ir.vmap(lambda x: ir.grad(lambda x: (scaled(x, w)["y"] * x).sum())(x))(rows)
    close(found, np.clip(rows * w, -1, 1) + rows * w)
    close(
        ir.grad(lambda x: ir.vmap(lambda row: scaled(row, w)["y"].sum())(x).sum())(rows), np.clip(rows * 0 + w, -1, 1)
    )
    close(ir.jit(ir.grad(lambda x: scaled(x, w)["n"]))(x), 0 * x + 10)


def test_wrong_gradients_of_ones_own() -> None:
    x = np.ones(3, np.float32)
    for forward, backward, message in (
        (lambda x: x, lambda k, g: (g,), "gives a pair"),
        (lambda x: (x, None), lambda k, g: g, "gives a tuple of 1 gradients"),
        (lambda x: (x, None), lambda k, g: (g[:2],), "has its shape, found"),
        (lambda x: (x, None), lambda k, g: ({"a": g},), "is a tree like it"),
    ):
        own = ir.custom_vjp(lambda x: x)
        own.defvjp(forward, backward)
        with pytest.raises(IrcError, match=message):
            ir.grad(lambda x, own=own: own(x).sum())(x)
    with pytest.raises(IrcError, match="no gradient of its own yet"):
        ir.custom_vjp(lambda x: x)(x)
