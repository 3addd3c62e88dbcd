"""slice-dots: a dot whose left operand is computed in registers becomes dots over parts of K."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType, IntegerAttr, ModuleOp, TensorType
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from irc.dialects import tile
from irc.dialects.tile import element_type_of, shape_of
from irc.dtypes import element_of
from irc.layout.instructions import wgmma_depth
from irc.passes.tile.configs import config_of
from irc.passes.tile.dead import erase_dead


@dataclass(frozen=True)
class SliceDotsPass(ModulePass):
    """A wgmma dot with a left operand in registers -> one dot for each instruction along K, with its own reads and
    maps: a part is computed while the products of the parts before it are in flight. Dots on buffers are left alone.
    """

    name: ClassVar[str] = "slice-dots"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for program in op.body.block.ops:
            if isinstance(program, tile.ProgramOp) and config_of(program).instruction == "wgmma":
                for dot in [o for o in program.walk() if isinstance(o, tile.DotOp)]:
                    if isinstance(dot.lhs.type, TensorType) and isinstance(dot.rhs.type, tile.BufferType):
                        _slice(dot)
                erase_dead(program)


def _slice(dot: tile.DotOp) -> None:
    (_, columns), element = shape_of(dot.rhs.type), element_type_of(dot.rhs.type)
    step, depth = wgmma_depth(element_of(element).size), shape_of(dot.lhs.type)[1]
    acc = dot.acc
    for start in range(0, depth, step):
        lhs = _Part(dot, start, step).of(dot.lhs)
        part = tile.SubviewOp(dot.rhs, (start, 0), tile.BufferType.of((step, columns), element))
        part.location = dot.location
        each = tile.DotOp(lhs, part.result, acc, location=dot.location)
        Rewriter.insert_op([part, each], InsertPoint.before(dot))
        acc = each.result
    Rewriter.replace_op(dot, [], [acc])


class _Part:
    """The columns of tiles from `start` on, made before a dot."""

    def __init__(self, dot: tile.DotOp, start: int, step: int):
        self._dot = dot
        self._start = start
        self._step = step
        self._made: dict[SSAValue, SSAValue] = {}

    def of(self, value: SSAValue) -> SSAValue:
        """The part of a tile that reads, loads and maps make; a column as it is."""
        if not isinstance(value.type, TensorType) or shape_of(value.type)[1] == 1:
            return value
        if value not in self._made:
            self._made[value] = self._build(value)
        return self._made[value]

    def _build(self, value: SSAValue) -> SSAValue:
        op = value.owner
        assert isinstance(op, Operation)
        rows, element = shape_of(value.type)[0], element_type_of(value.type)
        clone = op.clone({v: self.of(v) for v in op.operands if isinstance(v.type, TensorType)})
        match clone:
            case tile.ReadOp():
                shape = shape_of(clone.buffer.type)[0], self._step
                part = tile.SubviewOp(clone.buffer, (0, self._start), tile.BufferType.of(shape, element))
                part.location = op.location
                Rewriter.insert_op(part, InsertPoint.before(self._dot))
                clone.operands[0] = part.result
            case tile.LoadOp():
                clone.operands[list(clone.operands).index(clone.view) + 2] = self._moved(clone.offsets[1])
            case tile.IotaOp():
                clone.operands[0] = self._moved(clone.offset)
            case _:
                pass
        Rewriter.insert_op(clone, InsertPoint.before(self._dot))
        made = Rewriter.replace_value_with_new_type(clone.results[0], TensorType(element, (rows, self._step)))
        made.name_hint = value.name_hint
        return made

    def _moved(self, offset: SSAValue) -> SSAValue:
        by = arith.ConstantOp(IntegerAttr(self._start, IndexType()))
        moved = arith.AddiOp(offset, by.result)
        for op in (by, moved):
            op.location = self._dot.location
        Rewriter.insert_op([by, moved], InsertPoint.before(self._dot))
        return moved.result
