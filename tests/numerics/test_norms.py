"""Statistics over any axes, of arrays in any order, on the simulator: as float64 has them, without a race."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np
import pytest
from drawing import examples
from hypothesis import assume, example, given
from hypothesis import strategies as st
from numerics.harness import check_kernels

import irc
from irc.dialects.kernel import FusedOp
from irc.driver.lowering import lower
from irc.driver.program import parse

EXTENTS = (1, 2, 3, 5, 8, 16, 31, 70, 150)
MAX_ELEMENTS = 40_000
"""Elements that the simulator reduces in a fraction of a second."""

SPREAD = """
func f(x: f32[{shape}]) -> (f32[{shape}], f32[{shape}]) {{
    m = mean(x, axis={axes}, keepdims=true)
    s = rsqrt(var(x, axis={axes}, keepdims=true) + 1e-5)
    return (x - m) * s, x - max(x, axis={axes}, keepdims=true)
}}
"""

SUMS = """
func f(x: f32[{shape}], y: f32[{shape}]) -> (f32[{kept}], f32[{kept}]) {{
    m = max(y, axis={axes}, keepdims=true)
    return sum(x * (y - m), axis={axes}), sum(x, axis={axes})
}}
"""


@st.composite
def cases(draw: st.DrawFn) -> tuple[list[int], list[int]]:
    extents: list[int] = draw(st.lists(st.sampled_from(EXTENTS), min_size=2, max_size=5))
    axes: list[int] = draw(st.lists(st.integers(0, len(extents) - 1), min_size=1, unique=True))
    assume(prod(extents) <= MAX_ELEMENTS)
    return extents, sorted(axes)


def drawn(extents: Sequence[int], seed: int) -> np.ndarray:
    return np.random.default_rng(seed).normal(1.5, 2, extents).astype(np.float32)


def check(found: np.ndarray, expected: np.ndarray, terms: int = 1) -> None:
    assert np.abs(found - expected).max() <= 2e-6 * max(1.0, np.sqrt(terms)) * max(1.0, np.abs(expected).max())


@given(cases())
@example(([2, 150, 3, 8], [1, 3]))
@example(([2, 150, 16, 8], [0, 1, 3]))
@example(([3, 70, 8, 16], [1, 3]))
@example(([2, 9, 31, 5, 2], [1, 2, 4]))
@example(([150, 70, 3], [0]))
@examples(60, one_in=6)
def test_norms(case: tuple[list[int], list[int]]) -> None:
    extents, axes = case
    x = drawn(extents, prod(extents))
    over, wide = tuple(axes), x.astype(np.float64)
    normal, below = irc.compile(SPREAD.format(shape=", ".join(map(str, extents)), axes=axes), target="sim")(x)
    mean, variance = wide.mean(over, keepdims=True), wide.var(over, keepdims=True)
    check(normal, (wide - mean) / np.sqrt(variance + 1e-5), 100)
    assert np.array_equal(below, x - x.max(over, keepdims=True))


@given(cases())
@example(([2, 150, 3, 8], [1, 3]))
@example(([1, 700, 3, 8], [0, 1, 3]))
@example(([2, 9, 31, 5, 2], [1, 2, 4]))
@examples(60, one_in=3)
def test_sums_beside_each_other(case: tuple[list[int], list[int]]) -> None:
    extents, axes = case
    x, y = drawn(extents, 1), drawn(extents, 2)
    over = tuple(axes)
    kept = ", ".join(str(extent) for axis, extent in enumerate(extents) if axis not in axes)
    text = SUMS.format(shape=", ".join(map(str, extents)), axes=axes, kept=kept)
    products, sums = irc.compile(text, target="sim")(x, y)
    a, b = x.astype(np.float64), y.astype(np.float64)
    terms = prod(extents[axis] for axis in axes)
    check(products, (a * (b - b.max(over, keepdims=True))).sum(over), terms)
    check(sums, a.sum(over), terms)


@pytest.mark.parametrize("mean", [0.0, 1e2, 1e3])
def test_one_pass_loses_nothing_far_from_zero(mean: float) -> None:
    """The variance is of the distances from an element, not from 0."""
    x = (np.random.default_rng(3).normal(0, 1, (2, 600, 3, 4)) + mean).astype(np.float32)
    text = "func f(x: f32[2, 600, 3, 4]) -> f32[2, 3] {\n    return var(x, axis=[1, 3])\n}\n"
    expected = x.astype(np.float64).var((1, 3))
    assert np.abs(irc.compile(text, target="sim")(x) / expected - 1).max() < 2e-5


OF_PRODUCTS = """
func f(x: f32[2, 6, 32], w: f32[32, 16], g: f32[2, 6, 16]) -> (f32[2, 6, 16], f32[16], f32[16]) {
    h = x @ w
    y = h * rsqrt(sum(h * h, 2, keepdims=true))
    z = sum(g * y, 2, keepdims=true) * (g - y)
    return z, sum(g * y, [0, 1]), sum(z, [0, 1])
}
"""


@pytest.mark.parametrize("arch", ["sm_90a", None], ids=["sim", "cpu"])
def test_gradients_of_norms_of_products(arch: str | None) -> None:
    """Rows of a product are reduced twice, and what they give is summed along the rows, in one kernel."""
    kernels = [op for op in lower(parse(OF_PRODUCTS, "norm"), "kernel").walk() if isinstance(op, FusedOp)]
    assert len(kernels) == 2  # the second one finishes the sums
    check_kernels(OF_PRODUCTS, arch=arch)


GROUPS = """
func f(x: bf16[2, 9, 8, 64], k: bf16[64, 3, 3, 64], l: bf16[64, 3, 3, 64], b: bf16[64], w: bf16[64]) -> bf16[2, 9, 8, 64] {
    y = conv(permute(x, [0, 3, 1, 2]), permute(k, [0, 3, 1, 2]), low=[1, 1], high=[1, 1]) + reshape(b, [64, 1, 1])
    g = cast(reshape(y, [2, 8, 8, 9, 8]), f32)
    m = mean(g, axis=[2, 3, 4], keepdims=true)
    n = (g - m) * rsqrt(var(g, axis=[2, 3, 4], keepdims=true) + 1e-5)
    h = cast(reshape(silu(n * cast(reshape(w, [8, 8, 1, 1]), f32)), [2, 64, 9, 8]), bf16)
    z = conv(concat([h, y], axis=1)[:, 32:96], permute(l, [0, 3, 1, 2]), low=[1, 1], high=[1, 1])
    return permute(z, [0, 2, 3, 1])
}
"""


def test_groups_of_channels_between_convolutions() -> None:
    """They lie last, as the convolutions have them: no kernel permutes anything."""
    module = lower(parse(GROUPS, "groups.irc"), "kernel", arch="sm_90a")
    kernels = [op for op in module.walk() if isinstance(op, FusedOp)]
    assert not [op for kernel in kernels for op in kernel.walk() if op.name == "nd.permute"]
    generator = np.random.default_rng(0)
    wanted, *found = (irc.compile(GROUPS, target) for target in ("interpret", "sim", "cpu"))
    arrays = [(generator.normal(size=spec.shape) / 8).astype(spec.dtype) for spec in wanted.arguments]
    expected = np.asarray(wanted(*arrays)).astype(np.float32)
    for each in found:
        result = np.asarray(each(*arrays)).astype(np.float32)
        np.testing.assert_allclose(result, expected, atol=2e-2 * float(np.abs(expected).max()))


COLUMNS = """
func f(x: bf16[2304, 64], w: bf16[64, 64], z: bf16[2304, 64], m: f32[64]) -> (bf16[2304, 64], f32[64]) {
    d = cast(where(z > 0, x @ w, 0.0), f32)
    a = cast(z, f32) - m
    s = sum(d * a, axis=0) * 0.0004
    return cast(d - a * s - mean(d, axis=0), bf16), s
}
"""


def test_sums_over_many_rows_of_a_product() -> None:
    """Its kernel has parts of both, and stores one array beside them."""
    module = lower(parse(COLUMNS, "columns.irc"), "kernel", arch="sm_90a")
    (product,) = (op for op in module.walk() if isinstance(op, FusedOp) and op.kind.value == "matmul")
    assert sum(op.name == "nd.sum" for op in product.walk()) == 2
    assert sum("tensor<2304x64x" in str(value.type) for value in product.outputs) == 1
    generator = np.random.default_rng(0)
    wanted, found = (irc.compile(COLUMNS, target) for target in ("interpret", "sim"))
    arrays = [generator.normal(size=spec.shape).astype(spec.dtype) for spec in wanted.arguments]
    for a, b in zip(found(*arrays), wanted(*arrays), strict=True):
        a, b = (np.asarray(each).astype(np.float32) for each in (a, b))
        np.testing.assert_allclose(a, b, atol=2e-2 * float(np.abs(b).max()))
