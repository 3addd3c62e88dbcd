"""Fourier transforms on a CPU as products by matrices of roots of one, computed in f64.

A transform of n1 * n2 elements is one of n1 for each j2, a turn of each result, and one of n2 (Cooley and Tukey, 1965):
so the matrices are small, unless n has a large prime factor. cuFFT has those on a GPU.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

DIRECT = 64
"""Elements that are multiplied by one matrix, although there are fewer products in two steps."""

MOST = 1024
"""Rows of a matrix at most."""


def is_transformed(x: Tensor, axes: Sequence[int], last: int | None = None) -> bool:
    """Whether transforms along these axes of x are products. last: how many elements the last one has, if not as x."""
    sizes = [x.shape[axis] for axis in axes]
    sizes = sizes if last is None else [*sizes[:-1], last]
    return x.device.type == "cpu" and all(size > 0 and _largest_step(size) <= MOST for size in sizes)


def _largest_step(n: int) -> int:
    first = _factor(n)
    return n if first is None else max(_largest_step(first), _largest_step(n // first))


def _factor(n: int) -> int | None:
    """The factor nearest to the root; None for a transform in one step."""
    if n <= DIRECT:
        return None
    return next((each for each in range(math.isqrt(n), 1, -1) if n % each == 0), None)


def root_matrix(rows: int, columns: int, turns: bool) -> Tensor:
    """f64[2, rows, columns]: the real and the imaginary parts of exp(-2 pi i j k / n), j a row and k a column. n is
    `rows`, or with `turns` rows * columns."""
    n = rows * columns if turns else rows
    steps = torch.arange(rows)[:, None] * torch.arange(columns) % n
    # of the first eighth, so that what should be 0, 1 or equal is
    quarter, rest = torch.div(steps * 4, n, rounding_mode="floor"), steps * 4 % n
    angle = rest.double() * (math.pi / 2 / n)
    is_over = rest * 2 > n
    small = torch.where(is_over, math.pi / 2 - angle, angle)
    cosine, sine = torch.where(is_over, small.sin(), small.cos()), torch.where(is_over, small.cos(), small.sin())
    turned = [(cosine, -sine), (-sine, -cosine), (-cosine, sine), (sine, cosine)]
    real, imag = (
        sum(torch.where(quarter == number, pair[place], 0.0) for number, pair in enumerate(turned)) for place in (0, 1)
    )
    return torch.stack([torch.as_tensor(real), torch.as_tensor(imag)])


@torch.library.custom_op("irc::roots", mutates_args=())
def roots(rows: int, columns: int, turns: bool) -> Tensor:
    """The matrix as an op of graphs."""
    return root_matrix(rows, columns, turns)


@roots.register_fake
def _(rows: int, columns: int, turns: bool) -> Tensor:
    return torch.empty(2, rows, columns, dtype=torch.float64)


Pair = tuple[Tensor, Tensor | None]
"""The real and the imaginary parts; None where these are zeros."""


def transformed(
    real: Tensor, imag: Tensor | None, axes: Sequence[int], forward: bool, count: int | None = None
) -> tuple[Tensor, Tensor]:
    """The transforms along some axes, without a factor, in f64: the first `count` results, all by default."""
    x: Pair = (real.double(), None if imag is None else imag.double())
    for axis in axes:
        moved = _each(x, lambda part, axis=axis: part.movedim(axis, -1))
        found = _along_rows(moved, forward)
        if count is not None:
            found = _each(found, lambda part: part[..., :count])
        x = _each(found, lambda part, axis=axis: part.movedim(-1, axis))
    return x[0], torch.zeros_like(x[0]) if x[1] is None else x[1]


def _each(x: Pair, function: Any) -> Pair:
    return function(x[0]), None if x[1] is None else function(x[1])


def _along_rows(x: Pair, forward: bool) -> Pair:
    n = x[0].shape[-1]
    first = _factor(n)
    if first is None:
        return _multiplied(x, _roots(n, n, False, forward))
    second = n // first
    x = _each(x, lambda part: part.unflatten(-1, (first, second)).mT)  # [j2, j1]
    x = _along_rows(x, forward)  # [j2, k1]
    cosine, sine = _roots(second, first, True, forward)
    assert x[1] is not None
    x = x[0] * cosine - x[1] * sine, x[0] * sine + x[1] * cosine
    x = _along_rows(_each(x, lambda part: part.mT), forward)  # [k1, k2]
    return _each(x, lambda part: part.mT.flatten(-2))


def _roots(rows: int, columns: int, turns: bool, forward: bool) -> tuple[Tensor, Tensor]:
    matrix = roots(rows, columns, turns)
    return matrix[0], matrix[1] if forward else -matrix[1]


def _multiplied(x: Pair, matrix: tuple[Tensor, Tensor]) -> Pair:
    real, imag = x
    shape = real.shape
    cosine, sine = ((real.reshape(-1, shape[-1]) @ part).reshape(shape) for part in matrix)
    if imag is None:
        return cosine, sine
    imag_cosine, imag_sine = ((imag.reshape(-1, shape[-1]) @ part).reshape(shape) for part in matrix)
    return cosine - imag_sine, sine + imag_cosine
