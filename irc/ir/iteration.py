"""What an op computes, as a nest of loops: its iteration dimensions, and which elements each point of them reads.

MLIR's linalg has them as iterator types and indexing maps, TVM's tensor expressions as axes and accesses. Passes that
fuse, split and tile read this instead of names of ops. It is local to an op: it looks at types and properties alone.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cache, cached_property
from itertools import chain
from math import prod
from operator import is_not
from typing import ClassVar, cast
from weakref import WeakKeyDictionary

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation
from xdsl.ir.affine import AffineDimExpr, AffineExpr, AffineMap


class Kind(Enum):
    """What the points along a dimension have to do with each other. Those of a window are reduced, and neighbours along
    other dimensions read some of the same elements."""

    PARALLEL = "parallel"
    REDUCE = "reduce"
    WINDOW = "window"
    SCAN = "scan"


class Pattern(Enum):
    """What a point computes of the elements that it reads (TVM's TOpPattern), and what becomes of it.

    - `ELEMENTWISE`: a scalar function of one element of each operand, all at the same place, is an element of the
      result.
    - `MOVE`: the element of the first operand whose access is inside is one of the result. Operands of indices do not
      count.
    - `MADE`: an element comes from its place alone.
    - `REDUCE`, `SCAN`: the monoid of the dimension joins the elements.
    - `WINDOW`: the same, of elements that other points read, too, or of products of two such. What has none is neutral,
      or 0 where it is multiplied; a window's places are few.
    - `PRODUCT`: products of two elements are summed: work for matrix instructions.
    - `CONVOLUTION`: the same, over windows.
    - `GROUPED`: the same, where points are those of segments that data gives.
    """

    ELEMENTWISE = "elementwise"
    MOVE = "move"
    MADE = "made"
    REDUCE = "reduce"
    SCAN = "scan"
    WINDOW = "window"
    PRODUCT = "product"
    CONVOLUTION = "convolution"
    GROUPED = "grouped"


CONTRACTIONS = (Pattern.PRODUCT, Pattern.CONVOLUTION, Pattern.GROUPED)
"""Patterns that sum products of two operands' elements."""


@dataclass(frozen=True)
class IterationDim:
    """A dimension: a role and a number, `m0`, and how far it runs. monoid: what joins the points of one that is
    reduced or scanned, `sum prod max min any all argmax argmin`.

    Roles of products: `b`, of both operands and the result; `m`, `n`, of the left or right operand and the result; `k`,
    of both operands and reduced. Of other ops: `d`, parallel; `r`, reduced; `s`, scanned."""

    role: str
    number: int
    extent: int
    kind: Kind = Kind.PARALLEL
    monoid: str | None = None

    @property
    def name(self) -> str:
        return f"{self.role}{self.number}"


@dataclass(frozen=True)
class Bound:
    """Holds where low <= expr < high."""

    expr: AffineExpr
    low: int
    high: int


@dataclass(frozen=True)
class Access:
    """Which element of an operand a point reads.

    map: from the dimensions to the operand's coordinates; a symbol is a clamped index, the element of the operand whose
    number `indices` has. inside: what holds for the points that have such an element; the others read `outside`, or,
    where that is None, the next operand."""

    map: AffineMap
    inside: tuple[Bound, ...] = ()
    outside: int | None = None
    indices: tuple[int, ...] = ()

    @cached_property
    def is_identity(self) -> bool:
        """Whether each point reads the element at the same place, wherever there is one."""
        return self.map == AffineMap.identity(self.map.num_dims)

    @cached_property
    def is_broadcast(self) -> bool:
        """Whether each coordinate is a dimension or 0, and points along some dimensions read the same element."""
        read = self.map
        return read.is_projected_permutation(allow_zero_in_results=True) and len(read.used_dims()) < read.num_dims


@dataclass(frozen=True)
class Segments:
    """A dimension that data cuts: there are only points at which the dimension at position `along` is in the segment
    whose number the dimension at position `number` is. Segment i ends before element i of the operand `ends`, and
    begins where the one before it ends. Where the result does not have a segment's number it is 0 in no segment."""

    along: int
    number: int
    ends: int


@dataclass(frozen=True)
class Iteration:
    """The dimensions of an op, the access of each operand, and where in the result the points without reduced
    dimensions lie."""

    dims: tuple[IterationDim, ...]
    inputs: tuple[Access, ...]
    result: AffineMap
    segments: Segments | None = None

    @property
    def points(self) -> int:
        """How many there are: the extents of all dimensions together; each is in one segment, if there are some."""
        number = None if self.segments is None else self.segments.number
        return prod(dim.extent for i, dim in enumerate(self.dims) if i != number)

    def extents(self, role: str) -> tuple[int, ...]:
        """Of the dimensions with a role, in order."""
        return tuple(dim.extent for dim in self.dims if dim.role == role)

    def extent(self, role: str) -> int:
        """Of all dimensions with a role together."""
        return prod(self.extents(role))

    def roles(self, map: AffineMap) -> tuple[str | None, ...]:
        """For each coordinate of an access, the role of the dimension that it is; None where it is not just one."""
        return tuple(self.dims[e.position].role if isinstance(e, AffineDimExpr) else None for e in map.results)

    def touched(self, map: AffineMap, role: str) -> tuple[int, ...]:
        """The coordinates of an access that depend on a dimension with a role."""
        dims = {i for i, dim in enumerate(self.dims) if dim.role == role}
        return tuple(axis for axis, e in enumerate(map.results) if dims & e.used_dims())

    def along(self, map: AffineMap, role: str) -> tuple[int, ...]:
        """The positions of the dimensions with a role, in the order of the first coordinates of an access that depend
        on them."""
        dims = [i for i, dim in enumerate(self.dims) if dim.role == role]
        return tuple(sorted(dims, key=lambda i: [i not in e.used_dims() for e in map.results]))

    def axes(self, map: AffineMap, role: str) -> tuple[int, ...]:
        """The coordinates of an access that are dimensions with a role, in the order of these."""
        at = {e.position: axis for axis, e in enumerate(map.results) if isinstance(e, AffineDimExpr)}
        return tuple(at[i] for i, dim in enumerate(self.dims) if dim.role == role and i in at)


class IterationInterface(Operation, ABC):
    """An op that says how it iterates. Its `PATTERN` is known of its class, unless its numbers say which it is."""

    PATTERN: ClassVar[Pattern]

    @property
    def pattern(self) -> Pattern:
        return self.PATTERN

    @abstractmethod
    def iteration(self) -> Iteration: ...


def pattern_of(op: Operation) -> Pattern | None:
    """None of an op that does not say how it iterates."""
    found = _pattern_of_class(type(op))
    return found if found is not _OF_NUMBERS else cast(IterationInterface, op).pattern


_OF_NUMBERS = cast(Pattern, object())
"""Stands for the pattern of a class whose ops have one or another."""


@cache
def _pattern_of_class(kind: type[Operation]) -> Pattern | None:
    """Known of each class: `isinstance` of an abstract class is a call of Python, and each rule of fusion asks."""
    if not issubclass(kind, IterationInterface):
        return None
    return kind.PATTERN if kind.pattern is IterationInterface.pattern else _OF_NUMBERS


_known: WeakKeyDictionary[Operation, tuple[list[object], Iteration]] = WeakKeyDictionary()
"""The iterations that were asked for, each with the types and properties of its op then."""


def iteration_of(op: Operation) -> Iteration:
    """How the op iterates; it has to be one with a pattern."""
    assert isinstance(op, IterationInterface), f"{op.name} does not say how it iterates"
    numbers: list[object] = [operand.type for operand in op.operands]
    numbers += [result.type for result in op.results]
    numbers += chain.from_iterable(op.properties.items())
    known = _known.get(op)
    if known is None or len(known[0]) != len(numbers) or any(map(is_not, known[0], numbers)):
        known = _known[op] = (numbers, op.iteration())
    return known[1]


def permutation_of(op: Operation) -> tuple[int, ...] | None:
    """Of a move of all elements of one operand to other axes: the operand's axis that each axis of the result is."""
    if pattern_of(op) is not Pattern.MOVE or len(op.operands) != 1:
        return None
    iteration, type = iteration_of(op), op.operands[0].type
    axes = iteration.axes(iteration.inputs[0].map, "d")
    assert isinstance(type, TensorType)
    moved = tuple(type.get_shape()[axis] for axis in axes)
    return axes if len(axes) == type.get_num_dims() and moved == iteration.extents("d") else None


def is_broadcast(op: Operation) -> bool:
    """Whether the op repeats its operand along some axes of the result, and does no more."""
    if pattern_of(op) is not Pattern.MOVE or len(op.operands) != 1:
        return False
    return iteration_of(op).inputs[0].is_broadcast


def part_of(op: Operation) -> tuple[int, ...] | None:
    """Of a move of neighbors along the same axes: where along each of them the part begins that it takes."""
    if pattern_of(op) is not Pattern.MOVE or len(op.operands) != 1:
        return None
    read = iteration_of(op).inputs[0]
    if read.inside or read.indices or read.map.num_dims != len(read.map.results):
        return None
    first, second = (read.map.eval([place] * read.map.num_dims, []) for place in (0, 1))
    follows = all(
        b == a + 1 and a >= 0 and e.used_dims() == {i}
        for i, (a, b, e) in enumerate(zip(first, second, read.map.results, strict=True))
    )
    return tuple(first) if follows else None


# What implementations are made of


def numbered(
    role: str, extents: Sequence[int], kind: Kind = Kind.PARALLEL, monoid: str | None = None
) -> list[IterationDim]:
    """Dimensions with a role, in order."""
    return [IterationDim(role, number, extent, kind, monoid) for number, extent in enumerate(extents)]


def dim_exprs(count: int) -> list[AffineExpr]:
    """The first dimensions, as expressions."""
    return [AffineExpr.dimension(i) for i in range(count)]


def access(rank: int, coordinates: Sequence[AffineExpr]) -> Access:
    """Of so many dimensions, at these coordinates."""
    return Access(AffineMap(rank, 0, tuple(coordinates)))


def over_result(shape: Sequence[int], inputs: Sequence[Access]) -> Iteration:
    """The points are the places of the result."""
    return Iteration(tuple(numbered("d", shape)), tuple(inputs), AffineMap.identity(len(shape)))


def over_operand(shape: Sequence[int], axes: Sequence[int], kind: Kind, monoid: str) -> Iteration:
    """The points are the places of the one operand, reduced or scanned along some axes."""
    role = "s" if kind is Kind.SCAN else "r"
    joined = iter(numbered(role, [shape[axis] for axis in axes], kind, monoid))
    kept = iter(numbered("d", [extent for axis, extent in enumerate(shape) if axis not in axes]))
    dims = tuple(next(joined if axis in axes else kept) for axis in range(len(shape)))
    points = AffineMap.identity(len(shape))
    stored = [e for axis, e in enumerate(points.results) if kind is Kind.SCAN or axis not in axes]
    return Iteration(dims, (Access(points),), AffineMap(len(shape), 0, tuple(stored)))
