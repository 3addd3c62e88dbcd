"""Attention with dropout: the weights that are kept are drawn anew in each kernel, from a word for each row. Forward and
backward passes are cascades, right on the simulator."""

from __future__ import annotations

import pytest
from drawing import long
from numerics.harness import check_kernels
from numerics.test_cascades import anchors

from irc.driver.lowering import lower
from irc.driver.program import isolate, parse

PROGRAM = """
dim B = 1, H = 2, S = {s}, T = {t}, D = 64
func kept(words: i32[B, H, S]) -> bool[B, H, S, T] {{
    word = reshape(words * 1540483477, [B, H, S, 1])
    x = iota([T], i32) * -1640531535 + word
    z = (x ^ ((x >> 16) & 65535)) * -2048144789
    return (z ^ ((z >> 15) & 131071) ^ word) * -1028477387 >= -858993459
}}
"""

FORWARD = """
func f(q: bf16[B, H, S, D], k: bf16[B, H, T, D], v: bf16[B, H, T, D], words: i32[B, H, S]) -> (
    bf16[B, H, S, D], f32[B, H, S]) {{
    rows = iota([S, T], i32, axis=0)
    columns = iota([S, T], i32, axis=1)
    s = where({seen}, q @ permute(k, [0, 1, 3, 2]) * 0.125, -inf)
    m = max(s, axis=3, keepdims=true)
    e = exp(s - m)
    l = sum(e, axis=3, keepdims=true)
    return where(kept(words), {weights}, 0.0) @ v / 0.7, cast(reshape(m + log(l), [B, H, S]), f32)
}}
"""

BACKWARD = """
func f(q: bf16[B, H, S, D], k: bf16[B, H, T, D], v: bf16[B, H, T, D], g: bf16[B, H, S, D], y: bf16[B, H, S, D],
    sums: f32[B, H, S], words: i32[B, H, S]) -> (f32[B, H, S, D], f32[B, H, T, D], f32[B, H, T, D]) {{
    w = attention_weights(q, k, sums, causal={causal})
    total = sum(cast(g, f32) * cast(y, f32), axis=3, keepdims=true)
    signed = where(kept(words), w, -w)
    slope = where(signed > 0.0, cast(g @ permute(v, [0, 1, 3, 2]), f32) / 0.7, 0.0) - total
    ds = cast(abs(cast(signed, f32)) * slope, bf16)
    dv = permute({kept}, [0, 1, 3, 2]) @ g
    return cast(ds @ k, f32), cast(permute(ds, [0, 1, 3, 2]) @ q, f32), cast(dv, f32) / 0.7
}}
"""


@long(4)
@pytest.mark.parametrize("seen", ["columns <= rows", "columns < rows + 4096"])
@pytest.mark.parametrize("weights", ["e / l", "e * (1.0 / l)"])
@pytest.mark.parametrize(("s", "t"), [(128, 192), (200, 136)])
def test_forward(s: int, t: int, weights: str, seen: str) -> None:
    """The row's factor leaves the product behind what masks the weights; the sum is that of all of them."""
    text = (PROGRAM + FORWARD).format(s=s, t=t, weights=weights, seen=seen)
    assert anchors(text) == ["cascade"]
    check_kernels(text)


@long(8)
@pytest.mark.parametrize("causal", ["false", "true"])
@pytest.mark.parametrize("kept", ["maximum(signed, 0.0)", "where(signed > 0.0, signed, 0.0)"])
@pytest.mark.parametrize(("s", "t"), [(128, 192), (200, 136)])
def test_backward(s: int, t: int, kept: str, causal: str) -> None:
    """Both walk over what was drawn, along the rows and along the columns, and from where or to where rows see any."""
    text = (PROGRAM + BACKWARD).format(s=s, t=t, causal=causal, kept=kept)
    assert anchors(text) == ["reduce", "cascade", "cascade"]
    lowered = str(lower(isolate(parse(text, "dropout.irc")), "tile", arch="sm_90a"))
    assert all((bound in lowered) == (causal == "true") for bound in ("arith.minsi", "arith.maxsi"))
    check_kernels(text, noise=[2e-3] * 3)  # of operands that are rounded to 16 bits
