"""Products of tiles: by `cpu.gemm` where it has the types, else by loops."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects import arith
from xdsl.dialects.builtin import Float32Type, Float64Type, bf16, f32
from xdsl.ir import Attribute, SSAValue

from irc.dialects import tile
from irc.dialects.cpu import GemmOp
from irc.ir.dtypes import element_of
from irc.looping.emitter import Emitter
from irc.looping.forms import Form, constant
from irc.looping.loads import LoadedTile
from irc.looping.unsupported import Unsupported
from irc.looping.values import Buffer, Lazy, Value, fill, materialized, whole


@dataclass(frozen=True)
class _Operand:
    """A matrix as products read it: where it begins, the elements from one row to the next, or, where it is transposed,
    from one column to the next; how many of its rows and columns there are, where that is less than the tile's."""

    memory: SSAValue
    offset: Form
    stride: int
    is_transposed: bool
    extents: tuple[Form, Form]


def multiply(emitter: Emitter, op: tile.DotOp, lhs: Value, rhs: Value, acc: Value, is_own: bool) -> Buffer:
    """acc + lhs rhs, in the memory of acc where that is the product's own."""
    m, n, k = op.mnk
    element = tile.element_type_of(op.result.type)
    if not (is_own and isinstance(acc, Buffer) and acc.strides == (n, 1)):
        buffer = Buffer.new(emitter, (m, n), element, 1)
        buffer.strides = (n, 1)
        fill(emitter, buffer, acc)
        acc = buffer
    if not isinstance(element, Float32Type | Float64Type):
        _by_loops(emitter, op, lhs, rhs, acc)
    else:
        factor = bf16 if element == f32 and lhs.element == rhs.element == bf16 else element
        a, b = _operand(emitter, lhs, factor, 0), _operand(emitter, rhs, factor, 1)
        sizes = emitter.value(a.extents[0]), emitter.value(b.extents[1]), emitter.index(k)
        left = a.memory, emitter.value(a.offset), a.stride, a.is_transposed
        right = b.memory, emitter.value(b.offset), b.stride, b.is_transposed
        emitter.add(GemmOp(left, right, acc.memory, sizes, n))
    acc.version += 1
    return acc


def _operand(emitter: Emitter, value: Value, element: Attribute, side: int) -> _Operand:
    """The matrix of a tile; `side` is the axis that the product keeps."""
    if value.element == element:
        if isinstance(value, LoadedTile) and (found := _in_place(emitter, value, side)) is not None:
            return found
        if isinstance(value, Buffer) and 1 in value.strides:
            return _of_buffer(value)
    segments = value.access.segments() if isinstance(value, LoadedTile) else None
    buffer = Buffer.new(emitter, value.shape, element, value.fast if segments is None else segments[0])
    if segments is None:
        fill(emitter, buffer, _widened(value, element))
    else:
        assert isinstance(value, LoadedTile)
        _fill_in_segments(emitter, buffer, _widened(value, element), value.access.offsets[segments[0]], *segments)
    return _of_buffer(buffer)


def _fill_in_segments(emitter: Emitter, buffer: Buffer, value: Value, offset: Form, axis: int, width: int) -> None:
    """Writes what a convolution reads: rows of places are contiguous in memory where they do not end."""
    outer = [each for each in whole(buffer) if each[0] != axis]
    with emitter.loops(outer, 2) as indices, emitter.segments(offset, buffer.shape[axis], width) as index:
        at = [index if each == axis else form for each, form in enumerate(indices)]
        buffer.store(emitter, at, value.at(emitter, at))
    buffer.version += 1


def _of_buffer(buffer: Buffer) -> _Operand:
    rows, columns = buffer.shape
    extents = constant(rows), constant(columns)
    if buffer.order[-1:] == [0]:
        return _Operand(buffer.memory, constant(0), rows, True, extents)
    return _Operand(buffer.memory, constant(0), columns, False, extents)


def _in_place(emitter: Emitter, value: LoadedTile, side: int) -> _Operand | None:
    """The operand as it lies in memory, as far as there is one along the axis that is kept, where others are 0; None
    where it is no matrix there, or reads beyond its array along K."""
    access = value.access
    rows, columns = access.shape
    steps = [1 if n == 1 and step == 0 else step for n, step in zip(access.shape, access.steps(), strict=True)]
    if None in steps or 1 not in steps or any(isinstance(symbol, Value) for symbol in access.symbols):
        return None
    is_transposed = steps[1] != 1
    stride, width, count = (steps[1], rows, columns) if is_transposed else (steps[0], columns, rows)
    if stride is None or stride < width:
        if count > 1:
            return None
        stride = width
    low, high = access.clamped(emitter, side)
    ends = [constant(n - 1) for n in access.shape]
    ends[side] = high - 1
    start, last = (access.coordinates(emitter, indices) for indices in ([constant(0)] * 2, ends))
    for dim in access.op.checked_dims:
        extent = access.extents[dim]
        is_clamped = access.is_clamped_by(dim, side) and low == constant(0) and value.other is None
        if not is_clamped and not all(emitter.is_inside(each[dim], 0, extent) for each in (start, last)):
            return None
    extents = [constant(rows), constant(columns)]
    extents[side] = high
    return _Operand(access.memory, access.place(start), stride, is_transposed, (extents[0], extents[1]))


def _widened(value: Value, element: Attribute) -> Value:
    if value.element == element:
        return value
    if not (element_of(value.element).is_float and element_of(element).is_float):
        raise Unsupported("a product of these types")
    return Lazy(value.shape, element, value.fast, lambda e, at: e.add(arith.ExtFOp(value.at(e, at), element)))


def _by_loops(emitter: Emitter, op: tile.DotOp, lhs: Value, rhs: Value, acc: Buffer) -> None:
    """Integers: row by row of the right operand."""
    m, _, k = op.mnk
    left, right = materialized(emitter, lhs), materialized(emitter, rhs)
    extend = arith.ExtUIOp if op.unsigned is not None else arith.ExtSIOp

    def wide(value: SSAValue) -> SSAValue:
        return value if value.type == acc.element else emitter.add(extend(value, acc.element))  # pyright: ignore

    with emitter.loop(constant(0), constant(m)) as row, emitter.loop(constant(0), constant(k)) as inner:
        factor = wide(left.at(emitter, [row, inner]))
        with emitter.loops([(1, constant(0), constant(acc.shape[1]))], 2) as (_, column):
            product = emitter.add(arith.MuliOp(factor, wide(right.at(emitter, [inner, column])), acc.element))  # pyright: ignore
            before = acc.at(emitter, [row, column])
            acc.store(emitter, [row, column], emitter.add(arith.AddiOp(before, product, acc.element)))  # pyright: ignore
