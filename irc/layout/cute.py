"""CuTe layouts, and the operations of their algebra that define the others.

A layout is a function from coordinates to indices: `shape` says which coordinates there are, `stride` how far each mode
steps; both nest in the same way, and the first mode is the fastest. The operations are those of the CuTe documentation,
"CuTe Layout Algebra": its sections Coalesce, Composition, Complement, Product (Tiling). What follows
from them is in `irc/layout/algebra.py`.

A ValueError says that an operation is not defined on its operands (in CuTe, a static assertion).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import prod
from operator import mul
from typing import TypeAlias

IntTuple: TypeAlias = int | tuple["IntTuple", ...]
"""CuTe's IntTuple: a number or a tuple of IntTuples."""


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
    return _compact(shape, 1)


def _compact(shape: IntTuple, unit: int) -> IntTuple:
    if isinstance(shape, int):
        return unit
    steps = accumulate((prod(flatten(extent)) for extent in shape), mul, initial=unit)
    return tuple(_compact(extent, step) for extent, step in zip(shape, steps, strict=False))


@dataclass(frozen=True)
class Layout:
    """`shape:stride`."""

    shape: IntTuple
    stride: IntTuple

    def __post_init__(self) -> None:
        if not congruent(self.shape, self.stride):
            raise ValueError(f"shape {format_int_tuple(self.shape)} and stride {format_int_tuple(self.stride)} differ")

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


def _flat(modes: Sequence[tuple[int, int]]) -> Layout:
    """The layout of flat modes; one alone does not nest, and none is 1:0."""
    if len(modes) < 2:
        return Layout(*(modes[0] if modes else (1, 0)))
    return Layout(tuple(n for n, _ in modes), tuple(s for _, s in modes))


def _undefined(operation: str, *operands: object) -> ValueError:
    return ValueError(f"{operation} is not defined on {', '.join(map(str, operands))}")


def coalesce(layout: Layout) -> Layout:
    """The same function of an index with as few modes as can be ("Coalesce")."""
    modes: list[tuple[int, int]] = []
    for extent, stride in layout.flat:
        if extent == 1:
            continue
        if modes and stride == modes[-1][0] * modes[-1][1]:
            modes[-1] = (modes[-1][0] * extent, modes[-1][1])
        else:
            modes.append((extent, stride))
    return _flat(modes)


def coalesce_modes(layout: Layout) -> Layout:
    """Each top-level mode coalesced by itself ("By-mode Coalesce")."""
    return make_layout(*map(coalesce, layout.modes))


def composition(a: Layout, b: Layout) -> Layout:
    """The layout that takes a coordinate of b to a(b(coordinate)) ("Composition")."""
    if isinstance(b.shape, tuple):
        return make_layout(*(composition(a, mode) for mode in b.modes))
    return _flat(_walk(a, b))


def _walk(a: Layout, b: Layout) -> list[tuple[int, int]]:
    """The modes of the composition with one mode, which steps through a's modes from the fastest on."""
    ((count, step),) = b.flat
    if step == 0:
        return [(count, 0)]
    *inner, (_, last) = coalesce(a).flat
    modes: list[tuple[int, int]] = []
    for extent, stride in inner:
        if extent % step and step % extent:
            raise _undefined("composition", a, b)
        here = min(max(1, extent // step), count)
        if count % here:
            raise _undefined("composition", a, b)
        if here > 1:
            modes.append((here, step * stride))
        count, step = count // here, -(-step // extent)
    return modes if modes and count == 1 else [*modes, (count, step * last)]


def complement(layout: Layout, size: int = 1) -> Layout:
    """What reaches the indices up to `size` that the layout does not ("Complement")."""
    gaps: list[tuple[int, int]] = []
    reached = 1
    for stride, extent in sorted((s, n) for n, s in layout.flat if s and n > 1):
        if stride < reached:
            raise _undefined("complement", layout, size)
        gaps.append((stride // reached, reached))
        reached = extent * stride
    return coalesce(_flat([*gaps, (-(-size // reached), reached)]))


def logical_product(layout: Layout, tiler: Layout) -> Layout:
    """(the layout, how its copies lie), the copies in the order of the tiler ("Product (Tiling)")."""
    return make_layout(layout, composition(complement(layout, layout.size * tiler.cosize), tiler))
