"""`irc.passes.kernel.problem`: what `choose-config` knows of a product from its kernel."""

from __future__ import annotations

import pytest

from irc.dialects.kernel import FusedOp
from irc.lowering import passes_of, run_passes
from irc.passes.kernel.problem import Product, product_of
from irc.program import new_context, parse


def problem(parameters: str, result: str, expression: str) -> Product:
    """That of the only product of a program."""
    module = parse(f"func f({parameters}) -> {result} {{\n    return {expression}\n}}\n", "f.irc")
    names = ("canonicalize-nd", "decompose-nd", "widen-arithmetic", "canonicalize-nd", "fuse-kernels")
    run_passes(module, passes_of(names), context=new_context())
    (kernel,) = [op for op in module.walk() if isinstance(op, FusedOp)]
    return product_of(kernel)


@pytest.mark.parametrize("columns", [64, 60])
def test_arrays_that_tma_brings_to_the_epilogue(columns: int) -> None:
    """Their rows are a multiple of 16 bytes."""
    shape = f"bf16[64, {columns}]"
    product = problem(f"x: bf16[64, 32], w: bf16[32, {columns}], y: {shape}", shape, "x @ w + y")
    assert product.returns
    assert product.arrives == (columns == 64)


def test_part_of_a_larger_array_does_not_arrive() -> None:
    product = problem("x: bf16[64, 32], w: bf16[32, 64], y: bf16[64, 128]", "bf16[64, 64]", "x @ w + y[:, 64:]")
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
