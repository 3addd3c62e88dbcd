"""The body of one `tile.map`, built from nodes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import TYPE_CHECKING

from xdsl.dialects import arith
from xdsl.dialects.builtin import TensorType, i1, i64
from xdsl.ir import Block, Region, SSAValue

from irc.dialects import tile
from irc.support.diagnostics import IrcError
from irc.tiling import scalars as tile_scalar
from irc.tiling.index_code import IndexCode
from irc.tiling.nodes import Apply, Cast, Choose, Constant, Coordinate, Joined, Node
from irc.tiling.program import INDEX, Shape
from irc.tiling.scalar_body import Body, Scalar, cast

if TYPE_CHECKING:
    from irc.tiling.stage import Stage


def extents(value: SSAValue) -> Shape:
    return tile.shape_of(value.type) if isinstance(value.type, TensorType) else ()


def broadcast(shapes: Sequence[Shape]) -> Shape:
    return tuple(max(extents) for extents in zip(*shapes, strict=True))


def finish(body: Body, *values: SSAValue) -> None:
    """Ends a body that gives these scalars."""
    op = tile.YieldOp(*values)
    op.location = body.location
    body.block.add_op(op)


Formula = Callable[[Body, Sequence[SSAValue]], SSAValue]
"""Builds the scalar that a map gives from those of its operands."""


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
        resolve, leaf = stage.program.resolve, lambda atom: self.argument(stage.index_tile(atom))
        self._places = IndexCode(self.body, resolve, leaf, self._number)

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
                wide = body(arith.IndexCastOp(self._places.lin(node.lin), i64))
                return cast(body, Scalar(wide, i64), node.source)
            case Cast():
                return cast(body, self._input(node.input), node.source)
            case Choose():
                return body.select(self._test(node), self.scalars[node.inside], self.scalars[node.outside])
            case Joined():
                first, *others = (self.scalars[n] for n in node.inputs)
                return reduce(lambda a, b: tile_scalar.combine(body, node.monoid, node.source, a, b), others, first)
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
                holds = self.body.compare(predicate, self._places.lin(test.lin), self._number(bound))
                result = holds if result is None else self.body(arith.AndIOp(result, holds))
        return self.body.constant(1, i1) if result is None else result

    def _number(self, value: int) -> SSAValue:
        """An index scalar: a constant, or what an extent is in a call."""
        if self.stage.program.domains.varies(value):
            return self.argument(self.stage.extent_tile(value))
        return self.body.constant(value, INDEX)

    def finish(self, shape: Shape) -> tile.MapOp:
        finish(self.body, self.scalars[self.root])
        return tile.MapOp(self.operands, TensorType(self.root.type, shape), Region(self.block))
