"""The box of a view that a tile covers: the elements between the first and the last that it may read, along each
dimension of the view."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from math import gcd, prod

from xdsl.ir.affine import (
    AffineBinaryOpExpr,
    AffineBinaryOpKind,
    AffineConstantExpr,
    AffineDimExpr,
    AffineExpr,
    AffineSymExpr,
)

from irc.layout.access import MemoryAccess
from irc.layout.requests import WIDEST
from irc.support.integers import ceil_div


@dataclass(frozen=True)
class _Range:
    """The values of an expression over a tile: they are among the `count` from `first` on, an expression of the tile's
    offsets that is a multiple of `align` (0: it is 0). is_exact: wherever the tile is, the first and the last of these
    are values of it."""

    first: AffineExpr
    count: int
    align: int
    is_exact: bool = True


@dataclass(frozen=True)
class Box:
    """What a tile covers of a view: `counts` elements from `origins` (of the tile's offsets and symbols) on, along each
    dimension of the view.

    run: the dimensions whose elements are neighbors in memory, innermost first; a row is `length` elements of them.
    rows: the others, those with the shortest step first. cut: the dimensions where coordinates of the tile are outside
    the box, as they are outside the view. checked: the dimensions where the box reaches over the ends of the view.
    words: the words of memory that hold a row; rows begin at any element of the first one where `is_misaligned`."""

    origins: tuple[AffineExpr, ...]
    counts: tuple[int, ...]
    run: tuple[int, ...]
    rows: tuple[int, ...]
    cut: frozenset[int]
    checked: frozenset[int]
    length: int
    words: int
    is_misaligned: bool

    @property
    def row_count(self) -> int:
        return prod(self.counts[d] for d in self.rows)


@cache
def box_of(access: MemoryAccess, shape: tuple[int, ...]) -> Box | None:
    """The box of a tile; None where its elements are anywhere, or where the view's address is not that of a word."""
    if any(access.gathers) or access.align % WIDEST or WIDEST % access.element_bytes:
        return None
    ranges = [_range(expr, access, shape) for expr in access.map.results]
    if any(r is None for r in ranges):
        return None
    known = [_whole(r, n) for r, n in zip(ranges, access.extents, strict=True) if r is not None]
    reach = [(r.align, r.count, n) for r, n in zip(ranges, access.extents, strict=True) if r is not None]
    cut = frozenset(d for d, (align, count, n) in enumerate(reach) if count > n or (count == n and align))
    checked = frozenset(access.checked) | {d for d, r in enumerate(known) if not r.is_exact}
    counts = tuple(r.count for r in known)
    run = _run(access, known, counts)
    if not run:
        return None
    rows = tuple(sorted((d for d in range(len(counts)) if d not in run), key=lambda d: access.strides[d]))
    length = 1 + sum((counts[d] - 1) * access.strides[d] for d in run)
    word = WIDEST // access.element_bytes
    steps = [access.strides[d] for d in rows if counts[d] > 1 or known[d].align]
    starts = [known[d].align * access.strides[d] for d in run]
    is_misaligned = any(n % word for n in (*steps, *starts))
    words = ceil_div(length, word) if not is_misaligned else (length + word - 2) // word + 1
    origins = tuple(r.first for r in known)
    return Box(origins, counts, run, rows, cut, checked, length, words, is_misaligned)


def _whole(values: _Range, extent: int) -> _Range:
    """All of a dimension of the view instead, where there are as many values."""
    return _Range(AffineExpr.constant(0), extent, 0) if values.count >= extent else values


def _run(access: MemoryAccess, ranges: Sequence[_Range], counts: Sequence[int]) -> tuple[int, ...]:
    found: list[int] = []
    step = 1
    while (
        dim := next(
            (d for d, s in enumerate(access.strides) if s == step and access.extents[d] > 1 and d not in found), None
        )
    ) is not None:
        found.append(dim)
        if ranges[dim].align or counts[dim] != access.extents[dim]:
            break
        step *= access.extents[dim]
    return tuple(found)


def _range(expr: AffineExpr, access: MemoryAccess, shape: Sequence[int]) -> _Range | None:
    match expr:
        case AffineConstantExpr():
            return _Range(expr, 1, abs(expr.value))
        case AffineSymExpr():
            return _Range(expr, 1, access.symbols[expr.position])
        case AffineDimExpr():
            return _Range(expr, shape[expr.position], access.offsets[expr.position])
        case AffineBinaryOpExpr():
            lhs, rhs = _range(expr.lhs, access, shape), _range(expr.rhs, access, shape)
            return None if lhs is None or rhs is None else _combine(expr, lhs, rhs)
        case _:
            return None


def _combine(expr: AffineBinaryOpExpr, lhs: _Range, rhs: _Range) -> _Range | None:
    if expr.kind is AffineBinaryOpKind.Add:
        apart = lhs.count == 1 or rhs.count == 1 or expr.lhs.used_dims().isdisjoint(expr.rhs.used_dims())
        is_exact = lhs.is_exact and rhs.is_exact and apart
        return _Range(lhs.first + rhs.first, lhs.count + rhs.count - 1, gcd(lhs.align, rhs.align), is_exact)
    if not isinstance(expr.rhs, AffineConstantExpr):
        return None
    by, more = expr.rhs.value, lhs.count - 1
    if expr.kind is AffineBinaryOpKind.Mul:
        least = min(more * by, 0)
        first = lhs.first * by + least if least else lhs.first * by
        return _Range(first, more * abs(by) + 1, gcd(lhs.align * by, least), lhs.is_exact)
    if by < 1:
        return None
    step = gcd(lhs.align, by)
    starts = step == by
    if expr.kind is AffineBinaryOpKind.FloorDiv:
        most = (more + by - step) // by
        is_exact = lhs.is_exact and most == more // by
        return _Range(lhs.first // by, most + 1, lhs.align // by if starts else 1, is_exact)
    if expr.kind is AffineBinaryOpKind.Mod:
        if lhs.count == 1:
            return _Range(lhs.first % by, 1, step, lhs.is_exact)
        if starts and more < by:
            return _Range(AffineExpr.constant(0), lhs.count, 0, lhs.is_exact)
        return _Range(AffineExpr.constant(0), by, 0, False)
    return None
