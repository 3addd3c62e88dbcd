"""Coordinates as integer expressions over a domain: linear combinations of dimensions, symbols and floor divisions.

`x mod k` is `x - k (x floordiv k)`, so that delinearizing and linearizing again cancels by itself. Dimensions and
symbols carry their extent: ranges, and with them the simplifications, need no context.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import count
from math import gcd, isqrt, prod
from typing import Any

from xdsl.ir.affine import (
    AffineExpr,
    AffineMap,
)

from irc.ir.iteration import Iteration
from irc.layout.affine import slope_of


@dataclass(frozen=True, order=True)
class DomainDim:
    """A dimension of a domain: it runs over [0, extent)."""

    id: int
    extent: int


@dataclass(frozen=True, order=True)
class Sym:
    """A gathered index, in [0, extent); what it stands for is kept by the trace."""

    id: int
    extent: int


@dataclass(frozen=True)
class Div:
    """`value` floordiv `by`, by > 1."""

    value: Lin
    by: int


Atom = DomainDim | Sym | Div


@dataclass(frozen=True)
class Lin:
    """const + sum of coefficient x atom. Build with the operators, which normalize: each atom is there once, in order,
    with a coefficient that is not 0. Parts and multiples of such terms are in order as they are."""

    terms: tuple[tuple[Atom, int], ...]
    const: int

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        """Kept, as the text is: expressions nest, and are looked up more often than made."""
        return hash((self.terms, self.const))

    @cached_property
    def text(self) -> str:
        return str(self)

    def __add__(self, other: Lin | int) -> Lin:
        if isinstance(other, int):
            return Lin(self.terms, self.const + other)
        if not other.terms or not self.terms:
            return Lin(self.terms or other.terms, self.const + other.const)
        sums = dict(self.terms)
        for atom, factor in other.terms:
            sums[atom] = sums.get(atom, 0) + factor
        return _lin(sums, self.const + other.const)

    def __mul__(self, factor: int) -> Lin:
        if factor == 1:
            return self
        return Lin(tuple((atom, f * factor) for atom, f in self.terms), self.const * factor) if factor else ZERO

    __radd__ = __add__
    __rmul__ = __mul__

    def __neg__(self) -> Lin:
        return self * -1

    def __sub__(self, other: Lin | int) -> Lin:
        return self + other * -1

    def __mod__(self, by: int) -> Lin:
        return self - self // by * by

    def __floordiv__(self, by: int) -> Lin:
        """Rounds down. The multiples of `by` are taken out; what is left is 0 where its range says so."""
        if by == 1:
            return self
        whole = Lin(tuple((a, f // by) for a, f in self.terms if f % by == 0), self.const // by)
        rest = Lin(tuple((a, f) for a, f in self.terms if f % by), self.const % by)
        low, high = bounds(rest)
        if low // by == high // by:
            return whole + low // by
        common = gcd(by, *(f for _, f in rest.terms))
        if common > 1:
            rest = Lin(tuple((a, f // common) for a, f in rest.terms), rest.const // common)
            return whole + rest // (by // common)
        if len(rest.terms) == 1 and not rest.const:
            atom, factor = rest.terms[0]
            if factor == 1 and isinstance(atom, Div):
                return whole + atom.value // (atom.by * by)
        return whole + Lin(((Div(rest, by), 1),), 0)


def _key(atom: Atom) -> tuple[int, int, str]:
    if isinstance(atom, Div):
        return (2, atom.by, atom.value.text)
    return (isinstance(atom, Sym), atom.id, "")


def _lin(sums: Mapping[Atom, int], const: int) -> Lin:
    kept = [(a, f) for a, f in sums.items() if f]
    if len(kept) > 1:
        kept.sort(key=lambda term: _key(term[0]))
    return Lin(tuple(kept), const)


def _combined(parts: Sequence[tuple[Lin, int]], const: int = 0) -> Lin:
    """const + the sum of each expression as often as it says."""
    if len(parts) == 1:
        lin, times = parts[0]
        return lin * times + const
    sums: dict[Atom, int] = {}
    for lin, times in parts:
        const += lin.const * times
        for atom, factor in lin.terms:
            sums[atom] = sums.get(atom, 0) + factor * times
    return _lin(sums, const)


MAX_DIVISOR = 4096
"""Of quotients of quotients that are looked for."""

ZERO = Lin((), 0)
Coords = tuple[Lin, ...]
_ids = count()


def constant(value: int) -> Lin:
    return Lin((), value)


def lin_of(atom: DomainDim | Sym) -> Lin:
    """The atom as an expression; 0 for one of extent 1, which has no other value."""
    return ZERO if atom.extent == 1 else Lin(((atom, 1),), 0)


def new_dim(extent: int) -> DomainDim:
    """A dimension that is equal to no other."""
    return DomainDim(next(_ids), extent)


def new_sym(extent: int) -> Sym:
    return Sym(next(_ids), extent)


@dataclass(frozen=True)
class Mod:
    """`value` mod `by`: recognized in a combination, never stored in one."""

    value: Lin
    by: int


def terms(lin: Lin) -> tuple[tuple[Atom | Mod, int], ...]:
    """The terms of a combination, with x - k (x floordiv k) written as x mod k again; `offset` is their constant."""
    return _split(lin)[0]


def offset(lin: Lin) -> int:
    """The constant to add to `terms`: without what went into the x of an x mod k."""
    return _split(lin)[1]


@lru_cache(1 << 16)
def _split(lin: Lin) -> tuple[tuple[tuple[Atom | Mod, int], ...], int]:
    rest, found = lin, []
    # Those of values with remainders of their own come first: they take these with them.
    nested = sorted(((a, f) for a, f in lin.terms if isinstance(a, Div)), key=lambda term: -_depth(term[0]))
    for atom, factor in nested:
        match = _as_mod(rest, atom, factor)
        if match is not None:
            found.append(match[0])
            rest = match[1]
    return (*found, *rest.terms), rest.const


def _depth(div: Div) -> int:
    return 1 + max((_depth(atom) for atom, _ in div.value.terms if isinstance(atom, Div)), default=0)


def _as_mod(lin: Lin, atom: Div, factor: int) -> tuple[tuple[Mod, int], Lin] | None:
    """(x mod by, its factor) where -factor x/by holds x as often as it has to."""
    for value, by in _dividends(atom):
        if factor % by:
            continue
        times = -factor // by
        rest = lin - (value * times) + Lin(((atom, -factor),), 0)
        if len(rest.terms) <= len(lin.terms) - 2:
            return (Mod(value, by), times), rest
    return None


def _dividends(atom: Div) -> list[tuple[Lin, int]]:
    """Every (x, k) such that the atom is x floordiv k, with x itself a division of the same value or the value."""
    found = [(atom.value, atom.by)]
    found += [(atom.value // k, atom.by // k) for k in _divisors(atom.by) if k < min(atom.by, MAX_DIVISOR + 1)]
    return found


@lru_cache(4096)
def _divisors(number: int) -> tuple[int, ...]:
    """Those from 2 on, in order."""
    small = [k for k in range(1, isqrt(number) + 1) if number % k == 0]
    return tuple(sorted({*small, *(number // k for k in small)} - {1}))


def bounds(lin: Lin, extents: Mapping[DomainDim, int] | None = None) -> tuple[int, int]:
    """The least and the greatest value (inclusive); `extents` overrides those of dimensions (tails of tiles)."""
    low = high = offset(lin)
    for atom, factor in terms(lin):
        a, b = _atom_bounds(atom, extents)
        low += min(a * factor, b * factor)
        high += max(a * factor, b * factor)
    return low, high


def _atom_bounds(atom: Atom | Mod, extents: Mapping[DomainDim, int] | None) -> tuple[int, int]:
    if isinstance(atom, Div):
        low, high = bounds(atom.value, extents)
        return low // atom.by, high // atom.by
    if isinstance(atom, Mod):
        low, high = bounds(atom.value, extents)
        return (low, high) if low >= 0 and high < atom.by else (0, atom.by - 1)
    extent = extents.get(atom, atom.extent) if extents and isinstance(atom, DomainDim) else atom.extent
    return 0, max(extent - 1, 0)


def divisions(lin: Lin) -> int:
    """How many divisions and remainders computing the expression takes."""
    total = 0
    for atom, _ in terms(lin):
        if isinstance(atom, Div | Mod):
            total += 1 + divisions(atom.value)
    return total


@lru_cache(1 << 16)
def atoms(lin: Lin) -> frozenset[DomainDim | Sym]:
    """The dimensions and symbols that the expression depends on."""
    found: set[DomainDim | Sym] = set()
    for atom, _ in lin.terms:
        if isinstance(atom, Div):
            found |= atoms(atom.value)
        else:
            found.add(atom)
    return frozenset(found)


def dims_in(lins: Iterable[Lin]) -> list[DomainDim]:
    """The dimensions that expressions depend on, each once, those of the first ones first."""
    found = (dim for lin in lins for dim in sorted(atom for atom in atoms(lin) if isinstance(atom, DomainDim)))
    return list(dict.fromkeys(found))


def substitute(lin: Lin, values: Mapping[DomainDim, Lin]) -> Lin:
    """The expression with dimensions replaced, simplified again."""
    if not any(d in values for d in atoms(lin) if isinstance(d, DomainDim)):
        return lin
    parts: list[tuple[Lin, int]] = []
    for atom, factor in lin.terms:
        if isinstance(atom, Div):
            new = substitute(atom.value, values) // atom.by
        elif isinstance(atom, DomainDim) and atom in values:
            new = values[atom]
        else:
            new = Lin(((atom, 1),), 0)
        parts.append((new, factor))
    return _combined(parts, lin.const)


def linearize(coords: Sequence[Lin], shape: Sequence[int]) -> Lin:
    """The row-major index of a coordinate."""
    return _combined([(coord, prod(shape[i + 1 :])) for i, coord in enumerate(coords)])


def delinearize(index: Lin, shape: Sequence[int]) -> Coords:
    """The coordinate at a row-major index. The first is not reduced: an index out of range stays out of range."""
    coords: list[Lin] = []
    for i, extent in enumerate(shape):
        inner = max(prod(shape[i + 1 :]), 1)
        quotient = index // inner
        coords.append(quotient if i == 0 or extent == 0 else quotient % extent)
    return tuple(coords)


def affine(lin: Lin, leaf: Callable[[DomainDim | Sym], AffineExpr]) -> AffineExpr:
    """The expression in xDSL's form; `leaf` gives dimensions and symbols."""
    total: AffineExpr | None = None
    for atom, factor in terms(lin):
        part = _affine_atom(atom, leaf)
        part = part if factor == 1 else part * factor
        total = part if total is None else total + part
    if total is None:
        return AffineExpr.constant(offset(lin))
    return total if offset(lin) == 0 else total + offset(lin)


def _affine_atom(atom: Atom | Mod, leaf: Callable[[DomainDim | Sym], AffineExpr]) -> AffineExpr:
    if isinstance(atom, Div):
        return affine(atom.value, leaf) // atom.by
    if isinstance(atom, Mod):
        return affine(atom.value, leaf) % atom.by
    return leaf(atom)


def applied(map: AffineMap, dims: Coords, symbols: Coords = ()) -> Coords:
    """The results of a map at these values of its dimensions and symbols."""
    return tuple(value_of(expr, dims, symbols) for expr in map.results)


def value_of(expr: AffineExpr, dims: Coords, symbols: Coords = ()) -> Lin:
    """An expression in xDSL's form at these values of its dimensions and symbols, simplified by their ranges."""
    # xDSL's evaluation only adds, multiplies and divides, so that it works on combinations as on numbers.
    evaluated: Any = expr.eval
    found = evaluated(dims, symbols)
    return constant(found) if isinstance(found, int) else found


def point(iteration: Iteration, at: Coords, inner: Sequence[DomainDim | Lin] = ()) -> Coords:
    """The values of an op's iteration dimensions where its result is at these coordinates; `inner` are those that the
    result does not have, in order. Where dimensions lie in one axis of the result, a step of one is as far as the next
    one runs."""
    stored: dict[int, Lin] = {}
    for expr, coordinate in zip(iteration.result.results, at, strict=True):
        slopes = {i: slope_of(expr, i) for i in expr.used_dims()}
        assert None not in slopes.values(), f"{expr} does not lay out dimensions"
        dims = sorted(slopes, key=lambda i: (-(slopes[i] or 0), i))
        stored |= zip(dims, delinearize(coordinate, [iteration.dims[i].extent for i in dims]), strict=True)
    others = (each if isinstance(each, Lin) else lin_of(each) for each in inner)
    return tuple(stored[i] if i in stored else next(others) for i in range(len(iteration.dims)))
