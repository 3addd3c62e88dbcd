"""The gradients of attention with a function of the scores, as `flex_attention` has them: right on the simulator."""

from __future__ import annotations

import pytest
from drawing import long
from numerics.harness import check_kernels
from numerics.test_cascades import anchors

PROGRAM = """
dim B = 1, H = 2, S = {s}, T = {t}, D = 64
func f(q: bf16[B, H, S, D], k: bf16[B, H, T, D], v: bf16[B, H, T, D], g: bf16[B, H, S, D], y: bf16[B, H, S, D],
    sums: f32[B, H, S, 1], slopes: f32[H], d: i32[S], e: i32[T]) -> (
    f32[B, H, S, D], f32[B, H, T, D], f32[B, H, T, D]) {{
    rows = iota([S, 1], i32, axis=0)
    columns = iota([1, T], i32, axis=1)
    scores = cast(q @ permute(k, [0, 1, 3, 2]), f32) * 0.125
    seen = {seen}
    changed = {changed}
    w = exp(where(seen, changed, -inf) - sums)
    slope = w * (cast(g @ permute(v, [0, 1, 3, 2]), f32) - sum(cast(g, f32) * cast(y, f32), axis=3, keepdims=true))
    ds = cast(where(w > 0.0, slope * {derivative}, 0.0), bf16)
    dv = permute(cast(w, bf16), [0, 1, 3, 2]) @ g
    return cast(ds @ k, f32), cast(permute(ds, [0, 1, 3, 2]) @ q, f32), cast(dv, f32)
}}
"""

FUNCTIONS = {
    "soft cap": ("20.0 * tanh(scores / 20.0)", "(1.0 - tanh(scores / 20.0) ** 2)"),
    "slopes": ("scores + reshape(slopes, [H, 1, 1]) * cast(columns - rows, f32) * 0.01", "1.0"),
    "square": ("scores * scores * 0.3", "(scores * 0.6)"),
}

MASKS = {
    "causal": "columns <= rows",
    "documents": "(columns <= rows) & (reshape(d, [S, 1]) == reshape(e, [1, T]))",
    "all": "columns < rows + 4096",
}


@long(9)
@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize(("s", "t"), [(128, 192), (200, 136)])
def test_gradients(s: int, t: int, function: str, mask: str) -> None:
    changed, derivative = FUNCTIONS[function]
    text = PROGRAM.format(s=s, t=t, changed=changed, derivative=derivative, seen=MASKS[mask])
    assert anchors(text) == ["reduce", "cascade", "cascade"]
    check_kernels(text, noise=[2e-3] * 3)  # of operands that are rounded to 16 bits
