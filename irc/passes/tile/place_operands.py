"""place-operands: what dots read goes to shared memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects import scf
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from irc.dialects import tile
from irc.dialects.tile import element_type_of, shape_of
from irc.passes.tile.configs import config_of
from irc.passes.tile.dead import erase_dead
from irc.passes.tile.tma import box_access
from irc.targets import target


@dataclass(frozen=True)
class PlaceOperandsPass(ModulePass):
    """Operands of dots -> shared buffers. A load that TMA can make becomes a copy, where the kernel's instruction is
    wgmma; any other operand is computed in registers and written. The parts of a concatenation fill parts of one
    buffer.
    """

    name: ClassVar[str] = "place-operands"
    arch: str = "sm_90a"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for program in op.body.block.ops:
            if isinstance(program, tile.ProgramOp):
                _place_all(program, target(self.arch).has_tma and config_of(program).instruction == "wgmma")
                erase_dead(program)


def _place_all(program: tile.ProgramOp, tma: bool) -> None:
    placed: dict[SSAValue, SSAValue] = {}
    for dot in [op for op in program.walk() if isinstance(op, tile.DotOp)]:
        for at in (0, 1):
            value = dot.operands[at]
            if value not in placed:
                placed[value] = _place(dot, value, tma)
            dot.operands[at] = placed[value]


def _place(dot: tile.DotOp, value: SSAValue, tma: bool) -> SSAValue:
    """A buffer that holds the operand when the dot runs."""
    if isinstance(value.type, tile.BufferType):
        return value
    alloc = tile.AllocOp(tile.BufferType.of(shape_of(value.type), element_type_of(value.type)))
    alloc.location = dot.location
    alloc.buffer.name_hint = value.name_hint
    loop = dot.parent_op()
    Rewriter.insert_op(alloc, InsertPoint.before(loop if isinstance(loop, scf.ForOp) else dot))
    _fill(dot, value, alloc.buffer, tma)
    return alloc.buffer


def _fill(dot: tile.DotOp, value: SSAValue, buffer: SSAValue, tma: bool) -> None:
    owner = value.owner
    if isinstance(owner, tile.ConcatOp):
        at = [0] * len(shape_of(value.type))
        for part in owner.inputs:
            shape = shape_of(part.type)
            view = tile.SubviewOp(buffer, at, tile.BufferType.of(shape, element_type_of(part.type)))
            view.location = owner.location
            Rewriter.insert_op(view, InsertPoint.before(dot))
            _fill(dot, part, view.result, tma)
            at[owner.axis_value] += shape[owner.axis_value]
        return
    fill: Operation
    if tma and isinstance(owner, tile.LoadOp) and owner.other is None and box_access(owner, shape_of(value.type)):
        fill = tile.CopyOp.of(
            owner.view,
            owner.offsets,
            buffer,
            symbols=owner.symbols,
            map=owner.access_map,
            checked=owner.checked_dims,
            via="tma",
            location=owner.location,
        )
        Rewriter.insert_op(fill, InsertPoint.before(dot))
        return
    assert isinstance(value.type, TensorType)
    fill = tile.WriteOp(value, buffer)
    fill.location = dot.location
    Rewriter.insert_op(fill, InsertPoint.before(dot))
