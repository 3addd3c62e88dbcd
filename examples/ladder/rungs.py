"""The rungs of the ladder: one product, and a gate of two, from a naive kernel to what irc chooses.

Each is a kernel of the tile language, or the kernel of another rung under another config.
"""

from __future__ import annotations

import irc_frontend as ir


@ir.kernel(config={"tile": {"m": 16, "n": 16}, "warps": 8})
def naive(x: ir.Tensor, w: ir.Tensor):
    """A thread has an element of the result, and reads a row of x and a column of w for it, element by element."""
    (M, K), N = x.shape, w.shape[1]
    out = ir.empty((M, N), x.dtype)
    for m, n in ir.tiles(M, N):
        acc = ir.zeros((m, n))
        for k in ir.tiles(range(K)):
            acc += x[m, k].astype("f32")[:, None] * w[k, n].astype("f32")
        out[m, n] = acc
    return out


@ir.kernel
def matmul(x: ir.Tensor, w: ir.Tensor):
    """Tiles of both operands are multiplied: by what the config says, or irc chooses."""
    (M, K), N = x.shape, w.shape[1]
    out = ir.empty((M, N), x.dtype)
    for m, n in ir.tiles(M, N):
        acc = ir.zeros((m, n))
        for k in ir.tiles(K):
            acc = ir.addmm(acc, x[m, k], w[k, n])
        out[m, n] = acc
    return out


shared = matmul.with_config(instruction="fma")
"""Tiles in shared memory, which threads multiply element by element."""

tensor_cores = matmul.with_config(instruction="mma")
"""Tiles in shared memory, which warps multiply on tensor cores."""


@ir.kernel
def stationary(x: ir.Tensor, w: ir.Tensor):
    """A tile of x stays in shared memory, and meets all of its rows of w: what it gives is added to the result's tiles
    by atomics, since other blocks add there, too."""
    (M, K), N = x.shape, w.shape[1]
    out = ir.empty((M, N), "f32")
    for m, k in ir.tiles(M, K):
        held = x[m, k]
        for n in ir.tiles(N):
            ir.atomic_add(out, (m, n), ir.matmul(held, w[k, n], dtype="f32"))
    return out


@ir.kernel
def gate(h: ir.Tensor, g: ir.Tensor):
    M, N = h.shape
    out = ir.empty_like(h)
    for m, n in ir.tiles(M, N):
        out[m, n] = ir.sigmoid(h[m, n]) * g[m, n]
    return out


def unfused(x: ir.Tensor, w: ir.Tensor, v: ir.Tensor):
    """Three launches: both products are stored, and read again."""
    return gate(matmul(x, w), matmul(x, v))


@ir.kernel
def fused(x: ir.Tensor, w: ir.Tensor, v: ir.Tensor):
    """One launch: both products of a tile stay in registers, and x is read once."""
    (M, K), N = x.shape, w.shape[1]
    out = ir.empty((M, N), x.dtype)
    for m, n in ir.tiles(M, N):
        h, g = ir.zeros((m, n)), ir.zeros((m, n))
        for k in ir.tiles(K):
            h, g = ir.addmm(h, x[m, k], w[k, n]), ir.addmm(g, x[m, k], v[k, n])
        out[m, n] = ir.sigmoid(h) * g
    return out


PRODUCTS = {
    "naive": naive,
    "shared memory": shared,
    "tensor cores": tensor_cores,
    "warp groups": matmul,
    "A-stationary": stationary,
}
"""Of x and w, up the ladder; the last one trades traffic of x for atomics."""

GATES = {"unfused": unfused, "fused": fused}
"""Of x, w and v."""
