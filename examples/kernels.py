"""Kernels written in Python: loops over tiles, traced to tile programs (docs/kernels.md).

python examples/kernels.py            runs each and compares it with numpy
"""

from typing import Any

import numpy as np

import irc_frontend as ir

Array = np.ndarray[Any, Any]


@ir.kernel
def matmul(x: ir.Tensor, w: ir.Tensor):
    (M, K), N = x.shape, w.shape[1]
    out = ir.empty((M, N), x.dtype)
    for m, n in ir.tiles(M, N):
        acc = ir.zeros((m, n))
        for k in ir.tiles(K):
            acc = ir.addmm(acc, x[m, k], w[k, n])
        out[m, n] = acc
    return out


@ir.kernel
def dense(x: ir.Tensor, w: ir.Tensor, b: ir.Tensor, residual: ir.Tensor):
    """The product with an epilogue: a bias, a gelu and a residual."""
    (M, K), N = x.shape, w.shape[1]
    out = ir.empty((M, N), x.dtype)
    for m, n in ir.tiles(M, N):
        acc = ir.zeros((m, n))
        for k in ir.tiles(K):
            acc = ir.addmm(acc, x[m, k], w[k, n])
        out[m, n] = ir.gelu(acc + b[n].astype("f32")) + residual[m, n].astype("f32")
    return out


@ir.kernel
def scaled_matmul(x: ir.Tensor, w: ir.Tensor, sx: ir.Tensor, sw: ir.Tensor):
    """Operands of f8 with scales in blocks: x `[M, G, 128]` with sx `[G, M]`, w `[B, 128, G, 128]` with sw `[B, G]`."""
    (M, G, _), B = x.shape, w.shape[0]
    out = ir.empty((M, B, 128), "bf16")
    for b, m in ir.tiles(range(B), M):
        acc = ir.zeros((m, 128))
        for g in ir.tiles(range(G)):
            scale = sx[g, m][:, None] * sw[b, g]
            acc += ir.matmul(x[m, g, :], w[b, :, g, :].T, dtype="f32") * scale
        out[m, b, :] = acc
    return out


@ir.kernel
def batched_matmul(x: ir.Tensor, w: ir.Tensor):
    """A range is walked one by one: its index takes the axis away."""
    (B, M, K), N = x.shape, w.shape[2]
    out = ir.empty((B, M, N), x.dtype)
    for b, m, n in ir.tiles(range(B), M, N):
        acc = ir.zeros((m, n))
        for k in ir.tiles(K):
            acc = ir.addmm(acc, x[b, m, k], w[b, k, n])
        out[b, m, n] = acc
    return out


@ir.kernel
def split_k_matmul(x: ir.Tensor, w: ir.Tensor, parts: int):
    """Few results of a long K: blocks of their own multiply parts of it, whose results are added up."""
    (M, K), N = x.shape, w.shape[1]
    x, w = x.reshape(M, parts, K // parts), w.reshape(parts, K // parts, N)
    sums = ir.empty((parts, M, N))
    for p, m, n in ir.tiles(range(parts), M, N):
        acc = ir.zeros((m, n))
        for k in ir.tiles(K // parts):
            acc = ir.addmm(acc, x[m, p, k], w[p, k, n])
        sums[p, m, n] = acc
    return sums.sum(axis=0)


@ir.kernel
def grouped_matmul(x: ir.Tensor, w: ir.Tensor, group: ir.Tensor):
    """Parts of rows, x `[parts, rows, K]`, each times the matrix of its group: an index is data."""
    (P, M, K), N = x.shape, w.shape[2]
    out = ir.empty((P, M, N), x.dtype)
    for p, m, n in ir.tiles(range(P), M, N):
        acc = ir.zeros((m, n))
        for k in ir.tiles(K):
            acc = ir.addmm(acc, x[p, m, k], w[group[p], k, n])
        out[p, m, n] = acc
    return out


@ir.kernel
def f8_matmul(x: ir.Tensor, w: ir.Tensor, sx: ir.Tensor, sw: ir.Tensor):
    """Operands of f8, x `[M, K]` and w `[N, K]`, with scales of rows and columns."""
    (M, K), N = x.shape, w.shape[0]
    out = ir.empty((M, N), "bf16")
    for m, n in ir.tiles(M, N):
        acc = ir.zeros((m, n))
        for k in ir.tiles(K):
            acc = ir.addmm(acc, x[m, k], w[n, k].T)
        out[m, n] = acc * (sx[m][:, None] * sw[n])
    return out


@ir.kernel
def int4_matmul(x: ir.Tensor, w: ir.Tensor, scale: ir.Tensor, parts: int = 1):
    """Weights of 4 bits, two to a byte: w `[N, G, L // 2]` has the first half of a group of L in its lower bits, scale
    is `[G, N]`. They are the left operand, which can be computed in registers. Blocks of their own multiply parts of
    the groups: few rows of x leave SMs idle otherwise."""
    M, (N, G, half) = x.shape[0], w.shape
    own = G // parts
    x, w, scale = x.reshape(M, parts, own, 2, half), w.reshape(N, parts, own, half), scale.reshape(parts, own, N)
    sums = ir.empty((parts, M, N), "f32" if parts > 1 else x.dtype)
    for p, n, m in ir.tiles(range(parts), N, M):
        acc = ir.zeros((n, m))
        for g in ir.tiles(range(own)):
            lower, upper = (w[n, p, g, :] << 4) >> 4, w[n, p, g, :] >> 4
            acc = ir.addmm(acc, lower.astype(x.dtype) * scale[p, g, n][:, None], x[m, p, g, 0, :].T)
            acc = ir.addmm(acc, upper.astype(x.dtype) * scale[p, g, n][:, None], x[m, p, g, 1, :].T)
        sums[p, m, n] = acc.T
    return sums.sum(axis=0).astype(x.dtype)


@ir.kernel
def softmax(x: ir.Tensor):
    out = ir.empty_like(x)
    for m in ir.tiles(x.shape[0]):
        e = ir.exp(x[m, :] - x[m, :].max(axis=1, keepdims=True))
        out[m, :] = e / e.sum(axis=1, keepdims=True)
    return out


@ir.kernel
def long_softmax(x: ir.Tensor, width: int = 4096):
    """Rows that no block can hold, in steps of width: one walk for the maximum and the sum, and one back for the
    result, which finds in the L2 what the first one read last. Wide steps leave an SM one row."""
    M, N = x.shape
    x, last = x.reshape(M, N // width, width), N // width - 1
    out = ir.empty_like(x)
    for m in ir.tiles(range(M)):
        top, total = ir.full((), -np.inf), ir.zeros(())
        for n in ir.tiles(range(last + 1)):
            row = x[m, n, :].astype("f32")
            new = ir.maximum(top, row.max())
            total = total * ir.exp(top - new) + ir.exp(row - new).sum()
            top = new
        for n in ir.tiles(range(last + 1)):
            out[m, last - n, :] = ir.exp(x[m, last - n, :].astype("f32") - top) / total
    return out.reshape(M, N)


@ir.kernel
def layer_norm(x: ir.Tensor, weight: ir.Tensor, bias: ir.Tensor, eps: float = 1e-5):
    out, mean, rstd = ir.empty_like(x), ir.empty(x.shape[0]), ir.empty(x.shape[0])
    for m in ir.tiles(x.shape[0]):
        row = x[m, :].astype("f32")
        centered = row - row.mean(axis=1, keepdims=True)
        scale = ir.rsqrt((centered**2).mean(axis=1, keepdims=True) + eps)
        mean[m], rstd[m] = row.mean(axis=1), scale[:, 0]
        out[m, :] = centered * scale * weight[:].astype("f32") + bias[:].astype("f32")
    return out, mean, rstd


@ir.kernel
def layer_norm_backward(g: ir.Tensor, x: ir.Tensor, weight: ir.Tensor, mean: ir.Tensor, rstd: ir.Tensor):
    """Two launches: rows for the gradient of x, columns for those of weight and bias."""
    M, N = x.shape
    dx, dw, db = ir.empty_like(x), ir.empty_like(weight), ir.empty_like(weight)
    for m in ir.tiles(M):
        normed = (x[m, :].astype("f32") - mean[m][:, None]) * rstd[m][:, None]
        h = g[m, :].astype("f32") * weight[:].astype("f32")
        inner = (h * normed).mean(axis=1, keepdims=True)
        dx[m, :] = (h - h.mean(axis=1, keepdims=True) - normed * inner) * rstd[m][:, None]
    for n in ir.tiles(N):
        weights, biases = ir.zeros((n,)), ir.zeros((n,))
        for m in ir.tiles(M):
            normed = (x[m, n].astype("f32") - mean[m][:, None]) * rstd[m][:, None]
            gradient = g[m, n].astype("f32")
            weights += (gradient * normed).sum(axis=0)
            biases += gradient.sum(axis=0)
        dw[n], db[n] = weights, biases
    return dx, dw, db


@ir.kernel
def rms_norm(x: ir.Tensor, weight: ir.Tensor, eps: float = 1e-6):
    out = ir.empty_like(x)
    for m in ir.tiles(x.shape[0]):
        row = x[m, :].astype("f32")
        out[m, :] = row * ir.rsqrt((row**2).mean(axis=1, keepdims=True) + eps) * weight[:].astype("f32")
    return out


@ir.kernel
def cross_entropy(logits: ir.Tensor, labels: ir.Tensor):
    """The loss of each row, whose logits are read once."""
    M, N = logits.shape
    loss = ir.empty(M)
    for m in ir.tiles(range(M)):
        top, total = ir.full((), -np.inf), ir.zeros(())
        for n in ir.tiles(N):
            row = logits[m, n].astype("f32")
            new = ir.maximum(top, row.max())
            total = total * ir.exp(top - new) + ir.exp(row - new).sum()
            top = new
        loss[m] = ir.log(total) + top - logits[m, labels[m]]
    return loss


@ir.kernel
def attention(q: ir.Tensor, k: ir.Tensor, v: ir.Tensor, causal: bool = True):
    """Powers of 2, so that a score is scaled in the multiply-add that takes the maximum away."""
    B, S, D = q.shape
    out, scale = ir.empty_like(q), D**-0.5 * np.log2(np.e)
    for b, m in ir.tiles(range(B), S):
        top, total, acc = ir.full((m,), -1e30), ir.zeros((m,)), ir.zeros((m, D))
        for n in ir.tiles(S, end=m.end if causal else None):
            scores = ir.matmul(q[b, m, :], k[b, n, :].T, dtype="f32")
            if causal:
                scores = ir.where(m.index[:, None] >= n.index, scores, -1e30)
            new = ir.maximum(top, scores.max(axis=1))
            p, shrink = ir.exp2(scores * scale - (new * scale)[:, None]), ir.exp2((top - new) * scale)
            total = total * shrink + p.sum(axis=1)
            acc = ir.addmm(acc * shrink[:, None], p.astype(v.dtype), v[b, n, :])
            top = new
        out[b, m, :] = acc / total[:, None]
    return out


@ir.kernel
def embedding(table: ir.Tensor, ids: ir.Tensor):
    """A tile of integers gathers rows."""
    N = table.shape[1]
    out = ir.empty((ids.shape[0], N), table.dtype)
    for m, n in ir.tiles(ids.shape[0], N):
        out[m, n] = table[ids[m], n]
    return out


@ir.kernel
def running_sums(x: ir.Tensor):
    out = ir.empty_like(x)
    for m in ir.tiles(x.shape[0]):
        out[m, :] = ir.cumsum(x[m, :], axis=1)
    return out


@ir.kernel
def column_sums(x: ir.Tensor):
    M, N = x.shape
    out = ir.empty(N, "f32")
    for n in ir.tiles(N):
        acc = ir.zeros((n,))
        for m in ir.tiles(M):
            acc += x[m, n].sum(axis=0, dtype="f32")
        out[n] = acc
    return out


@ir.kernel
def long_sums(x: ir.Tensor, parts: int):
    """Of few long rows: blocks of their own sum parts of a row."""
    M, N = x.shape
    x, sums = x.reshape(M, parts, N // parts), ir.empty((M, parts))
    for m, p in ir.tiles(range(M), range(parts)):
        acc = ir.zeros(())
        for n in ir.tiles(N // parts):
            acc += x[m, p, n].sum(dtype="f32")
        sums[m, p] = acc
    return sums.sum(axis=1)


@ir.kernel
def jagged_sums(x: ir.Tensor, first: ir.Tensor, lengths: ir.Tensor, longest: int):
    """Of the rows of each sequence, which lie one behind the other: a loop ends where data says, and rows behind its
    end are out of range, which reads 0."""
    N, B = x.shape[1], lengths.shape[0]
    out = ir.empty((B, N), "f32")
    for b, n in ir.tiles(range(B), N):
        acc = ir.zeros((n,))
        for m in ir.tiles(longest, end=lengths[b]):
            rows = ir.where(m.index < lengths[b], first[b] + m.index, -1)
            acc += x[rows, n].sum(axis=0, dtype="f32")
        out[b, n] = acc
    return out


def main() -> None:
    rng = np.random.default_rng(0)

    def drawn(*shape: int) -> Array:
        return rng.standard_normal(shape, dtype=np.float32)

    def compare(name: str, found: Array, expected: Array) -> None:
        print(f"{name:<16} largest error {np.abs(found - expected).max():.1e}")

    x, w = drawn(100, 72), drawn(72, 136)
    compare("matmul", matmul(x, w), x @ w)
    compare("softmax", softmax(x), (e := np.exp(x)) / e.sum(1, keepdims=True))
    compare("column_sums", column_sums(x), x.sum(0))
    labels = rng.integers(0, 72, 100).astype(np.int32)
    compare("cross_entropy", cross_entropy(x, labels), np.log(np.exp(x).sum(1)) - x[np.arange(100), labels])


if __name__ == "__main__":
    main()
