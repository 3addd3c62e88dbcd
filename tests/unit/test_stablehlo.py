"""StableHLO as JAX prints it: the texts in `stablehlo` are of the functions that numpy has here."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from drawing import long
from numpy.lib.stride_tricks import sliding_window_view

import irc_frontend as ir
from irc import IrcError
from irc_frontend.stablehlo import load
from irc_tools import opt, run

TEXTS = Path(__file__).parent / "stablehlo"
Array = np.ndarray[Any, Any]


def softmax(x: Array) -> Array:
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def mlp(x: Array, w1: Array, b1: Array, w2: Array, b2: Array) -> Array:
    h = x @ w1 + b1
    h = 0.5 * h * (1 + np.tanh(np.sqrt(2 / np.pi) * (h + 0.044715 * h**3)))
    return softmax(h @ w2 + b2)


def _windows(x: Array, before: int, behind: int, fill: float) -> Array:
    """3 x 3 of images, channels last."""
    wide = np.pad(x, [(0, 0), (before, behind), (before, behind), (0, 0)], constant_values=fill)
    return sliding_window_view(wide, (3, 3), (1, 2))


def block(
    x: Array, w1: Array, s1: Array, b1: Array, m1: Array, v1: Array, w2: Array, *norm: Array
) -> tuple[Array, Array]:
    """A block of a residual network, and a pool with steps of 2 behind it."""

    def half(y: Array, w: Array, s: Array, b: Array, m: Array, v: Array) -> Array:
        z = np.einsum("nhwcij,ijco->nhwo", _windows(y, 1, 1, 0.0), w)
        return (z - m) / np.sqrt(v + 1e-5) * s + b

    y = half(np.maximum(half(x, w1, s1, b1, m1, v1), 0), w2, *norm)
    y = _windows(np.maximum(x + y, 0), 0, 1, -np.inf).max((-2, -1))[:, ::2, ::2]
    return y, y.mean((1, 2))


def attention(
    tokens: Array, table: Array, wq: Array, wk: Array, wv: Array, wo: Array, g: Array, b: Array
) -> tuple[Array, Array]:
    x = table[tokens]
    h = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5) * g + b
    q, k, v = ((h @ w).reshape(2, 12, 4, 8).transpose(0, 2, 1, 3) for w in (wq, wk, wv))
    scores = np.where(np.tri(12, dtype=bool), q @ k.swapaxes(-1, -2) / np.sqrt(8), -1e30)
    y = (softmax(scores) @ v).transpose(0, 2, 1, 3).reshape(2, 12, 32)
    return x + y @ wo, y.argmax(-1).astype(np.int32)


def step(w1: Array, b1: Array, w2: Array, b2: Array, x: Array, y: Array) -> tuple[Array, ...]:
    """The loss of a classifier, and its parameters after a step down the gradient."""
    h = np.tanh(x @ w1 + b1)
    p = softmax(h @ w2 + b2)
    dz = (p - np.eye(10)[y]) / 8
    dh = dz @ w2.T * (1 - h * h)
    loss = -np.log(p[np.arange(8), y]).mean()
    return loss, w1 - 0.1 * x.T @ dh, b1 - 0.1 * dh.sum(0), w2 - 0.1 * h.T @ dz, b2 - 0.1 * dz.sum(0)


def _drawn(shape: tuple[int, ...], element: str, number: int) -> Array:
    generator = np.random.default_rng(number)
    if element == "i32":
        return generator.integers(0, 10, shape, dtype=np.int32)
    drawn = generator.standard_normal(shape, dtype=np.float32) * np.float32(0.3)
    return np.abs(drawn) + np.float32(0.1) if len(shape) == 1 else drawn  # variances are positive


@long(2)
@pytest.mark.parametrize("target", ["interpret", "cpu"])
@pytest.mark.parametrize("function", [mlp, block, attention, step])
def test_what_jax_prints(function: Any, target: str) -> None:
    program = load(TEXTS / f"{function.__name__}.stablehlo.mlir")
    arrays = [_drawn(node.shape, node.element, n) for n, node in enumerate(program.inputs.values())]
    expected = function(*(x.astype(np.float64) if x.dtype == np.float32 else x for x in arrays))
    with ir.target(target):
        found = program(*arrays)
    results = found if isinstance(found, tuple) else (found,)
    for result, want in zip(results, expected if isinstance(expected, tuple) else (expected,), strict=True):
        np.testing.assert_allclose(result, want, rtol=2e-4, atol=1e-5)


def _function(body: str, result: str = "tensor<4xf32>", argument: str = "tensor<4xf32>") -> str:
    return f"func.func @main(%a: {argument}, %b: tensor<4xf32>) -> {result} {{\n{body}\n}}\n"


def _value(body: str, result: str, *arrays: Array, argument: str = "tensor<4xf32>") -> Array:
    with ir.target("interpret"):
        return load(_function(f"%0 = {body}\nreturn %0 : {result}", result, argument))(*arrays)


A, B = np.asarray([1, -2, 3, -4], np.float32), np.asarray([5, 6, 7, 8], np.float32)


def test_ops_in_their_own_syntax() -> None:
    f4 = "tensor<4xf32>"
    assert _value("stablehlo.slice %a [1:4:2] : (tensor<4xf32>) -> tensor<2xf32>", "tensor<2xf32>", A, B).tolist() == [
        -2,
        -4,
    ]
    assert _value("stablehlo.reverse %a, dims = [0] : tensor<4xf32>", f4, A, B).tolist() == [-4, 3, -2, 1]
    assert _value("stablehlo.constant dense<[1.0, 0x7F800000, -3.5, 2.0]> : tensor<4xf32>", f4, A, B)[1] == np.inf
    assert _value('stablehlo.constant dense<"0x0000803F00000040000040400000C040"> : tensor<4xf32>', f4, A, B)[3] == 6
    joined = _value(
        "stablehlo.concatenate %a, %b, dim = 0 : (tensor<4xf32>, tensor<4xf32>) -> tensor<8xf32>", "tensor<8xf32>", A, B
    )
    assert joined.tolist() == [*A, *B]
    wide = "tensor<9xf32>"
    padding = f"%c = stablehlo.constant dense<7.0> : tensor<f32>\n%0 = stablehlo.pad %a, %c, low = [1], high = [1], interior = [1] : (tensor<4xf32>, tensor<f32>) -> {wide}"
    with ir.target("interpret"):
        found = load(_function(f"{padding}\nreturn %0 : {wide}", wide))(A, B)
    assert found.tolist() == [7, 1, 7, -2, 7, 3, 7, -4, 7]
    sliced = "%i = stablehlo.constant dense<3> : tensor<i32>\n%0 = stablehlo.dynamic_slice %a, %i, sizes = [2] : (tensor<4xf32>, tensor<i32>) -> tensor<2xf32>"
    with ir.target("interpret"):
        assert load(_function(f"{sliced}\nreturn %0 : tensor<2xf32>", "tensor<2xf32>"))(A, B).tolist() == [3, -4]


def test_the_generic_form() -> None:
    text = '"stablehlo.transpose"(%a) <{permutation = array<i64: 1, 0>}> : (tensor<2x3xf32>) -> tensor<3x2xf32>'
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    assert np.array_equal(_value(text, "tensor<3x2xf32>", x, B, argument="tensor<2x3xf32>"), x.T)
    dot = (
        '"stablehlo.dot_general"(%a, %b) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [0], '
        "rhs_contracting_dimensions = [0]>}> : (tensor<4xf32>, tensor<4xf32>) -> tensor<f32>"
    )
    assert _value(dot, "tensor<f32>", A, B) == A @ B


@pytest.mark.parametrize(
    ("body", "message", "line"),
    [
        ("%0 = stablehlo.frobnicate %a : tensor<4xf32>", "irc has no op stablehlo.frobnicate", 2),
        ("%0 = stablehlo.add %a, %c : tensor<4xf32>", "%c is not defined", 2),
        ("%0 = stablehlo.add %a, %b : tensor<5xf32>", r"gives f32\[4\], the text says f32\[5\]", 2),
        ("%0 = stablehlo.add %a, %b : tensor<?xf32>", "expected a tensor of static shape", 2),
        ("%0 = stablehlo.convert %a : (tensor<4xf32>) -> tensor<4xui32>", "irc has no element type ui32", 2),
        ("%0 = stablehlo.custom_call @f(%a) : (tensor<4xf32>) -> tensor<4xf32>", "custom_call @f is not supported", 2),
        ("%0 = call @f(%a) : (tensor<4xf32>) -> tensor<4xf32>", "the module has no function @f", 2),
        ("%0 = stablehlo.transpose %a : tensor<4xf32>", "has not the operands and attributes that it takes", 2),
        ("%0 = stablehlo.add %a, %b : tensor<4xf32", "unexpected character|expected a tensor", 2),
        ("%0 = stablehlo.constant dense_resource<x> : tensor<4xf32>", "are not in the text", 2),
        ("%0 = )", "expected an op", 2),
        ("%0:2 = stablehlo.add %a, %b : tensor<4xf32>", "gives 1 results, the text has 2 names and 1 types", 2),
        ("%0 = stablehlo.reverse %a, dims = [, 0] : tensor<4xf32>", "expected an attribute, found ,", 2),
        ("%0 = stablehlo.reverse %a, dims = array<i64: 0 1> : tensor<4xf32>", "cannot read stablehlo.reverse", 2),
        (
            "%0 = stablehlo.while(%c = %a) : tensor<4xf32>, tensor<4xf32> cond {} do {}",
            "cannot read stablehlo.while",
            2,
        ),
        (
            '%0 = "stablehlo.gather"(%a, %b) <{dimension_numbers = "x"}> : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>',
            "has not the operands and attributes that it takes",
            2,
        ),
        (
            "%0 = stablehlo.broadcast_in_dim %a, dims = [0, 1] : (tensor<4xf32>) -> tensor<4x4xf32>",
            r"dims has an axis of \[4, 4\] for each of f32\[4\], found \[0, 1\]",
            2,
        ),
    ],
)
def test_errors_have_a_place(body: str, message: str, line: int) -> None:
    with pytest.raises(IrcError, match=message) as raised:
        load(_function(f"{body}\nreturn %0 : tensor<4xf32>"), "f.mlir")
    assert f"f.mlir:{line}:" in str(raised.value)


@pytest.mark.parametrize(
    "text", ["", "module {", "module { func.func @f( }", "func.func @f() { " * 99, "{" * 999, "%" * 99]
)
def test_what_is_no_module(text: str) -> None:
    with pytest.raises(IrcError):
        load(text)


def test_a_function_that_calls_itself() -> None:
    with pytest.raises(IrcError, match="calls are nested"):
        load(
            _function(
                "%0 = call @main(%a, %b) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>\nreturn %0 : tensor<4xf32>"
            )
        )


def test_the_commands_take_a_file(capsys: pytest.CaptureFixture[str]) -> None:
    path = str(TEXTS / "mlp.stablehlo.mlir")
    assert run.main([path, "--check", "--target", "interpret"]) == 0
    assert opt.main([path, "-p", "nd"]) == 0
    assert "nd.matmul" in capsys.readouterr().out
