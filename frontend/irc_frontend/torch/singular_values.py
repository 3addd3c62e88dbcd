"""Singular values and vectors of small matrices on a CPU, and eigenvalues and vectors of symmetric ones, by rotations
of pairs of columns (Hestenes 1958): a kernel with a loop, whose number of steps depends on shapes alone.

A rotation makes two columns orthogonal. A round rotates disjoint pairs, so that each column meets every other once in a
sweep. What is left of the angles after some sweeps is squared in the next.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

import irc_frontend as ir
from irc_frontend.tensor import Tensor as Recorded
from irc_frontend.torch.factorizations import FACTORIZATIONS, decomposition, numbers, with_errors

aten = torch.ops.aten

SINGULAR: dict[Any, Callable[..., Any]] = {}
"""By op."""

MOST_SWEEPS = 12
"""As many ended in f64 those of all drawn matrices that were not singular: 3 of 2 columns, 6 of 4, 8 of 8, 9 of 16; of
singular ones 6 of 4, 11 of 8, 13 of 16, where what the last ones turn is rounding."""

NOT_A_NUMBER = -4
"""What LAPACK says of a matrix that has NaN."""


@ir.kernel
def _rotated(
    x: Recorded, basis: Recorded, partners: Recorded, roles: Recorded, sweeps: int
) -> tuple[Recorded, Recorded]:
    """x[b, m, n] times rotations, so that its columns are orthogonal, and the rotations' product [b, n, n]. partners[r,
    n, n]: moves the columns of a round to the places of those that they are paired with; roles[r, n]: 1 and -1 of a
    pair, 0 of a column without one."""
    count, m, n = x.shape
    rounds = roles.shape[0]
    columns, turns = ir.empty((count, m, n), x.dtype), ir.empty((count, n, n), x.dtype)
    for b in ir.tiles(range(count)):
        column, turn = x[b, :, :], basis[:, :]
        for r in ir.tiles(range(rounds * sweeps)):
            partner, role = partners[r % rounds, :, :], roles[r % rounds, :]
            other, other_turn = column @ partner, turn @ partner
            product = (column * other).sum(0)
            is_done = ir.equal(product * role, 0.0)
            distance = role * ((other * other).sum(0) - (column * column).sum(0))
            slope = distance / ir.where(is_done, 1.0, 2 * product)
            size = 1 / (ir.abs(slope) + ir.sqrt(1 + slope * slope))
            tangent = ir.where(is_done, 0.0, ir.where(slope < 0, -size, size))
            cosine = 1 / ir.sqrt(1 + tangent * tangent)
            sine = role * cosine * tangent
            column, turn = cosine * column - sine * other, cosine * turn - sine * other_turn
        columns[b, :, :] = column
        turns[b, :, :] = turn
    return columns, turns


def _rounds(count: int, like: Tensor) -> tuple[Tensor, Tensor]:
    """The partners and roles of a kernel's rounds, as f64. In round r columns are paired whose numbers add up to r, but
    for multiples of the number of rounds; one is left, which the last column is for if the count is even."""
    rounds = max(1, count - 1 + count % 2)
    first, second = numbers(count, like)[:, None], numbers(count, like)
    at = numbers(rounds, like)[:, None, None]
    is_pair = (first + second) % rounds == at
    if count % 2 == 0:
        last = count - 1
        is_pair = is_pair & (first < last) & (second < last) & (first != second)
        is_pair = is_pair | ((second == last) & (first < last) & (2 * first % rounds == at))
        is_pair = is_pair | ((first == last) & (second < last) & (2 * second % rounds == at))
    signs = torch.where(first < second, 1.0, torch.where(first > second, -1.0, 0.0))
    return is_pair.double(), (is_pair * signs).sum(-1, dtype=torch.float64)


def _orthogonal(x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Of x[..., m, n] in f64: its columns turned to be orthogonal, the longest first, their lengths, and the turn."""
    count = x.shape[-1]
    basis = torch.eye(count, dtype=x.dtype, device=x.device)
    sweeps = min(MOST_SWEEPS, 4 + count)
    columns, turns = _rotated(x.reshape(-1, *x.shape[-2:]), basis, *_rounds(count, x), sweeps)
    lengths = (columns * columns).sum(-2).sqrt()
    lengths, order = lengths.sort(descending=True, stable=True)
    found = [each.gather(-1, order[:, None].expand(each.shape)) for each in (columns, turns)]
    batch = x.shape[:-2]
    return found[0].reshape(x.shape), lengths.reshape(*batch, count), found[1].reshape(*batch, count, count)


def _scaled(x: Tensor) -> tuple[Tensor, Tensor]:
    """In f64, with the largest number of each matrix 1, and what that was: the squares of all are finite."""
    wide = x.double()
    scale = wide.abs().amax((-2, -1), keepdim=True)
    scale = torch.where(scale == 0, 1, scale)
    return wide / scale, scale[..., 0]


def _bases(columns: Tensor, lengths: Tensor, is_whole: bool) -> Tensor:
    """The directions of orthogonal columns [..., m, n], m >= n, and of others that are orthogonal to these: in the
    places of those of no length, and behind them where the basis is to be whole."""
    safe = torch.where(lengths == 0, 1, lengths)[..., None, :]
    mode = "complete" if is_whole else "reduced"
    q, r = FACTORIZATIONS[aten.linalg_qr.default](columns / safe, mode)
    signs = torch.where(r.diagonal(dim1=-2, dim2=-1) < 0, -1.0, 1.0)[..., None, :]
    count = lengths.shape[-1]
    return torch.cat([q[..., :count] * signs, q[..., count:]], -1)


def _units(x: Tensor, rows: int, count: int) -> Tensor:
    return torch.eye(rows, count, dtype=x.dtype, device=x.device).expand(*x.shape[:-2], rows, count)


@decomposition(aten._linalg_svd.default, into=SINGULAR, checks=True)
def _svd(x: Tensor, full_matrices: bool = False, compute_uv: bool = True, *, driver: str | None = None) -> Any:
    m, n = x.shape[-2:]
    count = min(m, n)
    if not x.numel():
        u, v = (_units(x, extent, extent if full_matrices else count) for extent in (m, n))
        values = x.new_zeros((*x.shape[:-2], count))
        return (u.clone(), values, v.mT.clone()) if compute_uv else (x.new_empty(0), values, x.new_empty(0))
    with_errors(x, torch.where(x.isnan().any(-1).any(-1), NOT_A_NUMBER, 0).int(), True, "linalg.svd")
    wide, scale = _scaled(x)
    columns, lengths, turn = _orthogonal(wide if m >= n else wide.mT)
    values = (lengths * scale).to(x.dtype)
    if not compute_uv:
        return x.new_empty(0), values, x.new_empty(0)
    basis = _bases(columns, lengths, full_matrices)
    u, v = (basis, turn) if m >= n else (turn, basis)
    return u.to(x.dtype), values, v.mT.to(x.dtype)


@decomposition(aten._linalg_eigh.default, into=SINGULAR)
def _eigh(x: Tensor, UPLO: str = "L", compute_v: bool = True) -> Any:
    """Of a matrix to which as much of the unit matrix is added that no eigenvalue is negative: those are its singular
    values then, and have the same vectors. Where a number is not finite all are NaN; LAPACK says nothing of that."""
    count = x.shape[-1]
    if not x.numel():
        values = x.new_zeros(x.shape[:-1])
        return values, _units(x, count, count).clone() if compute_v else x.new_empty(0)
    inner = x.tril() if UPLO.upper() == "L" else x.triu()
    outer = x.tril(-1) if UPLO.upper() == "L" else x.triu(1)
    wide, scale = _scaled(inner + outer.mT)
    shift = wide.abs().sum(-1).amax(-1, keepdim=True)
    _, lengths, turn = _orthogonal(wide + shift[..., None] * _units(wide, count, count))
    values = ((lengths - shift) * scale).flip(-1).to(x.dtype)
    return values, turn.flip(-1).to(x.dtype) if compute_v else x.new_empty(0)


@decomposition(aten.linalg_pinv.atol_rtol_tensor, into=SINGULAR)
def _pinv(x: Tensor, *, atol: Tensor | None = None, rtol: Tensor | None = None, hermitian: bool = False) -> Any:
    """As torch composes it. Of singular values up to the larger of atol and rtol times the largest none is inverted."""
    if not x.numel():
        return x.mT.clone()
    least = x.new_zeros(()) if atol is None else atol
    if rtol is None:
        usual = max(x.shape[-2:]) * torch.finfo(x.dtype).eps
        rtol = x.new_full((), usual) if atol is None else torch.where(least > 0, 0.0, usual).to(x.dtype)
    if hermitian:
        values, v = aten._linalg_eigh.default(x, "L", True)
        u, v = v, v.mT
    else:
        u, values, v = aten._linalg_svd.default(x, False, True)
    sizes = values.abs()
    bound = torch.maximum(least[..., None], rtol[..., None] * sizes.amax(-1, keepdim=True))
    is_kept = sizes > bound
    inverse = torch.where(is_kept, 1 / torch.where(is_kept, values, 1), 0)
    return (v.mT * inverse[..., None, :]) @ u.mT
