"""Reductions: each thread over its registers, then the lanes of a warp, then warps."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.ir import SSAValue

from irc.dialects import cuda, tile
from irc.layout.fragment import Mode
from irc.layout.instructions import LANES
from irc.passes.cuda.compute import inline
from irc.passes.cuda.emitter import Index
from irc.passes.cuda.partials import Partials
from irc.passes.cuda.values import Code, Registers, tile_element


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
    count = prod(m.size for m in reduced)

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
    """Between warps: partials meet in shared memory, and every thread combines them in the same order; where they are
    only stored, those that store them."""
    across = [(stride, size) for stride, size in places if stride >= LANES]
    if not across:
        return
    e, thread = code.e, code.crew.thread
    partials = Partials.of(code, results, prod(size for _, size in across))
    warp: Index = 0
    for stride, size in reversed(across):
        warp = e.add(e.mul(warp, size), e.rem(e.div(thread, stride), size))
    leaders = [e.compare("eq", e.rem(e.div(thread, stride), size), 0) for stride, size in places if stride < LANES]
    kept = results[0].fragment
    code.before_write(partials.place)
    with e.when(e.all(leaders)), code.each(kept) as at:
        partials.write(at, warp)
    code.before_read(partials.place)
    are_stored = all(isinstance(use.operation, tile.StoreOp) for value in op.outputs for use in value.uses)
    with e.when(code.first_copy(kept) if are_stored else None), code.each(kept) as at:
        _combine_partials(code, op, partials, at)


def _combine_partials(code: Code, op: tile.CombinerOp, partials: Partials, at: Sequence[Index]) -> None:
    """The partials of one element, in order, into the register of the result."""
    e, results = code.e, partials.tiles
    element = code.colexicographic(results[0].fragment, at)
    for which, result in enumerate(results):
        register = e.index(code.register(result, at))
        e.insert(cuda.SharedLoadOp(partials.address(which, element, 0), result.array, register))
    with e.loop(1, partials.count, unroll=True, hint="w") as w:
        values = [e.value(cuda.GetOp(array, e.index(0))) for array in partials.read(element, w)]
        _combine_into(code, op, results, at, values)
