"""Loads, stores and exchanges: tiles between global memory, shared memory and registers."""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Protocol, TypeAlias

from xdsl.dialects import arith
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.ir.affine import AffineExpr, AffineSymExpr

from irc.analysis.accesses import access_of
from irc.analysis.in_place import is_overwritten
from irc.dialects import cuda, tile
from irc.dialects.tile import fragment_layout
from irc.ir.properties import scalar
from irc.layout.affine import is_monotone, least
from irc.layout.exchange import led_by
from irc.layout.fragment import Fragment
from irc.layout.instructions import Matrices, matrices
from irc.layout.traffic import global_vector, shared_vector
from irc.lowering.coordinates import Coordinate, Walk, sum_of
from irc.lowering.emitter import Index
from irc.lowering.serial_stores import serialized
from irc.lowering.staggered_writes import PAIR, split_mode, staggered_mode, store_staggered
from irc.lowering.values import Buffer, Code, Registers, ThreadCode, element_bytes, packed_strides, tile_element


def zero(code: Code, type: Attribute) -> SSAValue:
    """The zero of an element type."""
    return code.e.value(arith.ConstantOp(scalar(0, type)))


def locate(
    code: Code, op: tile.AccessOp, fragment: Fragment, components: Sequence[Index], vector: int = 1
) -> tuple[Index, list[SSAValue]]:
    """The element offset in the view of a tile element, and the conditions under which it is inside with the rest of
    its vector."""
    symbols: list[Index] = []
    for symbol in op.symbols:
        if isinstance(symbol.type, TensorType):
            symbols.append(code.as_index(code.element(code.tile(symbol), fragment, components)))
        else:
            symbols.append(code.scalar(symbol))
    straddled = access_of(op).straddled(fragment.vector[0], vector)
    return locate_at(code, op, code.linear_coordinates(fragment), symbols, components, vector, straddled)


def locate_at(
    code: Code,
    op: tile.AccessOp,
    at: Sequence[Coordinate],
    symbols: Sequence[Index],
    components: Sequence[Index],
    vector: int,
    straddled: Collection[int],
) -> tuple[Index, list[SSAValue]]:
    """The same for coordinates of the tile. straddled: the dimensions of the view whose end can be within a vector."""
    e = code.e
    walk = Walk(e, components, code.extent)
    dims = [Coordinate(e.add(code.scalar(o), place.base), place.steps) for o, place in zip(op.offsets, at, strict=True)]
    offset = Coordinate(0)
    conditions: list[SSAValue] = []
    view = op.view_type
    for d, (expr, extent, stride) in enumerate(
        zip(op.access_map.results, view.get_shape(), view.get_strides(), strict=True)
    ):
        place = walk.affine(expr, dims, symbols)
        offset = sum_of(e, offset, walk.scaled(place, code.extent(stride)))
        if d not in op.checked_dims:
            continue
        position = place.at(e, components)
        if least(expr) < 0:
            conditions.append(e.compare("sge", position, 0))
        below = "ult" if _is_gathered(op, expr) else "slt"  # a number that is gathered by may be negative
        end = code.extent(extent)
        conditions.append(e.compare(below, position, e.sub(end, vector - 1) if d in straddled else end))
    if op.own_end is not None:
        dim, end = op.own_end
        conditions.append(e.compare("slt", dims[dim].at(e, components), code.scalar(end)))
    return offset.at(e, components), conditions


def _is_gathered(op: tile.AccessOp, expr: AffineExpr) -> bool:
    symbols = (op.symbols[each.position] for each in expr.dfs() if isinstance(each, AffineSymExpr))
    return any(isinstance(symbol.type, TensorType) for symbol in symbols)


class Accesses(Protocol):
    """The accesses of a thread to a tile, with or without checks whether they are inside the view."""

    def __call__(self, *, checked: bool) -> None: ...


Fetch: TypeAlias = Callable[[Sequence[Index], int], None]
"""Brings the elements of a vector, given by the components of the first one, to where they are stored from."""


def element_accesses(
    code: Code,
    op: tile.AccessOp,
    held: Registers,
    access: Callable[[SSAValue, SSAValue, int], Operation],
    outside: Callable[[Index, int], None] | None = None,
    fetch: Fetch | None = None,
    vector: int | None = None,
) -> Accesses:
    """Makes a thread's accesses to its elements of a tile, in vectors of the given length, or the longest; those of a
    vector that the end of the view can cut are made one by one there.

    access: makes the op, of a register, an offset in the view and a count. outside: what the registers get (the first
    one, and the count) whose elements are outside of the view.
    """
    fragment = held.fragment
    vector = vector or global_vector(fragment, access_of(op))
    along = fragment.vector[0]
    is_ended = op.own_end is not None and op.own_end[0] == along
    straddles = is_ended or bool(access_of(op).straddled(along, vector))

    def one(components: Sequence[Index], count: int, *, checked: bool = True) -> None:
        offset, conditions = locate(code, op, fragment, components, count)
        at = code.register(held, components)
        insert = partial(code.e.insert, access(code.e.index(at), code.e.index(offset), count))
        inside = code.e.all(conditions) if checked else None
        if inside is not None and count > 1 and straddles:
            code.e.branch(inside, insert, partial(each, components))
        elif inside is not None and outside is not None:
            code.e.branch(inside, insert, partial(outside, at, count))
        else:
            with code.e.when(inside):
                insert()

    def each(components: Sequence[Index]) -> None:
        first, *others = components or (0,)
        for n in range(vector):
            one([code.e.add(first, n), *others], 1)

    def every(*, checked: bool) -> None:
        with code.each(fragment, vector) as components:
            if fetch is not None:
                fetch(components, vector)
            one(components, vector, checked=checked)

    return every


FEWEST_UNCHECKED = 4
"""Accesses of a thread, those of loads that come together, from which on tiles inside the view have code of their
own."""


def by_tile(code: Code, op: tile.AccessOp, fragment: Fragment, vector: int, accesses: Accesses) -> None:
    """The accesses of a thread: without checks where the whole tile is inside the view, as most are."""
    is_worth = fragment.value_count // vector >= FEWEST_UNCHECKED
    whole = is_inside(code, op, fragment) if is_worth else None
    if whole is None:
        accesses(checked=True)
    else:
        code.e.branch(whole, partial(accesses, checked=False), partial(accesses, checked=True))


def is_inside(code: Code, op: tile.AccessOp, fragment: Fragment, beyond: int = 0) -> SSAValue | None:
    """Whether the whole tile is inside the view, by its corners, and with it `beyond` elements that follow it in
    memory; None where corners do not tell, or it is the only tile."""
    shape = fragment.shape
    if not (op.checked_dims or beyond or op.own_end):
        return None
    e, walk = code.e, Walk(code.e, (), code.extent)
    exprs = {d: op.access_map.results[d] for d in op.checked_dims}
    needed = op.access_map.results if beyond else exprs.values()
    if op.gathers or not all(map(is_monotone, needed)):
        return None
    symbols = [code.scalar(symbol) for symbol in op.symbols]
    first = [Coordinate(code.scalar(offset)) for offset in op.offsets]
    last = [Coordinate(e.add(at.base, extent - 1)) for at, extent in zip(first, shape, strict=True)]
    conditions: list[SSAValue] = []
    for d, expr in exprs.items():
        if least(expr) < 0:
            conditions.append(e.compare("sge", walk.affine(expr, first, symbols).base, 0))
        highest, extent = walk.affine(expr, last, symbols).base, code.extent(op.view_type.get_shape()[d])
        if isinstance(highest, int) and isinstance(extent, int):
            if highest < extent:
                continue
            return None
        conditions.append(e.compare("slt", highest, extent))
    if op.own_end is not None:
        dim, end = op.own_end
        conditions.append(e.compare("sle", e.add(code.scalar(op.offsets[dim]), shape[dim]), code.scalar(end)))
    if beyond:
        end: Index = 0
        for expr, stride in zip(op.access_map.results, op.view_type.get_strides(), strict=True):
            end = e.add(end, e.mul(walk.affine(expr, last, symbols).base, code.extent(stride)))
        conditions.append(e.compare("slt", end, e.sub(code.extent(access_of(op).size), beyond)))
    return e.all(conditions)


def lower_store(code: Code, op: tile.StoreOp) -> None:
    source = code.materialize(code.tile(op.tile), tile_element(op.tile.type))
    store_registers(code, op, _led(code, source, source.fragment.vector[0]))


def store_registers(code: Code, op: tile.StoreOp, source: Registers, fetch: Fetch | None = None) -> None:
    """Stores a tile from registers."""
    pointer = code.pointers[op.view]
    once = code.first_copy(source.fragment)

    def store(register: SSAValue, offset: SSAValue, count: int) -> Operation:
        if op.add is not None:
            return cuda.AtomicOp("add", code.e.value(cuda.GetOp(source.array, register)), pointer, offset)
        return cuda.StoreOp(source.array, register, pointer, offset, count=count)

    if once is not None and is_overwritten(op.view):
        code.sync("copies of what is written over")
    with serialized(code, op), code.e.when(once):
        vector = 1 if op.add is not None else global_vector(source.fragment, access_of(op))
        accesses = element_accesses(code, op, source, store, fetch=fetch, vector=vector)
        by_tile(code, op, source.fragment, vector, accesses)


def element_offset(code: ThreadCode, buffer: Buffer, at: Sequence[Index]) -> Index:
    """The offset of a buffer's element, in elements, before the swizzle."""
    return Walk(code.e, ()).offset(buffer.layout, _inside(code, buffer, [Coordinate(index) for index in at])).base


def shared_address(code: ThreadCode, buffer: Buffer, at: Sequence[Index]) -> SSAValue:
    """The byte address of a buffer's element."""
    coordinates = _inside(code, buffer, [Coordinate(index) for index in at])
    return _address(code, buffer, Walk(code.e, ()).swizzled(buffer.layout, coordinates, apart=False))


def tile_address(code: Code, buffer: Buffer, fragment: Fragment, components: Sequence[Index]) -> SSAValue:
    """The byte address of the element of a buffer that the thread's value with these components meets."""
    coordinates = _inside(code, buffer, code.linear_coordinates(fragment))
    apart = fragment.is_linear and not any(origin != 0 for origin in buffer.origin)
    return _address(code, buffer, Walk(code.e, components).swizzled(buffer.layout, coordinates, apart=apart))


def _inside(code: ThreadCode, buffer: Buffer, at: Sequence[Coordinate]) -> list[Coordinate]:
    """Coordinates in the layout of a buffer, which may be part of it."""
    return [Coordinate(code.e.add(p.base, origin), p.steps) for p, origin in zip(at, buffer.origin, strict=True)]


def _address(code: ThreadCode, buffer: Buffer, offset: Index) -> SSAValue:
    return code.e.i32(code.e.add(buffer.address, code.e.mul(offset, element_bytes(buffer.element))))


def write_shared(code: Code, source: Registers, buffer: Buffer) -> None:
    """Registers to a buffer, in the widest vectors along its fastest dimension."""
    source = _led(code, source, buffer.layout.fastest)
    vector = shared_vector(source.fragment, buffer.layout, element_bytes(buffer.element))
    mode = staggered_mode(source.fragment, buffer.layout, element_bytes(buffer.element))
    if mode is not None and vector == PAIR:
        split = split_mode(source, mode)
        with code.nest(split.fragment.values[:-1], PAIR) as components:
            at = tile_address(code, buffer, split.fragment, [*components, 0])
            store_staggered(code, split, components, at)
        return
    with code.e.when(code.first_copy(source.fragment)), code.each(source.fragment, vector) as components:
        at = tile_address(code, buffer, source.fragment, components)
        register = code.e.index(code.register(source, components))
        code.e.insert(cuda.SharedStoreOp(at, source.array, register, count=vector))


def write_matrices(code: Code, source: Registers, buffer: Buffer) -> bool:
    """The same by stmatrix, where warps have it and the fragment is that of a product on rows of the buffer: a quarter
    of the instructions of 4 bytes, and as many wavefronts. Whether it is done."""
    if not code.has_stmatrix or element_bytes(buffer.element) != 2 or buffer.layout.fastest != 1:
        return False
    stored = matrices(source.fragment, buffer.layout, element_bytes(buffer.element))
    if stored is None or stored.strides != source.strides:
        return False
    with _each_matrices(code, buffer, source.fragment, stored) as (at, register):
        first = code.e.index(code.e.add(source.base, register))
        code.e.insert(cuda.StmatrixOp(at, source.array, first, count=stored.count))
    return True


def _led(code: Code, source: Registers, dim: int) -> Registers:
    """The tile in registers whose first ones are a run along `dim`, where the fragment has one there."""
    fragment = led_by(source.fragment, dim)
    if fragment.vector[1] == 1 or (fragment == source.fragment and source.strides[0] == 1):
        return source
    led = code.array(fragment, source.element)
    code.copy(source, led)
    return led


def read_shared(code: Code, buffer: Buffer, target: Fragment, hint: str | None = None) -> Registers:
    """A buffer in registers, in the widest vectors along its fastest dimension."""
    led = code.array(led_by(target, buffer.layout.fastest), buffer.element, hint)
    vector = shared_vector(led.fragment, buffer.layout, element_bytes(buffer.element))
    with code.each(led.fragment, vector) as components:
        at = tile_address(code, buffer, led.fragment, components)
        register = code.e.index(code.register(led, components))
        code.e.insert(cuda.SharedLoadOp(at, led.array, register, count=vector))
    strides = dict(zip(led.fragment.values, led.strides, strict=True))
    return Registers(led.array, target, tuple(strides[mode] for mode in target.values))


def read_operand(code: ThreadCode, buffer: Buffer, fragment: Fragment, k_dim: int, k: Index) -> Registers:
    """The thread's part of an operand of products from `k` on in registers: as deep as the fragment is."""
    result = code.array(fragment, buffer.element)
    vector = shared_vector(fragment, buffer.layout, element_bytes(buffer.element))
    with code.each(fragment, vector) as at:
        element = code.coordinates(fragment, at)
        element[k_dim] = code.e.add(element[k_dim], k)
        address = shared_address(code, buffer, element)
        register = code.e.index(code.register(result, at))
        code.e.insert(cuda.SharedLoadOp(address, result.array, register, count=vector))
    return result


def lower_write(code: Code, op: tile.WriteOp) -> None:
    source = code.materialize(code.tile(op.tile), tile_element(op.tile.type))
    if not in_channel(op.buffer):
        code.access("write")
    write_shared(code, source, code.buffer(op.buffer))


def in_channel(buffer: SSAValue) -> bool:
    """Whether the buffer is a stage of a channel, whose barriers order its accesses."""
    owner = buffer.owner
    if isinstance(owner, tile.BufferAliasOp):
        return in_channel(owner.operands[0])
    if carried := tile.carried_from(buffer):
        return in_channel(carried[0])
    return isinstance(owner, tile.AcquireOp | tile.WaitOp)


def lower_read(code: Code, op: tile.ReadOp) -> None:
    fragment = fragment_layout(op.result.type)
    if not in_channel(op.buffer):
        code.access("read")
    buffer = code.buffer(op.buffer)
    loaded = matrices(fragment, buffer.layout, element_bytes(buffer.element))
    if loaded is None:
        code.values[op.result] = read_shared(code, buffer, fragment, op.result.name_hint)
        return
    array = code.array(fragment, buffer.element, op.result.name_hint).array
    with _each_matrices(code, buffer, fragment, loaded) as (at, register):
        transposed = buffer.layout.fastest == 0
        code.e.insert(cuda.LdmatrixOp(at, array, code.e.index(register), count=loaded.count, transpose=transposed))
    code.values[op.result] = Registers(array, fragment, loaded.strides)


@contextmanager
def _each_matrices(
    code: Code, buffer: Buffer, fragment: Fragment, moved: Matrices
) -> Generator[tuple[SSAValue, Index]]:
    """Unrolled loops over the instructions that move a fragment as matrices; gives the address of the thread's row and
    the first register of each."""
    rows = moved.rows
    with code.each(rows) as components:
        at = tile_address(code, buffer, rows, components)
        register: Index = 0
        for component, stride in zip(components, packed_strides(rows), strict=True):
            register = code.e.add(register, code.e.mul(component, stride * fragment.value_count // rows.value_count))
        yield at, register


def shared_base(code: Code, offset: int) -> SSAValue:
    """The address of a byte of dynamic shared memory, as an index."""
    return code.as_index(shared_start(code, offset))


def shared_start(code: Code, offset: int) -> SSAValue:
    """The address of a byte of dynamic shared memory, an i32."""
    return code.e.value(cuda.SharedOp(offset, align=code.shared_align))
