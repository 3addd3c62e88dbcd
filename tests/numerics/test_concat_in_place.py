"""Concats whose operands kernels write where they lie in the result: with no kernel that copies, and the same numbers on
the simulator, level by level, and on a CPU."""

from __future__ import annotations

import numpy as np
import pytest

import irc
from irc.driver.lowering import lower
from irc.driver.program import parse

LAST = "x_axes=[0, 3, 1, 2], kernel_axes=[0, 3, 1, 2], result_axes=[0, 3, 1, 2]"
PADDED = f"low=[1, 1], high=[1, 1], {LAST}"

PROGRAMS = {
    "products": (
        4,
        """
func f(x: bf16[2, 8, 8, 64], w0: bf16[64, 64], w1: bf16[64, 32], w2: bf16[96, 32], w3: bf16[128, 64]) -> bf16[2, 8, 8, 64] {
    x0 = relu(x @ w0)
    x1 = concat([x0, relu(x0 @ w1)], axis=3)
    x2 = concat([x1, relu(x1 @ w2)], axis=3)
    return relu(relu(x2) @ w3)
}
""",
    ),
    "convolutions": (
        5,
        f"""
func f(x: bf16[2, 9, 7, 64], k0: bf16[64, 3, 3, 64], k1: bf16[32, 3, 3, 64], k2: bf16[32, 3, 3, 96], k3: bf16[64, 3, 3, 128]) -> bf16[2, 9, 7, 64] {{
    x0 = relu(conv(x, k0, {PADDED}))
    x1 = concat([x0, relu(conv(x0, k1, {PADDED}))], axis=3)
    x2 = concat([x1, conv(x1, k2, {PADDED})], axis=3)
    return relu(conv(x2, k3, {PADDED}))
}}
""",
    ),
    "strides and a mean": (
        5,
        f"""
func f(x: bf16[2, 8, 8, 64], k0: bf16[64, 3, 3, 64], k1: bf16[64, 2, 2, 64], k2: bf16[64, 2, 2, 64], w: bf16[128, 64]) -> (bf16[2, 128], bf16[2, 8, 8, 64]) {{
    kept = relu(conv(x, k0, {PADDED}))
    down = conv(kept, k1, strides=[2, 2], {LAST})
    up = conv(down, k2, low=[1, 1], high=[1, 1], input_dilation=[2, 2], flipped=true, {LAST})
    both = concat([kept, up], axis=3)
    return mean(both, axis=[1, 2]), relu(both @ w)
}}
""",
    ),
    "rows": (
        4,
        """
func f(x: bf16[3, 40, 64], w: bf16[64, 64], b: bf16[64, 64]) -> bf16[3, 64, 64] {
    a = softmax(x @ w)
    c = softmax(x[:, :24] @ b)
    d = concat([a, c], axis=1)
    return relu(d @ w)
}
""",
    ),
    "what lies apart": (
        5,
        """
func f(x: bf16[4, 64], w: bf16[64, 64], b: bf16[64, 96], v: bf16[160, 32]) -> (bf16[4, 96], bf16[4, 224], bf16[4, 32]) {
    y = relu(x @ b)
    z = concat([relu(x @ w), y], axis=1)
    return y, concat([z, x], axis=1), relu(z @ v)
}
""",
    ),
    "a result": (
        2,
        """
func f(x: bf16[4, 64], w: bf16[64, 64], b: bf16[64, 96]) -> bf16[4, 160] {
    return concat([relu(x @ w), relu(x @ b)], axis=1)
}
""",
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_numbers(name: str) -> None:
    kernels, text = PROGRAMS[name]
    module = lower(parse(text, f"{name}.irc"), "programs", arch="sm_90a")
    assert any(op.name == "nd.concat" and "nd.in_place" in op.attributes for op in module.walk())
    assert sum(op.name == "kernel.launch" for op in module.walk()) == kernels
    found = [irc.compile(text, target) for target in ("interpret", "sim", "cpu")]
    generator = np.random.default_rng(0)
    arrays = [(generator.normal(size=spec.shape) / 8).astype(spec.dtype) for spec in found[0].arguments]
    wanted, *others = ([np.asarray(each).astype(np.float32) for each in _all(run(*arrays))] for run in found)
    for other in others:
        for a, b in zip(other, wanted, strict=True):
            assert float(np.abs(b).max()) > 0
            np.testing.assert_allclose(a, b, atol=2e-2 * float(np.abs(b).max()))


def _all(results: object) -> list[object]:
    return list(results) if isinstance(results, tuple) else [results]
