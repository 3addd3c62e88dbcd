"""slice-dots: a dot whose left operand is computed in registers becomes dots over parts of K."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, TypeAlias

from xdsl.builder import Builder
from xdsl.dialects import arith
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from irc.analysis.configs import config_of
from irc.analysis.invariants import LAYOUT_FREE, TILED
from irc.analysis.matrix_instructions import has_producer, is_in_step
from irc.analysis.programs import ProgramPass
from irc.dialects import tile
from irc.dialects.tile import element_type_of, shape_of
from irc.ir.dtypes import element_of
from irc.ir.rewriting import Inserter
from irc.layout.instructions import wgmma_depth
from irc.scheduling.channels import fills_of, root_of
from irc.scheduling.dead import erase_dead
from irc.scheduling.operand_sources import is_of_a_dot
from irc.support.integers import round_up

HALF_BYTES = 32
"""Of a row of half a step along K that an mma multiplies: 16 elements of 16 bits, 4 of f64."""


@dataclass(frozen=True)
class SliceDotsPass(ProgramPass):
    """A wgmma dot whose left operand is computed in registers from shared memory -> one dot for each instruction
    along K, with its own reads and maps: a part is computed while the products of the parts before it are in
    flight, and read before the part before it is computed. Dots of one block that read the same parts of a copy
    read them once. A dot of mma whose config asks for several stages -> two, on halves of K: what the second reads
    is on its way, and so are copies of later steps, while the first multiplies. Other dots are left alone, among
    them those whose left operand is what another dot gave.
    """

    name: ClassVar[str] = "slice-dots"
    requires = (TILED, LAYOUT_FREE)

    def run(self, program: tile.ProgramOp) -> None:
        dots = [o for o in program.walk() if isinstance(o, tile.DotOp) and isinstance(o.rhs.type, tile.BufferType)]
        if has_producer(program):
            reads: _Reads = {}
            for dot in [dot for dot in dots if isinstance(dot.lhs.type, TensorType)]:
                if not is_of_a_dot(dot.lhs):
                    _slice(dot, reads)
            erase_dead(program)
        elif is_in_step(program) and (config_of(program).stages or 1) > 1:
            for dot in [dot for dot in dots if isinstance(dot.lhs.type, tile.BufferType)]:
                _halve(dot)


_Reads: TypeAlias = dict[tuple[Block | None, SSAValue, int], SSAValue]
"""What dots of a block read of a buffer, from a column on."""


def _slice(dot: tile.DotOp, reads: _Reads) -> None:
    (_, columns), element = shape_of(dot.rhs.type), element_type_of(dot.rhs.type)
    step, depth = wgmma_depth(element_of(element).size), shape_of(dot.lhs.type)[1]
    acc = dot.acc
    parts = [_Part(dot, start, step, reads) for start in range(0, depth, step)]
    parts[0].read(dot.lhs)
    for part, following in zip(parts, [*parts[1:], None], strict=True):
        if following is not None:
            following.read(dot.lhs)
        lhs = part.of(dot.lhs)
        at = Inserter.before(dot)
        rhs = at.value(tile.SubviewOp(dot.rhs, (part.start, 0), tile.BufferType.of((step, columns), element)))
        acc = at.value(_part_of(dot, lhs, rhs, acc))
    Rewriter.replace_op(dot, [], [acc])


def _part_of(dot: tile.DotOp, lhs: SSAValue, rhs: SSAValue, acc: SSAValue) -> tile.DotOp:
    """A dot on parts of a dot's operands, which multiplies as it does."""
    precision = None if dot.precision is None else dot.precision.data
    return tile.DotOp(lhs, rhs, acc, precision=precision, unsigned=dot.unsigned is not None, parts=dot.parts)


def _halve(dot: tile.DotOp) -> None:
    """Two dots on halves of K, where these are whole instructions. The first is the longer one where K is no power of
    two: a half is as many panels of a buffer, whose widths divide K."""
    (rows, depth), columns = shape_of(dot.lhs.type), shape_of(dot.rhs.type)[1]
    half = round_up(depth // 2, max(1, min(depth & -depth, depth // 2)))
    lhs, rhs = element_type_of(dot.lhs.type), element_type_of(dot.rhs.type)
    parts = 1 if dot.parts is None else dot.parts.value.data
    if any(part * element_of(lhs).size % (HALF_BYTES * parts) or not part for part in (half, depth - half)):
        return
    at, acc = Inserter.before(dot), dot.acc
    for start, part in ((0, half), (half, depth - half)):
        a = at.value(tile.SubviewOp(dot.lhs, (0, start), tile.BufferType.of((rows, part), lhs)))
        b = at.value(tile.SubviewOp(dot.rhs, (start, 0), tile.BufferType.of((part, columns), rhs)))
        acc = at.value(_part_of(dot, a, b, acc))
    Rewriter.replace_op(dot, [], [acc])


def _is_copied_before(read: tile.ReadOp) -> bool:
    """Whether one copy fills the buffer that is read, before all reads of its block."""
    fills, block = fills_of(root_of(read.buffer)), read.parent
    if len(fills) != 1 or not isinstance(fills[0], tile.CopyOp) or fills[0].parent is not block or block is None:
        return False
    users = {use.operation for use in read.buffer.uses}
    return next((op for op in block.ops if op in users), None) is fills[0]


class _Part:
    """The columns of tiles from `start` on, made before a dot. `reads`: those of other dots."""

    def __init__(self, dot: tile.DotOp, start: int, step: int, reads: _Reads):
        self._dot = dot
        self.start = start
        self._step = step
        self._reads = reads
        self._made: dict[SSAValue, SSAValue] = {}

    def read(self, value: SSAValue) -> None:
        """Makes the reads of shared memory that the part of a tile is computed from."""
        if isinstance(value.owner, tile.ReadOp):
            self.of(value)
        elif isinstance(value.owner, Operation) and shape_of(value.type)[1] != 1:
            for operand in [v for v in value.owner.operands if isinstance(v.type, TensorType)]:
                self.read(operand)

    def of(self, value: SSAValue) -> SSAValue:
        """The part of a tile that reads, loads and maps make; a column as it is."""
        if not isinstance(value.type, TensorType) or shape_of(value.type)[1] == 1:
            return value
        if value not in self._made:
            self._made[value] = self._read(value.owner) if isinstance(value.owner, tile.ReadOp) else self._build(value)
        return self._made[value]

    def _read(self, op: tile.ReadOp) -> SSAValue:
        """What a dot before this one has read, where one copy filled the buffer before."""
        key = (op.parent, op.buffer, self.start)
        known = self._reads.get(key)
        if known is not None and known.type == self._type(op.result) and _is_copied_before(op):
            return known
        self._reads[key] = self._build(op.result)
        return self._reads[key]

    def _type(self, value: SSAValue) -> TensorType[Attribute]:
        return TensorType(element_type_of(value.type), (shape_of(value.type)[0], self._step))

    def _build(self, value: SSAValue) -> SSAValue:
        op = value.owner
        assert isinstance(op, Operation)
        clone = op.clone({v: self.of(v) for v in op.operands if isinstance(v.type, TensorType)})
        match clone:
            case tile.ReadOp():
                shape = shape_of(clone.buffer.type)[0], self._step
                type_ = tile.BufferType.of(shape, element_type_of(value.type))
                part = tile.SubviewOp(clone.buffer, (0, self.start), type_)
                clone.operands[0] = Inserter(Builder(InsertPoint.before(self._dot)), op.location).value(part)
            case tile.LoadOp():
                clone.operands[list(clone.operands).index(clone.view) + 2] = self._moved(clone.offsets[1])
            case tile.IotaOp():
                clone.operands[0] = self._moved(clone.offset)
            case _:
                pass
        Rewriter.insert_op(clone, InsertPoint.before(self._dot))
        made = Rewriter.replace_value_with_new_type(clone.results[0], self._type(value))
        made.name_hint = value.name_hint
        return made

    def _moved(self, offset: SSAValue) -> SSAValue:
        at = Inserter.before(self._dot)
        return at.value(arith.AddiOp(offset, at.index(self.start)))
