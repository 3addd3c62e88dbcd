"""stage-scales: vectors and numbers that each step's product is scaled by come in the stage of its operands."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xdsl.dialects import arith, scf
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap, AffineSymExpr
from xdsl.rewriter import Rewriter

from irc.analysis.budgets import VECTOR_BYTES, block_memory, channel_bytes, shared_left
from irc.analysis.configs import config_of
from irc.analysis.invariants import LAYOUT_FREE, TILED
from irc.analysis.matrix_instructions import has_producer, instruction_of
from irc.analysis.programs import ProgramPass
from irc.analysis.tma import has_tensor_map, is_vector_load
from irc.dialects import tile
from irc.dialects.tile import element_type_of, shape_of
from irc.ir.dtypes import element_of
from irc.ir.rewriting import Inserter
from irc.ir.targets import TENSOR_MAP_ALIGNMENT, target_of
from irc.scheduling.dependences import needed_by
from irc.scheduling.schedules import is_begun_anew
from irc.scheduling.shared_memory import expected_bytes
from irc.scheduling.streamed_operands import copied


@dataclass(frozen=True)
class StageScalesPass(ProgramPass):
    """A loop of one wgmma dot that begins anew in each step, and whose result is added to what the loop carries: the
    vectors and single numbers that the step loads beside it, as the scales of a block of K -> copies by TMA to buffers
    that are read at once. `make-channels` makes them part of the stage of the operands: they arrive with these, and
    nobody waits for global memory.

    A vector is a box of its array. A number comes with its neighbors in the same 16 bytes. Left alone are loads of
    whole tiles, operands that threads write to buffers, as a single row, loads that TMA cannot make, and programs whose
    stages leave no room.
    """

    name: ClassVar[str] = "stage-scales"
    requires = (TILED, LAYOUT_FREE)

    def run(self, program: tile.ProgramOp) -> None:
        instruction = instruction_of(program)
        if instruction is None or not has_producer(program) or instruction.sums != "registers":
            return
        if not target_of(program).has_tma:
            return
        for loop in [op for op in program.walk() if isinstance(op, scf.ForOp)]:
            dots = [op for op in loop.body.block.ops if isinstance(op, tile.DotOp)]
            if len(dots) == 1 and is_begun_anew(dots[0]):
                _stage(program, loop, dots[0])


def _stage(program: tile.ProgramOp, loop: scf.ForOp, dot: tile.DotOp) -> None:
    block = loop.body.block
    operands = needed_by([dot, *(op for op in block.ops if isinstance(op, tile.WriteOp))], block)
    loads = [op for op in block.ops if isinstance(op, tile.LoadOp) and op.other is None and op not in operands]
    vectors = [op for op in loads if is_vector_load(op)]
    numbers = {op: place for op in loads if (place := _place_of_number(op)) is not None}
    config = config_of(program)
    stages = channel_bytes([VECTOR_BYTES] * (len(vectors) + len(numbers)), config.stages or 1)
    if not loads or stages > shared_left(block_memory(target_of(program), config.occupancy), expected_bytes(program)):
        return
    for load in vectors:
        copied(load, loop)
    for load, place in numbers.items():
        _copy_number(load, place, loop)


def _place_of_number(load: tile.LoadOp) -> SSAValue | None:
    """Of a load of one element, at a place that scalars say, its place in the dimension of the view that is contiguous,
    if TMA can bring 16 bytes with it; None of other loads."""
    if shape_of(load.result.type) != (1, 1) or not has_tensor_map(load):
        return None
    *_, inner = results = load.access_map.results
    if any(expr.used_dims() for expr in results) or not isinstance(inner, AffineSymExpr):
        return None
    return load.symbols[inner.position]


def _copy_number(load: tile.LoadOp, place: SSAValue, loop: scf.ForOp) -> None:
    """A copy of the 16 bytes that an element is in, and a read of it."""
    element = element_type_of(load.result.type)
    count = TENSOR_MAP_ALIGNMENT // element_of(element).size
    at = Inserter.before(load)
    zero, (*outer, inner) = at.index(0), load.access_map.results
    map = AffineMap(2, len(load.symbols), (*outer, inner // count * count + AffineExpr.dimension(1)))
    whole, one = (tile.BufferType.of((1, extent), element) for extent in (count, 1))
    alloc = Inserter.before(loop)(tile.AllocOp(whole))
    ends = load.view_type.get_shape()[-1] % count != 0
    checked = {*load.checked_dims, *([len(outer)] if ends else [])}
    offsets, symbols = [zero, zero], load.symbols
    at(tile.CopyOp.of(load.view, offsets, alloc.buffer, symbols=symbols, map=map, checked=sorted(checked), via="tma"))
    part = at.value(tile.SubviewOp(alloc.buffer, (0, 0), one, [zero, at.value(arith.RemUIOp(place, at.index(count)))]))
    read = at(tile.ReadOp(part, load.result.type))
    alloc.buffer.name_hint = read.result.name_hint = load.result.name_hint
    Rewriter.replace_op(load, [], [read.result])
