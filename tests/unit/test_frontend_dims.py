"""`jit` with extents that change from call to call: one program, or a warning and one for each size."""

from __future__ import annotations

import re
import warnings
from typing import Any

import numpy as np
import pytest
import python_kernels

import irc_frontend as ir
from irc.support.diagnostics import IrcError
from irc_frontend import evaluation, nn
from irc_frontend.jit import NotSized

N = ir.Dim("N", 1, 4096)
RNG = np.random.default_rng(0)


def rows(n: int, d: int = 16) -> Any:
    return RNG.standard_normal((n, d)).astype(np.float32)


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The calls of the compiler."""
    from irc_frontend import evaluation

    calls: list[str] = []
    begin = evaluation.begin
    monkeypatch.setattr(evaluation, "begin", lambda *args, **kw: calls.append("") or begin(*args, **kw))
    return calls


@pytest.mark.parametrize("where", ["cpu", "interpret"])
def test_one_program_for_all_sizes(compiled: list[str], where: str):
    @ir.jit(dims={"x": (N,), "residual": (N, None)})
    def f(x: Any, w: Any, residual: Any) -> Any:
        h = ir.gelu(x.reshape(x.shape[0] * 2, 8).reshape(x.shape) @ w)
        return ir.softmax(h, axis=-1) + residual, (h * h).sum(axis=1)

    with ir.target(where), warnings.catch_warnings():
        warnings.simplefilter("error")
        w = rows(16)
        for n in (1, 2, 7, 300, 4096):
            x, residual = rows(n), rows(n)
            found, squares = f(x, w, residual=residual)
            h = np.asarray(ir.gelu(ir.Tensor(x) @ ir.Tensor(w)).numpy())
            e = np.exp(h - h.max(axis=1, keepdims=True))
            assert np.allclose(found.numpy(), e / e.sum(axis=1, keepdims=True) + residual, atol=1e-5)
            assert np.allclose(squares.numpy(), (h * h).sum(axis=1), rtol=1e-4)
    assert len(compiled) == 1 + 5  # and the five products that are compared with


def test_a_layer_of_a_model_is_one_program(compiled: list[str]):
    model = nn.Linear(16, 8)

    params = model.init(0)

    @ir.jit(dims={"x": (ir.Dim("N", 2, 512, multiple=2),)})
    def f(params: Any, x: Any) -> Any:
        return ir.relu(model(params, x))

    arrays = [rows(n) for n in (2, 10, 512)]
    found = [f(params, x).numpy() for x in arrays]
    before = len(compiled)
    expected = [ir.relu(model(params, x)).numpy() for x in arrays]
    assert before < len(compiled)
    assert all(np.allclose(a, b, atol=1e-5) for a, b in zip(found, expected, strict=True))


product = ir.kernel(python_kernels.product)


@ir.kernel
def softmax(x: Any) -> Any:
    out = ir.empty(x.shape, x.dtype)
    for m in ir.tiles(x.shape[0]):
        out[m, :] = ir.softmax(x[m, :], axis=1)
    return out


@pytest.mark.parametrize("multiple", [1, 8])
def test_kernels_in_python_are_for_all_sizes(compiled: list[str], multiple: int):
    @ir.jit(dims={"x": (ir.Dim("N", 1, 8192, multiple=multiple),)})
    def f(x: Any, w: Any) -> Any:
        return softmax(ir.relu(product(x, w)))

    w = rows(64, 32).astype(np.float16)
    with ir.target("sim"), warnings.catch_warnings():
        warnings.simplefilter("error")
        for n in (8, 72, 264):
            x = rows(n, 64).astype(np.float16)
            h = np.maximum(x.astype(np.float32) @ w.astype(np.float32), 0)
            e = np.exp(h - h.max(axis=1, keepdims=True))
            assert np.allclose(f(x, w).numpy(), e / e.sum(axis=1, keepdims=True), atol=2e-2)
    assert len(compiled) == 1


@pytest.mark.parametrize(
    ("what", "why"),
    [
        (lambda x: x / x.shape[0], "computes with a size"),
        (lambda x: x * 2 if x.shape[0] > 100 else x, "chooses by one"),
        (lambda x: x + np.arange(x.shape[0], dtype=np.float32)[:, None], "an array that it makes depends on a size"),
    ],
)
def test_what_depends_on_a_size_is_a_program_for_each_and_says_so(what: Any, why: str):
    sized, each = ir.jit(dims={"x": (N,)})(what), ir.jit(what)
    with evaluation.target("cpu"), pytest.warns(NotSized, match=why) as found:
        for n in (3, 5, 200):
            x = rows(n)
            assert np.allclose(sized(x).numpy(), each(x).numpy(), atol=1e-6)
    assert len(found) == 1


@pytest.mark.parametrize(
    ("what", "why"),
    [
        (lambda x: x.cumsum(axis=0), "nd.cumsum: N is known when the program is called, and cannot be walked over"),
        (lambda x: x[:1], "nd.slice: N is known when the program is called, and cannot be cut"),
    ],
)
def test_what_kernels_cannot_have_is_a_program_for_each_size(what: Any, why: str):
    """The target cpu has no kernels, and interprets it for any size."""
    sized = ir.jit(dims={"x": (N,)})(what)
    with warnings.catch_warnings(), evaluation.target("cpu"):
        warnings.simplefilter("error")
        expected = [sized(x).numpy() for x in (rows(3), np.ones((7, 16), np.float32))]
    with evaluation.target("sim"), pytest.warns(NotSized, match=re.escape(why)):
        assert sized(np.ones((7, 16), np.float32)).numpy().shape == expected[1].shape


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda f: f(rows(5), rows(4)), "f: axis 0 of argument y: N is 4, and 5 in arguments before it"),
        (lambda f: f(rows(8192), rows(8192)), "f: axis 0 of argument x: N is 8192, not in 1..4096"),
        (lambda f: f(np.float32(1), rows(4)), "f: argument x is f32, and has dims for 1 axes"),
    ],
)
def test_calls_that_do_not_fit(call: Any, message: str):
    @ir.jit(dims={"x": (N,), "y": (N,)})
    def f(x: Any, y: Any) -> Any:
        return x + y

    with pytest.raises(IrcError) as found:
        call(f)
    assert message in str(found.value).replace("f32[]", "f32")


def test_dims_that_mean_nothing():
    with pytest.raises(IrcError, match="f has no argument z"):

        @ir.jit(dims={"z": (N,)})
        def f(x: Any) -> Any:
            return x

    with pytest.raises(IrcError, match="the Dim M has no size: no multiple of 8 is in 9..15"):
        ir.Dim("M", 9, 15, multiple=8)
    with pytest.raises(IrcError, match="a Dim has a name"):
        ir.Dim("a b", 1, 2)
