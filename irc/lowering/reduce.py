"""Reductions: each thread over its registers, then the lanes of a warp, then warps.

Where results are only stored, and threads have several each, lanes halve them: each sends the half that its partner
keeps, so that 8 lanes with 8 results exchange 7 instead of 24, and every lane has one. The sums are the same, of the
same values in the same order.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.dialects import arith
from xdsl.ir import SSAValue

from irc.dialects import cuda, tile
from irc.dialects.tile import fragment_layout
from irc.layout.fragment import REPLICATED, Fragment, Mode
from irc.layout.instructions import LANES
from irc.lowering.emitter import Index
from irc.lowering.inline import inline
from irc.lowering.partials import Partials
from irc.lowering.values import Code, Registers, tile_element

ThreadMode = tuple[int, int]
"""Stride in threads and size of a part of the thread index."""


def lower_reduce(code: Code, op: tile.ReduceOp) -> None:
    axes = set(op.axis_values)
    inputs = [code.materialize(code.tile(v), tile_element(v.type)) for v in op.inputs]
    fragment = inputs[0].fragment
    kept = fragment.project(axes)
    results = [code.array(kept, tile_element(v.type), v.name_hint) for v in op.outputs]
    _reduce_registers(code, op, inputs, results, axes)
    modes = _thread_modes(fragment.threads, axes)
    if op.is_stored:
        results, modes = _halve(code, op, results, modes)
    _reduce_lanes(code, op, results, modes)
    _reduce_warps(code, op, results, modes)
    code.values.update(zip(op.outputs, results, strict=True))


def lower_fold(code: Code, op: tile.FoldOp) -> None:
    inputs = [code.materialize(code.tile(v), tile_element(v.type)) for v in op.inputs]
    folded = inputs[0].fragment.folded(op.axis_values)
    results = [code.array(folded, tile_element(v.type), v.name_hint) for v in op.outputs]
    _reduce_registers(code, op, inputs, results, set(op.axis_values))
    code.values.update(zip(op.outputs, results, strict=True))


def lower_unfold(code: Code, op: tile.UnfoldOp) -> None:
    """Copies for each of a thread's elements, which are the same register in the end."""
    fragment, axes = fragment_layout(op.result.type), op.axis_values
    source = code.materialize(code.tile(op.source), tile_element(op.source.type))
    result = code.array(fragment, tile_element(op.result.type), op.result.name_hint)
    with code.each(fragment) as at:
        kept = [each for each, mode in zip(at, fragment.values, strict=True) if mode.dim not in axes]
        code.set(result, at, code.element(source, source.fragment, kept))
    code.values[op.result] = result


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


def _thread_modes(modes: Sequence[Mode], axes: set[int]) -> list[ThreadMode]:
    """(stride in threads, size) of the parts of the thread index that walk along `axes`, cut at the warp's edge."""
    found: list[ThreadMode] = []
    stride = 1
    for mode in modes:
        if mode.dim in axes and mode.size > 1:
            inside = max(1, min(mode.size, LANES // stride))
            if inside > 1:
                found.append((stride, inside))
            if mode.size > inside:
                found.append((stride * inside, mode.size // inside))
        stride *= mode.size
    return found


def _halve(
    code: Code, op: tile.CombinerOp, results: Sequence[Registers], modes: Sequence[ThreadMode]
) -> tuple[Sequence[Registers], list[ThreadMode]]:
    """Halves the results of each lane as often as they can be halved: gives those that are left, in fragments that say
    which lane has which, and the modes along which they are still to be reduced."""
    left: list[ThreadMode] = []
    for stride, size in modes:
        done = 1
        while stride < LANES and done < size and (halved := _halved(results[0].fragment, stride * done)) is not None:
            results = _exchange_halves(code, op, results, halved, stride * done)
            done *= 2
        if done < size:
            left.append((stride * done, size // done))
    return results, left


def _halved(fragment: Fragment, stride: int) -> Fragment | None:
    """The fragment in which threads whose numbers differ by `stride` have a half each of the outermost of their values;
    None where that is one, or an odd number."""
    if not fragment.values or fragment.values[-1].size % 2:
        return None
    *values, (size, dim, step) = fragment.values
    threads, before = [], 1
    for mode in fragment.threads:
        if not before <= stride < before * mode.size or not mode.is_replicated:
            threads.append(mode)
        else:
            inner, outer = stride // before, mode.size * before // (2 * stride)
            parts = Mode(inner, REPLICATED, 0), Mode(2, dim, size // 2 * step), Mode(outer, REPLICATED, 0)
            threads += [part for part in parts if part.size > 1]
        before *= mode.size
    kept = [*values, Mode(size // 2, dim, step)] if size > 2 else values
    return Fragment(fragment.shape, tuple(threads), tuple(kept))


def _exchange_halves(
    code: Code, op: tile.CombinerOp, results: Sequence[Registers], halved: Fragment, mask: int
) -> list[Registers]:
    """Each lane sends one half of its results to the other of a pair, and combines what it gets with the other half."""
    e = code.e
    kept = [code.array(halved, result.element) for result in results]
    size = results[0].fragment.values[-1].size // 2
    is_upper = e.compare("ne", e.rem(e.div(code.group.thread, mask), 2), 0)
    with code.each(halved) as at:
        inner, place = (at, 0) if size == 1 else (at[:-1], at[-1])
        values: list[SSAValue] = []
        for source, target in zip(results, kept, strict=True):
            lower, upper = (code.element(source, source.fragment, [*inner, e.add(place, first)]) for first in (0, size))
            own, sent = (e.value(arith.SelectOp(is_upper, *pair)) for pair in ((upper, lower), (lower, upper)))
            code.set(target, at, own)
            values.append(e.value(cuda.ShuffleOp("xor", sent, e.i32(mask))))
        _combine_into(code, op, kept, at, values)
    return kept


def _reduce_lanes(code: Code, op: tile.CombinerOp, results: Sequence[Registers], modes: Sequence[ThreadMode]) -> None:
    """Butterflies in a warp: afterwards every lane holds the whole."""
    masks = [stride << bit for stride, size in modes if stride < LANES for bit in range(size.bit_length() - 1)]
    if not masks:
        return
    with code.each(results[0].fragment) as at:
        for mask in masks:
            values = [
                code.e.value(cuda.ShuffleOp("xor", code.element(r, r.fragment, at), code.e.i32(mask))) for r in results
            ]
            _combine_into(code, op, results, at, values)


def _reduce_warps(code: Code, op: tile.CombinerOp, results: Sequence[Registers], modes: Sequence[ThreadMode]) -> None:
    """Between warps: partials meet in shared memory, and every thread combines them in the same order; where they are
    only stored, those that store them."""
    across = [(stride, size) for stride, size in modes if stride >= LANES]
    if not across:
        return
    e, thread = code.e, code.group.thread
    partials = Partials.of(code, results, prod(size for _, size in across))
    warp: Index = 0
    for stride, size in reversed(across):
        warp = e.add(e.mul(warp, size), e.rem(e.div(thread, stride), size))
    leaders = [e.compare("eq", e.rem(e.div(thread, stride), size), 0) for stride, size in modes if stride < LANES]
    kept = results[0].fragment
    code.access("write", partials.region)
    with e.when(e.all(leaders)), code.each(kept) as at:
        partials.write(at, warp)
    code.access("read", partials.region)
    with e.when(code.first_copy(kept) if op.is_stored else None), code.each(kept) as at:
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
