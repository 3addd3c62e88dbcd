"""Loads of windows: what several tiles read of neighboring elements, once for each thread.

The elements that a thread reads are a box: neighbors along what is contiguous in memory, and rows of those along the
other dimensions of the view. The box lies in one register array, row by row, and each tile is a part of it. A row is
loaded in the widest vectors that are aligned in memory: where a thread has eight elements of 16 bits and reads one on
either side, that are one of 16 bytes and two of 2.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from math import gcd

from xdsl.ir import SSAValue

from irc.analysis.accesses import access_of
from irc.dialects import cuda, tile
from irc.dialects.tile import fragment_layout
from irc.layout.affine import linear_form
from irc.layout.requests import WIDEST
from irc.lowering.coordinates import Coordinate, Walk
from irc.lowering.emitter import Index
from irc.lowering.loads import cache_of
from irc.lowering.memory import zero
from irc.lowering.values import Code, Registers, tile_element
from irc.support.diagnostics import IrcError

Place = tuple[int, ...]
"""Coordinates in the view, relative to those of the thread's first value at no tap."""


@dataclass(frozen=True)
class _Box:
    """The elements that a thread reads: `first` are the least coordinates in registers, `extents` how many there are
    along each dimension; `rows` has, for the places along all but the `inner` dimension, the range along that."""

    first: Place
    extents: Place
    inner: int
    rows: dict[Place, range]

    @property
    def strides(self) -> Place:
        """Registers between neighbors along each dimension; those along the inner one lie side by side."""
        strides, step = [0] * len(self.extents), 1
        for dim in (self.inner, *(d for d in reversed(range(len(self.extents))) if d != self.inner)):
            strides[dim] = step
            step *= self.extents[dim]
        return tuple(strides)

    @property
    def count(self) -> int:
        total = 1
        for extent in self.extents:
            total *= extent
        return total

    def register(self, place: Place) -> int:
        return sum((at - first) * s for at, first, s in zip(place, self.first, self.strides, strict=True))


def lower_load_window(code: Code, op: tile.LoadWindowOp) -> None:
    fragment = fragment_layout(op.outputs[0].type)
    walk = Walk(code.e, ())
    dims = [
        Coordinate(code.e.add(code.scalar(offset), at.base), at.steps)
        for offset, at in zip(op.offsets, code.linear_coordinates(fragment), strict=True)
    ]
    symbols = [code.scalar(symbol) for symbol in op.symbols]
    places = [walk.affine(expr, dims, symbols) for expr in op.access_map.results]
    steps = [each.steps or (0,) * len(fragment.values) for each in places]
    aligned = _aligned(op)
    box = _box(op, steps, [mode.size for mode in fragment.values], aligned)
    element = tile_element(op.outputs[0].type)
    array = code.e.value(cuda.RegistersOp(box.count, element), op.outputs[0].name_hint)
    strides = tuple(
        sum(step[m] * stride for step, stride in zip(steps, box.strides, strict=True))
        for m in range(len(fragment.values))
    )
    for tap, value in zip(op.tap_values, op.outputs, strict=True):
        code.values[value] = Registers(array, fragment, strides, box.register(tap))
    _load(code, op, box, [each.base for each in places], code.values[op.outputs[0]], aligned)


def _inner(op: tile.LoadWindowOp) -> int:
    """The dimension of the view whose neighbors are neighbors in memory; the last where there is none."""
    strides = op.view_type.get_strides()
    moving = [d for d, (stride, n) in enumerate(zip(strides, op.view_type.get_shape(), strict=True)) if stride == 1 < n]
    return moving[-1] if moving else len(strides) - 1


def _aligned(op: tile.LoadWindowOp) -> int:
    """The elements of the widest vector that begins at each multiple of so many elements from the thread's first value
    at no tap: no end of the view is within one."""
    access, inner = access_of(op), _inner(op)
    if op.view_type.get_strides()[inner] != 1:
        return 1
    length = max(1, min(WIDEST, access.align) // access.element_bytes)
    fragment = fragment_layout(op.outputs[0].type)
    for dim, expr in enumerate(op.access_map.results):
        form = linear_form(expr, len(op.offsets), len(op.symbols))
        if form is None:
            raise IrcError("a window is loaded at coordinates that take divisions", op.location)
        if dim == inner:
            starts = [gcd(of, *(m.step for m in fragment.threads if m.dim == d)) for d, of in enumerate(access.offsets)]
            known = (*starts, *access.symbols)
            length = gcd(length, *(f * of for f, of in zip(form.factors, known, strict=True)))
            if dim in op.checked_dims:
                length = gcd(length, access.extents[dim])
        elif any(form.factors) or any(tap[dim] for tap in op.tap_values):
            length = gcd(length, access.strides[dim])
    return length


def _box(op: tile.LoadWindowOp, steps: Sequence[Sequence[int]], sizes: Sequence[int], aligned: int) -> _Box:
    """`steps`: for each dimension of the view, how far each mode of `sizes` values moves."""
    inner = _inner(op)
    read = [
        tuple(tap[d] + sum(c * s for c, s in zip(at, steps[d], strict=True)) for d in range(len(steps)))
        for at in product(*map(range, sizes))
        for tap in op.tap_values
    ]
    first, last = [min(each) for each in zip(*read, strict=True)], [max(each) for each in zip(*read, strict=True)]
    first[inner] -= first[inner] % aligned
    last[inner] += -(last[inner] + 1) % aligned
    rows: dict[Place, range] = {}
    for place in read:
        row = (*place[:inner], *place[inner + 1 :])
        known = rows.get(row, range(place[inner], place[inner] + 1))
        rows[row] = range(min(known.start, place[inner]), max(known.stop, place[inner] + 1))
    extents = tuple(b - a + 1 for a, b in zip(first, last, strict=True))
    return _Box(tuple(first), extents, inner, rows)


def vectors_of(row: range, aligned: int, *, may_exceed: bool = False) -> Iterator[tuple[int, int]]:
    """(where it begins, how long it is) of the widest vectors that make up a row, each aligned to its length. The first
    one may begin before the row, and the last one end behind it, where there are elements and half of it would not
    do."""
    before = row.start % aligned
    at = row.start - before if may_exceed and before < aligned // 2 and len(row) > 1 else row.start
    while at < row.stop:
        length, left = gcd(at, aligned), row.stop - at
        while length > 1 and (length // 2 >= left if may_exceed else length > left):
            length //= 2
        yield at, length
        at += length


def _load(code: Code, op: tile.LoadWindowOp, box: _Box, base: Sequence[Index], held: object, aligned: int) -> None:
    """All vectors of the box, row by row. Their addresses are numbers of elements from one that the thread computes.
    What differs between the fewest of them is compared with the ends first: the compiler holds few conditions."""
    assert isinstance(held, Registers)
    e, inner = code.e, box.inner
    strides, extents = op.view_type.get_strides(), op.view_type.get_shape()
    pointer, cache, other = code.pointers[op.view], cache_of(op), None
    if op.checked_dims:
        other = zero(code, held.element) if op.other is None else code.ssa(op.other)
    first: Index = 0
    for at, stride in zip(base, strides, strict=True):
        first = e.add(first, e.mul(at, stride))
    vectors = _vectors(box, aligned, may_exceed=extents[inner] % aligned == 0)
    known: dict[tuple[int, int], SSAValue] = {}

    def is_inside(dim: int, at: int) -> SSAValue:
        if (dim, at) not in known:
            known[dim, at] = e.compare("ult", e.add(base[dim], at), code.extent(extents[dim]))
        return known[dim, at]

    order = sorted(op.checked_dims, key=lambda dim: len({place[dim] for place, _ in vectors}))
    for place, length in vectors:
        exists = e.all([is_inside(dim, place[dim]) for dim in order])
        offset = e.index(e.add(first, sum(at * stride for at, stride in zip(place, strides, strict=True))))
        register = e.index(box.register(place))
        if exists is None or other is None:
            load = cuda.LoadOp(pointer, held.array, register, offset, count=length, cache=cache)
        else:
            load = cuda.LoadOrOp(
                pointer, held.array, register, offset, condition=exists, other=other, count=length, cache=cache
            )
        e.insert(load)


def _vectors(box: _Box, aligned: int, *, may_exceed: bool) -> list[tuple[Place, int]]:
    """(where it begins, how long it is) of the vectors that make up the rows of a box."""
    return [
        ((*row[: box.inner], start, *row[box.inner :]), length)
        for row, along in sorted(box.rows.items())
        for start, length in vectors_of(along, aligned, may_exceed=may_exceed)
    ]
