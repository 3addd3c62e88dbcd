"""Products of few rows on the simulator: parts of K whose sums the kernel adds up that reads what they come to, and pairs
of products."""

from __future__ import annotations

from math import prod

import numpy as np
import pytest

import irc
from irc.analysis.op_classes import shape_of
from irc.analysis.readers import MAX_PARTS
from irc.dialects.kernel import FusedOp
from irc.driver.lowering import lower
from irc.driver.program import isolate, parse

PROGRAMS = {
    "norm": """func f(x: bf16[4, 2048], w: bf16[256, 2048], r: bf16[4, 256], g: bf16[256]) -> bf16[4, 256] {
        return rms_norm(r + x @ transpose(w)) * g
    }""",
    "halves": """func f(x: bf16[5, 2048], w: bf16[128, 2048], c: bf16[64], s: bf16[64]) -> bf16[5, 128] {
        y = x @ transpose(w)
        a = y[:, 0:64]
        b = y[:, 64:128]
        return concat([a * c - b * s, b * c + a * s], axis=1)
    }""",
    "softmax": """func f(x: f16[2, 3, 2048], w: f16[192, 2048]) -> f16[2, 3, 192] {
        return softmax(gelu(x @ transpose(w)))
    }""",
}


def check(program: str) -> None:
    """The simulator's results are those of the interpreter, but for roundings."""
    found, wanted = (irc.compile(program, target) for target in ("sim", "interpret"))
    generator = np.random.default_rng(0)
    arrays = [generator.normal(size=spec.shape, scale=0.2).astype(spec.dtype) for spec in found.arguments]
    results = [exe(*arrays) for exe in (found, wanted)]
    for a, b in zip(*(each if isinstance(each, tuple) else (each,) for each in results), strict=True):
        a, b = (np.asarray(each).astype(np.float32) for each in (a, b))
        np.testing.assert_allclose(a, b, atol=1e-2 * float(np.abs(b).max()))


@pytest.mark.parametrize("name", PROGRAMS)
def test_who_reads_a_sum_of_parts_adds_them_up(name: str) -> None:
    module = lower(isolate(parse(PROGRAMS[name], "parts.irc"), None), "kernel", arch="sm_90a")
    kernels = [op for op in module.walk() if isinstance(op, FusedOp)]
    product, _ = kernels
    parts, *_ = shape_of(product.outputs[0])
    assert 1 < parts <= MAX_PARTS and prod(shape_of(product.outputs[0])[1:]) == prod(shape_of(kernels[1].outputs[0]))
    check(PROGRAMS[name])


PAIRS = """
func f(x: bf16[{rows}, 512], w: bf16[304, 512], v: bf16[304, 512], b: bf16[304]) -> (bf16[{rows}, 304], bf16[{rows}, 304]) {{
    u = x @ transpose(v)
    return silu(x @ transpose(w) + b) * u, u
}}
"""


@pytest.mark.parametrize("rows", [3, 16, 40])
def test_two_products_of_few_rows_have_them_along_n(rows: int) -> None:
    text = PAIRS.format(rows=rows)
    (kernel,) = [
        op
        for op in lower(isolate(parse(text, "pairs.irc"), None), "kernel", arch="sm_90a").walk()
        if isinstance(op, FusedOp)
    ]
    assert kernel.config is not None and kernel.config.swap_ab
    check(text)
