"""Places that are converted to floats by an addition for each element are the floats that a conversion gives, also where
floats cease to be every integer."""

from __future__ import annotations

import numpy as np
import pytest
from xdsl.dialects import arith
from xdsl.ir import Operation, SSAValue

import irc
from irc.dialects.cuda import KernelOp
from irc.driver.lowering import lower
from irc.driver.program import isolate, parse

TEXT = """
dim M = 96, N = 160
func f(x: {t}[M, N]) -> {t}[M, N] {{
    return x + cast(iota([M, N], i32, axis=1) * 3 - iota([M, N], i32, axis=0) + {offset}, {t})
}}
"""
EDGE = {"f32": 1 << 24, "f64": 1 << 30}


def is_split(text: str) -> bool:
    """Whether a kernel adds two converted integers."""

    def is_converted(value: SSAValue) -> bool:
        return isinstance(value.owner, arith.SIToFPOp)

    def adds(op: Operation) -> bool:
        return isinstance(op, arith.AddfOp) and is_converted(op.lhs) and is_converted(op.rhs)

    (kernel,) = (
        op for op in lower(isolate(parse(text, "places.irc")), "all", arch="sm_90a").ops if isinstance(op, KernelOp)
    )
    return any(adds(op) for op in kernel.walk())


@pytest.mark.parametrize("t", EDGE)
@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("behind", [-(1 << 24), -5000, -400, -40, 0, 3000])
def test_places(t: str, sign: int, behind: int) -> None:
    offset = sign * (EDGE[t] + behind)
    text = TEXT.format(t=t, offset=offset)
    x = np.zeros((96, 160), np.dtype(f"float{t[1:]}"))
    found = irc.compile(text, target="sim", arch="sm_90a")(x)
    expected = np.arange(160, dtype=np.int32)[None, :] * 3 - np.arange(96, dtype=np.int32)[:, None] + offset
    np.testing.assert_array_equal(found, expected.astype(x.dtype))
    if behind not in (-400, -40):  # where the code is not as exact as the places themselves
        assert is_split(text) == (t == "f64" or behind < -400)
