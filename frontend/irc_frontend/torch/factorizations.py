"""Small matrices on a CPU factorized, inverted and solved for: the steps of elimination as ops on all matrices of a
batch, one after another.

So a program has them whole, with what is around them. A step of a matrix of many rows is better a product of blocks:
those, and all on a GPU, stay with torch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache, partial
from typing import Any

import torch
from torch import Tensor
from torch._guards import detect_fake_mode
from torch._subclasses import FakeTensorMode
from torch.fx import Graph
from torch.fx.experimental.proxy_tensor import disable_proxy_modes_tracing

aten = torch.ops.aten

MOST = 16
"""Steps of a factorization that are taken apart: its code grows with them."""

FACTORIZATIONS: dict[Any, Callable[..., Any]] = {}
"""By op."""


def decomposition(
    *ops: Any, into: dict[Any, Callable[..., Any]] = FACTORIZATIONS, checks: bool = False
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Registers the decorated function for small matrices. All others stay whole, and so does what checks errors, as
    all calls do or those with `check_errors`, where the check would not stay. Results have the strides of torch's."""

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        def decomposed(op: Any, *args: Any, **options: Any) -> Any:
            tensors = [each for each in (*args, *options.values()) if isinstance(each, Tensor)]
            if (checks or options.get("check_errors")) and not checks_stay():
                return NotImplemented
            if not all(map(_is_small, tensors)):
                return NotImplemented
            with disable_proxy_modes_tracing(), detect_fake_mode(tensors) or FakeTensorMode(allow_non_fake_inputs=True):
                promised = op(*args, **options)  # shapes and strides, which no graph records
            return _with_strides(function(*args, **options), promised)

        into.update({op: partial(decomposed, op) for op in ops})
        return function

    return register


def _with_strides(found: Any, promised: Any) -> Any:
    """Results in the order of axes that torch's op gives them: it writes matrices column by column."""
    if not isinstance(found, Tensor):
        return tuple(map(_with_strides, found, promised))
    order = sorted(range(found.ndim), key=promised.stride, reverse=True)
    return found.permute(order).contiguous().permute([order.index(axis) for axis in range(found.ndim)])


def _is_small(x: Tensor) -> bool:
    is_static = not any(isinstance(extent, torch.SymInt) for extent in x.shape)
    is_left = x.is_cuda or x.is_complex()
    return is_static and not is_left and (x.ndim < 2 or min(x.shape[-2:]) <= MOST)


@cache
def checks_stay() -> bool:
    """Whether a graph keeps a check of errors, whose result nothing uses: torch 2.11 takes it for dead code."""
    graph = Graph()
    check = graph.call_function(aten._linalg_check_errors.default, (graph.placeholder("info"), ""))
    return check.is_impure()


def numbers(count: int, like: Tensor) -> Tensor:
    return torch.arange(count, device=like.device)


def column_of(x: Tensor, place: int) -> Tensor:
    """[..., m, 1] of [..., m, n]."""
    return x[..., :, place : place + 1]


def row_of(x: Tensor, place: int) -> Tensor:
    """[..., 1, n] of [..., m, n]."""
    return x[..., place : place + 1, :]


def _rows_at(x: Tensor, order: Tensor) -> Tensor:
    """The rows of x[..., m, n] in an order[..., m]."""
    shape = torch.broadcast_shapes(x.shape[:-1], order.shape)
    return x.expand(*shape, x.shape[-1]).gather(-2, order.expand(shape)[..., None].expand(*shape, x.shape[-1]))


def _swapped(place: Tensor, step: int, count: int) -> Tensor:
    """The order[..., m] of rows in which `step` and place[...] have changed places."""
    at = numbers(count, place)
    other = place[..., None]
    return torch.where(at == step, other, torch.where(at == other, step, at))


def _eliminated(x: Tensor, is_pivoted: bool = True) -> tuple[Tensor, Tensor, Tensor]:
    """LU of x[..., m, n], L without its diagonal of ones below U; pivots[..., k], row numbers from 0 that change places
    with 0, 1, ...; and info[...], the number from 1 of the first pivot that is 0, or 0."""
    m, n = x.shape[-2:]
    rows, columns = numbers(m, x)[:, None], numbers(n, x)
    pivots: list[Tensor] = []
    diagonal: list[Tensor] = []
    for step in range(min(m, n)):
        if is_pivoted and step + 1 < m:
            pivots.append(step + x[..., step:, step].abs().argmax(-1))
            x = _rows_at(x, _swapped(pivots[-1], step, m))
        else:
            pivots.append(torch.full(x.shape[:-2], step, device=x.device))
        pivot = x[..., step : step + 1, step : step + 1]
        diagonal.append(pivot[..., 0, 0])
        factors = torch.where(rows > step, column_of(x, step) / torch.where(pivot == 0, 1, pivot), 0)
        eliminated = x - factors * torch.where(columns > step, row_of(x, step), 0)
        x = torch.where((rows > step) & (columns == step), factors, eliminated)
    return x, _stacked(pivots, x).long(), first_of(diagonal, x, lambda each: each == 0)


def _stacked(values: list[Tensor], like: Tensor) -> Tensor:
    """[..., k] of k arrays of a number for each matrix."""
    return torch.stack(values, -1) if values else like.new_zeros((*like.shape[:-2], 0))


def first_of(values: list[Tensor], like: Tensor, is_one: Callable[[Tensor], Tensor]) -> Tensor:
    """The number from 1 of the first of these, or 0: i32."""
    info = torch.zeros(like.shape[:-2], dtype=torch.int32, device=like.device)
    for step, each in reversed(list(enumerate(values, 1))):
        info = torch.where(is_one(each), step, info)
    return info


def _order_of(pivots: Tensor, count: int) -> Tensor:
    """The rows[..., m] of x that those of L U are, where pivots[..., k] from 0 changed places."""
    order = numbers(count, pivots).expand(*pivots.shape[:-1], count)
    for step in range(pivots.shape[-1]):
        order = order.gather(-1, _swapped(pivots[..., step], step, count))
    return order


def _permutation(order: Tensor, like: Tensor) -> Tensor:
    """P[..., m, m] with x = P L U."""
    at = numbers(order.shape[-1], like)
    return (order[..., None, :] == at[:, None]).to(like.dtype)


def _lower(x: Tensor) -> Tensor:
    """L[..., m, k]."""
    m, k = x.shape[-2], min(x.shape[-2:])
    rows, columns = numbers(m, x)[:, None], numbers(k, x)
    return torch.where(rows == columns, 1, torch.where(rows > columns, x[..., :k], 0))


def _upper(x: Tensor) -> Tensor:
    """U[..., k, n]."""
    return x[..., : min(x.shape[-2:]), :].triu()


def _substituted(a: Tensor, b: Tensor, *, upper: bool, unit: bool) -> Tensor:
    """x of a x = b, a[..., n, n] triangular."""
    n = a.shape[-1]
    found: dict[int, Tensor] = {}
    for place in range(n)[:: -1 if upper else 1]:
        x = row_of(b, place)
        found[place] = x if unit else x / a[..., place : place + 1, place : place + 1]
        b = b - column_of(a, place) * found[place]
    return torch.cat([found[place] for place in range(n)], -2) if found else b


def _solved(x: Tensor, order: Tensor, b: Tensor) -> Tensor:
    """Of a = P L U, L U packed in x: a^-1 b."""
    b = _substituted(x, _rows_at(b, order), upper=False, unit=True)
    return _substituted(x, b, upper=True, unit=False)


def _solved_for_transpose(x: Tensor, order: Tensor, b: Tensor) -> Tensor:
    """Of a = P L U, L U packed in x: a^-T b."""
    b = _substituted(x.mT, b, upper=False, unit=False)
    b = _substituted(x.mT, b, upper=True, unit=True)
    return _rows_at(b, order.argsort(-1))


def with_errors(x: Tensor, info: Tensor, check_errors: bool, name: str) -> Tensor:
    """The info of matrices x, which torch's check has seen where it is to be looked at."""
    if check_errors:
        aten._linalg_check_errors.default(info, name, is_matrix=x.ndim == 2)
    return info


@decomposition(aten.linalg_lu_factor_ex.default)
def _lu_factor_ex(x: Tensor, *, pivot: bool = True, check_errors: bool = False) -> Any:
    packed, pivots, info = _eliminated(x, pivot)
    return packed, (pivots + 1).int(), with_errors(x, info, check_errors, "torch.linalg.lu_factor_ex")


@decomposition(aten.linalg_lu.default)
def _lu(x: Tensor, *, pivot: bool = True) -> Any:
    packed, pivots, _ = _eliminated(x, pivot)
    permutation = _permutation(_order_of(pivots, x.shape[-2]), x) if pivot else x.new_empty(0)
    return permutation, _lower(packed), _upper(packed)


@decomposition(aten.lu_unpack.default)
def _lu_unpack(x: Tensor, pivots: Tensor, unpack_data: bool = True, unpack_pivots: bool = True) -> Any:
    nothing = x.new_empty(0)
    permutation = _permutation(_order_of(pivots.long() - 1, x.shape[-2]), x) if unpack_pivots else nothing
    return permutation, *((_lower(x), _upper(x)) if unpack_data else (nothing, x.new_empty(0)))


@decomposition(aten._linalg_det.default)
def _det(x: Tensor) -> Any:
    packed, pivots, _ = _eliminated(_as_torch_reads(x))
    return _sign(pivots, x) * _diagonal(packed).prod(-1), packed, (pivots + 1).int()


@decomposition(aten._linalg_slogdet.default)
def _slogdet(x: Tensor) -> Any:
    packed, pivots, _ = _eliminated(_as_torch_reads(x))
    diagonal = _diagonal(packed)
    sign = _sign(pivots, x) * diagonal.sign().prod(-1)
    return sign, diagonal.abs().log().sum(-1), packed, (pivots + 1).int()


def _as_torch_reads(x: Tensor) -> Tensor:
    """Of a row-major matrix, torch factorizes the transpose for its determinant: the gradient counts on that."""
    return x.mT if x.is_contiguous() else x


def _diagonal(x: Tensor) -> Tensor:
    return x.diagonal(dim1=-2, dim2=-1)


def _sign(pivots: Tensor, like: Tensor) -> Tensor:
    """-1 where an odd number of rows changed places."""
    moved = pivots != numbers(pivots.shape[-1], pivots)
    return 1 - 2 * (moved.sum(-1) % 2).to(like.dtype)


@decomposition(aten._linalg_solve_ex.default)
def _solve_ex(a: Tensor, b: Tensor, *, left: bool = True, check_errors: bool = False) -> Any:
    is_vector = b.ndim == 1 or (b.ndim == a.ndim - 1 and b.shape == a.shape[:-1])
    packed, pivots, info = _eliminated(a)
    order = _order_of(pivots, a.shape[-1])
    columns = b[..., None] if is_vector else b
    x = _solved(packed, order, columns) if left else _solved_for_transpose(packed, order, columns.mT).mT
    info = with_errors(a, info, check_errors, "torch.linalg.solve_ex")
    return x[..., 0] if is_vector else x, packed, (pivots + 1).int(), info


@decomposition(aten.linalg_inv_ex.default)
def _inv_ex(x: Tensor, *, check_errors: bool = False) -> Any:
    packed, pivots, info = _eliminated(x)
    one = torch.eye(x.shape[-1], dtype=x.dtype, device=x.device).expand(x.shape)
    inverse = _solved(packed, _order_of(pivots, x.shape[-1]), one)
    return inverse, with_errors(x, info, check_errors, "linalg.inv_ex")


@decomposition(aten.linalg_lu_solve.default)
def _lu_solve(x: Tensor, pivots: Tensor, b: Tensor, *, left: bool = True, adjoint: bool = False) -> Tensor:
    order = _order_of(pivots.long() - 1, x.shape[-1])
    solve = _solved_for_transpose if adjoint == left else _solved
    return solve(x, order, b) if left else solve(x, order, b.mT).mT


@decomposition(aten.linalg_solve_triangular.default)
def _solve_triangular(a: Tensor, b: Tensor, *, upper: bool, left: bool = True, unitriangular: bool = False) -> Tensor:
    if left:
        return _substituted(a, b, upper=upper, unit=unitriangular)
    return _substituted(a.mT, b.mT, upper=not upper, unit=unitriangular).mT


@decomposition(aten.triangular_solve.default)
def _triangular_solve(
    b: Tensor, a: Tensor, upper: bool = True, transpose: bool = False, unitriangular: bool = False
) -> Any:
    turned = a.mT if transpose else a
    x = _substituted(turned, b, upper=upper != transpose, unit=unitriangular)
    return x, a.expand(*x.shape[:-2], *a.shape[-2:]).clone()


def _cholesky(x: Tensor, upper: bool) -> tuple[Tensor, Tensor]:
    """L with L L^T = x, of which the lower triangle is read, or L^T by the upper one; and the number from 1 of the
    first pivot that is not above 0, or 0."""
    if upper:
        x = x.mT
    rows = numbers(x.shape[-1], x)[:, None]
    columns: list[Tensor] = []
    diagonal: list[Tensor] = []
    for step in range(x.shape[-1]):
        pivot = x[..., step : step + 1, step : step + 1]
        diagonal.append(pivot[..., 0, 0])
        columns.append(torch.where(rows < step, 0, column_of(x, step) / pivot.sqrt()))
        x = x - columns[-1] * columns[-1].mT
    found = torch.cat(columns, -1) if columns else x
    return found.mT if upper else found, first_of(diagonal, x, lambda each: ~(each > 0))


@decomposition(aten.linalg_cholesky_ex.default)
def _cholesky_ex(x: Tensor, *, upper: bool = False, check_errors: bool = False) -> Any:
    found, info = _cholesky(x, upper)
    return found, with_errors(x, info, check_errors, "linalg.cholesky_ex")


@decomposition(aten.cholesky.default, checks=True)
def _cholesky_checked(x: Tensor, upper: bool = False) -> Tensor:
    found, info = _cholesky(x, upper)
    with_errors(x, info, True, "cholesky")
    return found


@decomposition(aten.cholesky_solve.default)
def _cholesky_solve(b: Tensor, x: Tensor, upper: bool = False) -> Tensor:
    """(L L^T)^-1 b, or (U^T U)^-1 b: one triangle of x is read."""
    lower = x.mT if upper else x
    return _substituted(lower.mT, _substituted(lower, b, upper=False, unit=False), upper=True, unit=False)


@decomposition(aten.cholesky_inverse.default)
def _cholesky_inverse(x: Tensor, upper: bool = False) -> Tensor:
    return _cholesky_solve(torch.eye(x.shape[-1], dtype=x.dtype, device=x.device).expand(x.shape), x, upper)


def _reflections(x: Tensor) -> tuple[Tensor, Tensor]:
    """Householder's reflections I - tau v v^T, whose product is Q of x[..., m, n] = Q R: R, below it v without its
    first number, which is 1, and tau[..., k]."""
    m, n = x.shape[-2:]
    rows, columns = numbers(m, x)[:, None], numbers(n, x)
    factors: list[Tensor] = []
    for step in range(min(m, n)):
        first, below = x[..., step : step + 1, step : step + 1], torch.where(rows > step, column_of(x, step), 0)
        rest = (below * below).sum(-2, keepdim=True)
        is_done = rest == 0
        length = (first * first + rest).sqrt()
        diagonal = torch.where(is_done, first, torch.where(first < 0, length, -length))
        tau = torch.where(is_done, 0, (diagonal - first) / torch.where(is_done, 1, diagonal))
        v = torch.where(rows == step, 1, below / torch.where(is_done, 1, first - diagonal))
        reflected = x - tau * v * (v * x).sum(-2, keepdim=True)
        x = torch.where(columns > step, reflected, x)
        x = torch.where((columns == step) & (rows >= step), torch.where(rows == step, diagonal, v), x)
        factors.append(tau[..., 0, 0])
    return x, _stacked(factors, x)


def _directions(x: Tensor, count: int) -> Iterator[Tensor]:
    """The v[..., m, 1] of the first reflections."""
    rows = numbers(x.shape[-2], x)[:, None]
    for step in range(count):
        yield torch.where(rows == step, 1, torch.where(rows > step, column_of(x, step), 0))


def _reflected(x: Tensor, taus: Tensor, y: Tensor, is_turned: bool) -> Tensor:
    """Q y, or Q^T y, of the reflections in x and tau[..., k]."""
    pairs = list(zip(_directions(x, taus.shape[-1]), taus.unbind(-1), strict=True))
    for v, tau in pairs if is_turned else reversed(pairs):
        y = y - tau[..., None, None] * v * (v * y).sum(-2, keepdim=True)
    return y


def _part_of_one(x: Tensor, count: int) -> Tensor:
    """The first columns of the unit matrix of as many rows as x, for each matrix of x."""
    return torch.eye(x.shape[-2], count, dtype=x.dtype, device=x.device).expand(*x.shape[:-1], count)


@decomposition(aten.geqrf.default)
def _geqrf(x: Tensor) -> Any:
    return _reflections(x)


@decomposition(aten.linalg_qr.default)
def _qr(x: Tensor, mode: str = "reduced") -> Any:
    packed, taus = _reflections(x)
    m, k = x.shape[-2], taus.shape[-1]
    if mode == "r":
        return x.new_empty(0), _upper(packed)
    count = m if mode == "complete" else k
    q = _reflected(packed, taus, _part_of_one(x, count), is_turned=False)
    return q, packed[..., :count, :].triu()


@decomposition(aten.linalg_householder_product.default)
def _householder_product(x: Tensor, taus: Tensor) -> Tensor:
    return _reflected(x, taus, _part_of_one(x, x.shape[-1]), is_turned=False)


@decomposition(aten.ormqr.default)
def _ormqr(x: Tensor, taus: Tensor, y: Tensor, left: bool = True, transpose: bool = False) -> Tensor:
    if left:
        return _reflected(x, taus, y, transpose)
    return _reflected(x, taus, y.mT, not transpose).mT
