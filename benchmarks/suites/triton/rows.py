"""Work on rows by Triton: softmax, norms, cross entropy, gathered rows and sums."""

import torch
import triton
import triton.language as tl


@triton.jit
def _softmax(x, out, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    at = tl.arange(0, BLOCK)
    values = tl.load(x + row * columns + at, mask=at < columns, other=-float("inf")).to(tl.float32)
    e = tl.exp(values - tl.max(values, 0))
    tl.store(out + row * columns + at, e / tl.sum(e, 0), mask=at < columns)


def _warps(block):
    """So that a thread holds 16 elements of a row."""
    return max(1, min(16, block // (32 * 16)))


def softmax(x):
    out, block = torch.empty_like(x), triton.next_power_of_2(x.shape[1])
    _softmax[(x.shape[0],)](x, out, x.shape[1], block, num_warps=_warps(block))
    return out


@triton.jit
def _layer_norm(x, weight, bias, out, means, rstds, columns, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    at = tl.arange(0, BLOCK)
    inside = at < columns
    values = tl.load(x + row * columns + at, mask=inside, other=0.0).to(tl.float32)
    mean = tl.sum(values, 0) / columns
    centered = tl.where(inside, values - mean, 0.0)
    rstd = 1.0 / tl.sqrt(tl.sum(centered * centered, 0) / columns + eps)
    scale = tl.load(weight + at, mask=inside).to(tl.float32)
    shift = tl.load(bias + at, mask=inside).to(tl.float32)
    tl.store(out + row * columns + at, centered * rstd * scale + shift, mask=inside)
    tl.store(means + row, mean)
    tl.store(rstds + row, rstd)


def layer_norm(x, weight, bias):
    rows, columns = x.shape
    out, block = torch.empty_like(x), triton.next_power_of_2(columns)
    means, rstds = (torch.empty(rows, dtype=torch.float32, device=x.device) for _ in range(2))
    _layer_norm[(rows,)](x, weight, bias, out, means, rstds, columns, 1e-5, block, num_warps=_warps(block))
    return out, means, rstds


@triton.jit
def _rms_norm(x, weight, out, columns, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    at = tl.arange(0, BLOCK)
    inside = at < columns
    values = tl.load(x + row * columns + at, mask=inside, other=0.0).to(tl.float32)
    rstd = 1.0 / tl.sqrt(tl.sum(values * values, 0) / columns + eps)
    scale = tl.load(weight + at, mask=inside).to(tl.float32)
    tl.store(out + row * columns + at, values * rstd * scale, mask=inside)


def rms_norm(x, weight):
    out, block = torch.empty_like(x), triton.next_power_of_2(x.shape[1])
    _rms_norm[(x.shape[0],)](x, weight, out, x.shape[1], 1e-6, block, num_warps=_warps(block))
    return out


@triton.jit
def _long_softmax(x, out, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    tops = tl.full((BLOCK,), -float("inf"), tl.float32)
    totals = tl.zeros((BLOCK,), tl.float32)
    for begin in range(0, columns, BLOCK):
        at = begin + tl.arange(0, BLOCK)
        values = tl.load(x + row * columns + at, mask=at < columns, other=-1e30).to(tl.float32)
        new = tl.maximum(tops, values)
        totals = totals * tl.exp(tops - new) + tl.exp(values - new)
        tops = new
    top = tl.max(tops, 0)
    total = tl.sum(totals * tl.exp(tops - top), 0)
    for begin in range(0, columns, BLOCK):
        at = begin + tl.arange(0, BLOCK)
        values = tl.load(x + row * columns + at, mask=at < columns, other=0.0).to(tl.float32)
        tl.store(out + row * columns + at, tl.exp(values - top) / total, mask=at < columns)


def long_softmax(x):
    out = torch.empty_like(x)
    _long_softmax[(x.shape[0],)](x, out, x.shape[1], 4096, num_warps=8)
    return out


@triton.jit
def _cross_entropy(logits, labels, losses, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    tops = tl.full((BLOCK,), -float("inf"), tl.float32)
    totals = tl.zeros((BLOCK,), tl.float32)
    for begin in range(0, columns, BLOCK):
        at = begin + tl.arange(0, BLOCK)
        values = tl.load(logits + row * columns + at, mask=at < columns, other=-1e30).to(tl.float32)
        new = tl.maximum(tops, values)
        totals = totals * tl.exp(tops - new) + tl.exp(values - new)
        tops = new
    top = tl.max(tops, 0)
    total = tl.sum(totals * tl.exp(tops - top), 0)
    picked = tl.load(logits + row * columns + tl.load(labels + row)).to(tl.float32)
    tl.store(losses + row, tl.log(total) + top - picked)


def cross_entropy(logits, labels):
    losses = torch.empty(logits.shape[0], dtype=torch.float32, device=logits.device)
    _cross_entropy[(logits.shape[0],)](logits, labels, losses, logits.shape[1], 4096, num_warps=8)
    return losses


@triton.jit
def _embedding(table, ids, out, count, columns, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    at = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = (rows < count)[:, None] & (at < columns)[None, :]
    numbers = tl.load(ids + rows, mask=rows < count, other=0).to(tl.int64)
    values = tl.load(table + numbers[:, None] * columns + at[None, :], mask=inside)
    tl.store(out + rows.to(tl.int64)[:, None] * columns + at[None, :], values, mask=inside)


def embedding(table, ids):
    count, columns = ids.shape[0], table.shape[1]
    out = torch.empty((count, columns), dtype=table.dtype, device=table.device)
    grid = (triton.cdiv(count, 8), triton.cdiv(columns, 256))
    _embedding[grid](table, ids, out, count, columns, 8, 256, num_warps=4)
    return out


@triton.jit
def _long_sums(x, sums, columns, parts, length, BLOCK: tl.constexpr):
    row, part = tl.program_id(0).to(tl.int64), tl.program_id(1)
    total = tl.zeros((BLOCK,), tl.float32)
    for begin in range(0, length, BLOCK):
        at = part * length + begin + tl.arange(0, BLOCK)
        inside = (at < columns) & (at < (part + 1) * length)
        total += tl.load(x + row * columns + at, mask=inside, other=0.0).to(tl.float32)
    tl.store(sums + row * parts + part, tl.sum(total, 0))


def long_sums(x, parts=64):
    """Blocks of their own sum parts of a row, and torch adds these up."""
    rows, columns = x.shape
    sums = torch.empty((rows, parts), dtype=torch.float32, device=x.device)
    _long_sums[(rows, parts)](x, sums, columns, parts, triton.cdiv(columns, parts), 4096, num_warps=8)
    return sums.sum(1)


@triton.jit
def _jagged_sums(x, first, lengths, out, columns, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    sequence = tl.program_id(0)
    at = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    begin, length = tl.load(first + sequence).to(tl.int64), tl.load(lengths + sequence)
    total = tl.zeros((ROWS, BLOCK), tl.float32)
    for row in range(0, length, ROWS):
        rows = row + tl.arange(0, ROWS)
        inside = (rows < length)[:, None] & (at < columns)[None, :]
        total += tl.load(x + (begin + rows)[:, None] * columns + at[None, :], mask=inside, other=0.0).to(tl.float32)
    tl.store(out + sequence * columns + at, tl.sum(total, 0), mask=at < columns)


def jagged_sums(x, first, lengths):
    columns = x.shape[1]
    out = torch.empty((lengths.shape[0], columns), dtype=torch.float32, device=x.device)
    grid = (lengths.shape[0], triton.cdiv(columns, 128))
    _jagged_sums[grid](x, first, lengths, out, columns, 32, 128, num_warps=4)
    return out
