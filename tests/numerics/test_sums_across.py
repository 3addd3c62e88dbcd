"""Products that sum over a cascade's rows: five products in one kernel, one of which each tile adds to, on the
interpreter of tiles and on the simulator, with every instruction."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from drawing import long
from ml_dtypes import bfloat16

import irc
from irc.codegen.nvrtc import compile_source
from irc.codegen.printer import print_kernels
from irc.dialects.cuda import KernelOp
from irc.dialects.kernel import FusedOp
from irc.driver.lowering import lower
from irc.driver.program import isolate, parse
from irc.interpreters.tile import interpreter as tiles
from irc_tools.bench.suite import load_suite

Array = np.ndarray[Any, Any]

WGMMA = 'warps = 8, indexing = "tma", instruction = "wgmma"'

CASES = {
    "rows of columns": (64, 256, False, "{m = 128, k = 128}, stages = 2, " + WGMMA),
    "rows of columns, ragged": (64, 200, True, "{m = 128, k = 128}, stages = 1, " + WGMMA),
    "rows of sums": (128, 256, True, "{m = 128, k = 64}, stages = 2, " + WGMMA),
    "rows of sums, ragged": (128, 200, False, "{m = 128, k = 80}, stages = 1, " + WGMMA),
    "one warp group": (64, 136, True, '{m = 64, k = 64}, warps = 4, indexing = "tma", instruction = "wgmma"'),
    "mma": (64, 136, True, '{m = 64, k = 32}, stages = 2, warps = 4, instruction = "mma"'),
    "fma": (32, 72, False, '{m = 32, k = 32}, warps = 4, instruction = "fma"'),
}


def kernel(head: int, rows: int, causal: bool, config: str) -> str:
    """The gradients of sum(relu(q k') v * g) with respect to q, k and v, in one kernel with a config."""
    x, s = f"tensor<{rows}x{head}xbf16>", f"{rows}x{rows}"
    f32, bf16, sums = f"tensor<{s}xf32>", f"tensor<{s}xbf16>", f"tensor<{rows}x{head}xf32>"
    masked = f"""%i = nd.iota {{axis = 0}} : tensor<{s}xi32>
    %j = nd.iota {{axis = 1}} : tensor<{s}xi32>
    %ge = nd.greater_equal %i, %j : tensor<{s}xi32> -> tensor<{s}xi1>
    %none = nd.constant 0.0 : {f32}
    %p = nd.where %ge, %r, %none : (tensor<{s}xi1>, {f32}, {f32}) -> {f32}"""
    weights = masked if causal else f"%none = nd.constant 0.0 : {f32}\n    %p = nd.maximum %r, %none : {f32}"
    return f"""func.func @f(%q: {x}, %k: {x}, %v: {x}, %g: {x}) -> ({sums}, {x}, {x}) {{
  %0, %1, %2 = kernel.fused @f_0 cascade config<tile = {config}> (%q_1 = %q : {x}, %k_1 = %k : {x}, %v_1 = %v : {x}, \
%g_1 = %g : {x}) -> ({sums}, {x}, {x}) {{
    %r = nd.matmul %q_1, %k_1 {{lhs_contract = [1], rhs_contract = [1]}} : {x} -> {f32}
    {weights}
    %t = nd.matmul %g_1, %v_1 {{lhs_contract = [1], rhs_contract = [1]}} : {x} -> {f32}
    %d = nd.mul %p, %t : {f32}
    %c = nd.cast %d : {f32} -> {bf16}
    %w = nd.cast %p : {f32} -> {bf16}
    %dq = nd.matmul %c, %k_1 {{lhs_contract = [1], rhs_contract = [0], nd.any_order}} : ({bf16}, {x}) -> {sums}
    %dk = nd.matmul %c, %q_1 {{lhs_contract = [0], rhs_contract = [0]}} : ({bf16}, {x}) -> {sums}
    %dv = nd.matmul %w, %g_1 {{lhs_contract = [0], rhs_contract = [0]}} : ({bf16}, {x}) -> {sums}
    %3 = nd.cast %dk : {sums} -> {x}
    %4 = nd.cast %dv : {sums} -> {x}
    kernel.yield %dq, %3, %4 : {sums}, {x}, {x}
  }}
  func.return %0, %1, %2 : {sums}, {x}, {x}
}}"""


def _expected(arrays: list[Array], causal: bool) -> tuple[Array, ...]:
    q, k, v, g = (a.astype(np.float64) for a in arrays)
    r = q @ k.T
    p = np.where(np.tril(np.ones(r.shape, np.bool_)), r, 0) if causal else np.maximum(r, 0)
    c = (p * (g @ v.T)).astype(bfloat16).astype(np.float64)
    return c @ k, c.T @ q, p.astype(bfloat16).astype(np.float64).T @ g


def _near(found: Array, expected: Array) -> bool:
    return float(np.abs(found.astype(np.float64) - expected).max()) <= 1e-2 * float(np.abs(expected).max())


@long(3)
@pytest.mark.parametrize("name", CASES)
def test_every_instruction(name: str) -> None:
    head, rows, causal, config = CASES[name]
    text = kernel(head, rows, causal, config)
    random = np.random.default_rng(0)
    arrays = [(random.standard_normal((rows, head)) / 8).astype(bfloat16) for _ in range(4)]
    expected = _expected(arrays, causal)
    tiled = lower(parse(text, "sums.mlir"), "tile", arch="sm_90a")
    simulated = irc.compile(parse(text, "sums.mlir"), target="sim", arch="sm_90a")(*arrays)
    for found in (tiles.evaluate(tiled, arrays), simulated):
        assert all(_near(np.asarray(x), y) for x, y in zip(found, expected, strict=True))


def test_no_conflicts() -> None:
    random = np.random.default_rng(0)
    for name in ("rows of columns", "rows of sums"):
        head, rows, causal, config = CASES[name]
        arrays = [random.standard_normal((rows, head)).astype(bfloat16) for _ in range(4)]
        executable = irc.compile(parse(kernel(head, rows, causal, config), "sums.mlir"), target="sim", arch="sm_90a")
        assert [found.conflicts for found in executable.statistics(*arrays)] == [0]


def _products(any_order: bool) -> list[int]:
    """The products of each kernel of the gradients of attention."""
    row = next(row for row in load_suite("attention").rows if row.name == "gradients full 4x16x4096x128 bf16")
    module = lower(isolate(parse(row.program, "attention.irc")), "kernel", arch="sm_90a", any_order=any_order)
    kernels = [op for op in module.walk() if isinstance(op, FusedOp)]
    return [sum(op.name == "nd.matmul" for op in each.block.ops) for each in kernels]


def test_sums_keep_their_order_unless_they_need_not() -> None:
    assert sorted(_products(any_order=False)) == [0, 3, 4]
    assert sorted(_products(any_order=True)) == [0, 0, 5]


@long(2)
@pytest.mark.parametrize(
    "name", ["full 4x16x4096x128", "causal 4x16x4096x128", "causal 4x32/8x4096x128", "full 8x32x2048x64"]
)
def test_machine_code(name: str) -> None:
    """Nothing is spilled, and products stay in flight: no warning of ptxas. Blocks of masked gradients add to a counter
    of tiles, too, their last operand."""
    row = next(row for row in load_suite("attention").rows if row.name == f"gradients {name} bf16")
    module = lower(isolate(parse(row.program, "attention.irc")), "all", arch="sm_90a", any_order=True)
    kernels = [op for op in module.ops if isinstance(op, KernelOp)]
    counter = {len(kernels[1].body.block.args) - 1} if name.startswith("causal") else set[int]()
    assert [op.summed for op in kernels] == [set(), {6} | counter, set()]
    for op in kernels:
        compiled = compile_source(print_kernels([op]), "sm_90a", name=op.sym_name.data)
        assert compiled.warnings == () and compiled.resources[op.sym_name.data].spills == 0
