"""The domains that a kernel works on: which dimensions there are, which of them merge, and how operands are viewed.

A merge of two neighboring dimensions, or a split of one, is kept when it takes no more divisions to compute the
coordinates of all accesses. Operands are viewed with merged dimensions where that saves divisions, so contiguous
elementwise work becomes 1-d.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from math import prod

from xdsl.ir import Attribute

from irc.analysis.op_classes import LARGE
from irc.dialects.tile import ViewType
from irc.ir.alignment import DEFAULT_ALIGN
from irc.ir.dtypes import element_of
from irc.ir.targets import Target
from irc.support import extents
from irc.support.shapes import row_major
from irc.tiling.index_maps import (
    Coords,
    Div,
    DomainDim,
    Lin,
    Mod,
    atoms,
    bounds,
    delinearize,
    divisions,
    lin_of,
    linearize,
    new_dim,
    offset,
    substitute,
    terms,
)


@dataclass
class Bindings:
    """What dimensions stand for, in terms of dimensions that stand for themselves."""

    values: dict[DomainDim, Lin] = field(default_factory=dict[DomainDim, Lin])
    _cache: dict[Lin, Lin] = field(default_factory=dict[Lin, Lin])

    def bind(self, dim: DomainDim, lin: Lin) -> None:
        self.values = {d: substitute(v, {dim: lin}) for d, v in self.values.items()}
        self.values[dim] = lin
        self._cache = {}

    def resolve(self, lin: Lin) -> Lin:
        if lin not in self._cache:
            self._cache[lin] = substitute(lin, self.values)
        return self._cache[lin]

    def with_bound(self, pairs: Iterable[tuple[DomainDim, Lin]]) -> Bindings:
        trial = Bindings(dict(self.values))
        for dim, lin in pairs:
            trial.bind(dim, lin)
        return trial


@dataclass
class Operand:
    """An argument of the program, with its accesses. `shape` and `strides` are as the accesses see them."""

    element_type: Attribute
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    accesses: list[Coords] = field(default_factory=list[Coords])
    is_stored: bool = False
    groups: tuple[tuple[int, int], ...] = ()
    """Half-open ranges of dimensions that are one dimension of the view."""
    is_boxed: bool = False
    """Whether tiles are boxes of its dimensions: then those that are loaded merge only where a tile is a box still, and
    those that are stored are seen in the order of memory."""
    bounded: frozenset[int] = frozenset()
    """Axes at whose ends a load reads 0: each stays a dimension of the view."""
    align: int = DEFAULT_ALIGN
    """Bytes of which it begins at a multiple."""
    parts: tuple[tuple[int, ...], ...] = ()
    """The extents that each group is split into again, outermost first; one dimension of the view for each."""

    @staticmethod
    def contiguous(element_type: Attribute, shape: Sequence[int]) -> Operand:
        return Operand(element_type, tuple(shape), row_major(shape))

    def grouped(self, bindings: Bindings, groups: Sequence[tuple[int, int]], coords: Coords) -> Coords:
        """Coordinates in the view whose dimensions are these groups. An axis of one element that another merges with is
        at 0, whatever its coordinate is computed from."""
        return tuple(self._merged(bindings, a, b, coords) for a, b in groups)

    def _merged(self, bindings: Bindings, a: int, b: int, coords: Coords) -> Lin:
        axes = [i for i in range(a, b) if self.shape[i] != 1] or [b - 1]
        return bindings.resolve(linearize([coords[i] for i in axes], [self.shape[i] for i in axes]))

    def cost(self, bindings: Bindings) -> tuple[int, tuple[tuple[int, int], ...]]:
        """The divisions of all accesses under the best grouping found, and that grouping."""
        groups, known = [(i, i + 1) for i in range(len(self.shape))], dict[tuple[int, int], int]()
        best = self._divisions(bindings, groups, known)
        i = 0
        while i + 1 < len(groups):
            if not self._can_merge(groups[i], groups[i + 1]) or self.bounded & {groups[i][0], groups[i + 1][0]}:
                i += 1
                continue
            merged = [*groups[:i], (groups[i][0], groups[i + 1][1]), *groups[i + 2 :]]
            trial = self._divisions(bindings, merged, known)
            trivial = 1 in (self._extent(groups[i]), self._extent(groups[i + 1]))
            keeps_apart = self.is_boxed and not self.is_stored and not trivial
            if keeps_apart and not self._spares(bindings, groups[i], groups[i + 1]):
                i += 1
                continue
            if (trial < best and self._keeps_bounds(bindings, groups[i], groups[i + 1])) or (trivial and trial <= best):
                groups, best = merged, trial
                i = max(i - 1, 0)
                continue
            i += 1
        return best, tuple(groups)

    def _spares(self, bindings: Bindings, a: tuple[int, int], b: tuple[int, int]) -> bool:
        """Whether the coordinate of both takes fewer divisions than that of either."""
        groups = [a, b, (a[0], b[1])]
        counts = [[divisions(lin) for lin in self.grouped(bindings, groups, coords)] for coords in self.accesses]
        return all(merged == 0 or merged < max(parts) for *parts, merged in counts)

    def _keeps_bounds(self, bindings: Bindings, a: tuple[int, int], b: tuple[int, int]) -> bool:
        """Whether a coordinate beyond the domain, of a tile that reaches over its end, still is outside the view.

        The quotient x floordiv 5 of an x of extent 15 is; merged to x mod 5 * 3 + x floordiv 5 it is not, as x = 15
        gives 3. Nor may the inner coordinate leave its own dimension, as that of a tile does that begins before a row.
        Reading there does no harm.
        """
        if not self.is_stored:
            return True
        for coords in self.accesses:
            *parts, merged = self.grouped(bindings, [a, b, (a[0], b[1])], coords)
            low, high = bounds(parts[1])
            if low < 0 or high >= self._extent(b):
                return False
            if not _is_monotone(merged) and any(part.terms and _is_monotone(part) for part in parts):
                return False
        return True

    def _extent(self, group: tuple[int, int]) -> int:
        return prod(self.shape[group[0] : group[1]])

    def _can_merge(self, a: tuple[int, int], b: tuple[int, int]) -> bool:
        """Whether the strides let both be one dimension; those of extent 1 do not matter."""
        axes = [i for i in range(a[0], b[1]) if self.shape[i] != 1]
        return all(self.strides[i] == self.strides[j] * self.shape[j] for i, j in pairwise(axes))

    def _divisions(
        self, bindings: Bindings, groups: Sequence[tuple[int, int]], known: dict[tuple[int, int], int]
    ) -> int:
        """Those of all accesses; `known` has those of single groups."""
        for group in groups:
            if group not in known:
                lins = (lin for coords in self.accesses for lin in self.grouped(bindings, [group], coords))
                known[group] = sum(map(divisions, lins))
        return sum(known[group] for group in groups)

    def settle(self, bindings: Bindings) -> None:
        """Decides the grouping, and what of it is split."""
        self.groups = self.cost(bindings)[1]
        self.parts = tuple((self._extent(g),) for g in self.groups)
        if self.is_stored and len(self.accesses) == 1:
            lins = self.grouped(bindings, self.groups, self.accesses[0])
            self.parts = tuple(_radices(lin, *part) for lin, part in zip(lins, self.parts, strict=True))

    @property
    def view_extents(self) -> tuple[int, ...]:
        return tuple(n for part in self.parts for n in part)

    @property
    def view_strides(self) -> tuple[int, ...]:
        strides = zip(self.parts, map(self._stride, self.groups), strict=True)
        return tuple(n * stride for part, stride in strides for n in row_major(part))

    def _stride(self, group: tuple[int, int]) -> int:
        """Of the innermost dimension that has more than one element."""
        innermost = [i for i in range(*group) if self.shape[i] != 1][-1:] or [group[1] - 1]
        return self.strides[innermost[0]]

    def view_type_of_whole(self) -> ViewType:
        """The view before dimensions are merged."""
        return ViewType.of(self.shape, self.element_type, self.strides, self.align)

    def view_type(self) -> ViewType:
        return ViewType.of(self.view_extents, self.element_type, self.view_strides, self.align)

    def view_coords(self, bindings: Bindings, coords: Coords) -> Coords:
        lins = self.grouped(bindings, self.groups, coords)
        return tuple(at for lin, part in zip(lins, self.parts, strict=True) for at in delinearize(lin, part))


def _radices(lin: Lin, extent: int) -> tuple[int, ...]:
    """The extents of the parts of a stored coordinate: 2 and 66 of x * 66 + y.

    Each part has a dimension of the view, so that a y beyond 66, of a tile that reaches over its end, is outside.
    """
    factors = sorted((factor for _, factor in terms(lin)), reverse=True)
    if len(factors) < 2 or offset(lin) or factors[-1] != 1:
        return (extent,)
    bases = [extent, *factors]
    if any(b == a or a % b for a, b in pairwise(bases)):
        return (extent,)
    return tuple(a // b for a, b in pairwise(bases))


def _is_monotone(lin: Lin) -> bool:
    """Whether the expression grows with all that it depends on; a remainder does not."""
    return all(f > 0 and (not isinstance(a, Div) or _is_monotone(a.value)) for a, f in lin.terms)


Space = list[DomainDim]
"""Dimensions that a loop nest or a tile axis runs over, outermost first."""


@dataclass
class Domains:
    """All accesses and expressions of a program, and the spaces whose dimensions may merge and split."""

    bindings: Bindings
    operands: list[Operand]
    machine: Target
    sizes: Sequence[extents.Dim] = ()
    """The extents that are known when the program is called."""
    expressions: list[Lin] = field(default_factory=list[Lin])
    spaces: list[Space] = field(default_factory=list[Space])

    @property
    def loaded(self) -> list[Operand]:
        """The arrays that are read."""
        return [o for o in self.operands if not o.is_stored and o.accesses]

    @property
    def large(self) -> list[Operand]:
        """The arrays that count beside the largest."""
        most = max(prod(operand.shape) for operand in self.operands)
        return [operand for operand in self.operands if prod(operand.shape) * LARGE >= most]

    def varies(self, number: int) -> bool:
        """Whether the number stands for an extent that is known when the program is called."""
        return bool(extents.varying(number, self.sizes))

    def cost(self, bindings: Bindings) -> int:
        return sum(o.cost(bindings)[0] for o in self.operands) + sum(
            divisions(bindings.resolve(lin)) for lin in self.expressions
        )

    def simplify(self) -> None:
        """Splits, then merges, as long as that costs nothing."""
        for space in self.spaces:
            space[:] = [d for d in space if d.extent != 1]
        while self._split():
            pass
        for space in self.spaces:
            self._merge(space)

    def _split(self) -> bool:
        before = self.cost(self.bindings)
        if before == 0:
            return False
        for space in self.spaces:
            for i, dim in enumerate(space):
                for by in sorted(self._divisors(dim)):
                    outer, inner = new_dim(dim.extent // by), new_dim(by)
                    trial = self.bindings.with_bound([(dim, lin_of(outer) * by + lin_of(inner))])
                    if self.cost(trial) >= before:
                        continue
                    self.bindings.bind(dim, lin_of(outer) * by + lin_of(inner))
                    space[i : i + 1] = [outer, inner]
                    return True
        return False

    def _divisors(self, dim: DomainDim) -> set[int]:
        """By what coordinates are divided that begin with this dimension."""
        found: set[int] = set()
        lins = [lin for o in self.operands for coords in o.accesses for lin in coords]
        for lin in (*lins, *self.expressions):
            _collect_divisors(self.bindings.resolve(lin), dim, found)
        return {k for k in found if 1 < k < dim.extent and dim.extent % k == 0}

    def _merge(self, space: Space) -> None:
        i, before = 0, self.cost(self.bindings) if len(space) > 1 else 0
        while i + 1 < len(space):
            pairs, dim = _merged(space[i : i + 2])
            after = self.cost(self.bindings.with_bound(pairs))
            if after > before:
                i += 1
                continue
            before = after
            for pair in pairs:
                self.bindings.bind(*pair)
            space[i : i + 2] = [dim]
            i = max(i - 1, 0)

    def flatten(self, space: Space, alignment: int) -> None:
        """Merges a space, or the innermost dimensions of it, into one where its rows begin anywhere but what is large
        lies in its order: then large operands are read and written in vectors, and only small ones at coordinates that
        take divisions. `alignment` is the bytes of a vector."""
        if len(space) < 2:
            return
        large = [operand for operand in self.large if operand.accesses]
        row = space[-1].extent
        if all(row * element_of(operand.element_type).size % alignment == 0 for operand in large):
            return
        for start in range(len(space) - 1):
            trial = self.bindings.with_bound(_merged(space[start:])[0])
            if all(operand.cost(trial)[0] == 0 for operand in large):
                space[start:] = [self.join(space[start:])]
                return

    def widen(self, space: Space, extent: int) -> None:
        """Merges inner dimensions of a space until the innermost one has `extent` elements, where what is large is
        contiguous along them: tiles of columns are as wide as they were chosen then. Small operands are read at
        coordinates that take divisions."""
        large = [operand for operand in self.large if not operand.is_stored]
        while len(space) > 1 and space[-1].extent < extent:
            read = [replace(o, accesses=[at for at in o.accesses if self._depends(at, space[-2:])]) for o in large]
            trial = self.bindings.with_bound(_merged(space[-2:])[0])
            if not any(operand.accesses for operand in read) or any(operand.cost(trial)[0] for operand in read):
                return
            space[-2:] = [self.join(space[-2:])]

    def _depends(self, coords: Coords, dims: Sequence[DomainDim]) -> bool:
        """Whether the coordinates depend on all of the dimensions."""
        return {atom for lin in coords for atom in atoms(self.bindings.resolve(lin))}.issuperset(dims)

    def force_one(self, space: Space) -> None:
        """Merges all of a space into one dimension, at whatever cost; an empty space gets one of extent 1."""
        if not space:
            space.append(new_dim(1))
        if len(space) > 1:
            space[:] = [self.join(space)]

    def join(self, dims: Sequence[DomainDim]) -> DomainDim:
        """One dimension in the place of several, outermost first."""
        if len(dims) == 1:
            return dims[0]
        pairs, dim = _merged(dims)
        for pair in pairs:
            self.bindings.bind(*pair)
        return dim

    def settle(self) -> None:
        for operand in self.operands:
            operand.settle(self.bindings)


def _merged(dims: Sequence[DomainDim]) -> tuple[list[tuple[DomainDim, Lin]], DomainDim]:
    extents = [d.extent for d in dims]
    dim = new_dim(prod(extents))
    return list(zip(dims, delinearize(lin_of(dim), extents), strict=True)), dim


def _collect_divisors(lin: Lin, dim: DomainDim, found: set[int]) -> None:
    for atom, _ in terms(lin):
        if not isinstance(atom, Div | Mod):
            continue
        for inner, factor in atom.value.terms:
            if inner == dim and atom.by % abs(factor) == 0:
                found.add(atom.by // abs(factor))
        _collect_divisors(atom.value, dim, found)
