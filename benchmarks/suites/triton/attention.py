"""Attention by Triton: softmax(q k' / sqrt(D)) v, whose scores are never in memory."""

import torch
import triton
import triton.language as tl


def _config(m, n, stages, warps):
    return triton.Config({"BM": m, "BN": n}, num_stages=stages, num_warps=warps)


CONFIGS = [_config(128, 64, 3, 8), _config(128, 128, 2, 8), _config(128, 64, 3, 4)]


@triton.jit
def _steps(
    acc, total, top, q, keys, values, rows, begin, end, scale, D: tl.constexpr, BN: tl.constexpr, MASK: tl.constexpr
):
    """Goes over keys from `begin` to `end`; MASK: a row sees those up to its own."""
    for n in range(begin, end, BN):
        columns = n + tl.arange(0, BN)
        k = tl.load(keys + n * D)
        scores = tl.dot(q, k) * scale
        if MASK:
            scores = tl.where(rows[:, None] >= columns[None, :], scores, -1e30)
        new = tl.maximum(top, tl.max(scores, 1))
        p = tl.exp2(scores - new[:, None])
        shrink = tl.exp2(top - new)
        total = total * shrink + tl.sum(p, 1)
        v = tl.load(values + n * D)
        acc = tl.dot(p.to(v.dtype), v, acc * shrink[:, None])
        top = new
    return acc, total, top


@triton.autotune(configs=CONFIGS, key=["S", "CAUSAL"])
@triton.jit
def _attention(q, k, v, out, scale, S, D: tl.constexpr, CAUSAL: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    """S is a multiple of BM and BN."""
    batch, m = tl.program_id(1).to(tl.int64) * S * D, tl.program_id(0)
    rows, at, ds = m * BM + tl.arange(0, BM), tl.arange(0, BN), tl.arange(0, D)
    queries = tl.load(q + batch + rows[:, None] * D + ds[None, :])
    keys = k + batch + at[None, :] * D + ds[:, None]
    values = v + batch + at[:, None] * D + ds[None, :]
    acc = tl.zeros((BM, D), tl.float32)
    total = tl.zeros((BM,), tl.float32)
    top = tl.full((BM,), -1e30, tl.float32)
    whole = m * BM if CAUSAL else S
    acc, total, top = _steps(acc, total, top, queries, keys, values, rows, 0, whole, scale, D, BN, False)
    if CAUSAL:
        acc, total, top = _steps(acc, total, top, queries, keys, values, rows, whole, whole + BM, scale, D, BN, True)
    tl.store(out + batch + rows[:, None] * D + ds[None, :], (acc / total[:, None]).to(out.dtype.element_ty))


def _attended(q, k, v, causal):
    (batch, length, depth), out = q.shape, torch.empty_like(q)
    grid = lambda meta: (triton.cdiv(length, meta["BM"]), batch)  # noqa: E731
    scale = depth**-0.5 * 1.4426950408889634  # of powers of two
    _attention[grid](q, k, v, out, scale, length, depth, causal)
    return out


def attention(q, k, v):
    return _attended(q, k, v, False)


def causal_attention(q, k, v):
    return _attended(q, k, v, True)
