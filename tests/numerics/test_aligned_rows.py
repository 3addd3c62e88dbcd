"""Rows of odd lengths that a reduction stores for products alone: stored as rows of whole lines, on the simulator."""

from __future__ import annotations

import numpy as np
import pytest
from drawing import slow

import irc
from irc.dialects.kernel import FusedOp
from irc.driver.lowering import lower
from irc.driver.program import parse

PROGRAM = """
func scores(x: bf16[{m}, {n}], w: bf16[{n}, 128], h: bf16[{m}, 128]) -> (bf16[{m}, 128], bf16[{n}, 128], f32[{m}]) {{
    p = softmax(x)
    return p @ w, transpose(p) @ h, max(cast(x, f32), axis=1)
}}
"""


@pytest.mark.parametrize(("m", "n"), [(128, 771), pytest.param(256, 16411, marks=slow)])
def test_rows_beside_a_reduction(m: int, n: int) -> None:
    """In registers, and in steps: no kernel copies them."""
    text = PROGRAM.format(m=m, n=n)
    module = lower(parse(text, "scores.irc"), "kernel", arch="sm_90a")
    names = [str(op.sym_name) for op in module.walk() if isinstance(op, FusedOp)]
    assert len(names) == 3, names
    found, wanted = (irc.compile(text, target) for target in ("sim", "interpret"))
    generator = np.random.default_rng(0)
    arrays = [generator.normal(size=spec.shape).astype(spec.dtype) for spec in found.arguments]
    for a, b in zip(found(*arrays), wanted(*arrays), strict=True):
        a, b = (np.asarray(each).astype(np.float32) for each in (a, b))
        np.testing.assert_allclose(a, b, atol=1e-2 * float(np.abs(b).max()))
