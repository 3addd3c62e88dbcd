"""The body of one `tile.map`, built from nodes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from xdsl.dialects import arith
from xdsl.dialects.builtin import TensorType, i1, i64
from xdsl.ir import Block, Region, SSAValue

from irc.dialects import tile
from irc.support.diagnostics import IrcError
from irc.tiling import scalars as tile_scalar
from irc.tiling.index_maps import Dim, Div, Lin, Mod, Sym, bounds, offset, terms
from irc.tiling.nodes import Apply, Cast, Choose, Constant, Coordinate, Node
from irc.tiling.program import INDEX, Shape
from irc.tiling.scalar_body import Body, Scalar, cast

if TYPE_CHECKING:
    from irc.tiling.stage import Stage


def extents(value: SSAValue) -> Shape:
    return tile.shape_of(value.type) if isinstance(value.type, TensorType) else ()


def broadcast(shapes: Sequence[Shape]) -> Shape:
    return tuple(max(extents) for extents in zip(*shapes, strict=True))


def finish(body: Body, value: SSAValue) -> None:
    op = tile.YieldOp(value)
    op.location = body.location
    body.block.add_op(op)


class MapBuilder:
    """The body of one `tile.map`: scalars of nodes, operands as they are needed."""

    def __init__(self, stage: Stage, root: Node):
        self.stage = stage
        self.root = root
        self.block = Block()
        self.body = Body(self.block, root.location)
        self.operands: list[SSAValue] = []
        self.scalars: dict[Node, SSAValue] = {}
        self._arguments: dict[SSAValue, SSAValue] = {}
        self._lins: dict[Lin, SSAValue] = {}

    def argument(self, operand: SSAValue) -> SSAValue:
        if operand not in self._arguments:
            type = tile.element_type_of(operand.type)
            self._arguments[operand] = self.block.insert_arg(type, len(self.operands))
            self.operands.append(operand)
        return self._arguments[operand]

    def add(self, node: Node) -> None:
        self.body.location = node.location
        self.scalars[node] = self._scalar(node)

    def _scalar(self, node: Node) -> SSAValue:
        stage, body = self.stage, self.body
        if stage.is_leaf(node):
            return self.argument(stage.leaf(node))
        if node is not self.root and stage.is_apart(node):
            return self.argument(stage.tile(node))
        match node:
            case Constant():
                return body.constant(node.value, node.type)
            case Coordinate():
                wide = body(arith.IndexCastOp(self.lin(node.lin), i64))
                return cast(body, Scalar(wide, i64), node.source)
            case Cast():
                return cast(body, self._input(node.input), node.source)
            case Choose():
                return body.select(self._test(node), self.scalars[node.inside], self.scalars[node.outside])
            case Apply():
                return tile_scalar.apply(body, node.op, [self._input(n) for n in node.inputs], node.source)
            case _:
                raise IrcError("a value cannot be computed in a kernel", node.location)

    def _input(self, node: Node) -> Scalar:
        return Scalar(self.scalars[node], node.source)

    def _test(self, node: Choose) -> SSAValue:
        result: SSAValue | None = None
        for test in node.tests:
            for bound, predicate in ((test.low, "sge"), (test.high, "slt")):
                if bound is None:
                    continue
                holds = self.body.compare(predicate, self.lin(test.lin), self.body.constant(bound, INDEX))
                result = holds if result is None else self.body(arith.AndIOp(result, holds))
        return self.body.constant(1, i1) if result is None else result

    def lin(self, lin: Lin) -> SSAValue:
        """An index scalar with the expression's value."""
        lin = self.stage.program.resolve(lin)
        if lin not in self._lins:
            self._lins[lin] = self._sum(lin)
        return self._lins[lin]

    def _sum(self, lin: Lin) -> SSAValue:
        body, total = self.body, None
        for atom, factor in terms(lin):
            part = self._atom(atom)
            part = part if factor == 1 else body(arith.MuliOp(part, body.constant(factor, INDEX)))
            total = part if total is None else body(arith.AddiOp(total, part))
        if total is None:
            return body.constant(offset(lin), INDEX)
        return total if offset(lin) == 0 else body(arith.AddiOp(total, body.constant(offset(lin), INDEX)))

    def _atom(self, atom: Dim | Sym | Div | Mod) -> SSAValue:
        if isinstance(atom, Dim | Sym):
            return self.argument(self.stage.index_tile(atom))
        value, by = self._sum(atom.value), self.body.constant(atom.by, INDEX)
        if bounds(atom.value)[0] >= 0:
            return self.body(arith.DivSIOp(value, by) if isinstance(atom, Div) else arith.RemSIOp(value, by))
        quotient = self.body(arith.FloorDivSIOp(value, by))
        if isinstance(atom, Div):
            return quotient
        return self.body(arith.SubiOp(value, self.body(arith.MuliOp(quotient, by))))

    def finish(self, shape: Shape) -> tile.MapOp:
        finish(self.body, self.scalars[self.root])
        return tile.MapOp(self.operands, TensorType(self.root.type, shape), Region(self.block))
