"""Programs whose extents are known when they are called, and sizes that they are called with."""

from __future__ import annotations

from typing import Any

import numpy as np

from irc.support.extents import Dim

PROGRAMS = {
    "map": """
dim N in 1..65536, D = 48
func f(x: f32[N, D], y: f32[D]) -> f32[N, D] {
    return tanh(x) * y + x
}""",
    "aligned map": """
dim N in 1..65536 multiple 8
func f(x: bf16[N], y: bf16[N]) -> bf16[N] {
    return relu(x) * y
}""",
    "softmax": """
dim N in 1..65536 multiple 8, D = 256
func f(x: bf16[N, D], g: f32[D]) -> bf16[N, D] {
    h = cast(softmax(x), f32) * g
    return cast(layer_norm(h), bf16)
}""",
    "long rows": """
dim N in 1..4096, D = 20000
func f(x: bf16[N, D]) -> (bf16[N, D], f32[N]) {
    return softmax(x), sum(cast(x, f32), axis=1)
}""",
    "odd rows": """
dim N in 1..4096, D = 333
func f(x: bf16[N, D]) -> bf16[N, D] {
    return x - mean(x, axis=1, keepdims=true)
}""",
    "positions": """
dim N in 1..4096, D = 64
func f(x: f32[N, D]) -> (f32[N, D], i64[N]) {
    return cumsum(x, 1) + cast(iota([N, D], i32, axis=0), f32), argmax(x, axis=1)
}""",
    "heads": """
dim N in 1..4096, H = 4, D = 32
func f(x: bf16[N, H * D]) -> bf16[N * H, D] {
    return rms_norm(reshape(x, [N * H, D]))
}""",
    "words": """
dim N in 1..4096, V = 100, D = 64
func f(table: bf16[V, D], ids: i32[N]) -> bf16[N, D] {
    return gelu(take(table, ids))
}""",
    "product": """
dim M in 1..65536, K = 256, N = 192
func f(x: bf16[M, K], w: bf16[K, N], b: bf16[N], r: bf16[M, N]) -> bf16[M, N] {
    return relu(x @ w + b) + r
}""",
    "product of few rows": """
dim M in 1..8, K = 4096, N = 128
func f(x: bf16[M, K], w: bf16[K, N], r: bf16[M, N]) -> bf16[M, N] {
    return relu(x @ w) + r
}""",
    "product of up to 64 rows": """
dim M in 9..64, K = 2048, N = 64
func f(x: bf16[M, K], w: bf16[K, N]) -> bf16[M, N] {
    return gelu(x @ w)
}""",
    "f32 product": """
dim M in 1..8192 multiple 4, K = 64, N = 96
func f(x: f32[M, K], w: f32[K, N]) -> f32[M, N] {
    return x @ w
}""",
    "gated unit": """
dim M in 1..65536 multiple 16, K = 128, N = 128
func f(x: bf16[M, K], v: bf16[K, N], w: bf16[K, N]) -> bf16[M, N] {
    return silu(x @ v) * (x @ w)
}""",
    "block": """
dim N in 1..4096, D = 128, E = 256
func f(x: bf16[N, D], v: bf16[D, E], w: bf16[E, D], g: bf16[D]) -> (bf16[N, D], f32[N]) {
    h = rms_norm(x) * g
    u = gelu(h @ v, approximate="tanh")
    y = x + u @ w
    return y, sum(cast(y, f32) * cast(x, f32), axis=1)
}""",
    "batches": """
dim N in 1..256, S = 24, D = 64, E = 128
func f(x: bf16[N, S, D], w: bf16[D, E], v: bf16[E, D]) -> bf16[N, S, D] {
    return x + gelu(layer_norm(x) @ w) @ v
}""",
    "batched products": """
dim N in 1..64, S = 48, D = 64
func f(q: bf16[N, S, D], k: bf16[N, S, D]) -> bf16[N, S, S] {
    return softmax(q @ permute(k, [0, 2, 1]))
}""",
    "attention": """
dim N in 1..64, H = 2, S = 64, D = 64
func f(x: bf16[N, S, 3 * H * D]) -> bf16[N, S, H * D] {
    t = permute(reshape(x, [N, S, 3, H, D]), [2, 0, 3, 1, 4])
    q = t[0]
    k = t[1]
    v = t[2]
    return reshape(permute(attention(q, k, v, causal=true), [0, 2, 1, 3]), [N, S, H * D])
}""",
    "two dims": """
dim M in 1..4096, N in 1..512 multiple 8, K = 64
func f(x: bf16[M, K], y: bf16[N, K]) -> (bf16[M, K], bf16[N]) {
    return softmax(x), sum(y, axis=1)
}""",
    "rows": """
dim M = 9, N in 1..5000
func f(x: f32[M, N], g: f32[N]) -> (f32[M, N], f32[M]) {
    return softmax(x) * g, max(x, axis=1)
}""",
    "rows of bf16": """
dim M = 9, N in 1..5000
func f(x: bf16[M, N], y: bf16[M, N]) -> bf16[M, N] {
    return softmax(x + y)
}""",
    "aligned rows": """
dim M = 9, N in 1..5000 multiple 8
func f(x: bf16[M, N]) -> (bf16[M, N], i64[M]) {
    return layer_norm(x), argmax(x, axis=1)
}""",
    "long means": """
dim M = 3, N in 1..100000
func f(x: f32[M, N]) -> (f32[M], f32[M]) {
    return mean(x, axis=1), var(x, axis=1)
}""",
    "columns": """
dim N in 1..5000, D = 96
func f(x: bf16[N, D]) -> (f32[D], f32[]) {
    return sum(cast(x, f32), axis=0), mean(cast(x, f32))
}""",
    "middle": """
dim B in 1..64, N in 1..600, D = 33
func f(x: f32[B, N, D]) -> f32[B, D] {
    return sum(x, axis=1)
}""",
    "turned": """
dim M in 1..600, N in 1..600
func f(x: f32[M, N]) -> f32[N, M] {
    return permute(exp(x), [1, 0])
}""",
    "turned bytes": """
dim N in 1..512 multiple 2, K = 33, D = 40
func f(x: i8[N, K, D]) -> i8[D, N, K] {
    return permute(x, [2, 0, 1])
}""",
    "turned planes": """
dim N in 1..4000 multiple 8
func f(x: bf16[3, N, 33]) -> bf16[33, N, 3] {
    return permute(x, [2, 1, 0])
}""",
    "turned short rows": """
dim N in 1..500, M in 1..1600 multiple 8
func f(x: f32[16, N, M]) -> f32[M, N, 16] {
    return permute(x, [2, 1, 0])
}""",
    "turned bf16": """
dim M in 1..600, N in 1..600 multiple 8
func f(x: bf16[M, N], y: bf16[N, M]) -> bf16[N, M] {
    return permute(x, [1, 0]) + y
}""",
    "weights' gradient": """
dim N in 1..5000, D = 64, E = 128
func f(x: bf16[N, D], y: bf16[N, E]) -> bf16[D, E] {
    return permute(x, [1, 0]) @ y
}""",
    "depth": """
dim K in 1..5000 multiple 8, M = 64, N = 128
func f(x: bf16[M, K], y: bf16[K, N], b: bf16[N]) -> bf16[M, N] {
    return relu(x @ y + b)
}""",
    "any depth": """
dim K in 1..5000, M = 24, N = 40
func f(x: bf16[M, K], y: bf16[K, N]) -> bf16[M, N] {
    return x @ y
}""",
    "wide product": """
dim N in 1..5000 multiple 8, M = 64, K = 128
func f(x: bf16[M, K], y: bf16[K, N]) -> bf16[M, N] {
    return x @ y
}""",
    "any product": """
dim M in 1..600, N in 1..600, K in 1..600
func f(x: bf16[M, K], y: bf16[N, K]) -> f32[M, N] {
    return cast(x @ permute(y, [1, 0]), f32)
}""",
    "f32 depth": """
dim K in 1..2000 multiple 4, M = 32, N = 32
func f(x: f32[M, K], y: f32[K, N]) -> f32[M, N] {
    return x @ y
}""",
    "sequences": """
dim B in 1..64, S in 1..1024, H = 2, D = 64
func f(x: bf16[B, S, 3 * H * D]) -> bf16[B, S, H * D] {
    t = permute(reshape(x, [B, S, 3, H, D]), [2, 0, 3, 1, 4])
    return reshape(permute(attention(t[0], t[1], t[2], causal=true), [0, 2, 1, 3]), [B, S, H * D])
}""",
    "cross attention": """
dim N in 1..3000, M in 1..3000, D = 64
func f(q: bf16[2, M, D], k: bf16[2, N, D], v: bf16[2, N, D]) -> bf16[2, M, D] {
    return softmax(q @ permute(k, [0, 2, 1]) * 0.125) @ v
}""",
    "packed sequences": """
dim S in 1..4096, H = 2, D = 64
func f(q: bf16[S, H, D], k: bf16[S, H, D], v: bf16[S, H, D], lengths: i32[3]) -> bf16[S, H, D] {
    ends = check_indices(minimum(cumsum(lengths, 0), S), 0, 1, extent=S)
    row = iota([S], i32, axis=0)
    number = sum(cast(ends[:, None] <= row, i32), axis=0)
    first = ascending(take(concat([zeros([1], i32), ends], 0), number))
    last = ascending(minimum(take(concat([ends, ends[2:]], 0), number), row + 1))
    seen = (row >= first[:, None]) & (row < last[:, None])
    t = attention(permute(q, [1, 0, 2]), permute(k, [1, 0, 2]), permute(v, [1, 0, 2]), bias=seen)
    return permute(t, [1, 0, 2])
}""",
    "packed sequences' gradient": """
dim S in 1..8192, D = 64
func f(q: bf16[S, D], k: bf16[S, D], g: bf16[S, D], lengths: i32[3]) -> bf16[S, D] {
    ends = check_indices(minimum(cumsum(lengths, 0), S), 0, 1, extent=S)
    row = iota([S], i32, axis=0)
    number = sum(cast(ends[:, None] <= row, i32), axis=0)
    first = ascending(take(concat([zeros([1], i32), ends], 0), number))
    last = ascending(minimum(take(concat([ends, ends[2:]], 0), number), row + 1))
    seen = (row >= first[:, None]) & (row < last[:, None])
    weights = where(seen, exp(cast(q @ transpose(k), f32) * 0.0625), 0)
    return permute(cast(weights, bf16), [1, 0]) @ g
}""",
    "sequence block": """
dim B in 1..64, S in 1..512, D = 64, V = 100
func f(table: bf16[V, D], ids: i32[B, S], w: bf16[D, 3 * D], p: bf16[D, V]) -> (bf16[B, S, V], bf16[B, D]) {
    x = take(table, ids)
    h = rms_norm(x) @ w * 0.125
    t = permute(reshape(h, [B, S, 3, 1, D]), [2, 0, 3, 1, 4])
    y = x + reshape(attention(t[0], t[1], t[2], causal=true), [B, S, D])
    logits = y @ p
    return logits, mean(y, axis=1)
}""",
    "places of words": """
dim B in 1..64, S in 1..512, V = 100, D = 64
func f(table: bf16[V, D], places: bf16[512, D], ids: i32[B, S]) -> bf16[B, S, D] {
    x = take(table, ids) + take(places, iota([S], i32, axis=0))
    return cast(cast(layer_norm(x), f32) / S, bf16)
}""",
    "convolution": """
dim N in 1..64, H = 6, W = 6, C = 16
func f(x: bf16[N, H, W, C], w: bf16[3, 3, C, C], b: bf16[C]) -> bf16[N, H, W, C] {
    h = conv(permute(x, [0, 3, 1, 2]), permute(w, [3, 2, 0, 1]), low=[1, 1], high=[1, 1])
    return relu(permute(h, [0, 2, 3, 1]) + b) + x
}""",
    "windows": """
dim N in 1..64, H = 8, W = 8
func f(x: f32[N, 3, H, W], w: f32[3, 1, 3, 3]) -> f32[N, 3, H, W] {
    return conv(x, w, low=[1, 1], high=[1, 1], groups=3)
}""",
}


def sizes_of(dims: tuple[Dim, ...]) -> list[dict[str, int]]:
    """The smallest, some that no tile divides, and more than one tile of anything, where a dim has such."""
    return [
        {
            dim.name: max(dim.least, min((units + number) * dim.multiple, dim.most // dim.multiple * dim.multiple))
            for number, dim in enumerate(dims)
        }
        for units in (1, 3, 17, 33)
    ]


def drawn(executable: Any) -> list[np.ndarray[Any, Any]]:
    """Arguments of an executable for one size."""
    rng = np.random.default_rng(0)
    return [
        rng.integers(0, 90, spec.shape).astype(spec.dtype)
        if spec.dtype.kind == "i"
        else rng.standard_normal(spec.shape).astype(spec.dtype)
        for spec in executable.arguments
    ]
