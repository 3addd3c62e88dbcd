"""The typed wrapper of pycute: CuTe layouts, and the operations of their algebra that pycute has.

A layout is a function from coordinates to indices: `shape` says which coordinates there are, `stride` how far each mode
steps; both nest in the same way, and the first mode is the fastest. The operations are those of the CuTe documentation,
"CuTe Layout Algebra": its sections Coalesce, Composition, Complement, Division (Tiling), Product (Tiling). What pycute
lacks is in `irc/layout/algebra.py`.

A ValueError says that an operation is not defined on its operands (in CuTe, a static assertion).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import wraps
from math import prod
from typing import Any, ParamSpec, TypeAlias, cast

import pycute

IntTuple: TypeAlias = int | tuple["IntTuple", ...]
"""CuTe's IntTuple: a number or a tuple of IntTuples."""

Tiler: TypeAlias = "int | Layout | tuple[Tiler | None, ...]"
"""What divides or multiplies a layout: one for all of it, or one for each mode (None leaves the mode alone)."""


def flatten(value: IntTuple) -> tuple[int, ...]:
    """The numbers of an IntTuple from left to right."""
    if isinstance(value, int):
        return (value,)
    return tuple(n for v in value for n in flatten(v))


def congruent(a: IntTuple, b: IntTuple) -> bool:
    """Whether two IntTuples nest in the same way."""
    if isinstance(a, int) or isinstance(b, int):
        return isinstance(a, int) and isinstance(b, int)
    return len(a) == len(b) and all(congruent(x, y) for x, y in zip(a, b, strict=True))


def format_int_tuple(value: IntTuple) -> str:
    """`(4,(8,2))`: CuTe's own notation, without blanks."""
    if isinstance(value, int):
        return str(value)
    return "(" + ",".join(format_int_tuple(v) for v in value) + ")"


def compact_strides(shape: IntTuple) -> IntTuple:
    """The strides of the dense layout of a shape, first mode fastest."""
    return cast(IntTuple, pycute.prefix_product(shape))


@dataclass(frozen=True)
class Layout:
    """`shape:stride`. `Layout.of(shape)` is dense, first mode fastest."""

    shape: IntTuple
    stride: IntTuple

    def __post_init__(self) -> None:
        if not congruent(self.shape, self.stride):
            raise ValueError(f"shape {format_int_tuple(self.shape)} and stride {format_int_tuple(self.stride)} differ")

    @staticmethod
    def of(shape: IntTuple, stride: IntTuple | None = None) -> Layout:
        return Layout(shape, compact_strides(shape) if stride is None else stride)

    @property
    def rank(self) -> int:
        """The number of top-level modes."""
        return 1 if isinstance(self.shape, int) else len(self.shape)

    @property
    def size(self) -> int:
        """How many coordinates there are."""
        return prod(flatten(self.shape))

    @property
    def cosize(self) -> int:
        """One more than the greatest index (strides are not negative)."""
        return 1 + sum((n - 1) * s for n, s in self.flat)

    @property
    def flat(self) -> tuple[tuple[int, int], ...]:
        """The (extent, stride) of every mode, nested ones too, from left to right."""
        return tuple(zip(flatten(self.shape), flatten(self.stride), strict=True))

    @property
    def modes(self) -> tuple[Layout, ...]:
        """The top-level modes."""
        if isinstance(self.shape, int) or isinstance(self.stride, int):
            return (self,)
        return tuple(Layout(n, s) for n, s in zip(self.shape, self.stride, strict=True))

    def __call__(self, coordinate: IntTuple) -> int:
        """The index of a coordinate: nested like the shape, or less, where a number counts colexicographically."""
        return _index(coordinate, self.shape, self.stride)

    def __iter__(self) -> Iterator[int]:
        """The index of every coordinate, first mode fastest."""
        return map(self, range(self.size))

    def __str__(self) -> str:
        return f"{format_int_tuple(self.shape)}:{format_int_tuple(self.stride)}"


def _index(at: IntTuple, shape: IntTuple, stride: IntTuple) -> int:
    """pycute.crd2idx, which fails on an empty shape."""
    if isinstance(shape, int) or isinstance(stride, int):
        assert isinstance(at, int) and isinstance(stride, int)
        return at * stride
    if not isinstance(at, int):
        return sum(_index(c, n, s) for c, n, s in zip(at, shape, stride, strict=True))
    total = 0
    for k, (n, s) in enumerate(zip(shape, stride, strict=True), start=1):
        size = prod(flatten(n))
        total += _index(at % size if k < len(shape) else at, n, s)
        at //= size
    return total


def make_layout(*modes: Layout) -> Layout:
    """The layout whose top-level modes are the given ones."""
    return Layout(tuple(m.shape for m in modes), tuple(m.stride for m in modes))


def _to(value: object) -> Any:
    """To pycute's classes."""
    if isinstance(value, Layout):
        return pycute.Layout(value.shape, value.stride)
    return tuple(_to(v) for v in cast("tuple[object, ...]", value)) if isinstance(value, tuple) else value


def _from(value: Any) -> Layout:
    return Layout(value.shape, value.stride)


P = ParamSpec("P")


def _defined(operation: Callable[P, Layout]) -> Callable[P, Layout]:
    """pycute's assertions as ValueErrors."""

    @wraps(operation)
    def checked(*args: P.args, **kwargs: P.kwargs) -> Layout:
        try:
            return operation(*args, **kwargs)
        except (AssertionError, ZeroDivisionError) as error:
            shown = ", ".join(str(a) for a in args)
            raise ValueError(f"{operation.__name__} is not defined on {shown}") from error

    return checked


@_defined
def coalesce(layout: Layout) -> Layout:
    """The same function of an index with as few modes as can be ("Coalesce")."""
    return _from(pycute.coalesce(_to(layout)))


@_defined
def coalesce_modes(layout: Layout) -> Layout:
    """Each top-level mode coalesced by itself ("By-mode Coalesce")."""
    return make_layout(*(_from(pycute.coalesce(_to(mode))) for mode in layout.modes))


@_defined
def composition(a: Layout, b: Tiler) -> Layout:
    """The layout that takes a coordinate of b to a(b(coordinate)) ("Composition"); of tuples, mode by mode."""
    return _from(pycute.composition(_to(a), _to(b)))


@_defined
def complement(layout: Layout, size: int = 1) -> Layout:
    """What reaches the indices up to `size` that the layout does not ("Complement")."""
    return _from(pycute.complement(_to(layout), size))


@_defined
def right_inverse(layout: Layout) -> Layout:
    """R with layout(R(i)) == i for every i that R takes."""
    return _from(pycute.right_inverse(_to(layout)))


@_defined
def left_inverse(layout: Layout) -> Layout:
    """L with L(layout(i)) == i for an injective layout."""
    return _from(pycute.left_inverse(_to(layout)))


@_defined
def logical_divide(layout: Layout, tiler: Tiler) -> Layout:
    """(a tile, the rest) of the layout, or of each mode ("Division (Tiling)")."""
    return _from(pycute.logical_divide(_to(layout), _to(tiler)))


@_defined
def zipped_divide(layout: Layout, tiler: Tiler) -> Layout:
    """((tile of each mode), (rest of each mode)) ("Zipped, Tiled, Flat Divides")."""
    return _from(pycute.zipped_divide(_to(layout), _to(tiler)))


@_defined
def tiled_divide(layout: Layout, tiler: Tiler) -> Layout:
    """((tile of each mode), rest of mode 0, rest of mode 1, ...)."""
    return _from(pycute.tiled_divide(_to(layout), _to(tiler)))


@_defined
def logical_product(layout: Layout, tiler: Tiler) -> Layout:
    """(the layout, how its copies lie), the copies in the order of the tiler ("Product (Tiling)")."""
    return _from(pycute.logical_product(_to(layout), _to(tiler)))


@_defined
def zipped_product(layout: Layout, tiler: Tiler) -> Layout:
    """((each mode), (copies along each mode)) ("Zipped and Tiled Products")."""
    return _from(pycute.zipped_product(_to(layout), _to(tiler)))


@_defined
def tiled_product(layout: Layout, tiler: Tiler) -> Layout:
    """((each mode), copies along mode 0, copies along mode 1, ...)."""
    return _from(pycute.tiled_product(_to(layout), _to(tiler)))
