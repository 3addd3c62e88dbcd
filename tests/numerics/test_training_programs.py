"""Training steps in the language, through every pass down to tiles: each keeps what the program means."""

from __future__ import annotations

import pytest
from drawing import long
from numerics.harness import check_passes

from irc.driver.lowering import passes_of
from irc.driver.pipelines import PIPELINES
from irc.driver.program import isolate, new_context, parse

CONTEXT = new_context()

BLOCK = """
dim B = 2, S = 16, D = 16, H = 32

func norm(x: bf16[B, S, D], w: bf16[D], b: bf16[D]) -> bf16[B, S, D] {
    return layer_norm(x) * w + b
}

func loss(
    x: bf16[B, S, D], target: bf16[B, S, D], w: bf16[D], b: bf16[D], qkv: bf16[D, 3 * D], out: bf16[D, D],
    up: bf16[D, H], down: bf16[H, D]
) -> bf16[] {
    q, k, v = split(norm(x, w, b) @ (qkv * 0.25), 3, -1)
    y = x + attention(q, k, v, causal=true) @ (out * 0.25)
    z = y + gelu(norm(y, w, b) @ (up * 0.25), "tanh") @ (down * 0.25)
    return mean((z - target) ** 2)
}

func step(
    x: bf16[B, S, D], target: bf16[B, S, D], w: bf16[D], b: bf16[D], qkv: bf16[D, 3 * D], out: bf16[D, D],
    up: bf16[D, H], down: bf16[H, D]
) -> (bf16[], bf16[B, S, D], bf16[D], bf16[D], bf16[D, 3 * D], bf16[D, D], bf16[D, H], bf16[H, D]) {
    return value_and_grad(loss, wrt=[x, w, b, qkv, out, up, down])(x, target, w, b, qkv, out, up, down)
}
"""

GATED = """
dim N = 32, D = 16, H = 48
func loss(x: f32[N, D], w: f32[D, H], v: f32[D, H], o: f32[H, D], scale: f32[D]) -> f32[] {
    y = rms_norm(x) * scale
    return sum((silu(y @ w) * (y @ v)) @ o * x)
}
func step(x: f32[N, D], w: f32[D, H], v: f32[D, H], o: f32[H, D], scale: f32[D]
) -> (f32[], f32[N, D], f32[D, H], f32[D, H], f32[H, D], f32[D]) {
    return value_and_grad(loss, wrt=[x, w, v, o, scale])(x, w, v, o, scale)
}
"""

DEEP = """
dim N = 16, D = 16
func loss(x: bf16[N, D], a: bf16[D, D], b: bf16[D, D], c: bf16[D, D]) -> bf16[] {
    h = tanh(x @ a)
    i = h + sigmoid(h @ b) * h
    j = i + relu(i @ c)
    return sum(j ** 2)
}
func step(x: bf16[N, D], a: bf16[D, D], b: bf16[D, D], c: bf16[D, D]
) -> (bf16[], bf16[D, D], bf16[D, D], bf16[D, D]) {
    l, da, db, dc = value_and_grad(loss, wrt=[a, b, c])(x, a, b, c)
    return l, a - 0.1 * da, b - 0.1 * db, c - 0.1 * dc
}
"""

CURVATURE = """
dim N = 16, D = 16
func loss(x: f32[N, D], w: f32[D, D]) -> f32[] {
    return mean(softmax(tanh(x @ w)) ** 2)
}
func slope(x: f32[N, D], w: f32[D, D], d: f32[D, D]) -> f32[] {
    return sum(grad(loss, wrt=[w])(x, w) * d)
}
func step(x: f32[N, D], w: f32[D, D], d: f32[D, D]) -> f32[D, D] {
    return grad(slope, wrt=[w])(x, w, d)
}
"""

WORDS = """
dim V = 40, N = 24, D = 16
func loss(table: f32[V, D], ids: i32[N], next: i64[N], w: f32[D, D]) -> f32[] {
    x = take(table, ids)
    scores = log_softmax(tanh(x @ w) @ transpose(table))
    return -mean(take_along(scores, expand_dims(next, 1), 1))
}
func step(table: f32[V, D], ids: i32[N], next: i64[N], w: f32[D, D]) -> (f32[], f32[V, D], f32[D, D]) {
    return value_and_grad(loss, wrt=[table, w])(table, ids, next, w)
}
"""

PROGRAMS = {
    "block": (BLOCK, "kernel"),
    "wide block": (BLOCK.replace("bf16", "f32"), "tile"),
    "gated": (GATED, "tile"),
    "deep": (DEEP, "tile"),
    "words": (WORDS, "tile"),
    "curvature": (CURVATURE, "tile"),
}
"""Each with the level down to which it is taken."""


@long(6, of_all=2)
@pytest.mark.parametrize("name", PROGRAMS)
def test_training_step(name: str):
    text, level = PROGRAMS[name]
    check_passes(isolate(parse(text, f"{name}.irc")), passes_of(PIPELINES[level]), CONTEXT)
