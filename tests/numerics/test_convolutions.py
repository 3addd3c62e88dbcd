"""Convolutions on the simulator, against the float64 reference: drawn ones with what stands around them, their gradients,
and ends of what there is."""

from __future__ import annotations

import numpy as np
import pytest
from drawing import long, seeds
from numerics.drawn_convolutions import convolution, gradients
from numerics.drawn_programs import draw_program
from numerics.harness import check_kernels

import irc
from irc.driver.lowering import lower
from irc.driver.program import parse


@long(3)
@pytest.mark.fuzz
@pytest.mark.parametrize("seed", seeds(24))
def test_drawn_convolutions(seed: int) -> None:
    check_kernels(draw_program(convolution, seed), seed)


@pytest.mark.fuzz
@pytest.mark.parametrize("seed", seeds(8, 1000))
def test_drawn_convolutions_before_warp_groups(seed: int) -> None:
    check_kernels(draw_program(convolution, seed), seed, "sm_80")


@long(2)
@pytest.mark.fuzz
@pytest.mark.parametrize("seed", seeds(8, 2000))
def test_gradients_of_drawn_convolutions(seed: int) -> None:
    check_kernels(draw_program(gradients, seed), seed)


def test_every_draw_is_a_program() -> None:
    """Many are parsed, few are run."""
    for family in (convolution, gradients):
        for seed in range(100):
            parse(draw_program(family, seed), "drawn.irc").verify()


ENDS = {
    "no images": "x: f32[0, 3, 8], k: f32[4, 3, 3]) -> f32[0, 4, 6] {\n    return conv(x, k)",
    "no channels": "x: f32[2, 0, 8], k: f32[4, 0, 3]) -> f32[2, 4, 6] {\n    return conv(x, k)",
    "no channels in groups": "x: f32[2, 0, 8], k: f32[4, 0, 3]) -> f32[2, 4, 6] {\n    return conv(x, k, groups=2)",
    "no results": "x: f32[2, 3, 8], k: f32[0, 3, 3]) -> f32[2, 0, 6] {\n    return conv(x, k)",
    "an empty x, padded": "x: f32[2, 3, 0], k: f32[4, 3, 3]) -> f32[2, 4, 2] {\n    return conv(x, k, low=[2], high=[2])",
    "a window longer than x": "x: f32[2, 3, 4], k: f32[4, 3, 5]) -> f32[2, 4, 0] {\n    return conv(x, k)",
    "no taps": "x: f32[2, 3, 4], k: f32[4, 3, 0]) -> f32[2, 4, 5] {\n    return conv(x, k)",
    "no axes": "x: bf16[20, 16], k: bf16[24, 16]) -> bf16[20, 24] {\n    return conv(x, k)",
    "no axes, in groups": "x: bf16[20, 32], k: bf16[24, 16]) -> bf16[20, 24] {\n    return conv(x, k, groups=2)",
    "windows in padding alone": "x: f32[1, 2, 1], k: f32[4, 2, 1]) -> f32[1, 4, 9] {\n"
    "    return conv(x, k, low=[4], high=[4])",
    "zeros between far elements": "x: f32[1, 2, 3], k: f32[4, 2, 2]) -> f32[1, 4, 6] {\n"
    "    return conv(x, k, input_dilation=[9], strides=[3])",
}


@pytest.mark.parametrize("name", ENDS)
@pytest.mark.parametrize("arch", ["sm_80", "sm_90a", None])
def test_ends(name: str, arch: str | None) -> None:
    check_kernels(f"func f({ENDS[name]}\n}}\n", arch=arch)


LAST = "x_axes=[0, 3, 1, 2], result_axes=[0, 3, 1, 2]"
COLUMNS = {
    "a gradient of patches": "x: bf16[2, 5, 6, 32], k: bf16[32, 3, 4, 2]) -> bf16[2, 20, 12, 3] {\n"
    f"    return conv(x, k, low=[3, 1], high=[3, 1], input_dilation=[4, 2], kernel_axes=[1, 0, 2, 3], {LAST}, flipped=true)",
    "not flipped, channels first": "x: bf16[2, 16, 5, 4], k: bf16[2, 16, 2, 3]) -> bf16[2, 2, 10, 12] {\n"
    "    return conv(x, k, low=[1, 2], high=[1, 2], input_dilation=[2, 3])",
    "along one of two axes": "x: f32[2, 5, 6, 8], k: f32[3, 8, 1, 3]) -> f32[2, 5, 18, 3] {\n"
    f"    return conv(x, k, low=[0, 2], high=[0, 2], input_dilation=[1, 3], {LAST})",
}


@long(2)
@pytest.mark.parametrize("name", COLUMNS)
@pytest.mark.parametrize("arch", ["sm_80", "sm_90a", None])
def test_windows_that_do_not_meet_are_columns_of_a_product(name: str, arch: str | None) -> None:
    text = f"func f({COLUMNS[name]}\n}}\n"
    check_kernels(text, arch=arch)
    module = parse(text, "columns.irc")
    assert [op.name for op in lower(module, "nd").walk() if op.name in ("nd.conv", "nd.matmul")] == ["nd.matmul"]


def test_nothing_beyond_the_ends_counts() -> None:
    """Neighbors of a row, of an image and of the last step along K are not read, whatever they hold."""
    text = """func f(x: bf16[2, 5, 5, 3], k: bf16[4, 3, 3, 3]) -> bf16[2, 5, 5, 4] {
    return conv(x, k, low=[1, 1], high=[1, 1], x_axes=[0, 3, 1, 2], kernel_axes=[0, 3, 1, 2], result_axes=[0, 3, 1, 2])
}
"""
    exe = irc.compile(text, target="sim")
    x, k = (np.ones(shape, np.float32) for shape in ((2, 5, 5, 3), (4, 3, 3, 3)))
    x[0, 4, 4] = np.inf
    found = np.asarray(exe(*(a.astype(irc.ir.dtypes.element_named("bf16").dtype) for a in (x, k)))).astype(np.float32)
    assert np.isinf(found[0, 3:, 3:]).all()
    found[0, 3:, 3:] = 0
    assert np.isfinite(found).all()
