"""Matrix products by Triton: plain, in batches and groups, with work behind them, in parts of K, of f8 and of int4.

Each is tuned over a few configs, for the extents of its arguments.
"""

import torch
import triton
import triton.language as tl


def _config(m, n, k, stages, warps):
    return triton.Config({"BM": m, "BN": n, "BK": k}, num_stages=stages, num_warps=warps)


CONFIGS = [_config(128, 256, 64, 3, 8), _config(128, 128, 64, 4, 4), _config(64, 128, 64, 4, 4)]
F8_CONFIGS = [_config(128, 256, 128, 3, 8), _config(128, 128, 128, 4, 4), _config(128, 128, 128, 3, 8)]
INT4_CONFIGS = [_config(16, 32, 64, 4, 4), _config(64, 128, 64, 3, 4), _config(128, 128, 64, 3, 8)]


@triton.jit
def _tile(M, N, BM: tl.constexpr, BN: tl.constexpr, GROUP: tl.constexpr):
    """The place of a block's tile: GROUP rows of tiles are computed together, so that they share columns in the L2."""
    number, rows, columns = tl.program_id(0), tl.cdiv(M, BM), tl.cdiv(N, BN)
    first = number // (GROUP * columns) * GROUP
    tall = min(rows - first, GROUP)
    inside = number % (GROUP * columns)
    return first + inside % tall, inside // tall


@triton.autotune(configs=CONFIGS, key=["M", "N", "K", "DENSE", "GROUPED"])
@triton.jit
def _matmul(
    x, w, out, bias, residual, group, M, N, K,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, DENSE: tl.constexpr, GROUPED: tl.constexpr,
):  # fmt: skip
    """Products of a batch, along the second axis of the grid. DENSE: gelu(x @ w + bias) + residual. GROUPED: each is
    multiplied by the matrix of its group."""
    m, n = _tile(M, N, BM, BN, 8)
    batch = tl.program_id(1).to(tl.int64)
    matrix = tl.load(group + batch).to(tl.int64) if GROUPED else batch
    rows, columns, ks = m * BM + tl.arange(0, BM), n * BN + tl.arange(0, BN), tl.arange(0, BK)
    lhs = x + batch * M * K + (rows % M)[:, None] * K + ks[None, :]
    rhs = w + matrix * K * N + ks[:, None] * N + (columns % N)[None, :]
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        a = tl.load(lhs, mask=ks[None, :] < K - k, other=0.0)
        b = tl.load(rhs, mask=ks[:, None] < K - k, other=0.0)
        acc = tl.dot(a, b, acc)
        lhs += BK
        rhs += BK * N
    inside = (rows < M)[:, None] & (columns < N)[None, :]
    place = batch * M * N + rows[:, None] * N + columns[None, :]
    if DENSE:
        acc += tl.load(bias + columns, mask=columns < N, other=0.0).to(tl.float32)[None, :]
        acc = 0.5 * acc * (1.0 + tl.erf(acc * 0.7071067811865476))
        acc += tl.load(residual + place, mask=inside, other=0.0).to(tl.float32)
    tl.store(out + place, acc.to(out.dtype.element_ty), mask=inside)


def _multiplied(x, w, bias=None, residual=None, group=None):
    (batch, m, k), n = x.shape, w.shape[2]
    out = torch.empty((batch, m, n), dtype=x.dtype, device=x.device)
    grid = lambda meta: (triton.cdiv(m, meta["BM"]) * triton.cdiv(n, meta["BN"]), batch)  # noqa: E731
    _matmul[grid](x, w, out, bias, residual, group, m, n, k, DENSE=bias is not None, GROUPED=group is not None)
    return out


def matmul(x, w):
    return _multiplied(x[None], w[None])[0]


def dense(x, w, b, residual):
    return _multiplied(x[None], w[None], b, residual)[0]


def batched_matmul(x, w):
    return _multiplied(x, w)


def grouped_matmul(x, w, group):
    return _multiplied(x, w, group=group)


@triton.jit
def _split_k(x, w, out, M, N, K, length, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m, n = _tile(M, N, BM, BN, 8)
    begin = tl.program_id(1) * length
    end = min(begin + length, K)
    rows, columns, ks = m * BM + tl.arange(0, BM), n * BN + tl.arange(0, BN), tl.arange(0, BK)
    lhs = x + (rows % M)[:, None] * K + ks[None, :]
    rhs = w + ks[:, None] * N + (columns % N)[None, :]
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(begin, end, BK):
        a = tl.load(lhs + k, mask=ks[None, :] < end - k, other=0.0)
        b = tl.load(rhs + k * N, mask=ks[:, None] < end - k, other=0.0)
        acc = tl.dot(a, b, acc)
    inside = (rows < M)[:, None] & (columns < N)[None, :]
    tl.atomic_add(out + rows[:, None] * N + columns[None, :], acc, mask=inside)


def split_k_matmul(x, w, parts=128):
    (m, k), n = x.shape, w.shape[1]
    out = torch.zeros((m, n), dtype=torch.float32, device=x.device)
    grid = (triton.cdiv(m, 64) * triton.cdiv(n, 64), parts)
    _split_k[grid](x, w, out, m, n, k, triton.cdiv(k, parts), 64, 64, 128, num_stages=4, num_warps=4)
    return out


@triton.autotune(configs=F8_CONFIGS, key=["M", "N", "K"])
@triton.jit
def _f8_matmul(x, w, sx, sw, out, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m, n = _tile(M, N, BM, BN, 8)
    rows, columns, ks = m * BM + tl.arange(0, BM), n * BN + tl.arange(0, BN), tl.arange(0, BK)
    lhs = x + (rows % M)[:, None] * K + ks[None, :]
    rhs = w + (columns % N)[None, :] * K + ks[:, None]
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        a = tl.load(lhs + k, mask=ks[None, :] < K - k, other=0.0)
        b = tl.load(rhs + k, mask=ks[:, None] < K - k, other=0.0)
        acc = tl.dot(a, b, acc)
    tall = tl.load(sx + rows, mask=rows < M, other=0.0)
    wide = tl.load(sw + columns, mask=columns < N, other=0.0)
    acc *= tall[:, None] * wide[None, :]
    inside = (rows < M)[:, None] & (columns < N)[None, :]
    tl.store(out + rows[:, None] * N + columns[None, :], acc.to(out.dtype.element_ty), mask=inside)


def f8_matmul(x, w, sx, sw):
    (m, k), n = x.shape, w.shape[0]
    out = torch.empty((m, n), dtype=torch.bfloat16, device=x.device)
    grid = lambda meta: (triton.cdiv(m, meta["BM"]) * triton.cdiv(n, meta["BN"]),)  # noqa: E731
    _f8_matmul[grid](x, w, sx, sw, out, m, n, k)
    return out


@triton.jit
def _scaled_matmul(x, w, sx, sw, out, M, N, K, BM: tl.constexpr, L: tl.constexpr):
    """Tiles of L columns, which share a scale, and steps of L of K."""
    m, n = _tile(M, N, BM, L, 8)
    rows, columns, ks = m * BM + tl.arange(0, BM), n * L + tl.arange(0, L), tl.arange(0, L)
    lhs = x + (rows % M)[:, None] * K + ks[None, :]
    rhs = w + columns[None, :] * K + ks[:, None]
    acc = tl.zeros((BM, L), tl.float32)
    for g in range(K // L):
        tall = tl.load(sx + g * M + rows, mask=rows < M, other=0.0)
        wide = tl.load(sw + n * (K // L) + g)
        acc += tl.dot(tl.load(lhs + g * L), tl.load(rhs + g * L)) * (tall * wide)[:, None]
    inside = (rows < M)[:, None] & (columns < N)[None, :]
    tl.store(out + rows[:, None] * N + columns[None, :], acc.to(out.dtype.element_ty), mask=inside)


def scaled_matmul(x, w, sx, sw):
    (m, groups, length), blocks = x.shape, w.shape[0]
    out = torch.empty((m, blocks, length), dtype=torch.bfloat16, device=x.device)
    grid = (triton.cdiv(m, 128) * blocks,)
    _scaled_matmul[grid](x, w, sx, sw, out, m, blocks * length, groups * length, 128, length, num_stages=3, num_warps=8)
    return out


@triton.autotune(configs=INT4_CONFIGS, key=["M", "N", "K"])
@triton.jit
def _int4_matmul(x, w, scale, out, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """Steps of a group: BK of its weights are in the lower bits of its BK bytes, BK in the upper ones."""
    m, n = _tile(M, N, BM, BN, 8)
    rows, columns, ks = m * BM + tl.arange(0, BM), n * BN + tl.arange(0, BN), tl.arange(0, BK)
    groups = K // (2 * BK)
    lhs = x + (rows % M)[:, None] * K + ks[None, :]
    rhs = w + (columns % N)[None, :] * (K // 2) + ks[:, None]
    acc = tl.zeros((BM, BN), tl.float32)
    for g in range(groups):
        packed = tl.load(rhs + g * BK).to(tl.int32)
        wide = tl.load(scale + g * N + columns % N)[None, :]
        lower, upper = (packed << 28) >> 28, packed >> 4
        acc = tl.dot(tl.load(lhs + 2 * g * BK), lower.to(x.dtype.element_ty) * wide, acc)
        acc = tl.dot(tl.load(lhs + (2 * g + 1) * BK), upper.to(x.dtype.element_ty) * wide, acc)
    inside = (rows < M)[:, None] & (columns < N)[None, :]
    tl.store(out + rows[:, None] * N + columns[None, :], acc.to(out.dtype.element_ty), mask=inside)


def int4_matmul(x, w, scale):
    """Groups of 128, as the configs' steps have them."""
    (m, k), n = x.shape, w.shape[0]
    out = torch.empty((m, n), dtype=x.dtype, device=x.device)
    grid = lambda meta: (triton.cdiv(m, meta["BM"]) * triton.cdiv(n, meta["BN"]),)  # noqa: E731
    _int4_matmul[grid](x, w, scale, out, m, n, k)
    return out
