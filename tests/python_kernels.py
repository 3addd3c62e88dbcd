"""The text of kernels written in Python that several tests call."""

from __future__ import annotations

import irc_frontend as ir


def product(x: ir.Tensor, w: ir.Tensor) -> ir.Tensor:
    (M, K), N = x.shape, w.shape[1]
    out = ir.empty((M, N), x.dtype)
    for m, n in ir.tiles(M, N):
        acc = ir.zeros((m, n))
        for k in ir.tiles(K):
            acc = ir.addmm(acc, x[m, k], w[k, n])
        out[m, n] = acc
    return out


def row_sums(x: ir.Tensor) -> ir.Tensor:
    M, N = x.shape
    out = ir.empty(M)
    for m in ir.tiles(M):
        acc = ir.zeros((m,))
        for n in ir.tiles(N):
            acc += x[m, n].sum(axis=1)
        out[m] = acc
    return out
