"""Elementwise work and changes of shape: what each thread does with its own registers."""

from __future__ import annotations

from functools import reduce

from xdsl.dialects import arith
from xdsl.dialects.builtin import i1

from irc.dialects import cuda, tile
from irc.dialects.tile import fragment_layout
from irc.lowering.emitter import Index
from irc.lowering.inline import inline
from irc.lowering.packed import is_packed, is_widened, lower_packed, lower_widened
from irc.lowering.range_reduction import lower_periodic, needs_range_reduction
from irc.lowering.values import Code, Iota, Registers, Splat, tile_element


def lower_map(code: Code, op: tile.MapOp) -> None:
    fragment = fragment_layout(op.result.type)
    inputs = [code.tile(v) for v in op.inputs]
    result = code.array(fragment, tile_element(op.result.type), op.result.name_hint)
    if is_packed(op, inputs, fragment):
        lower_packed(code, op, inputs, result)
    elif is_widened(op, inputs, fragment):
        lower_widened(code, op, inputs[0], result)
    elif needs_range_reduction(op):
        lower_periodic(code, op, inputs, result)
    else:
        with code.each(fragment) as components:
            scalars = [code.element(t, fragment, components) for t in inputs]
            (value,) = inline(code, op.body, scalars)
            code.set(result, components, value)
    code.values[op.result] = result


def lower_any(code: Code, op: tile.AnyOp) -> None:
    """The vote of a warp on the elements that its threads hold."""
    e, votes = code.e, code.materialize(code.tile(op.tile), i1)
    registers = [e.value(cuda.GetOp(votes.array, e.index(at))) for at in range(votes.fragment.value_count)]
    some = reduce(lambda a, b: e.value(arith.OrIOp(a, b)), registers)
    code.values[op.result] = e.value(cuda.AnyOp(some))


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
