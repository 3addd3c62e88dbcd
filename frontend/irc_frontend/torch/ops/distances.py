"""Rules of distances between the rows of two matrices: reductions of what is made on the way, never stored."""

from __future__ import annotations

import math

import torch

import irc_frontend as ir
from irc_frontend.casts import wide
from irc_frontend.tensor import Tensor
from irc_frontend.torch.ops.searching import bisected
from irc_frontend.torch.rules import rule

aten = torch.ops.aten


def _differences(a: Tensor, b: Tensor) -> Tensor:
    return ir.expand_dims(wide(a), -2) - ir.expand_dims(wide(b), -3)


@rule(aten._cdist_forward.default)
def _cdist(a: Tensor, b: Tensor, p: float, compute_mode: int | None) -> Tensor:
    """The p-norm of each row of a minus each of b."""
    return _norm(ir.abs(_differences(a, b)), p)


def _norm(sizes: Tensor, p: float) -> Tensor:
    """Along the last axis, of what is not negative."""
    if not sizes.shape[-1]:
        return ir.zeros(sizes.shape[:-1], sizes.element)
    if p == 0:
        return (sizes != 0).astype(sizes.element).sum(-1)
    if math.isinf(p):
        return sizes.max(-1)
    if p == 1:
        return sizes.sum(-1)
    if p == 2:
        return ir.sqrt((sizes * sizes).sum(-1))
    return ir.power(ir.power(sizes, p).sum(-1), 1 / p)


@rule(aten._cdist_backward.default)
def _cdist_backward(grad: Tensor, a: Tensor, b: Tensor, p: float, distances: Tensor) -> Tensor:
    """By a; 0 where a distance is."""
    differences = _differences(a, b)
    if not differences.size:
        return ir.zeros(a.shape, a.element)
    if p == 0:
        return ir.zeros((*differences.shape[:-3], *a.shape[-2:]), a.element)
    along, distance = ir.expand_dims(wide(grad), -1), ir.expand_dims(wide(distances), -1)
    if p == 1:
        return (along * ir.sign(differences)).sum(-2)
    if math.isinf(p):
        is_greatest = ir.equal(ir.abs(differences), distance)
        return ir.where(is_greatest, along * ir.sign(differences), 0.0).sum(-2)
    is_zero = ir.equal(distance, 0.0)
    safe = ir.where(is_zero, 1.0, distance)
    if p == 2:
        return ir.where(is_zero, 0.0, along * differences / safe).sum(-2)
    is_flat = ir.equal(differences, 0.0)
    sizes = ir.where(is_flat, 1.0, ir.abs(differences))
    slopes = ir.sign(differences) * ir.power(sizes, p - 1) * along / ir.power(safe, p - 1)
    return ir.where(is_zero | is_flat, 0.0, slopes).sum(-2)


@rule(aten._pdist_forward.default)
def _pdist(x: Tensor, p: float = 2.0) -> Tensor:
    """The p-norm of each row minus each of those behind it."""
    count = x.shape[0]
    pairs = count * (count - 1) // 2
    if pairs <= 0:
        return ir.zeros((0,), x.element)
    numbers = ir.arange(pairs)
    starts = _starts(ir.arange(count - 1), count)
    first = bisected(starts, numbers, True) - 1
    second = numbers - ir.take(starts, first, 0, mode="clip") + first + 1
    a, b = (ir.take(wide(x), each, 0, mode="clip") for each in (first, second))
    return _norm(ir.abs(a - b), p)


def _starts(row: Tensor, count: int) -> Tensor:
    """The number of the first pair of a row and one behind it."""
    return row * (2 * count - 1 - row) // 2


@rule(aten._pdist_backward.default)
def _pdist_backward(grad: Tensor, x: Tensor, p: float, distances: Tensor) -> Tensor:
    """As that of the distances of all rows from all, in which each is twice, and from itself none has any."""
    count = x.shape[0]
    if not grad.size or not x.size:
        return ir.zeros(x.shape, x.element)
    rows = ir.arange(count)
    one, other = rows.reshape(-1, 1), rows.reshape(1, -1)
    low, high = ir.minimum(one, other), ir.maximum(one, other)
    number = ir.minimum(_starts(low, count) + ir.maximum(high - low - 1, 0), grad.size - 1)
    gradients, lengths = (
        ir.where(low == high, 0, ir.take(wide(each), number, 0, mode="clip")) for each in (grad, distances)
    )
    return _cdist_backward(gradients, x, x, p, lengths)
