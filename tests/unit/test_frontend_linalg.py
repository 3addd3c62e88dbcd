"""Small linear algebra against numpy, and its gradients against differences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import irc_frontend as ir
from irc.support.diagnostics import IrcError

DRAWN = np.random.default_rng(11)
A = DRAWN.standard_normal((2, 4, 4))
TALL = DRAWN.standard_normal((2, 5, 3))
B = DRAWN.standard_normal((2, 4, 3))
POSITIVE = A @ A.transpose(0, 2, 1) + 0.5 * np.eye(4)


pytestmark = pytest.mark.usefixtures("on_interpreter")


CALLS: dict[str, Callable[[Any], Any]] = {
    "det": lambda x: np.linalg.det(x(A)),
    "inv": lambda x: np.linalg.inv(x(A)),
    "solve": lambda x: np.linalg.solve(x(A), x(B)),
    "solve a vector": lambda x: np.linalg.solve(x(A[0]), x(B[0, :, 0])),
    "cholesky": lambda x: np.linalg.cholesky(x(POSITIVE)),
    "qr": lambda x: np.linalg.qr(x(TALL)),
    "qr complete": lambda x: np.linalg.qr(x(TALL), mode="complete"),
    "svd": lambda x: np.linalg.svd(x(TALL)),
    "svd reduced": lambda x: np.linalg.svd(x(TALL), full_matrices=False),
    "svdvals": lambda x: np.linalg.svdvals(x(TALL)),
    "eigh": lambda x: np.linalg.eigh(x(POSITIVE)),
    "norm": lambda x: np.linalg.norm(x(A)),
    "norm of rows": lambda x: np.linalg.norm(x(A), axis=-1, keepdims=True),
}


@pytest.mark.parametrize("element", [np.float64, np.float32])
@pytest.mark.parametrize("name", CALLS)
def test_functions_are_numpys(name: str, element: Any) -> None:
    """Called as numpy's, with Tensors."""
    wanted = CALLS[name](lambda x: x.astype(element))
    found = CALLS[name](lambda x: ir.Tensor(x.astype(element)))
    pairs = zip(found, wanted, strict=True) if isinstance(wanted, tuple) else [(found, wanted)]
    for one, other in pairs:
        assert isinstance(one, ir.Tensor)
        assert (one.numpy().shape, one.numpy().dtype) == (np.shape(other), np.asarray(other).dtype)
        np.testing.assert_allclose(one.numpy(), other, rtol=1e-4 if element == np.float32 else 1e-10)


@pytest.mark.parametrize("ord", [None, "fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf])
@pytest.mark.parametrize("keepdims", [False, True])
def test_norms_of_matrices(ord: Any, keepdims: bool) -> None:
    for axes in ((-2, -1), (0, 2), (2, 1)):
        found = ir.linalg.norm(TALL, ord, axes, keepdims).numpy()
        np.testing.assert_allclose(found, np.linalg.norm(TALL, ord, axes, keepdims), rtol=1e-10)


@pytest.mark.parametrize("ord", [None, 0, 1, 2, 3, 2.5, -1, np.inf, -np.inf])
def test_norms_of_vectors(ord: Any) -> None:
    for x, axis in ((TALL, 1), (TALL[0, 0], None)):
        np.testing.assert_allclose(ir.linalg.norm(x, ord, axis).numpy(), np.linalg.norm(x, ord, axis), rtol=1e-10)


def _symmetric(x: Any) -> Any:
    return x @ x.mT + 0.5 * np.eye(4)


GRADIENTS: dict[str, Callable[[Any], Any]] = {
    "det": lambda x: ir.linalg.det(x).sum(),
    "inv": lambda x: (ir.linalg.inv(x) * B[..., :1]).sum(),
    "solve": lambda x: (ir.linalg.solve(x, x[..., :3] * B) ** 2).sum(),
    "cholesky": lambda x: (ir.linalg.cholesky(_symmetric(x)) * A).sum(),
    "eigenvalues": lambda x: (ir.linalg.eigh(_symmetric(x))[0] ** 2 * B[..., 0]).sum(),
    "eigenvectors": lambda x: ((ir.linalg.eigh(_symmetric(x))[1] ** 2) * A).sum(),
    "singular values": lambda x: (ir.linalg.svdvals(x[..., :3]) * B[:, 0]).sum(),
    "nuclear norm": lambda x: ir.linalg.norm(x, "nuc", (-2, -1)).sum(),
    "of a gradient": lambda x: (ir.grad(lambda x: ir.linalg.det(x).sum())(x) ** 2).sum(),
    "in a batch": lambda x: ir.vmap(lambda a: ir.linalg.det(a @ ir.linalg.inv(a + 3 * np.eye(4))))(x).sum(),
    "around programs": lambda x: ir.linalg.det(ir.tanh(ir.linalg.inv(x) @ x.mT)).sum(),
}


@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients_are_slopes(name: str) -> None:
    function, step = GRADIENTS[name], 1e-6
    direction = DRAWN.standard_normal(A.shape)
    slope = (ir.grad(function)(A).numpy() * direction).sum()
    moved = [float(function(ir.Tensor(A + s * direction))) for s in (step, -step)]
    assert slope == pytest.approx((moved[0] - moved[1]) / (2 * step), rel=1e-5, abs=1e-6)


def test_narrow_floats_are_computed_in_f32() -> None:
    x = ir.Tensor(A.astype(np.float32)).astype("bf16")
    found = ir.linalg.inv(x)
    assert found.element == "bf16"
    wanted = np.linalg.inv(x.astype("f32").numpy())
    np.testing.assert_allclose(found.astype("f32").numpy(), wanted, rtol=2**-8)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: ir.linalg.inv(np.ones((2, 2), np.float32)).numpy(), "inv: Singular matrix"),
        (lambda: ir.linalg.cholesky(-np.eye(2)).numpy(), "cholesky: Matrix is not positive definite"),
        (lambda: ir.linalg.inv(TALL), "inv is of square matrices, found f64\\[2, 5, 3\\]"),
        (lambda: ir.linalg.qr(A[0, 0]), "qr is of matrices"),
        (lambda: ir.linalg.det(np.eye(2, dtype=np.int32)), "x.astype\\('f32'\\) computes it in f32"),
        (lambda: ir.linalg.solve(A, TALL), "has its rows"),
        (lambda: ir.linalg.norm(A, 3, (0, 1)), "the order of a matrix's norm is"),
        (lambda: ir.jit(lambda x: ir.linalg.inv(x))(A), "inv runs on the host, between programs"),
        (lambda: ir.grad(lambda x: ir.linalg.qr(x)[0].sum())(A), "qr has no gradient"),
    ],
)  # fmt: skip
def test_bad_calls_are_one_clear_error(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(IrcError, match=message) as caught:
        call()
    assert __file__ in str(caught.value)


def test_a_jit_function_uses_what_was_computed_before() -> None:
    weights = ir.linalg.inv(A[0])
    np.testing.assert_allclose(ir.jit(lambda x: x @ weights)(A[0]).numpy(), np.eye(4), atol=1e-9)
