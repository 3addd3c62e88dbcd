"""Vectors in which tiles of several spaces meet (`Space.neighbors`), and slices of several tiles that meet each other:
where the fragments of these do not have one projection onto them, or one slice, they are converted on their way from
one to another."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from irc.dialects import tile
from irc.dialects.tile import fragment_layout, shape_of, with_fragment
from irc.ir.rewriting import Inserter
from irc.layout.fragment import Fragment, is_same
from irc.support.diagnostics import IrcError


def convert_vectors(program: tile.ProgramOp) -> None:
    """Converts the vectors that meet tiles, or are made of tiles, of which they are no projections, and the slices that
    meet tiles of other fragments. Every tile has its fragment."""
    for op in list(program.walk()):
        match op:
            case tile.MapOp():
                _convert_operands(op, op.result, op.inputs)
            case tile.LoadOp():
                _convert_operands(op, op.result, op.symbols)
            case tile.StoreOp() if isinstance(op.tile.type, TensorType):
                _convert_operands(op, op.tile, op.symbols)
            case tile.ReduceOp():
                _convert_results(op)
            case tile.SliceOp():
                _convert_part(op)
            case _:
                pass


def _convert_operands(op: Operation, whole: SSAValue, operands: Sequence[SSAValue]) -> None:
    """Gives the operands that are broadcast to a tile projections of its fragment. What is made of a scalar is made in
    the other fragment."""
    for operand in dict.fromkeys(operands):
        if not isinstance(operand.type, TensorType):
            continue
        wanted = fragment_layout(whole.type).onto(shape_of(operand.type))
        if is_same(fragment_layout(operand.type), wanted):
            continue
        outside = with_fragment(operand.type, wanted)
        if isinstance(operand.owner, tile.SplatOp | tile.IotaOp):
            Rewriter.replace_value_with_new_type(operand, outside)
            continue
        convert = tile.ConvertOp(operand, outside, location=op.location)
        convert.result.name_hint = operand.name_hint
        Rewriter.insert_op(convert, InsertPoint.before(op))
        op.operands = [convert.result if each is operand else each for each in op.operands]


def _convert_results(op: tile.ReduceOp) -> None:
    """A reduction gives projections of what it reduces."""
    for source, result in zip(op.inputs, op.outputs, strict=True):
        made = fragment_layout(source.type).onto(shape_of(result.type))
        if not is_same(fragment_layout(result.type), made):
            _convert_result(op, result, made)


def _convert_result(op: Operation, result: SSAValue, made: Fragment) -> None:
    """An op gives a result in the fragment `made`, and behind it is converted to the one that it has."""
    convert = tile.ConvertOp(result, result.type, location=op.location)
    convert.result.name_hint = result.name_hint
    Rewriter.insert_op(convert, InsertPoint.after(op))
    result.replace_uses_with_if(convert.result, lambda use: use.operation is not convert)
    Rewriter.replace_value_with_new_type(result, with_fragment(result.type, made))


def _convert_part(op: tile.SliceOp) -> None:
    """A slice gives what its threads hold of the tile. Of a vector that is all, where it is sliced along the tile that
    it meets; of an accumulator it is what its own warps have, where slices of others meet it. Positions are counted
    from where the slice begins."""
    source = op.source.owner
    if isinstance(source, tile.IotaOp) and not _is_part(op):
        _count_from(op, source)
        return
    made = part_fragment(op, fragment_layout(op.source.type))
    if not is_same(fragment_layout(op.result.type), made):
        _convert_result(op, op.result, made)


def _is_part(op: tile.SliceOp) -> bool:
    """Whether a slice has what its threads hold of the tile."""
    made = fragment_layout(op.source.type).part(shape_of(op.result.type))
    return made is not None and is_same(fragment_layout(op.result.type), made)


def _count_from(op: tile.SliceOp, source: tile.IotaOp) -> None:
    """A slice of positions -> positions, in the fragment of the slice."""
    axis, offset = source.axis_value, source.offset
    insert = Inserter.before(op)
    parts = list(op.offsets[axis : axis + 1])
    if first := op.at_values[axis]:
        parts.append(insert.index(first))
    for part in parts:
        offset = insert.value(arith.AddiOp(offset, part))
    iota = tile.IotaOp(offset, axis, op.result.type, op.location)
    iota.result.name_hint = op.result.name_hint
    Rewriter.replace_op(op, iota)


def part_fragment(op: tile.SliceOp, source: Fragment) -> Fragment:
    """The fragment that a slice of a tile with this fragment has: each thread keeps some of its registers."""
    fragment = source.part(shape_of(op.result.type))
    if fragment is None:
        raise IrcError("a slice that moves elements between threads has no layout", op.location)
    return fragment
