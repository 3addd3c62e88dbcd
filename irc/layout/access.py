"""What an access to global memory allows: the widest vector along a tile dimension, and the ranges of its coordinates.

An access maps the coordinates of a tile (dims of an affine map, offset + local index) and block-level scalars
(symbols) to coordinates of a strided view. The analysis asks: if dimension c of the tile starts at a multiple of v and
runs over v elements, do they lie side by side in memory, from an address that is a multiple of v elements on? The end
of the array may be among them (`straddled`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import gcd
from typing import Any

import numpy as np
from xdsl.ir.affine import (
    AffineBinaryOpExpr,
    AffineBinaryOpKind,
    AffineConstantExpr,
    AffineDimExpr,
    AffineExpr,
    AffineMap,
    AffineSymExpr,
)

from irc.layout.affine import least, slope_of
from irc.layout.fragment import Coordinates
from irc.layout.requests import WIDEST, Addresses

GATHER_STEP = 4099
"""How far apart the analyses take the indices of a gather to be: a prime, so that they meet sectors in every way."""


@dataclass(frozen=True)
class _Walk:
    """`slope * r + rest` for r in [0, v), where `rest` does not depend on r and is a multiple of `align` (0: it is 0).
    `terms`: expressions with a factor and what they are multiples of, whose sum `rest` is congruent to modulo v."""

    slope: int
    align: int
    terms: tuple[tuple[AffineExpr, int, int], ...] = ()


@dataclass(frozen=True)
class MemoryAccess:
    """One load or store. `extents` and `strides` (elements) describe the view, `align` (bytes) its base address;
    `offsets[d]` and `symbols[s]` are numbers that the tile's offset in dimension d and symbol s are known to be
    multiples of."""

    map: AffineMap
    extents: tuple[int, ...]
    strides: tuple[int, ...]
    checked: frozenset[int]
    element_bytes: int
    align: int
    offsets: tuple[int, ...]
    symbols: tuple[int, ...]
    gathers: tuple[frozenset[int], ...] = ()
    """For each symbol, the tile dimensions along which it changes: those of a tile of indices. Empty: none gathers."""

    def vector(self, dim: int, extent: int) -> int:
        """The most elements along tile dimension `dim` that one access can take: a power of two that divides the
        `extent` elements of a tile or of a thread there; at least 1."""
        length = gcd(max(1, min(WIDEST, self.align) // self.element_bytes), extent)
        while length > 1 and not self._is_vector(dim, length):
            length //= 2
        return length

    def straddled(self, dim: int, length: int) -> frozenset[int]:
        """The dimensions of the view whose end can be within a vector of `length` elements along tile dimension `dim`:
        there it takes an access for each element."""
        along = (at for at in self.checked if dim in self.map.results[at].used_dims())
        return frozenset(at for at in along if self._can_end(at, dim, length))

    def _can_end(self, at: int, dim: int, length: int) -> bool:
        """Not where the whole vector is at one place along the dimension, nor where it is one of the vectors of it."""
        walk = self._walk(self.map.results[at], dim, length)
        if walk is None:
            return True
        return walk.slope != 0 and (walk.align % length != 0 or self.extents[at] % length != 0)

    @property
    def divisions(self) -> int:
        """The divisions and remainders of its map by other numbers than powers of two."""
        return sum(
            isinstance(e, AffineBinaryOpExpr)
            and e.kind in (AffineBinaryOpKind.FloorDiv, AffineBinaryOpKind.Mod)
            and isinstance(e.rhs, AffineConstantExpr)
            and e.rhs.value & (e.rhs.value - 1) != 0
            for result in self.map.results
            for e in result.dfs()
        )

    def addresses(self, coordinates: Coordinates) -> Addresses:
        """The byte addresses of tile coordinates, relative to the view, for a tile whose offsets and symbols are 0; a
        symbol that gathers is somewhere else for each element of the tile of indices."""
        # xDSL's evaluation only adds, multiplies and divides, so that it works on arrays as on numbers.
        dims: Any = list(coordinates)
        symbols: Any = [_anywhere(gathered, coordinates) for gathered in self.gathers or [()] * self.map.num_symbols]
        offset = 0 * coordinates[0]
        for expr, stride in zip(self.map.results, self.strides, strict=True):
            offset = offset + expr.eval(dims, symbols) * stride
        return offset * self.element_bytes

    @property
    def size(self) -> int:
        """The elements of the view, from its first to its last in memory."""
        return 1 + sum((n - 1) * s for n, s in zip(self.extents, self.strides, strict=True))

    def order(self, shape: Sequence[int]) -> tuple[int, ...]:
        """The dimensions of a tile in the order in which the view's memory walks through them, the one with the
        shortest step first; those of extent 1 and those that do not move it last."""
        rank = len(shape)
        origin = np.zeros(rank + 1, dtype=np.int64)
        units = [np.where(np.arange(rank + 1) == d, 1, origin) for d in range(rank)]
        at = self.addresses(units) if rank else origin
        steps = [abs(int(at[d] - at[rank])) or None for d in range(rank)]
        return tuple(sorted(range(rank), key=lambda d: (shape[d] == 1, steps[d] is None, steps[d] or 0, -d)))

    def has_whole_lines(self, line: int) -> bool:
        """Whether every dimension of the tile walks along the view by elements or by whole lines of `line` bytes: then
        a request of a fragment that is linear over bits touches as many lines as any other."""
        plain = all(isinstance(expr, AffineDimExpr | AffineConstantExpr) for expr in self.map.results)
        return plain and all(s == 1 or s * self.element_bytes % line == 0 for s in self.strides)

    def is_contiguous(self, dim: int) -> bool:
        """Whether neighbors along tile dimension `dim` are neighbors in memory, wherever they start."""
        total = 0
        if any(dim in gathered for gathered in self.gathers):
            return False
        for expr, stride in zip(self.map.results, self.strides, strict=True):
            slope = slope_of(expr, dim)
            if slope is None:
                return self._is_vector(dim, 2)
            total += slope * stride
        return total == 1

    def is_row(self, dim: int) -> bool:
        """Whether the elements along tile dimension `dim` are neighbors along one dimension of the view, and nothing
        else depends on it: the address and the end of a run follow from its first element, wherever that is."""
        slopes = [slope_of(expr, dim) for expr in self.map.results]
        along = [stride for slope, stride in zip(slopes, self.strides, strict=True) if slope != 0]
        return not any(self.gathers) and along == [1] and 1 in slopes and self.align % WIDEST == 0

    def begins_inside(self, dim: int) -> bool:
        """Whether runs along tile dimension `dim` never begin before the view."""
        return all(least(expr) >= 0 for expr in self.map.results if dim in expr.used_dims())

    def _is_vector(self, dim: int, length: int) -> bool:
        slope = 0
        factors: dict[tuple[AffineExpr, int], int] = {}
        for expr, stride in zip(self.map.results, self.strides, strict=True):
            walk = self._walk(expr, dim, length)
            if walk is None:
                return False
            slope += walk.slope * stride
            for term, factor, align in walk.terms:
                factors[term, align] = factors.get((term, align), 0) + factor * stride
        return slope == 1 and all(factor * align % length == 0 for (_, align), factor in factors.items())

    def _walk(self, expr: AffineExpr, dim: int, length: int) -> _Walk | None:
        match expr:
            case AffineConstantExpr():
                return _rest(expr, expr.value)
            case AffineSymExpr():
                if self.gathers and dim in self.gathers[expr.position]:
                    return None
                return _rest(expr, self.symbols[expr.position])
            case AffineDimExpr():
                if expr.position != dim:
                    return _rest(expr, 1)
                return _Walk(1, length) if self.offsets[dim] % length == 0 else None
            case AffineBinaryOpExpr():
                lhs = self._walk(expr.lhs, dim, length)
                rhs = self._walk(expr.rhs, dim, length)
                return None if lhs is None or rhs is None else _combine(expr, lhs, rhs, length)
            case _:
                return None


def _rest(expr: AffineExpr, align: int) -> _Walk:
    return _Walk(0, align, ((expr, 1, align),))


def _anywhere(dims: Iterable[int], coordinates: Coordinates) -> Any:
    """Numbers that are far apart for coordinates that differ along `dims`."""
    return sum(coordinates[d] * (GATHER_STEP + d) for d in dims)


def _combine(expr: AffineBinaryOpExpr, lhs: _Walk, rhs: _Walk, length: int) -> _Walk | None:
    if expr.kind is AffineBinaryOpKind.Add:
        return _Walk(lhs.slope + rhs.slope, gcd(lhs.align, rhs.align), (*lhs.terms, *rhs.terms))
    if not isinstance(expr.rhs, AffineConstantExpr):
        return None
    by = expr.rhs.value
    if expr.kind is AffineBinaryOpKind.Mul:
        return _Walk(lhs.slope * by, lhs.align * by, tuple((e, f * by, align) for e, f, align in lhs.terms))
    aligned = (
        lhs.align % by == 0 if lhs.slope == 0 else (lhs.slope == 1 and lhs.align % length == 0 and by % length == 0)
    )
    if expr.kind is AffineBinaryOpKind.Mod:
        if lhs.slope and not aligned:
            return None
        if by % length == 0:
            return _Walk(lhs.slope, gcd(lhs.align, by), lhs.terms)
        # x mod k is x - k * (x floordiv k), which may meet the same quotient in another coordinate.
        quotient = AffineBinaryOpExpr(AffineBinaryOpKind.FloorDiv, expr.lhs, expr.rhs)
        terms = (*lhs.terms, (quotient, -by, _quotient_align(lhs, by, aligned=aligned)))
        return _Walk(lhs.slope, gcd(lhs.align, by), terms)
    if expr.kind is AffineBinaryOpKind.FloorDiv:
        if lhs.slope:
            return _rest(expr, 1) if aligned else None
        return _rest(expr, _quotient_align(lhs, by, aligned=aligned))
    return None


def _quotient_align(lhs: _Walk, by: int, *, aligned: bool) -> int:
    return lhs.align // by if aligned else 1
