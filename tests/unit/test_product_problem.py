"""`irc.analysis.product_problem`: what `choose-config` knows of a product from its kernel."""

from __future__ import annotations

import pytest
from xdsl.dialects.builtin import ModuleOp

from irc.analysis.product_problem import Product, product_of
from irc.dialects.kernel import FusedOp
from irc.driver.lowering import passes_of, run_passes
from irc.driver.program import parse


def problem(parameters: str, result: str, expression: str) -> Product:
    """That of the only product of a program."""
    module = parse(f"func f({parameters}) -> {result} {{\n    return {expression}\n}}\n", "f.irc")
    names = ("canonicalize-nd", "decompose-nd", "widen-arithmetic", "canonicalize-nd", "fuse-kernels")
    run_passes(module, passes_of(names))
    return problem_of(module)


def problem_of(module: ModuleOp) -> Product:
    (kernel,) = [op for op in module.walk() if isinstance(op, FusedOp)]
    return product_of(kernel)


@pytest.mark.parametrize("columns", [64, 60])
def test_arrays_that_tma_brings_to_the_epilogue(columns: int) -> None:
    """Their rows are a multiple of 16 bytes."""
    shape = f"bf16[64, {columns}]"
    product = problem(f"x: bf16[64, 32], w: bf16[32, {columns}], y: {shape}", shape, "x @ w + y")
    assert product.returns
    assert product.arrives == (columns == 64)


def test_an_array_of_another_order_does_not_arrive() -> None:
    text = """func.func @f(%x: tensor<64x32xbf16>, %w: tensor<32x64xbf16>, %y: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %r = kernel.fused @k matmul (%a = %x : tensor<64x32xbf16>, %b = %w : tensor<32x64xbf16>, %c = %y : tensor<64x64xf32>) -> tensor<64x64xf32> {
    %p = nd.matmul %a, %b {lhs_contract = [1], rhs_contract = [0]} : (tensor<64x32xbf16>, tensor<32x64xbf16>) -> tensor<64x64xf32>
    %t = nd.permute %c {permutation = [1, 0]} : tensor<64x64xf32> -> tensor<64x64xf32>
    %s = nd.add %p, %t : tensor<64x64xf32>
    kernel.yield %s : tensor<64x64xf32>
  }
  func.return %r : tensor<64x64xf32>
}"""
    product = problem_of(parse(text, "f.mlir"))
    assert product.returns
    assert not product.arrives


def test_a_product_that_nothing_follows_reads_nothing() -> None:
    product = problem("x: bf16[64, 32], w: bf16[32, 64]", "bf16[64, 64]", "x @ w")
    assert not product.returns


@pytest.mark.parametrize("element", ["bf16", "f32"])
def test_a_scalar_beside_a_product_of_vectors_is_no_box(element: str) -> None:
    """A result of rank 0 has no rows."""
    product = problem(f"x: {element}[64], y: {element}[64], b: {element}[]", f"{element}[]", "x @ y + b")
    assert product.returns
    assert not product.arrives


def test_a_scalar_beside_the_sum_of_a_product_is_not_of_its_size() -> None:
    parameters = "x: bf16[64, 32], w: bf16[32, 64], b: f32[]"
    product = problem(parameters, "f32[]", "sum(x @ w, dtype=f32) + b")
    assert not product.returns
