"""Loops and branches with tiles: what they carry and give is memory."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import scf
from xdsl.dialects.builtin import IndexType, TensorType
from xdsl.ir import Block, Region, SSAValue

from irc.dialects import tile
from irc.looping.accesses import ViewAccess
from irc.looping.emitter import INDEX, Emitter
from irc.looping.forms import Form, constant
from irc.looping.lowering import Lowering
from irc.looping.unsupported import Unsupported
from irc.looping.values import Buffer, Value, fill, whole


def for_rule(on: Lowering, op: scf.ForOp) -> None:
    """A loop; the tiles that it carries are memory that each iteration writes anew."""
    emitter, block = on.emitter, op.body.block
    tiles = [at for at, value in enumerate(op.iter_args) if isinstance(value.type, TensorType)]
    scalars = [at for at in range(len(op.iter_args)) if at not in tiles]
    bounds = on.form(op.lb), on.form(op.ub), on.form(op.step)
    if not bounds[2].is_constant:
        raise Unsupported("a loop with steps of run-time size")
    buffers = {at: _carried(on, op, at) for at in tiles}
    inner = Block(arg_types=[INDEX, *(block.args[1 + at].type for at in scalars)])
    emitter.ranged(inner.args[0], bounds[0], bounds[1], bounds[2].constant)
    initial = [on.scalar(op.iter_args[at]) for at in scalars]
    low, high, step = map(emitter.value, bounds)
    loop = scf.ForOp(low, high, step, initial, Region(inner))
    emitter.add(loop)
    with emitter.inside(inner):
        on.values[block.args[0]] = Form.of(inner.args[0])
        for at, argument in zip(scalars, inner.args[1:], strict=True):
            on.values[block.args[1 + at]] = _scalar_value(argument)
        for at, buffer in buffers.items():
            on.values[block.args[1 + at]] = buffer
        last = block.last_op
        assert isinstance(last, scf.YieldOp)
        for inside in block.ops:
            if inside is not last:
                on.lower(inside)
        yielded = [on.scalar(last.operands[at]) for at in scalars]
        _written_back(on, block, buffers, {at: on.value(last.operands[at]) for at in tiles})
        emitter.add(scf.YieldOp(*yielded))
    for at, result in zip(scalars, loop.results, strict=True):
        on.values[op.results[at]] = _scalar_value(result)
    for at, buffer in buffers.items():
        buffer.version += 1
        on.values[op.results[at]] = buffer


def _carried(on: Lowering, op: scf.ForOp, at: int) -> Buffer:
    initial = on.value(op.iter_args[at])
    fast = initial.fast if initial.fast is not None else _fast_of(on, op, at)
    buffer = Buffer.new(on.emitter, initial.shape, initial.element, fast)
    fill(on.emitter, buffer, initial)
    return buffer


def _fast_of(on: Lowering, op: scf.ForOp, at: int) -> int | None:
    """The axis along which the loads that a carried tile is combined with are contiguous."""
    shape = tile.shape_of(op.iter_args[at].type)
    for inside in op.body.block.ops:
        if isinstance(inside, tile.LoadOp) and tile.shape_of(inside.result.type) == shape:
            offsets = (constant(0),) * len(shape)
            access = ViewAccess(inside, on.memory[inside.view], shape, offsets, ())
            return access.fast
    return None


def _written_back(on: Lowering, block: Block, buffers: dict[int, Buffer], values: dict[int, Value]) -> None:
    """Writes what an iteration gives to what the next one reads, all of it as if at once."""
    emitter = on.emitter
    moved = {at: value for at, value in values.items() if value is not buffers[at]}
    groups: dict[tuple[tuple[int, ...], tuple[int, ...]], list[int]] = {}
    for at in moved:
        groups.setdefault((buffers[at].shape, buffers[at].strides), []).append(at)
    moves_elements = any(isinstance(op, tile.PermuteOp | tile.SliceOp | tile.ReshapeOp) for op in block.ops)
    if len(groups) > 1 or moves_elements:  # another loop, or another element, may still have to read it
        moved = {at: materialized_copy(emitter, value, buffers[at]) for at, value in moved.items()}
    for ats in groups.values():
        first = buffers[ats[0]]
        with emitter.loops(whole(first), len(first.shape)) as indices:
            elements = [moved[at].at(emitter, indices) for at in ats]
            for at, element in zip(ats, elements, strict=True):
                buffers[at].store(emitter, indices, element)
        for at in ats:
            buffers[at].version += 1


def if_rule(on: Lowering, op: scf.IfOp) -> None:
    emitter, condition = on.emitter, on.scalar(op.cond)
    if any(not isinstance(result.type, TensorType) for result in op.results):
        raise Unsupported("a branch that gives a scalar")
    buffers = [
        Buffer.new(emitter, tile.shape_of(result.type), tile.element_type_of(result.type), None)
        for result in op.results
    ]
    blocks = [Block(), Block()]
    emitter.add(scf.IfOp(condition, [], [blocks[0]], [blocks[1]]))
    for block, region in zip(blocks, op.regions, strict=True):
        with emitter.inside(block):
            if region.blocks:
                _branch(on, region.block, buffers)
            emitter.add(scf.YieldOp())
    for buffer, result in zip(buffers, op.results, strict=True):
        buffer.version += 1
        on.values[result] = buffer


def _branch(on: Lowering, block: Block, buffers: Sequence[Buffer]) -> None:
    for inside in block.ops:
        if not isinstance(inside, scf.YieldOp):
            on.lower(inside)
            continue
        for buffer, operand in zip(buffers, inside.operands, strict=True):
            fill(on.emitter, buffer, on.value(operand))


def materialized_copy(emitter: Emitter, value: Value, like: Buffer) -> Buffer:
    """Memory of its own with the value."""
    buffer = Buffer.new(emitter, value.shape, value.element, like.fast)
    fill(emitter, buffer, value)
    return buffer


def _scalar_value(value: SSAValue) -> Form | SSAValue:
    return Form.of(value) if isinstance(value.type, IndexType) else value


CONTROL_RULES = {scf.ForOp: for_rule, scf.IfOp: if_rule}
"""By op: how it is lowered."""
