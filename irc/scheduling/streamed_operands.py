"""Left operands of wgmma that the threads which multiply compute in registers, from arrays that TMA brings to shared
memory.

A producer that computed them would load, compute and write a tile between two products; the threads that multiply
do so beside the products that they have in flight.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeGuard

from xdsl.dialects import scf
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from irc.analysis.accesses import access_of
from irc.analysis.im2col import channel_dim, im2col_access
from irc.analysis.tma import box_access
from irc.dialects import tile
from irc.dialects.tile import element_type_of, shape_of
from irc.ir.dtypes import element_of
from irc.layout.instructions import WGMMA_ROWS, wgmma_depth
from irc.scheduling.channels import fills_of, root_of
from irc.scheduling.loops import trips
from irc.scheduling.operand_columns import group_of, make_columns
from irc.scheduling.operand_sources import is_of_a_dot, owners_of

PAIR = 2
"""Neighbors along K that a register of a left operand of 16 bits has."""

_COMPUTED = (tile.MapOp, tile.LoadOp, tile.IotaOp, tile.SplatOp)


def is_streamed(dot: tile.DotOp) -> bool:
    """Whether the left operand is elementwise work on arrays that TMA can bring, and on vectors.

    Its elements have 16 bits: the sums of others are promoted, or the operand is split. What it is computed from is not
    computed for something else, as `separate` sees to."""
    return is_elementwise_of_arrays(dot) and not any(_others(dot, _inside(dot)))


def is_elementwise_of_arrays(dot: tile.DotOp) -> bool:
    """Whether the left operand is such work, whatever else it is computed for."""
    loop, value = dot.parent_op(), dot.lhs
    if not isinstance(loop, scf.ForOp) or not isinstance(value.owner, tile.MapOp) or not value.has_one_use():
        return False
    size = element_of(element_type_of(value.type)).size
    rows, depth = shape_of(value.type)
    if size != 2 or rows % WGMMA_ROWS or depth % wgmma_depth(size):
        return False
    owners = list(owners_of(value))
    made = [op for op in owners if isinstance(op, _COMPUTED)]
    arrays = [op for op in made if _is_array(op, value) and group_of(op) is None]
    return len(made) == len(owners) and len(arrays) > 0 and all(_is_copied(op) for op in arrays)


def _inside(dot: tile.DotOp) -> list[Operation]:
    """What the left operand is computed by in the loop, in the order of its block."""
    owners = {op for op in owners_of(dot.lhs) if isinstance(op, Operation)}
    block = dot.parent
    return [] if block is None else [op for op in block.ops if op in owners]


def _others(dot: tile.DotOp, inside: Sequence[Operation]) -> list[Operation]:
    """What uses these ops beside themselves and the dot."""
    known = {dot, *inside}
    return [use.operation for op in inside for use in op.results[0].uses if use.operation not in known]


def separate(dots: Sequence[tile.DotOp]) -> None:
    """Gives each left operand that can be streamed ops of its own, where only such operands share some: halves of bytes
    are of one load. Each then reads the bytes from the buffer to which they are copied."""
    for block in dict.fromkeys(dot.parent for dot in dots):
        among = [dot for dot in dots if dot.parent is block and is_elementwise_of_arrays(dot)]
        known = {op for dot in among for op in (dot, *_inside(dot))}
        for dot in among:
            inside = _inside(dot)
            others = _others(dot, inside)
            if others and all(op in known for op in others):
                known.update(_made_for(dot, inside))


def _made_for(dot: tile.DotOp, inside: Sequence[Operation]) -> list[Operation]:
    """The ops made once more, for this dot alone."""
    values: dict[SSAValue, SSAValue] = {}
    made: list[Operation] = []
    for op in inside:
        made.append(op.clone(values))
        Rewriter.insert_op(made[-1], InsertPoint.before(dot))
    dot.operands[0] = values[dot.lhs]
    return made


def stays_in_registers(dot: tile.DotOp) -> bool:
    """Whether the left operand is computed from what dots gave, in elements of 16 bits: the accumulator of wgmma has
    the fragment of its left operand (PTX ISA, 9.7.15.5.1), so that those who hold one can go on with it."""
    value = dot.lhs
    if not isinstance(value.type, TensorType) or not is_of_a_dot(value) or isinstance(value.owner, tile.PermuteOp):
        return False
    size = element_of(element_type_of(value.type)).size
    rows, depth = shape_of(value.type)
    return size == 2 and rows % WGMMA_ROWS == 0 and depth % wgmma_depth(size) == 0


def is_loaded_at_once(dot: tile.DotOp) -> bool:
    """Whether the threads that multiply load the left operand themselves: elements of 16 bits that TMA cannot bring,
    nor other threads in longer vectors than the pairs of a fragment, for a product of one step, whose loads are all on
    their way together."""
    loop, value = dot.parent_op(), dot.lhs
    if not isinstance(loop, scf.ForOp) or trips(loop) != 1 or not isinstance(value.type, TensorType):
        return False
    made = [op for op in owners_of(value) if isinstance(op, _COMPUTED)]
    loads = [op for op in made if isinstance(op, tile.LoadOp) and shape_of(op.result.type) == shape_of(value.type)]
    size = element_of(element_type_of(value.type)).size
    rows, depth = shape_of(value.type)
    is_whole = size == 2 and rows % WGMMA_ROWS == 0 and depth % wgmma_depth(size) == 0
    if not is_whole or len(made) != len(list(owners_of(value))) or not loads:
        return False
    return not any(map(_can_be_copied, loads)) and all(access_of(op).vector(1, depth) <= PAIR for op in loads)


def _can_be_copied(op: tile.LoadOp) -> bool:
    """Whether TMA can bring what is loaded, contiguous along either dimension."""
    shape = shape_of(op.result.type)
    return op.other is None and (box_access(op, shape) is not None or im2col_access(op, shape) is not None)


def _is_array(op: Operation, like: SSAValue) -> TypeGuard[tile.LoadOp]:
    return isinstance(op, tile.LoadOp) and shape_of(op.result.type) == shape_of(like.type)


def _brought(load: tile.LoadOp) -> SSAValue | None:
    """The buffer to which a copy before a load, of its block, brings the same for another left operand."""
    op, type_ = load.prev_op, tile.BufferType.of(shape_of(load.result.type), element_type_of(load.result.type))
    while op is not None:
        if (
            isinstance(op, tile.CopyOp)
            and (op.view, *op.offsets, *op.symbols) == (load.view, *load.offsets, *load.symbols)
            and (op.access_map, op.checked_dims) == (load.access_map, load.checked_dims)
            and op.buffer.type == type_
            and all(isinstance(use.operation, tile.CopyOp | tile.ReadOp) for use in op.buffer.uses)
        ):
            return op.buffer
        op = op.prev_op
    return None


def _is_copied(op: tile.LoadOp) -> bool:
    """Whether TMA brings what is loaded so that threads read pairs along K: matrices of elements of 8 and 16 bits are
    transposed on the way to registers, and columns have none."""
    shape = shape_of(op.result.type)
    if op.other is not None:
        return False
    box = box_access(op, shape)
    if box is None:
        return im2col_access(op, shape) is not None and channel_dim(op, len(shape)) == 1
    return box.inner == 1 or shape[1] == 1 or element_of(op.view_type.element_type).size <= 2


def reads_bytes_of_rows(dot: tile.DotOp) -> bool:
    """Whether the left operand is computed from elements of 8 bits that are contiguous along M: transposed as pairs,
    they give threads neighboring rows."""
    reads = (
        [op for op in owners_of(dot.lhs) if isinstance(op, tile.ReadOp)] if isinstance(dot.lhs.type, TensorType) else []
    )
    for fill in [fill for op in reads for fill in fills_of(root_of(op.buffer))]:
        shape, element = shape_of(fill.buffer.type), element_of(element_type_of(fill.buffer.type))
        if isinstance(fill, tile.CopyOp) and element.size == 1 and shape[1] > 1:
            box = box_access(fill, shape)
            if box is not None and box.inner == 0:
                return True
    return False


def stream(dot: tile.DotOp) -> None:
    """Puts the arrays of the left operand into buffers, from which they are read where it is computed; so the rows and
    columns that change from step to step, where TMA can bring them. Columns that something else needs too are made
    again: they are held by other threads there."""
    loop = dot.parent_op()
    assert isinstance(loop, scf.ForOp)
    made = {o for o in owners_of(dot.lhs) if isinstance(o, Operation)}
    make_columns(loop, [op for op in loop.body.block.ops if op in made])
    for op in [o for o in owners_of(dot.lhs) if isinstance(o, tile.MapOp) and o.parent is loop.body.block]:
        for at, value in enumerate(op.inputs):
            if isinstance(value.owner, Operation) and value.owner.parent is not loop.body.block:
                op.operands[at] = _made_again(value, loop)
    for load in [o for o in owners_of(dot.lhs) if isinstance(o, tile.LoadOp) and o.parent is loop.body.block]:
        if _is_copied(load):
            copied(load, loop)


def _made_again(value: SSAValue, loop: scf.ForOp) -> SSAValue:
    """A tile that the ops outside the loop make, made by ops of its own."""
    owner = value.owner
    assert isinstance(owner, Operation)
    inputs = {v: _made_again(v, loop) for v in owner.operands if isinstance(v.type, TensorType)}
    clone = owner.clone(dict(inputs))
    Rewriter.insert_op(clone, InsertPoint.before(loop))
    return clone.results[0]


def copied(load: tile.LoadOp, loop: scf.ForOp) -> None:
    """A load in a loop as a copy by TMA to a buffer, and a read of that. What a copy before it brings is read there."""
    shape = shape_of(load.result.type)
    if (buffer := _brought(load)) is not None:
        read = tile.ReadOp(buffer, load.result.type)
        read.result.name_hint, read.location = load.result.name_hint, load.location
        Rewriter.replace_op(load, [read], [read.result])
        return
    alloc = tile.AllocOp(tile.BufferType.of(shape, element_type_of(load.result.type)))
    copy = tile.CopyOp.of(
        load.view,
        load.offsets,
        alloc.buffer,
        symbols=load.symbols,
        map=load.access_map,
        checked=load.checked_dims,
        via="tma" if box_access(load, shape) is not None else im2col_access(load, shape),
    )
    read = tile.ReadOp(alloc.buffer, load.result.type)
    alloc.buffer.name_hint = read.result.name_hint = load.result.name_hint
    for op in (alloc, copy, read):
        op.location = load.location
    Rewriter.insert_op(alloc, InsertPoint.before(loop))
    Rewriter.replace_op(load, [copy, read], [read.result])
