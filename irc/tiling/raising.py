"""What a tile program computes as nd ops on whole arrays.

A kernel does not depend on the sizes of its tiles: with one tile of the whole extent, a tile is an array, a load is a
slice, and a loop over tiles runs once. A loop over a range is walked number by number: what it computes has an axis
more (`batched_ops.py`), or, inside of another loop, it is unrolled.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import cast

from xdsl.builder import Builder
from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IndexType, IntegerAttr, i32
from xdsl.ir import Block, Operation, SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineExpr
from xdsl.rewriter import InsertPoint

from irc.dialects import nd, tile
from irc.dialects.nd.terms import splat
from irc.ir.dtypes import element_of
from irc.ir.rewriting import Inserter, location_of
from irc.support.integers import ceil_div
from irc.tiling.batched_ops import Batched, apply
from irc.tiling.raised_accesses import RaisedAccess, index_array, loaded, refuse, stored

MAX_UNROLLED = 64
"""Iterations of a loop inside that are unrolled."""


def is_whole(program: tile.ProgramOp) -> bool:
    """Whether the tiles of a program's outermost loops cover their dimensions, or are walked one by one."""
    nests = [op for op in program.body.block.ops if isinstance(op, tile.ForTilesOp)]
    sizes = (each for op in nests for each in zip(op.step_values, op.extent_values, strict=True))
    return all(step in (1, extent) for step, extent in sizes)


def raised(program: tile.ProgramOp, operands: Sequence[SSAValue], before: Operation) -> list[SSAValue]:
    """The results of a program whose tiles are whole, by nd ops that are inserted before an op. IrcError, at the line
    of what has no meaning as such ops."""
    walk = _Raising(program, operands, before)
    walk.block(program.body.block)
    return walk.results()


@dataclass
class _Raising:
    program: tile.ProgramOp
    operands: Sequence[SSAValue]
    before: Operation
    arrays: dict[SSAValue, SSAValue | None] = field(default_factory=dict[SSAValue, "SSAValue | None"])
    """What the arrays of the program are so far, by view."""
    indices: dict[SSAValue, AffineExpr] = field(default_factory=dict[SSAValue, AffineExpr])
    """Positions, as expressions of the numbers of loops."""
    tiles: dict[SSAValue, Batched] = field(default_factory=dict[SSAValue, Batched])
    counts: dict[int, int] = field(default_factory=dict[int, int])
    """How many numbers each loop that is walked one by one has."""

    def __post_init__(self) -> None:
        self.arrays.update(zip(self.program.inputs, self.operands, strict=True))
        self.arrays.update(dict.fromkeys(self.program.outputs))
        args = self.program.body.block.args
        self.arrays.update({args[result]: self.arrays[args[operand]] for operand, result in self.program.updated})

    def results(self) -> list[SSAValue]:
        found = [self.arrays[view] for view in self.program.outputs]
        if any(each is None for each in found):
            raise refuse(self.program, "an array that nothing is stored to")
        return [each for each in found if each is not None]

    def block(self, block: Block) -> None:
        for op in block.ops:
            self._visit(op, Inserter(Builder(InsertPoint.before(self.before)), location_of(op)))

    def _visit(self, op: Operation, at: Inserter) -> None:
        match op:
            case tile.ForTilesOp():
                self._nest(op)
            case scf.ForOp():
                self._loop(op)
            case scf.YieldOp():
                pass
            case arith.ConstantOp() if isinstance(op.result.type, IndexType):
                self.indices[op.result] = AffineExpr.constant(cast("IntegerAttr[IndexType]", op.value).value.data)
            case arith.AddiOp() | arith.MuliOp() | arith.DivSIOp() | arith.RemSIOp() | arith.MinSIOp():
                self.indices[op.result] = self._computed(op)
            case arith.IndexCastOp():
                self.indices[op.result] = self._index(op.input)
            case tile.SplatOp():
                expr = self._index(op.value)
                loops = sorted(expr.used_dims())
                shape = [*(self.counts[loop] for loop in loops), *tile.shape_of(op.result.type)]
                numbers = index_array(expr, loops, self.counts, at)
                self.tiles[op.result] = Batched(
                    at.value(nd.BroadcastOp(numbers, shape, range(len(loops)))), tuple(loops)
                )
            case tile.IotaOp():
                self._positions(op, at)
            case tile.MapOp() if [type(each) for each in op.body.block.ops] == [arith.IndexCastOp, tile.YieldOp]:
                self.tiles[op.result] = self.tiles[op.inputs[0]]
            case tile.LoadIndexOp():
                access = RaisedAccess.of_place(op, [self._index(each) for each in op.at], self.counts)
                self.tiles[op.result] = loaded(access, self._array(op.view), at)
            case tile.LoadOp() if op.other is None:
                access = self._access(op, tile.shape_of(op.result.type))
                self.tiles[op.result] = loaded(access, self._array(op.view), at)
            case tile.StoreOp() if op.add is None and op.end is None:
                access = self._access(op, tile.shape_of(op.tile.type))
                shape = op.view_type.get_shape()
                self.arrays[op.view] = stored(access, self._tile(op.tile), self.arrays[op.view], shape, at)
            case tile.StoreOp() if op.end is None:
                self._added(op, at)
            case nd.NdOp():
                results = apply(op, [self._tile(each) for each in op.operands], at)
                self.tiles.update(zip(op.results, results, strict=True))
            case _:
                raise refuse(op, op.name)

    def _added(self, op: tile.StoreOp, at: Inserter) -> None:
        """What is added to an array: whole tiles are added once, each at its place."""
        access = self._access(op, tile.shape_of(op.tile.type))
        used = {loop for expr in access.exprs for loop in expr.used_dims()}
        if not used.issuperset(self.counts):
            raise refuse(op, "a sum of the tiles of several iterations")
        before, made = self.arrays[op.view], stored(access, self._tile(op.tile), None, op.view_type.get_shape(), at)
        self.arrays[op.view] = made if before is None else at.value(nd.AddOp(before, made))

    def _access(self, op: tile.LoadOp | tile.StoreOp, shape: tuple[int, ...]) -> RaisedAccess:
        return RaisedAccess.of_tile(op, shape, self._index, self.tiles, self.counts)

    def _array(self, view: SSAValue) -> SSAValue:
        found = self.arrays[view]
        assert found is not None
        return found

    def _tile(self, value: SSAValue) -> Batched:
        return self.tiles[value]

    # Positions

    def _index(self, value: SSAValue) -> AffineExpr:
        return self.indices[value]

    def _computed(self, op: Operation) -> AffineExpr:
        lhs, rhs = (self._index(each) for each in op.operands)
        numbers = [each.value for each in (lhs, rhs) if isinstance(each, AffineConstantExpr)]
        match op:
            case arith.MinSIOp() if len(numbers) == 2:
                return AffineExpr.constant(min(numbers))
            case arith.MinSIOp():
                raise refuse(op, "the end of a tile that depends on the number of a loop")
            case arith.AddiOp():
                found = lhs + rhs
            case arith.MuliOp():
                found = lhs * rhs
            case arith.DivSIOp():
                found = lhs // rhs
            case _:
                found = lhs % rhs
        return AffineExpr.constant(found.eval([], [])) if len(numbers) == 2 else found

    def _positions(self, op: tile.IotaOp, at: Inserter) -> None:
        shape, start = tile.shape_of(op.result.type), self._index(op.offset)
        if not isinstance(start, AffineConstantExpr):
            raise refuse(op, "the positions of a tile that depend on the number of a loop")
        numbers = at.value(nd.IotaOp(nd.tensor(shape, i32), op.axis_value))
        if start.value:
            numbers = at.value(nd.AddOp(numbers, splat(at, start.value, shape, element_of(i32)).value))
        self.tiles[op.result] = Batched(numbers)

    # Loops

    def _nest(self, op: tile.ForTilesOp) -> None:
        for offset, count, extent in zip(op.offsets, op.tile_counts, op.extent_values, strict=True):
            if count == 1:
                self.indices[offset] = AffineExpr.constant(0)
                continue
            if count != extent:
                raise refuse(op, "a loop over tiles that are not whole")
            loop = len(self.counts)
            self.counts[loop] = count
            self.indices[offset] = AffineExpr.dimension(loop)
        self.block(op.body.block)
        self.counts.clear()

    def _loop(self, op: scf.ForOp) -> None:
        bounds: list[int] = []
        for value in (op.lb, op.ub, op.step):
            if isinstance(value.owner, tile.LoadIndexOp):
                raise refuse(value.owner, "a loop that ends where data says")
            expr = self._index(value)
            if not isinstance(expr, AffineConstantExpr):
                raise refuse(op, "a loop whose bounds depend on the number of another one")
            bounds.append(expr.value)
        low, high, step = bounds
        if (trips := ceil_div(max(high - low, 0), step)) > MAX_UNROLLED:
            raise refuse(op, f"a loop of {trips} iterations that is walked one by one, more than {MAX_UNROLLED},")
        carried = [self._tile(each) for each in op.iter_args]
        index, *arguments = op.body.block.args
        last = op.body.block.last_op
        assert last is not None
        for number in range(low, high, step):
            self.indices[index] = AffineExpr.constant(number)
            self.tiles.update(zip(arguments, carried, strict=True))
            self.block(op.body.block)
            carried = [self._tile(each) for each in last.operands]
        self.tiles.update(zip(op.results, carried, strict=True))
