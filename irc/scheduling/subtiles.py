"""Building an epilogue over subtiles of columns: each op on a narrower tile, at an offset, in an unrolled loop."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import FloatAttr, IndexType, IntegerAttr, TensorType, UnitAttr
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from irc.dialects import tile
from irc.dialects.tile import element_type_of, shape_of
from irc.ir.blocks import end_of
from irc.ir.discardable import UNROLL
from irc.ir.dtypes import element_of
from irc.ir.neutral import neutral
from irc.ir.properties import scalar
from irc.scheduling.loops import with_carried


@dataclass
class Subtiles:
    """The loop being built: `columns` cut into subtiles of `width`, `column` the offset of the subtile."""

    columns: int
    width: int
    column: SSAValue
    mapping: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])

    def narrow_type(self, type: Attribute) -> TensorType[Attribute]:
        rows, extent = shape_of(type)
        return TensorType(element_type_of(type), [rows, self.width if extent == self.columns else extent])

    def narrow(self, op: Operation) -> list[Operation]:
        """The op on one subtile, after what it needs."""
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
        """All of a tile from before the loop: as a slice, so that it lies as the subtile's tiles do."""
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
        return len(op.operands) - len(op.symbols) - 1


def _located(ops: list[Operation], like: Operation) -> list[Operation]:
    for op in ops:
        op.location = like.location
    return ops


MONOIDS: dict[type[Operation], str] = {
    arith.AddfOp: "sum",
    arith.AddiOp: "sum",
    arith.MaxSIOp: "max",
    arith.MaximumfOp: "max",
    arith.MinSIOp: "min",
    arith.MinimumfOp: "min",
    arith.MulfOp: "prod",
    arith.MuliOp: "prod",
    arith.OrIOp: "any",
}


def neutral_of(op: tile.ReduceOp) -> FloatAttr | IntegerAttr | None:
    """The value that leaves the combiner's other operand as it is, where it is one known operation on one tile."""
    ops = list(op.body.block.ops)
    if len(ops) != 2 or len(op.inputs) != 1 or (monoid := MONOIDS.get(type(ops[0]))) is None:
        return None
    element = element_type_of(op.inputs[0].type)
    return scalar(neutral(monoid, element_of(element)), element)


@dataclass(frozen=True)
class Carried:
    """A reduction over columns that the loop carries: `part` columns of what is reduced, which subtiles are folded into
    and whose reduction follows the loop, so that a thread goes on with values of its own; or what subtiles reduce to,
    where that is None."""

    reduce: tile.ReduceOp
    part: int | None

    @property
    def type(self) -> TensorType[Attribute]:
        if self.part is None:
            output = self.reduce.outputs[0].type
            assert isinstance(output, TensorType)
            return output
        value = self.reduce.inputs[0].type
        return TensorType(element_type_of(value), [shape_of(value)[0], self.part])

    def start(self) -> tuple[arith.ConstantOp, tile.SplatOp]:
        """What the loop begins with."""
        start = neutral_of(self.reduce)
        assert start is not None
        constant = arith.ConstantOp(start)
        return constant, tile.SplatOp(constant.result, self.type)

    def join(self, before: SSAValue, subtile: tile.ReduceOp) -> list[Operation]:
        """The combiner on what was carried and a subtile, of which `subtile` is the reduction; the last op's result is
        carried on."""
        if self.part is None:
            return [subtile, self._combined(before, subtile.outputs[0])]
        ops: list[Operation] = []
        for at in range(0, shape_of(subtile.inputs[0].type)[1], self.part):
            part = tile.SliceOp(subtile.inputs[0], (0, at), self.type)
            joined = self._combined(before, part.result)
            before = joined.result
            ops += [part, joined]
        subtile.erase()
        return ops

    def finish(self, result: SSAValue) -> list[Operation]:
        """What follows the loop; the reduction's users take its result."""
        if self.part is None:
            self.reduce.outputs[0].replace_all_uses_with(result)
            return []
        whole = self.reduce.clone()
        whole.operands[0] = result
        self.reduce.outputs[0].replace_all_uses_with(whole.outputs[0])
        return [whole]

    def _combined(self, before: SSAValue, part: SSAValue) -> tile.MapOp:
        return tile.MapOp([before, part], self.type, self.reduce.body.clone(), location=self.reduce.location)


def build(epilogue: Sequence[Operation], carried: Sequence[Carried], columns: int, width: int) -> scf.ForOp:
    """Puts the loop before the epilogue's ops and erases them. `carried` are the reductions over columns among them."""
    anchor = epilogue[0]
    bounds = [arith.ConstantOp(IntegerAttr(n, IndexType())) for n in (0, columns, width)]
    starts = [op for each in carried for op in each.start()]
    initial = [op.result for op in starts if isinstance(op, tile.SplatOp)]
    body = Block(arg_types=[IndexType(), *(v.type for v in initial)])
    body.args[0].name_hint = "column"
    loop = scf.ForOp(bounds[0], bounds[1], bounds[2], initial, Region(body))
    loop.attributes[UNROLL] = UnitAttr()
    Rewriter.insert_op(_located([*bounds, *starts, loop], anchor), InsertPoint.before(anchor))

    subtiles = Subtiles(columns, width, body.args[0])
    joins = {each.reduce: each for each in carried}
    yields: list[SSAValue] = []
    for op in epilogue:
        *before, narrow = subtiles.narrow(op)
        body.add_ops(before)
        if isinstance(op, tile.ReduceOp) and op in joins:
            assert isinstance(narrow, tile.ReduceOp)
            body.add_ops(_located(joins[op].join(body.args[1 + len(yields)], narrow), op))
            assert body.last_op is not None
            yields.append(body.last_op.results[0])
        else:
            body.add_op(narrow)
    body.add_ops(_located([scf.YieldOp(*yields)], anchor))
    for op, result in zip(joins, loop.results, strict=True):
        Rewriter.insert_op(_located(joins[op].finish(result), op), InsertPoint.before(anchor))
    for op in reversed(epilogue):
        Rewriter.erase_op(op, safe_erase=False)
    return loop


def assemble(load: tile.LoadOp, width: int) -> None:
    """A load of a tile -> an unrolled loop that loads it by subtiles of `width` columns. It carries the tile, which
    moves on by a subtile, and is whole in the end."""
    rows, columns = shape_of(load.result.type)
    element = element_type_of(load.result.type)
    bounds = [arith.ConstantOp(IntegerAttr(n, IndexType())) for n in (0, columns, width)]
    zero = arith.ConstantOp(scalar(0, element))
    start = tile.SplatOp(zero.result, load.result.type)
    body = Block(arg_types=[IndexType(), load.result.type])
    body.args[0].name_hint = "column"
    loop = scf.ForOp(bounds[0], bounds[1], bounds[2], [start.result], Region(body))
    loop.attributes[UNROLL] = UnitAttr()
    Rewriter.insert_op(_located([*bounds, zero, start, loop], load), InsertPoint.before(load))
    subtiles = Subtiles(columns, width, body.args[0])
    body.add_ops(subtiles.narrow(load))
    rest = tile.SliceOp(body.args[1], (0, width), TensorType(element, [rows, columns - width]))
    moved = tile.ConcatOp([rest.result, subtiles.mapping[load.result]], 1, load.result.type)
    body.add_ops(_located([rest, moved, scf.YieldOp(moved.result)], load))
    Rewriter.replace_op(load, [], [loop.results[0]])


def roll(loop: scf.ForOp, columns: int, width: int, together: int) -> None:
    """Makes the loop one that is not unrolled, of several subtiles in each iteration: the tiles that it slices move on
    by those, so that the subtiles are always the same registers. What moves in behind them is not read."""
    step = together * width
    _repeat(loop, width, together)
    slices: dict[tuple[SSAValue, int], list[tile.SliceOp]] = {}
    for op in loop.body.block.ops:
        if isinstance(op, tile.SliceOp) and loop.body.block.args[0] in op.offsets:
            slices.setdefault((op.source, op.at_values[1] // columns * columns), []).append(op)
    block, last = loop.body.block, end_of(loop.body.block)
    starts: list[SSAValue] = []
    following: list[SSAValue] = []
    for (source, at), parts in slices.items():
        rows, element = shape_of(source.type)[0], element_type_of(source.type)
        start = tile.SliceOp(source, (0, at), TensorType(element, [rows, columns]))
        current = block.insert_arg(start.result.type, len(block.args))
        rest = tile.SliceOp(current, (0, step), TensorType(element, [rows, columns - step]))
        end = tile.SliceOp(current, (0, columns - step), TensorType(element, [rows, step]))
        moved = tile.ConcatOp([rest.result, end.result], 1, current.type)
        Rewriter.insert_op(_located([start], loop), InsertPoint.before(loop))
        Rewriter.insert_op(_located([rest, end, moved], loop), InsertPoint.before(last))
        for op in parts:
            subtile = tile.SliceOp(current, (0, op.at_values[1] - at), op.result.type)
            Rewriter.replace_op(op, _located([subtile], op))
        starts.append(start.result)
        following.append(moved.result)
    yields = scf.YieldOp(*last.operands, *following)
    yields.location = last.location
    Rewriter.replace_op(last, yields)
    rolled = with_carried(loop, [*loop.iter_args, *starts])
    for old, new in zip(loop.results, rolled.results, strict=False):
        old.replace_all_uses_with(new)
    Rewriter.erase_op(loop)


def _repeat(loop: scf.ForOp, width: int, times: int) -> None:
    """Puts so many subtiles into each iteration. A slice at the loop's column is one further on in each."""
    block, last = loop.body.block, end_of(loop.body.block)
    column, ops, carried = block.args[0], [op for op in block.ops if op is not last], list(last.operands)
    for at in range(width, times * width, width):
        further = arith.ConstantOp(IntegerAttr(at, IndexType()))
        moved = arith.AddiOp(column, further.result)
        Rewriter.insert_op(_located([further, moved], loop), InsertPoint.before(last))
        mapping: dict[SSAValue, SSAValue] = {column: moved.result, **dict(zip(block.args[1:], carried, strict=True))}
        for op in ops:
            if isinstance(op, tile.SliceOp) and column in op.offsets:
                rows, first = op.at_values
                part = tile.SliceOp(op.source, (rows, first + at), op.result.type, op.offsets)
                mapping[op.result] = part.result
                Rewriter.insert_op(_located([part], op), InsertPoint.before(last))
            else:
                Rewriter.insert_op(op.clone(mapping), InsertPoint.before(last))
        carried = [mapping.get(value, value) for value in last.operands]
    last.operands = carried
    bounds = arith.ConstantOp(IntegerAttr(times * width, IndexType()))
    Rewriter.insert_op(_located([bounds], loop), InsertPoint.before(loop))
    loop.operands[2] = bounds.result
