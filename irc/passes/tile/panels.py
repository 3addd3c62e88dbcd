"""Building an epilogue over panels of columns: each op on a narrower tile, at an offset, in an unrolled loop."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import inf

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import AnyFloat, FloatAttr, IndexType, IntegerAttr, IntegerType, TensorType, UnitAttr
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from irc.dialects import tile
from irc.dialects.tile import element_type_of, shape_of
from irc.dtypes import element_of
from irc.passes.tile.loops import with_carried


@dataclass
class Panels:
    """The loop being built: `columns` cut into panels of `width`, `column` the offset of the panel."""

    columns: int
    width: int
    column: SSAValue
    mapping: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])

    def narrow_type(self, type: Attribute) -> TensorType[Attribute]:
        rows, extent = shape_of(type)
        return TensorType(element_type_of(type), [rows, self.width if extent == self.columns else extent])

    def narrow(self, op: Operation) -> list[Operation]:
        """The op on one panel, after what it needs."""
        if isinstance(op, tile.SliceOp):
            return self._slice(op.source, op.at_values, op.result, op)
        before: list[Operation] = []
        for value in op.operands:
            if isinstance(value.type, TensorType) and value not in self.mapping:
                if shape_of(value.type)[1] == self.columns:
                    before += self._slice(value, (0, 0), value, op)
                else:
                    before += self._whole(value, op)
        clone = op.clone(self.mapping)
        for old, new in zip(op.results, clone.results, strict=True):
            self.mapping[old] = Rewriter.replace_value_with_new_type(new, self.narrow_type(new.type))
        at = self._column_operand(op)
        if at is not None:
            shifted = arith.AddiOp(clone.operands[at], self.column)
            clone.operands[at] = shifted.result
            before.append(shifted)
        return _located([*before, clone], op)

    def _slice(self, source: SSAValue, at: Sequence[int], of: SSAValue, op: Operation) -> list[Operation]:
        zero = arith.ConstantOp(IntegerAttr(0, IndexType()))
        part = tile.SliceOp(source, at, self.narrow_type(of.type), [zero.result, self.column])
        self.mapping[of] = part.result
        return _located([zero, part], op)

    def _whole(self, value: SSAValue, op: Operation) -> list[Operation]:
        """All of a tile from before the loop: as a slice, so that it lies as the panel's tiles do."""
        part = tile.SliceOp(value, (0, 0), value.type)
        self.mapping[value] = part.result
        return _located([part], op)

    def _column_operand(self, op: Operation) -> int | None:
        """Which operand of the op is an offset along columns."""
        if isinstance(op, tile.IotaOp):
            return 0 if op.axis_value == 1 else None
        if not isinstance(op, tile.LoadOp | tile.StoreOp):
            return None
        accessed = op.result if isinstance(op, tile.LoadOp) else op.tile
        if shape_of(accessed.type)[1] != self.columns:
            return None
        first = 1 + (1 if isinstance(op, tile.StoreOp) or op.other is not None else 0)
        return first + 1


def _located(ops: list[Operation], like: Operation) -> list[Operation]:
    for op in ops:
        op.location = like.location
    return ops


def neutral_of(op: tile.ReduceOp) -> FloatAttr | IntegerAttr | None:
    """The value that leaves the combiner's other operand as it is, where it is one known operation on one tile."""
    ops = list(op.body.block.ops)
    if len(ops) != 2 or len(op.inputs) != 1:
        return None
    element = element_type_of(op.inputs[0].type)
    if isinstance(element, IntegerType):
        return _neutral_integer(ops[0], element)
    if isinstance(element, AnyFloat):
        return _neutral_float(ops[0], element)
    return None


def _neutral_float(combiner: Operation, element: AnyFloat) -> FloatAttr | None:
    match combiner:
        case arith.AddfOp():
            return FloatAttr(0.0, element)
        case arith.MulfOp():
            return FloatAttr(1.0, element)
        case arith.MaximumfOp():
            return FloatAttr(-inf, element)
        case arith.MinimumfOp():
            return FloatAttr(inf, element)
        case _:
            return None


def _neutral_integer(combiner: Operation, element: IntegerType) -> IntegerAttr | None:
    least, greatest = element_of(element).limits()
    match combiner:
        case arith.AddiOp() | arith.OrIOp():
            return IntegerAttr(0, element)
        case arith.MuliOp():
            return IntegerAttr(1, element)
        case arith.MaxSIOp():
            return IntegerAttr(int(least), element)
        case arith.MinSIOp():
            return IntegerAttr(int(greatest), element)
        case _:
            return None


def build(epilogue: Sequence[Operation], carried: Sequence[tile.ReduceOp], columns: int, width: int) -> scf.ForOp:
    """Puts the loop before the epilogue's ops and erases them. `carried` are reductions over columns among them: a
    panel's part is combined into a value that the loop carries."""
    anchor = epilogue[0]
    bounds = [arith.ConstantOp(IntegerAttr(n, IndexType())) for n in (0, columns, width)]
    starts = [op for reduce in carried for op in _start(reduce)]
    initial = [op.result for op in starts if isinstance(op, tile.SplatOp)]
    body = Block(arg_types=[IndexType(), *(v.type for v in initial)])
    body.args[0].name_hint = "column"
    loop = scf.ForOp(bounds[0], bounds[1], bounds[2], initial, Region(body))
    loop.attributes["unroll"] = UnitAttr()
    Rewriter.insert_op(_located([*bounds, *starts, loop], anchor), InsertPoint.before(anchor))

    panels = Panels(columns, width, body.args[0])
    yields: list[SSAValue] = []
    for op in epilogue:
        body.add_ops(panels.narrow(op))
        if op in carried:
            assert isinstance(op, tile.ReduceOp)
            before = body.args[1 + len(yields)]
            joined = _joined(op, before, panels.mapping[op.outputs[0]])
            body.add_op(joined)
            yields.append(joined.result)
    body.add_ops(_located([scf.YieldOp(*yields)], anchor))
    for reduce, result in zip(carried, loop.results, strict=True):
        reduce.outputs[0].replace_all_uses_with(result)
    for op in reversed(epilogue):
        Rewriter.erase_op(op, safe_erase=False)
    return loop


def roll(loop: scf.ForOp, columns: int, width: int) -> None:
    """Makes the loop one that is not unrolled: the tiles that it slices move on by a panel in each iteration, so that
    the panel is always the same registers."""
    slices: dict[tuple[SSAValue, int], list[tile.SliceOp]] = {}
    for op in loop.body.block.ops:
        if isinstance(op, tile.SliceOp) and loop.body.block.args[0] in op.offsets:
            slices.setdefault((op.source, op.at_values[1]), []).append(op)
    block, last = loop.body.block, loop.body.block.last_op
    assert last is not None
    starts: list[SSAValue] = []
    following: list[SSAValue] = []
    for (source, at), parts in slices.items():
        rows, element = shape_of(source.type)[0], element_type_of(source.type)
        start = tile.SliceOp(source, (0, at), TensorType(element, [rows, columns]))
        current = block.insert_arg(start.result.type, len(block.args))
        part = tile.SliceOp(current, (0, 0), TensorType(element, [rows, width]))
        rest = tile.SliceOp(current, (0, width), TensorType(element, [rows, columns - width]))
        moved = tile.ConcatOp([rest.result, part.result], 1, current.type)
        Rewriter.insert_op(_located([start], loop), InsertPoint.before(loop))
        Rewriter.insert_op(_located([part], loop), InsertPoint.at_start(block))
        Rewriter.insert_op(_located([rest, moved], loop), InsertPoint.before(last))
        for op in parts:
            Rewriter.replace_op(op, [], [part.result])
        starts.append(start.result)
        following.append(moved.result)
    yields = scf.YieldOp(*last.operands, *following)
    yields.location = last.location
    Rewriter.replace_op(last, yields)
    rolled = with_carried(loop, [*loop.iter_args, *starts])
    for old, new in zip(loop.results, rolled.results, strict=False):
        old.replace_all_uses_with(new)
    Rewriter.erase_op(loop)


def _start(reduce: tile.ReduceOp) -> tuple[arith.ConstantOp, tile.SplatOp]:
    """What a carried reduction begins as."""
    neutral = neutral_of(reduce)
    assert neutral is not None
    scalar = arith.ConstantOp(neutral)
    return scalar, tile.SplatOp(scalar.result, reduce.outputs[0].type)


def _joined(reduce: tile.ReduceOp, before: SSAValue, part: SSAValue) -> tile.MapOp:
    """The combiner on what was carried and a panel's part."""
    return tile.MapOp([before, part], part.type, reduce.body.clone(), location=reduce.location)
