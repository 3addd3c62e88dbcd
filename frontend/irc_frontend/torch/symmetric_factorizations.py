"""Symmetric matrices that are not positive, on a CPU, as L D L^T with a permutation: by Bunch and Kaufman's pivots
(1977) as LAPACK has them, so that D has blocks of one row or two.

As in `factorizations`, the steps are ops on all matrices of a batch. Which of these have a block of two at a step
differs: each step computes both, and takes one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from irc_frontend.torch.factorizations import column_of, decomposition, first_of, numbers, row_of, with_errors

aten = torch.ops.aten

ALPHA = (1 + 17**0.5) / 8
"""A pivot is as large as that part of its column at least, or is in a block of two."""


def _at(x: Tensor, row: int, column: int) -> Tensor:
    return x[..., row : row + 1, column : column + 1]


def _exchange(place: Tensor, other: Tensor, count: int) -> Tensor:
    """The order[..., m] of rows of which two, given as [..., 1], have changed places."""
    at = numbers(count, place)
    return torch.where(at == place, other, torch.where(at == other, place, at))


def _exchanged(x: Tensor, order: Tensor) -> Tensor:
    """The rows of x[..., m, n] in an order."""
    return x.gather(-2, order.expand(x.shape[:-1])[..., None].expand(x.shape))


def _times_inverse(a: Tensor, b: Tensor, c: Tensor, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    """(x, y) [[a, b], [b, c]]^-1, scaled by b, which is the largest."""
    safe = torch.where(b == 0, 1, b)
    first, second = a / safe, c / safe
    scale = first * second - 1
    scale = torch.where(scale == 0, 1, scale) * safe
    return (second * x - y) / scale, (first * y - x) / scale


def _factorized(x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """L and D in one matrix, of x whose lower triangle is read; pivots as LAPACK's: numbers from 1, negative for both
    rows of a block of two; and the number from 1 of the first pivot that is 0, or 0."""
    n = x.shape[-1]
    rows, columns = numbers(n, x)[:, None], numbers(n, x)
    rest = x.tril() + x.tril(-1).mT
    is_second = torch.zeros((*x.shape[:-2], 1, 1), dtype=torch.bool, device=x.device)
    found: list[Tensor] = []
    pivots: list[Tensor] = []
    zeros: list[Tensor] = []
    carried, carried_pivot = x.new_zeros((*x.shape[:-1], 1)), x.new_zeros((*x.shape[:-2], 1), dtype=torch.int64)
    for step in range(n):
        size = _at(rest, step, step).abs()
        is_two = torch.zeros_like(is_second)
        place = torch.full_like(carried_pivot, step)
        if step + 1 < n:
            below = torch.where(rows > step, column_of(rest, step).abs(), -1)
            largest, worst = below.amax(-2, keepdim=True), below[..., 0].argmax(-1, keepdim=True)
            row = rest.gather(-2, worst[..., None].expand(*x.shape[:-2], 1, n)).abs()
            of_row = torch.where((columns >= step) & (columns != worst[..., None]), row, -1).amax(-1, keepdim=True)
            own = row.gather(-1, worst[..., None])
            stays = (size >= ALPHA * largest) | (size * of_row >= ALPHA * largest * largest)
            is_two = ~stays & (own < ALPHA * of_row) & ~is_second
            place = torch.where(stays[..., 0] | is_second[..., 0], step, worst)
            # the row that is exchanged is the last of the block
            exchange = _exchange(torch.where(is_second[..., 0], step, step + is_two[..., 0].long()), place, n)
            rest = _exchanged(_exchanged(rest, exchange).mT, exchange).mT
        column = torch.where(rows >= step, column_of(rest, step), 0)
        zeros.append(torch.where(is_second, 1, column.abs().amax(-2, keepdim=True))[..., 0, 0])
        diagonal = _at(rest, step, step)
        single = torch.where(rows > step, column_of(rest, step) / torch.where(diagonal == 0, 1, diagonal), 0)
        column = torch.where(rows == step, diagonal, single)
        update = single * diagonal * single.mT
        pivot, next_column = place + 1, carried
        if step + 1 < n:
            off, last = _at(rest, step + 1, step), _at(rest, step + 1, step + 1)
            ahead = rows > step + 1
            pair = torch.where(ahead, column_of(rest, step), 0), torch.where(ahead, column_of(rest, step + 1), 0)
            first, second = _times_inverse(diagonal, off, last, *pair)
            block = torch.where(rows == step, diagonal, torch.where(rows == step + 1, off, first))
            next_column = torch.where(rows == step + 1, last, torch.where(ahead, second, 0))
            column = torch.where(is_two, block, column)
            update = torch.where(is_two, first * pair[0].mT + second * pair[1].mT, update)
            pivot = torch.where(is_two[..., 0], -pivot, pivot)
        found.append(torch.where(is_second, carried, torch.where(rows >= step, column, 0)))
        pivots.append(torch.where(is_second[..., 0], carried_pivot, pivot))
        rest = torch.where(is_second, rest, rest - update)
        carried, carried_pivot, is_second = next_column, pivot, is_two
    if not found:
        return x, x.new_zeros((*x.shape[:-2], 0), dtype=torch.int32), first_of([], x, lambda each: each == 0)
    packed = torch.cat(found, -1)
    return packed, torch.cat(pivots, -1).int(), first_of(zeros, x, lambda each: each == 0)


SYMMETRIC: dict[Any, Callable[..., Any]] = {}
"""By op."""


@decomposition(aten.linalg_ldl_factor_ex.default, into=SYMMETRIC)
def _ldl_factor_ex(x: Tensor, *, hermitian: bool = False, check_errors: bool = False) -> Any:
    packed, pivots, info = _factorized(x)
    return packed, pivots, with_errors(x, info, check_errors, "torch.linalg.ldl_factor_ex")


@decomposition(aten.linalg_ldl_solve.default, into=SYMMETRIC)
def _ldl_solve(packed: Tensor, pivots: Tensor, b: Tensor, *, hermitian: bool = False) -> Tensor:
    """By the blocks from the first on, and back."""
    n = packed.shape[-1]
    rows = numbers(n, packed)[:, None]
    b = b.expand(*torch.broadcast_shapes(b.shape[:-2], packed.shape[:-2]), *b.shape[-2:])
    is_first: list[Tensor] = []  # [..., 1, 1]: whether a block of two begins there
    before = torch.zeros((*packed.shape[:-2], 1, 1), dtype=torch.bool, device=packed.device)
    for step in range(n):
        is_negative = (pivots[..., step] < 0)[..., None, None]
        before = is_negative & ~before
        is_first.append(before)
    seconds = [torch.zeros_like(before), *is_first[:-1]] if n else []
    for step in range(n):
        is_two, is_second = is_first[step], seconds[step]
        b = _exchanged(b, _exchange_of(pivots, step, is_two, is_second, n))
        one = torch.where(rows > step, column_of(packed, step), 0)
        reduced = b - one * row_of(b, step)
        solved = row_of(b, step) / _at(packed, step, step)
        result = torch.where(rows == step, solved, reduced)
        if step + 1 < n:
            ahead = rows > step + 1
            two = torch.where(ahead, column_of(packed, step + 1), 0)
            first, second = row_of(b, step), row_of(b, step + 1)
            below = b - torch.where(ahead, one, 0) * first - two * second
            pair = _times_inverse(
                _at(packed, step, step), _at(packed, step + 1, step), _at(packed, step + 1, step + 1), first, second
            )
            block = torch.where(rows == step, pair[0], torch.where(rows == step + 1, pair[1], below))
            result = torch.where(is_two, block, result)
        b = torch.where(is_second, b, result)
    for step in reversed(range(n)):
        is_two, is_second = is_first[step], seconds[step]
        ahead = rows > step + torch.where(is_two, 1, 0)
        lower = torch.where(ahead, column_of(packed, step), 0)
        product = (lower * b).sum(-2, keepdim=True)
        b = torch.where(rows == step, b - product, b)
        b = _exchanged(b, _exchange_of(pivots, step, is_two, is_second, n))
    return b


def _exchange_of(pivots: Tensor, step: int, is_two: Tensor, is_second: Tensor, count: int) -> Tensor:
    """The exchange of a block, at its first row."""
    own = step + is_two[..., 0].long()
    other = pivots[..., step : step + 1].long().abs() - 1
    return _exchange(own, torch.where(is_second[..., 0], own, other), count)
