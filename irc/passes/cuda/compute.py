"""Elementwise work, reductions and scans of one thread and between threads."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Region, SSAValue

from irc.diagnostics import IrcError
from irc.dialects import cuda, tile
from irc.layout.fragment import Mode
from irc.passes.cuda.emitter import Index
from irc.passes.cuda.memory import shared_base
from irc.passes.cuda.values import (
    Code,
    Iota,
    Registers,
    Splat,
    element_bytes,
    tile_element,
)
from irc.passes.tile.attributes import fragment_layout

LANES = 32


def inline(code: Code, body: Region, arguments: Sequence[SSAValue]) -> list[SSAValue]:
    """The scalar body on some arguments; gives what it yields."""
    mapping: dict[SSAValue, SSAValue] = dict(zip(body.block.args, arguments, strict=True))
    for op in body.block.ops:
        for operand in op.operands:
            if operand not in mapping and operand in code.values:
                mapping[operand] = code.ssa(operand)
        if isinstance(op, tile.YieldOp):
            return [mapping.get(v, v) for v in op.operands]
        with code.e.at(op.location):
            code.e.insert(op.clone(mapping))
    raise IrcError("a scalar body without tile.yield", body.parent.location if body.parent else None)


def lower_map(code: Code, op: tile.MapOp) -> None:
    fragment = fragment_layout(op.result.type)
    inputs = [code.tile(v) for v in op.inputs]
    result = code.array(fragment, tile_element(op.result.type), op.result.name_hint)
    with code.each(fragment) as components:
        scalars = [code.element(t, fragment, components) for t in inputs]
        (value,) = inline(code, op.body, scalars)
        code.set(result, components, value)
    code.values[op.result] = result


def lower_splat(code: Code, op: tile.SplatOp) -> None:
    code.values[op.result] = Splat(code.ssa(op.value), fragment_layout(op.result.type))


def lower_iota(code: Code, op: tile.IotaOp) -> None:
    code.values[op.result] = Iota(op.axis_value, code.scalar(op.offset), fragment_layout(op.result.type))


def lower_slice(code: Code, op: tile.SliceOp) -> None:
    source = code.tile(op.source)
    target = fragment_layout(op.result.type)
    offsets: list[Index] = list(op.at_values)
    for d, dynamic in enumerate(op.offsets):
        offsets[d] = code.e.add(offsets[d], code.scalar(dynamic))
    if isinstance(source, Splat):
        code.values[op.result] = Splat(source.scalar, target)
        return
    if isinstance(source, Iota):
        moved = code.e.add(source.offset, offsets[source.axis])
        code.values[op.result] = Iota(source.axis, moved, target)
        return
    base = source.base
    kept: list[int] = []
    for mode, stride in zip(source.fragment.values, source.strides, strict=True):
        full = source.fragment.shape[mode.dim]
        if mode.size * mode.step == full and target.shape[mode.dim] < full:
            base = code.e.add(base, code.e.mul(code.e.div(offsets[mode.dim], mode.step), stride))
            if target.shape[mode.dim] == mode.step:
                continue
        kept.append(stride)
    code.values[op.result] = Registers(source.array, target, tuple(kept), base)


def lower_concat(code: Code, op: tile.ConcatOp) -> None:
    axis = op.axis_value
    fragment = fragment_layout(op.result.type)
    result = code.array(fragment, tile_element(op.result.type), op.result.name_hint)
    at = next(i for i, m in enumerate(fragment.values) if m.dim == axis and m.size * m.step == fragment.shape[axis])
    start = 0
    for value in op.inputs:
        part = code.tile(value)
        first = start // fragment.values[at].step
        with code.each(part.fragment) as components:
            scalar = code.element(part, part.fragment, components)
            place = list(components)
            if len(part.fragment.values) < len(fragment.values):
                place.insert(at, 0)
            place[at] = code.e.add(place[at], first)
            code.set(result, place, scalar)
        start += part.fragment.shape[axis]
    code.values[op.result] = result


def lower_permute(code: Code, op: tile.PermuteOp) -> None:
    source = code.tile(op.source)
    fragment = source.fragment.permute(op.dim_values)
    match source:
        case Registers():
            code.values[op.result] = Registers(source.array, fragment, source.strides, source.base)
        case Splat():
            code.values[op.result] = Splat(source.scalar, fragment)
        case Iota():
            code.values[op.result] = Iota(op.dim_values.index(source.axis), source.offset, fragment)


def lower_reduce(code: Code, op: tile.ReduceOp) -> None:
    axes = set(op.axis_values)
    inputs = [code.materialise(code.tile(v), tile_element(v.type)) for v in op.inputs]
    fragment = inputs[0].fragment
    kept = fragment.project(axes)
    results = [code.array(kept, tile_element(v.type), v.name_hint) for v in op.outputs]
    _reduce_registers(code, op, inputs, results, axes)
    _reduce_lanes(code, op, results, _thread_places(fragment.threads, axes))
    _reduce_warps(code, op, results, _thread_places(fragment.threads, axes))
    for value, result in zip(op.outputs, results, strict=True):
        code.values[value] = result


def _reduce_registers(
    code: Code, op: tile.CombinerOp, inputs: Sequence[Registers], results: Sequence[Registers], axes: set[int]
) -> None:
    """Each thread over its own values."""
    fragment = inputs[0].fragment
    kept = [m for m in fragment.values if m.dim not in axes]
    reduced = [m for m in fragment.values if m.dim in axes]
    count = 1
    for mode in reduced:
        count *= mode.size

    def components(outer: Sequence[Index], inner: Sequence[Index]) -> list[Index]:
        outers, inners = iter(outer), iter(inner)
        return [next(inners) if m.dim in axes else next(outers) for m in fragment.values]

    with code.nest(kept) as outer:
        first = components(outer, [0] * len(reduced))
        for source, result in zip(inputs, results, strict=True):
            code.set(result, outer, code.element(source, fragment, first))
    if count == 1:
        return
    with code.nest(kept) as outer, code.e.loop(1, count, unroll=True, hint="r") as r:
        at = components(outer, code.e.split(r, [m.size for m in reduced]))
        values = [code.element(source, fragment, at) for source in inputs]
        _combine_into(code, op, results, outer, values)


def _combine_into(
    code: Code, op: tile.CombinerOp, results: Sequence[Registers], at: Sequence[Index], values: Sequence[SSAValue]
) -> None:
    before = [code.element(result, result.fragment, at) for result in results]
    for result, value in zip(results, inline(code, op.body, [*before, *values]), strict=True):
        code.set(result, at, value)


def _thread_places(modes: Sequence[Mode], axes: set[int]) -> list[tuple[int, int]]:
    """(stride in threads, size) of the parts of the thread index that walk along `axes`, cut at the warp's edge."""
    places: list[tuple[int, int]] = []
    stride = 1
    for mode in modes:
        if mode.dim in axes and mode.size > 1:
            inside = max(1, min(mode.size, LANES // stride))
            if inside > 1:
                places.append((stride, inside))
            if mode.size > inside:
                places.append((stride * inside, mode.size // inside))
        stride *= mode.size
    return places


def _reduce_lanes(
    code: Code, op: tile.CombinerOp, results: Sequence[Registers], places: Sequence[tuple[int, int]]
) -> None:
    """Butterflies in a warp: afterwards every lane holds the whole."""
    masks = [stride << bit for stride, size in places if stride < LANES for bit in range(size.bit_length() - 1)]
    if not masks:
        return
    with code.each(results[0].fragment) as at:
        for mask in masks:
            values = [
                code.e.value(cuda.ShuffleOp("xor", code.element(r, r.fragment, at), code.e.i32(mask))) for r in results
            ]
            _combine_into(code, op, results, at, values)


def _reduce_warps(
    code: Code, op: tile.CombinerOp, results: Sequence[Registers], places: Sequence[tuple[int, int]]
) -> None:
    """Between warps: partials meet in shared memory, and every thread combines them in the same order."""
    across = [(stride, size) for stride, size in places if stride >= LANES]
    if not across:
        return
    e = code.e
    count = 1
    for _, size in across:
        count *= size
    kept = results[0].fragment
    slots = 1
    for extent in kept.shape:
        slots *= extent
    warp: Index = 0
    for stride, size in reversed(across):
        warp = e.add(e.mul(warp, size), e.rem(e.div(code.crew.thread, stride), size))
    leaders = [
        e.compare("eq", e.rem(e.div(code.crew.thread, stride), size), 0) for stride, size in places if stride < LANES
    ]
    bases: list[int] = []
    total = 0
    for result in results:
        size = element_bytes(_element(result))
        total = -(-total // size) * size
        bases.append(total)
        total += count * slots * size
    start = code.scratch(total)

    def address(result: Registers, base: int, slot: Index, place: Index) -> SSAValue:
        size = element_bytes(_element(result))
        at = e.add(e.mul(place, slots), slot)
        return e.i32(e.add(shared_base(code, start + base), e.mul(at, size)))

    def slot_of(at: Sequence[Index]) -> Index:
        slot: Index = 0
        unit = 1
        for coordinate, extent in zip(code.coordinates(kept, at), kept.shape, strict=True):
            slot = e.add(slot, e.mul(coordinate, unit))
            unit *= extent
        return slot

    code.before_write()
    with e.when(e.all(leaders)), code.each(kept) as at:
        slot = slot_of(at)
        for result, base in zip(results, bases, strict=True):
            register = e.index(code.register(result, at))
            e.insert(cuda.SharedStoreOp(result.array, register, address(result, base, slot, warp)))
    code.before_read()
    with code.each(kept) as at:
        slot = slot_of(at)
        for result, base in zip(results, bases, strict=True):
            register = e.index(code.register(result, at))
            e.insert(cuda.SharedLoadOp(address(result, base, slot, 0), result.array, register))
        partials = [e.value(cuda.RegistersOp(1, _element(r))) for r in results]
        with e.loop(1, count, unroll=True, hint="w") as w:
            for result, base, partial in zip(results, bases, partials, strict=True):
                e.insert(cuda.SharedLoadOp(address(result, base, slot, w), partial, e.index(0)))
            _combine_into(code, op, results, at, [e.value(cuda.GetOp(p, e.index(0))) for p in partials])


def _element(tile: Registers):
    assert isinstance(tile.array.type, cuda.RegistersType)
    return tile.array.type.element


def lower_scan(code: Code, op: tile.ScanOp) -> None:
    """Along an axis that lies in a thread's own values, in ascending order."""
    axis = op.axis_value
    inputs = [code.materialise(code.tile(v), tile_element(v.type)) for v in op.inputs]
    fragment = inputs[0].fragment
    if any(m.dim == axis for m in fragment.threads):
        raise IrcError("a scan along an axis that is spread over threads has no lowering", op.location)
    results = [code.array(fragment, tile_element(v.type), v.name_hint) for v in op.outputs]
    kept = [m for m in fragment.values if m.dim != axis]
    along = sorted((m for m in fragment.values if m.dim == axis), key=lambda m: m.step)

    def components(outer: Sequence[Index], r: Index) -> list[Index]:
        outers = iter(outer)
        parts = dict(zip(along, code.e.split(r, [m.size for m in along]), strict=True))
        return [parts[m] if m.dim == axis else next(outers) for m in fragment.values]

    with code.nest(kept) as outer:
        first = components(outer, 0)
        for source, result in zip(inputs, results, strict=True):
            code.set(result, first, code.element(source, fragment, first))
        if fragment.shape[axis] > 1:
            with code.e.loop(1, fragment.shape[axis], unroll=True, hint="r") as r:
                at, before = components(outer, r), components(outer, code.e.sub(r, 1))
                running = [code.element(result, fragment, before) for result in results]
                values = [code.element(source, fragment, at) for source in inputs]
                for result, value in zip(results, inline(code, op.body, [*running, *values]), strict=True):
                    code.set(result, at, value)
    for value, result in zip(op.outputs, results, strict=True):
        code.values[value] = result
