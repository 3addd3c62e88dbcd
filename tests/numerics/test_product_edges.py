"""Products at the edges, on the simulator: nothing to sum over, extents of one, infinities and NaN through epilogues;
and errors that name what is supported."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from drawing import long

import irc
from irc.driver.lowering import passes_of, run_passes
from irc.driver.pipelines import KERNEL
from irc.driver.program import parse
from irc.ir.targets import set_target
from irc.support.diagnostics import IrcError, render

RESULTS = {"i8": "i32", "u8": "i32", "f8e4m3": "f32", "f8e5m2": "f32"}
ARCHS = ("sm_90a", "sm_80")


def run(text: str, arch: str, *given: Any) -> tuple[list[Any], list[Any]]:
    """What the simulator and the interpreter make of a program; arguments that are not given are drawn."""
    exe, reference = irc.compile(text, target="sim", arch=arch), irc.compile(text, target="interpret")
    rng = np.random.default_rng(0)
    drawn = [(3 * rng.standard_normal(spec.shape)).astype(np.float32).astype(spec.dtype) for spec in exe.arguments]
    arrays = [*given, *drawn[len(given) :]]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of infinities
        pair = exe(*arrays), reference(*arrays)
    found, wanted = ([*each] if isinstance(each, tuple) else [each] for each in pair)
    return found, wanted


def check(text: str, arch: str, *given: Any) -> None:
    for a, b in zip(*run(text, arch, *given), strict=True):
        assert a.shape == b.shape and a.dtype == b.dtype
        np.testing.assert_allclose(a.astype(np.float64), b.astype(np.float64), rtol=0.02, atol=0.02)


@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize("element", ["bf16", "f32", "f64", "i8", "f8e4m3"])
def test_nothing_to_sum_over(element: str, arch: str) -> None:
    """Zeros, and what follows them."""
    result = RESULTS.get(element, element)
    product = "matmul(x, w)"
    text = f"func f(x: {element}[5, 0], w: {element}[0, 40], b: {result}[40]) -> ({result}[5, 40], {result}[5]) {{\n    y = {product} + b\n    return y, max(y, axis=1)\n}}\n"
    check(text, arch)


@long(6)
@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize("element", ["bf16", "f32", "f64", "i8"])
@pytest.mark.parametrize("shape", [(1, 1, 1), (1, 40, 1), (40, 1, 1), (1, 1, 72), (1, 33, 72), (33, 1, 72)])
def test_extents_of_one(shape: tuple[int, int, int], element: str, arch: str) -> None:
    m, n, k = shape
    result = RESULTS.get(element, element)
    text = f"func f(x: {element}[{m}, {k}], w: {element}[{k}, {n}], b: {result}[{n}]) -> {result}[{m}, {n}] {{\n    return relu(matmul(x, w) + b)\n}}\n"
    check(text, arch)


@long(12)
@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize(
    ("x", "w", "result"),
    [
        ("1, 9, 40", "40, 24", "1, 9, 24"),
        ("3, 1, 40", "3, 40, 24", "3, 1, 24"),
        ("3, 9, 40", "1, 40, 24", "3, 9, 24"),
        ("1, 9, 40", "4, 40, 24", "4, 9, 24"),
        ("2, 1, 9, 40", "3, 40, 24", "2, 3, 9, 24"),
        ("0, 9, 40", "0, 40, 24", "0, 9, 24"),
        ("3, 0, 40", "3, 40, 24", "3, 0, 24"),
        ("40", "40, 24", "24"),
        ("9, 40", "40", "9"),
    ],
)
def test_batches_and_vectors(x: str, w: str, result: str, arch: str) -> None:
    check(f"func f(x: bf16[{x}], w: bf16[{w}]) -> bf16[{result}] {{\n    return x @ w\n}}\n", arch)


EPILOGUES = {
    "relu": "relu(x @ w)",
    "clamped": "minimum(maximum(x @ w, -1), 1)",
    "sigmoid": "sigmoid(x @ w) * (x @ w)",
    "gelu": 'gelu(x @ w, approximate="tanh")',
    "softmax": "softmax(x @ w)",
    "tests": "where(isnan(x @ w), 7, where(isinf(x @ w), 5, x @ w))",
}


@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize("name", EPILOGUES)
def test_infinities_and_nan_through_epilogues(name: str, arch: str) -> None:
    """Rows with an infinity of either sign, with both, and with a NaN; the others are not touched by them."""
    text = f"func f(x: bf16[70, 40], w: bf16[40, 48]) -> bf16[70, 48] {{\n    return {EPILOGUES[name]}\n}}\n"
    exe = irc.compile(text, target="interpret")
    x = np.random.default_rng(1).standard_normal((70, 40)).astype(np.float32)
    x[3, 5], x[20, 7], x[33, [2, 9]], x[69, 39] = np.inf, -np.inf, (np.inf, -np.inf), np.nan
    check(text, arch, x.astype(exe.arguments[0].dtype))


@pytest.mark.parametrize("element", ["f32", "f64", "f16"])
def test_infinities_and_nan_of_other_types(element: str) -> None:
    text = f"func f(x: {element}[70, 40], w: {element}[40, 48]) -> {element}[70, 48] {{\n    return relu(x @ w)\n}}\n"
    x = (
        np.random.default_rng(1)
        .standard_normal((70, 40))
        .astype(irc.compile(text, target="interpret").arguments[0].dtype)
    )
    x[3, 5], x[20, 7], x[69, 39] = np.inf, -np.inf, np.nan
    check(text, "sm_90a", x)


@pytest.mark.parametrize(
    ("x", "w", "result", "hint"),
    [
        ("bf16[3, 4, 8]", "bf16[2, 8, 5]", "bf16[3, 4, 5]", "leading extents broadcast where they are equal or 1"),
        ("bf16[4, 8]", "f32[8, 5]", "f32[4, 5]", "element types must be the same: cast one of them"),
        ("f8e4m3[4, 8]", "i8[8, 5]", "f32[4, 5]", "element types must be the same"),
        ("i8[4, 8]", "u8[8, 5]", "i32[4, 5]", "element types must be the same"),
        ("bool[4, 8]", "bool[8, 5]", "bool[4, 5]", "cast them to a number type"),
        ("bf16[4, 8]", "bf16[9, 5]", "bf16[4, 5]", "the extents that are summed over must be equal, found 8 and 9"),
    ],
)
def test_operands_that_cannot_be_multiplied(x: str, w: str, result: str, hint: str) -> None:
    with pytest.raises(IrcError, match="cannot multiply the matrices") as caught:
        parse(f"func f(x: {x}, w: {w}) -> {result} {{\n    return matmul(x, w)\n}}\n", "bad.irc")
    assert hint in render(caught.value)


CONFIGURED = """func.func @f(%x: tensor<64x64x{element}>) -> tensor<64x64x{result}> {{
  %r = kernel.fused @k matmul config<tile = {{m = 64, n = 64, k = 32}}, instruction = "{instruction}"> (%a = %x : tensor<64x64x{element}>) -> tensor<64x64x{result}> {{
    %c = nd.matmul %a, %a {{lhs_contract = [1], rhs_contract = [0]}} : tensor<64x64x{element}> -> tensor<64x64x{result}>
    kernel.yield %c : tensor<64x64x{result}>
  }}
  func.return %r : tensor<64x64x{result}>
}}
"""


@pytest.mark.parametrize(
    ("arch", "instruction", "element", "result", "message"),
    [
        ("sm_80", "wgmma", "bf16", "f32", "wgmma is an instruction of sm_90a, found sm_80"),
        ("sm_100a", "wgmma", "bf16", "f32", "wgmma is an instruction of sm_90a, found sm_100a"),
        ("sm_90a", "wgmma", "f64", "f64", "wgmma multiplies bf16, f16, f32, tf32, f8e4m3, f8e5m2, i8, u8"),
        ("sm_80", "mma", "i64", "i64", "mma on sm_80 does not multiply i64 and i64"),
        ("sm_90a", "mma", "i32", "i32", "mma on sm_90a does not multiply i32 and i32"),
    ],
)
def test_instructions_that_an_architecture_lacks(
    arch: str, instruction: str, element: str, result: str, message: str
) -> None:
    module = parse(CONFIGURED.format(element=element, result=result, instruction=instruction), "config.mlir")
    set_target(module, arch)
    with pytest.raises(IrcError) as caught:
        run_passes(module, passes_of(KERNEL[KERNEL.index("choose-config") :]))
    assert message in str(caught.value)
