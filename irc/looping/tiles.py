"""Ops on tiles: loops, or what the loops of others compute of them."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation, SSAValue

from irc.dialects import tile
from irc.looping.accesses import ViewAccess
from irc.looping.dots import multiply
from irc.looping.emitter import INDEX, Emitter
from irc.looping.forms import Form, constant
from irc.looping.loads import loaded, transposed
from irc.looping.lowering import Lowering
from irc.looping.reductions import any_of, reduce
from irc.looping.scans import scan
from irc.looping.unsupported import Unsupported
from irc.looping.values import Buffer, Indices, Lazy, Value, materialized, whole

CHEAP = 4
"""Scalar ops of a map that is computed again for each of its users rather than kept."""


def load_rule(on: Lowering, op: tile.LoadOp) -> None:
    other = None if op.other is None else on.scalar(op.other)
    access = on.access(op, tile.shape_of(op.result.type))
    on.values[op.result] = transposed(on.emitter, access, _stored(on, op)) or loaded(access, other)


def _stored(on: Lowering, op: tile.LoadOp) -> list[ViewAccess]:
    """The stores beside a load of tiles of its shape."""
    assert op.parent is not None
    shape = tile.shape_of(op.result.type)
    stores = [each for each in op.parent.ops if isinstance(each, tile.StoreOp)]
    known = [each for each in stores if all(value in on.values for value in (*each.offsets, *each.symbols))]
    alike = [on.access(each, shape) for each in known if tile.shape_of(each.tile.type) == shape]
    return alike if len(known) == len(stores) else []


def load_window_rule(on: Lowering, op: tile.LoadWindowOp) -> None:
    other = None if op.other is None else on.scalar(op.other)
    for result, tap in zip(op.outputs, op.tap_values, strict=True):
        on.values[result] = loaded(on.access(op, tile.shape_of(result.type), tap), other)


def store_rule(on: Lowering, op: tile.StoreOp) -> None:
    if op.add is not None:
        raise Unsupported("stores that add")
    emitter, value = on.emitter, on.value(op.tile)
    access = on.access(op, value.shape)
    with emitter.loops(access.loops(emitter, access.order), len(value.shape)) as indices:
        coordinates = access.coordinates(emitter, indices)
        access.bound(emitter, coordinates)
        tests = access.tests(emitter, coordinates)
        if op.own_end is not None:
            dim, end = op.own_end
            place = emitter.value(access.offsets[dim] + indices[dim])
            tests.append(emitter.add(arith.CmpiOp(place, on.scalar(end), "slt")))
        with emitter.when(tests):
            emitter.stored(value.at(emitter, indices), access.memory, access.place(coordinates))


def map_rule(on: Lowering, op: tile.MapOp) -> None:
    inputs = [on.value(value) for value in op.inputs]
    shape = tile.shape_of(op.result.type)
    fastest = sorted(inputs, key=lambda value: -prod(value.shape))
    fast = next((value.fast for value in fastest if value.fast is not None), None)
    ops = list(op.body.block.ops)

    def outer(emitter: Emitter, value: SSAValue) -> SSAValue:
        """A scalar from outside of the map."""
        found: SSAValue | Form | Value = on.values[value]
        assert not isinstance(found, Value)
        return emitter.value(found) if isinstance(found, Form) else found

    def make(emitter: Emitter, indices: Indices) -> SSAValue:
        values: dict[SSAValue, SSAValue] = {
            argument: value.at(emitter, indices) for argument, value in zip(op.body.block.args, inputs, strict=True)
        }
        for inner in ops[:-1]:
            for operand in inner.operands:
                if operand not in values:
                    values[operand] = outer(emitter, operand)
            if inner.regions:
                raise Unsupported(f"{inner.name} in a map")
            copy = inner.clone(values)
            emitter.location = inner.location
            emitter.add(copy)
            values.update(zip(inner.results, copy.results, strict=True))
        yielded = ops[-1].operands[0]
        return values[yielded] if yielded in values else outer(emitter, yielded)

    value: Value = Lazy(shape, tile.element_type_of(op.result.type), fast, make)
    following = op.next_op
    if not _is_kept(op):
        on.values[op.result] = value
    elif isinstance(following, tile.ReduceOp) and list(following.inputs) == [op.result]:
        on.unwritten[following] = value
        on.values[op.result] = Buffer.new(on.emitter, shape, value.element, fast)
    else:
        on.values[op.result] = materialized(on.emitter, value)


def iota_rule(on: Lowering, op: tile.IotaOp) -> None:
    axis, offset = op.axis_value, on.form(op.offset)
    shape = tile.shape_of(op.result.type)
    on.values[op.result] = Lazy(shape, INDEX, None, lambda e, at: e.value(offset + at[axis]))


def splat_rule(on: Lowering, op: tile.SplatOp) -> None:
    scalar = on.scalar(op.value)
    on.values[op.result] = Lazy(tile.shape_of(op.result.type), scalar.type, None, lambda e, at: scalar)


def slice_rule(on: Lowering, op: tile.SliceOp) -> None:
    source = on.value(op.source)
    begin = [constant(n) for n in op.at_values]
    if op.offsets:
        begin = [form + on.form(value) for form, value in zip(begin, op.offsets, strict=True)]
    on.values[op.result] = Lazy(
        tile.shape_of(op.result.type),
        source.element,
        source.fast,
        lambda e, at: source.at(e, [a + b for a, b in zip(at, begin, strict=True)]),
    )


def permute_rule(on: Lowering, op: tile.PermuteOp) -> None:
    source, dims = on.value(op.source), op.dim_values
    fast = None if source.fast is None else dims.index(source.fast)

    def make(emitter: Emitter, indices: Indices) -> SSAValue:
        places = [constant(0)] * len(dims)
        for axis, dim in enumerate(dims):
            places[dim] = indices[axis]
        return source.at(emitter, places)

    on.values[op.result] = Lazy(tile.shape_of(op.result.type), source.element, fast, make)


def reshape_rule(on: Lowering, op: tile.ReshapeOp) -> None:
    source, shape = on.value(op.source), tile.shape_of(op.result.type)
    old = [axis for axis, n in enumerate(source.shape) if n > 1]
    new = [axis for axis, n in enumerate(shape) if n > 1]
    if [source.shape[axis] for axis in old] != [shape[axis] for axis in new]:
        raise Unsupported("a reshape of a tile that moves elements between axes")
    fast = new[old.index(source.fast)] if source.fast in old else None

    def make(emitter: Emitter, indices: Indices) -> SSAValue:
        places = [constant(0)] * len(source.shape)
        for before, after in zip(old, new, strict=True):
            places[before] = indices[after]
        return source.at(emitter, places)

    on.values[op.result] = Lazy(shape, source.element, fast, make)


def concat_rule(on: Lowering, op: tile.ConcatOp) -> None:
    emitter, shape = on.emitter, tile.shape_of(op.result.type)
    inputs = [on.value(value) for value in op.inputs]
    buffer = Buffer.new(emitter, shape, inputs[0].element, inputs[0].fast)
    at = 0
    for value in inputs:
        with emitter.loops(whole(value), len(shape)) as indices:
            places = [form + (at if axis == op.axis_value else 0) for axis, form in enumerate(indices)]
            buffer.store(emitter, places, value.at(emitter, indices))
        at += value.shape[op.axis_value]
    buffer.version += 1
    on.values[op.result] = buffer


def reduce_rule(on: Lowering, op: tile.ReduceOp) -> None:
    inputs = [on.value(value) for value in op.inputs]
    source = on.unwritten.pop(op, None)
    if source is None:
        results = reduce(on.emitter, op, inputs)
    else:
        kept = inputs[0]
        assert isinstance(kept, Buffer)
        results = reduce(on.emitter, op, [source], kept)
    on.values.update(zip(op.outputs, results, strict=True))


def scan_rule(on: Lowering, op: tile.ScanOp) -> None:
    results = scan(on.emitter, op, [on.value(value) for value in op.inputs])
    on.values.update(zip(op.outputs, results, strict=True))


def any_rule(on: Lowering, op: tile.AnyOp) -> None:
    on.values[op.result] = any_of(on.emitter, on.value(op.tile))


def dot_rule(on: Lowering, op: tile.DotOp) -> None:
    acc = on.value(op.acc)
    is_own = isinstance(acc, Buffer) and op.acc.has_one_use()
    on.values[op.result] = multiply(on.emitter, op, on.value(op.lhs), on.value(op.rhs), acc, is_own)


def _is_kept(op: tile.MapOp) -> bool:
    """Whether a map is computed once, and kept, rather than where it is needed."""
    uses = [use.operation for use in op.result.uses]
    ops = [inner for inner in op.body.block.ops if not isinstance(inner, arith.ConstantOp | tile.YieldOp)]
    is_cheap = len(ops) <= CHEAP and not any(_is_slow(inner) for inner in ops)
    if not ops or (is_cheap and prod(tile.shape_of(op.result.type)) > 1 and all(u.parent is op.parent for u in uses)):
        return False
    if len(uses) > 1 or any(user.parent is not op.parent for user in uses):
        return True
    return any(_is_larger(user, op) for user in uses)


def _is_slow(op: Operation) -> bool:
    return isinstance(op, arith.DivfOp | arith.DivSIOp | arith.RemSIOp) or (
        op.name.startswith("math.") and not isinstance(op, math.AbsFOp)
    )


def _is_larger(user: Operation, op: tile.MapOp) -> bool:
    """Whether the user reads an element of the map more than once."""
    own = prod(tile.shape_of(op.result.type))
    return any(isinstance(r.type, TensorType) and prod(tile.shape_of(r.type)) > own for r in user.results)


def load_index_rule(on: Lowering, op: tile.LoadIndexOp) -> None:
    on.values[op.result] = Form.of(
        _read_index(on, op.view, [on.form(each) for each in op.at], op.most_value, op.least_value)
    )


def find_segment_rule(on: Lowering, op: tile.FindSegmentOp) -> None:
    """A loop over the segments that stops to count in that of the tile."""
    emitter, number, rows = on.emitter, on.emitter.value(on.form(op.number)), op.rows_value

    def step(at: Form, place: Sequence[SSAValue]) -> list[SSAValue]:
        segment, first, begin = place
        end = _read_index(on, op.ends, [at], op.most_value)
        rounded = emitter.greatest([Form.of(end) - Form.of(begin) + (rows - 1), constant(0)])
        tiles = emitter.divided(rounded, rows, is_rest=False)
        behind = emitter.value(Form.of(first) + tiles)
        is_here = emitter.add(arith.CmpiOp(segment, emitter.value(at), "eq"))
        passes = emitter.add(arith.AndIOp(is_here, emitter.add(arith.CmpiOp(number, behind, "sge"))))
        beyond = (emitter.value(at + 1), behind, end)
        return [emitter.add(arith.SelectOp(passes, new, old)) for new, old in zip(beyond, place, strict=True)]

    zero = emitter.index(0)
    segment, first, begin = emitter.carried(constant(0), constant(op.count), [zero] * 3, step)
    known = emitter.least([Form.of(segment), constant(op.count - 1)])
    is_last = emitter.add(arith.CmpiOp(segment, emitter.index(op.count), "eq"))
    read = _read_index(on, op.ends, [known], op.most_value)
    end = emitter.add(arith.SelectOp(is_last, emitter.index(op.most_value), read))
    emitter.ranges |= {segment: (0, op.count), begin: (0, op.most_value), end: (0, op.most_value)}
    start = Form.of(begin) + (Form.of(number) - Form.of(first)) * rows
    on.values |= {op.segment: Form.of(segment), op.first: start, op.end: Form.of(end)}


def _read_index(on: Lowering, view: SSAValue, at: Sequence[Form], most: int, least: int = 0) -> SSAValue:
    assert isinstance(view.type, tile.ViewType)
    emitter, element = on.emitter, view.type.element_type
    place = constant(0)
    for each, stride in zip(at, view.type.get_strides(), strict=True):
        place = place + each * stride
    loaded = emitter.loaded(on.memory[view], place)
    above = emitter.add(arith.MaxSIOp(loaded, emitter.number(least, element)))
    clamped = emitter.add(arith.MinSIOp(above, emitter.number(most, element)))
    index = emitter.add(arith.IndexCastOp(clamped, INDEX))
    emitter.ranges[index] = (least, most)
    return index


TILE_RULES = {
    tile.FindSegmentOp: find_segment_rule,
    tile.LoadIndexOp: load_index_rule,
    tile.LoadOp: load_rule,
    tile.LoadWindowOp: load_window_rule,
    tile.StoreOp: store_rule,
    tile.MapOp: map_rule,
    tile.IotaOp: iota_rule,
    tile.SplatOp: splat_rule,
    tile.SliceOp: slice_rule,
    tile.PermuteOp: permute_rule,
    tile.ReshapeOp: reshape_rule,
    tile.ConcatOp: concat_rule,
    tile.ReduceOp: reduce_rule,
    tile.ScanOp: scan_rule,
    tile.AnyOp: any_rule,
    tile.DotOp: dot_rule,
}
"""By op: how it is lowered."""
