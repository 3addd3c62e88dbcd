"""Gradients where there is no derivative, of narrow floats, of whole programs; against torch where it is installed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from drawing import examples
from hypothesis import given
from numerics.generators import modules
from numerics.gradients import Case, gradients, weighted_sum
from numerics.harness import check_passes, draw_arguments
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import ReturnOp

from irc.autodiff.reverse_mode import differentiate
from irc.dialects import nd
from irc.driver.lowering import passes_of
from irc.driver.pipelines import ND
from irc.driver.program import new_context, parse
from irc.interpreters.nd.interpreter import entry, evaluate
from irc.ir.dtypes import element_named
from irc.support.diagnostics import IrcError

CONTEXT = new_context()
Array = np.ndarray[Any, Any]
INF, NAN = float("inf"), float("nan")


def gradient(text: str, *arrays: Any, wrt: Sequence[int] = (0,), dtype: Any = np.float64) -> tuple[Array, ...]:
    """The gradients of the last function of a program."""
    module = parse(text, "test.irc")
    args = [np.asarray(x, dtype) if np.asarray(x).dtype.kind == "f" else np.asarray(x) for x in arrays]
    return gradients(module, args, wrt)


AT_THE_EDGE = [
    ("abs(x)", [-2.0, 0.0, 3.0], [-1, 0, 1]),
    ("relu(x)", [-2.0, 0.0, 3.0], [0, 0, 1]),
    ("leaky_relu(x, 0.5)", [-2.0, 0.0, 3.0], [0.5, 0.5, 1]),
    ("sqrt(x)", [0.0, 4.0, 1.0], [INF, 0.25, 0.5]),
    ("sign(x)", [-2.0, 0.0, 3.0], [0, 0, 0]),
    ("floor(x)", [-2.5, 0.0, 3.0], [0, 0, 0]),
    ("round(x)", [-2.5, 0.0, 3.0], [0, 0, 0]),
    ("x // 2", [-2.5, 0.0, 3.0], [0, 0, 0]),
    ("x ** 0.0", [-2.5, 0.0, 3.0], [0, 0, 0]),
    ("x ** 1.0", [-2.5, 0.0, 3.0], [1, 1, 1]),
    ("x ** 2", [-2.5, 0.0, 3.0], [-5, 0, 6]),
    ("clamp(x, -1, 1)", [-1.0, 0.0, 2.0], [1, 1, 0]),
    ("maximum(x, 0)", [-1.0, 0.0, 2.0], [0, 0.5, 1]),
    ("minimum(x, 0)", [-1.0, 0.0, 2.0], [1, 0.5, 0]),
    ("max(x)", [2.0, 1.0, 2.0], [0.5, 0, 0.5]),
    ("min(x)", [2.0, 1.0, 2.0], [0, 1, 0]),
    ("prod(x)", [2.0, 0.0, 3.0], [0, 6, 0]),
    ("prod(x)", [2.0, 0.0, 0.0], [0, 0, 0]),
    ("cumprod(x, 0)", [2.0, 0.0, 3.0], [1, 8, 0]),
    ("x * cast(argmax(x), f64)", [2.0, 0.0, 3.0], [2, 2, 2]),
    ("where(x > 0, x, 0 * x)", [-2.0, INF, 3.0], [0, 1, 1]),
    ("cast(cast(x, i32), f64)", [-2.0, 1.5, 3.0], [0, 0, 0]),
    ("sort(x, 0) * cast(iota([3], i32), f64)", [2.0, 0.0, 3.0], [1, 0, 2]),
]


@pytest.mark.parametrize(("expression", "x", "expected"), AT_THE_EDGE)
def test_edges(expression: str, x: list[float], expected: list[float]):
    text = f"func f(x: f64[3]) -> f64[] {{\n    return sum({expression})\n}}\n"
    (found,) = gradient(text, x)
    np.testing.assert_array_equal(found, expected)


def test_power_of_zero_has_no_nan():
    text = "func f(x: f64[3], y: f64[3]) -> f64[] {\n    return sum(x ** y)\n}\n"
    dx, dy = gradient(text, [0.0, 0.0, 2.0], [0.0, 3.0, 0.0], wrt=(0, 1))
    np.testing.assert_array_equal(dx, [0, 0, 0])
    np.testing.assert_allclose(dy, [0, 0, np.log(2)])


def test_indices_out_of_range_are_clamped_in_both_directions():
    text = "func f(x: f64[3], i: i32[4]) -> f64[] {\n    return sum(take(x, i, 0) * cast(iota([4], i32), f64))\n}\n"
    (found,) = gradient(text, [1.0, 2.0, 3.0], np.array([-5, 9, 1, 1], np.int32))
    np.testing.assert_array_equal(found, [0, 5, 1])


def test_narrow_floats_are_rounded_once():
    """Of bf16, the whole gradient of a chain is that of f32, rounded at the end."""
    chain = "sum(cast(gelu(tanh(x * 3) / (x * x + 1)), f32))"
    text = "func f(x: {0}[64]) -> f32[] {{\n    return " + chain + "\n}}\n"
    x = np.linspace(-2, 2, 64).astype(element_named("bf16").dtype)
    module = parse(text.format("bf16"), "test.irc")
    differentiate(entry(module), [0], values=False)
    for each in passes_of(ND):
        each.apply(CONTEXT, module)
    (found,) = evaluate(module, [x])
    wide = parse(text.format("f32"), "test.irc")
    (expected,) = gradients(wide, [x.astype(np.float32)], [0])
    np.testing.assert_array_equal(found, expected.astype(x.dtype))


def test_products_of_f8_are_taken_in_bf16():
    text = "func f(x: f8e4m3[2, 3], w: f8e4m3[3, 4]) -> f32[] {\n    return sum((x @ w) * 1000)\n}\n"
    module = parse(text, "test.irc")
    rng = np.random.default_rng(0)
    args = [rng.standard_normal(shape).astype(element_named("f8e4m3").dtype) for shape in ((2, 3), (3, 4))]
    differentiate(entry(module), [0], values=False)
    names = {
        (nd.element_of(op.lhs).name, nd.element_of(op.result).name)
        for op in module.walk()
        if isinstance(op, nd.MatmulOp)
    }
    assert names == {("bf16", "f32")}
    (found,) = evaluate(module, args)
    expected = 1000 * args[1].astype(np.float64).sum(axis=1)
    np.testing.assert_allclose(found[0].astype(np.float64), np.clip(expected, -448, 448), rtol=0.07)


def test_the_hand_written_gradient_of_the_gated_unit():
    """d_c of examples/gated_unit_step.irc is the gradient of its loss where c comes out of tanh."""
    text = (Path(__file__).parents[2] / "examples/gated_unit_step.irc").read_text()
    step = parse(text, "gated_unit_step.irc", dims={"B": 8, "H": 6})
    forward = """
dim B = 8, H = 6
func loss(r: bf16[B, H], h: bf16[B, H], u: bf16[H, H], zx: bf16[B, H], zh: bf16[B, H], bz: bf16[H],
          cx: bf16[B, H], bc: bf16[H], target: bf16[B, H]) -> f32[] {
    z = relu(zx + zh + bz)
    c = tanh((relu(r) * h) @ u + cx + bc)
    out = (1 - z) * h + z * c
    return sum(cast(out - target, f32) ** 2) / (B * H)
}
"""
    args = draw_arguments(step)
    _, _, d_c, d_z, d_bc, d_bz = evaluate(step, args, precision="float64")
    loss = parse(forward, "loss.irc")
    differentiate(entry(loss), [6, 3, 7, 5], values=False)
    d_cx, d_zx, d_bias_c, d_bias_z = evaluate(loss, args, precision="float64")
    for found, expected in ((d_cx, d_c), (d_zx, d_z), (d_bias_c, d_bc), (d_bias_z, d_bz)):
        scale = float(np.abs(expected).max())
        np.testing.assert_allclose(found.astype(np.float64), expected.astype(np.float64), atol=scale * 0.01)


def float_loss(module: ModuleOp) -> ModuleOp | None:
    """The sum of the float results, as the only result, in f32; None where there is none."""
    copy = module.clone()
    block = entry(copy).body.block
    returned = block.last_op
    assert isinstance(returned, ReturnOp)
    floats = [value for value in returned.operands if nd.element_of(value).is_float]
    if not floats:
        return None
    loss: Any = None
    for value in floats:
        total = nd.SumOp(value, range(nd.rank_of(value)), element_named("f32"))
        block.insert_ops_before(ops := [total] if loss is None else [total, nd.AddOp(loss, total)], returned)
        loss = ops[-1].results[0]
        for op in ops:
            op.location = returned.location
    returned.operands = [loss]
    entry(copy).update_function_type()
    return copy


@given(modules(10))
@examples(60, one_in=3)
def test_gradients_of_random_modules_go_through_the_pipeline(module: ModuleOp):
    """Whatever a random program computes, its gradient verifies, evaluates, and is kept by every pass."""
    loss = float_loss(module)
    floats = [i for i, argument in enumerate(entry(module).body.block.args) if nd.element_of(argument).is_float]
    if loss is None or not floats:
        return
    differentiate(entry(loss), floats, values=False)
    check_passes(loss, passes_of(ND), CONTEXT)


def test_a_gradient_names_the_line_that_it_is_of():
    text = "func f(x: bf16[4]) -> f16[] {\n    y = exp(x)\n    return sum(bitcast(y, f16))\n}\n"
    with pytest.raises(IrcError, match=r"test.irc:3:16: cannot differentiate nd.bitcast"):
        gradient(text, np.zeros(4, element_named("bf16").dtype))


def test_an_argument_twice_and_a_missing_result():
    module = parse("func f(x: f32[]) -> f32[] {\n    return x\n}\n", "test.irc")
    with pytest.raises(IrcError, match="an argument is named twice"):
        differentiate(entry(module), [0, 0])
    with pytest.raises(IrcError, match="f has no result 1"):
        differentiate(entry(module), [0], of=1)


def test_the_result_may_be_an_argument():
    module = parse("func f(x: f32[], y: f32[]) -> f32[] {\n    return x\n}\n", "test.irc")
    assert [float(g) for g in gradients(module, [np.array(3, np.float32), np.array(4, np.float32)], [0, 1])] == [1, 0]


# torch

TIES = np.array([[1.0, 2.0, 2.0], [0.0, -0.0, 3.0], [5.0, 5.0, 5.0]])
SPECIAL = np.array([-2.0, -0.0, 0.0, 0.5, 1.0, 3.0])


def torch_cases(torch: Any) -> list[tuple[str, Callable[..., Any], Callable[..., Any], list[Array]]]:
    other = np.array([-2.0, 0.0, -0.0, 2.0, 0.0, 1.0])
    functional = torch.nn.functional
    return [
        ("abs", nd.AbsOp, torch.abs, [SPECIAL]),
        ("relu", nd.ReluOp, torch.relu, [SPECIAL]),
        ("sqrt", nd.SqrtOp, torch.sqrt, [SPECIAL]),
        ("sign", nd.SignOp, torch.sign, [SPECIAL]),
        ("gelu", nd.GeluOp, functional.gelu, [SPECIAL]),
        ("gelu_tanh", lambda x: nd.GeluOp(x, "tanh"), lambda x: functional.gelu(x, approximate="tanh"), [SPECIAL]),
        ("silu", nd.SiluOp, functional.silu, [SPECIAL]),
        ("maximum", nd.MaximumOp, torch.maximum, [SPECIAL, other]),
        ("minimum", nd.MinimumOp, torch.minimum, [SPECIAL, other]),
        ("pow", nd.PowOp, torch.pow, [np.abs(SPECIAL), other]),
        ("mod", nd.ModOp, torch.remainder, [SPECIAL, other + 0.3]),
        ("atan2", nd.Atan2Op, torch.atan2, [SPECIAL, other + 0.3]),
        ("clamp", nd.ClampOp, torch.clamp, [SPECIAL, other, other + 1]),
        ("crossed clamp", nd.ClampOp, torch.clamp, [SPECIAL, other, other - 1]),
        ("amax", lambda x: nd.MaxOp(x, [1]), lambda x: torch.amax(x, 1), [TIES]),
        ("amin", lambda x: nd.MinOp(x, [0, 1]), lambda x: torch.amin(x, (0, 1)), [TIES]),
        ("prod", lambda x: nd.ProdOp(x, [1]), lambda x: torch.prod(x, 1), [TIES]),
        ("cumprod", lambda x: nd.CumprodOp(x, 1), lambda x: torch.cumprod(x, 1), [TIES]),
        ("var", lambda x: nd.VarOp(x, [1], 1), lambda x: torch.var(x, 1), [TIES]),
        ("softmax", lambda x: nd.SoftmaxOp(x, 1), lambda x: torch.softmax(x, 1), [TIES]),
        ("log_softmax", lambda x: nd.LogSoftmaxOp(x, 1), lambda x: torch.log_softmax(x, 1), [TIES]),
        ("layer_norm", lambda x: nd.LayerNormOp(x, 1), lambda x: functional.layer_norm(x, (3,)), [TIES]),
        (
            "attention",
            lambda q, k, v: nd.AttentionOp(q, k, v, causal=True),
            lambda q, k, v: functional.scaled_dot_product_attention(q, k, v, is_causal=True),
            [TIES, TIES + 1, TIES * 2],
        ),
        (
            "attention_log_sum_exp",
            lambda q, k: nd.AttentionLogSumExpOp(q, k, scale=0.5),
            lambda q, k: torch.logsumexp(q @ k.T * 0.5, 1),
            [TIES, TIES + 1],
        ),
    ]


def test_against_torch():
    torch: Any = pytest.importorskip("torch")
    for name, build, function, arrays in torch_cases(torch):
        case = Case(arrays, build)
        weights = evaluate_weights(case)
        leaves = [torch.tensor(x, requires_grad=True) for x in arrays]
        (function(*leaves) * torch.tensor(weights)).sum().backward()
        found = gradients(weighted_sum(case), arrays, case.floats)
        for g, leaf in zip(found, leaves, strict=True):
            np.testing.assert_allclose(g, leaf.grad.numpy(), rtol=1e-12, atol=1e-12, err_msg=name)


def evaluate_weights(case: Case) -> Array:
    """The numbers that `weighted_sum` multiplies the result by."""
    (constant,) = [op for op in weighted_sum(case).walk() if isinstance(op, nd.ConstantOp)]
    return np.array(constant.array())
