"""Integers of arrays that are one number for all of a tile, as scalars: the number of the page that a tile lies in.

A tile at coordinates of such numbers is a box, which TMA brings.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerType, i64
from xdsl.ir import SSAValue

from irc.dialects import tile
from irc.tiling import scalars as tile_scalar
from irc.tiling.index_code import IndexCode
from irc.tiling.index_maps import DomainDim, Lin, Sym, atoms, bounds
from irc.tiling.nodes import Apply, Cast, Choose, Constant, Coordinate, Load, Node
from irc.tiling.program import INDEX
from irc.tiling.scalar_body import Body, Scalar, cast

if TYPE_CHECKING:
    from irc.tiling.stage import Stage

LIMIT = 1 << 30
"""Numbers beyond it, or its negative, count as it: sums of a few fit into 32 bits, and no place is so far away."""


@dataclass
class TileNumbers:
    """The numbers of a tile of a stage, at the end of its block."""

    stage: Stage
    _values: dict[Node, SSAValue] = field(default_factory=dict[Node, SSAValue])

    def index_of(self, sym: Sym) -> SSAValue | None:
        """A gathered index, in its range; None where it may differ in the tile, or is no sum or comparison of integers
        of arrays and places."""
        node = self.stage.program.trace.gathers[sym]
        if not self._is_one(node):
            return None
        body = self._body(node)
        wide = cast(body, Scalar(self._scalar(node), node.source), i64)
        least = body(arith.MaxSIOp(wide, body.constant(0, i64)))
        most = body(arith.MinSIOp(least, body.constant(max(sym.extent - 1, 0), i64)))
        return body(arith.IndexCastOp(most, INDEX))

    def _body(self, node: Node) -> Body:
        return Body(self.stage.block, node.location)

    def _lin(self, lin: Lin) -> Lin:
        return self.stage.of_tile_lin(self.stage.program.resolve(lin))

    def _is_place(self, lin: Lin) -> bool:
        return all(isinstance(atom, DomainDim) and atom in self.stage.scalars for atom in atoms(self._lin(lin)))

    def _is_one(self, node: Node) -> bool:
        if not isinstance(node.type, IntegerType) or not all(map(self._is_one, node.operands())):
            return False
        match node:
            case Load():
                coords = self._coords(node)
                return node.type.width.data > 1 and all(map(self._is_place, coords))
            case Coordinate():
                return self._is_place(node.lin)
            case Choose():
                return all(self._holds(t.lin, t.low, t.high) or self._is_place(t.lin) for t in node.tests)
            case Constant() | Cast() | Apply():
                return True
            case _:
                return False

    def _coords(self, node: Load) -> tuple[Lin, ...]:
        domains = self.stage.program.domains
        return domains.operands[node.argument].view_coords(domains.bindings, node.at)

    def _holds(self, lin: Lin, low: int | None, high: int | None) -> bool:
        """Whether a test holds of all of a tile, also of what it has beyond the end of a dimension."""
        least, most = bounds(self.stage.program.resolve(lin), self.stage.padded())
        return (low is None or low <= least) and (high is None or most < high)

    def _scalar(self, node: Node) -> SSAValue:
        if node not in self._values:
            self._values[node] = self._made(node)
        return self._values[node]

    def _made(self, node: Node) -> SSAValue:
        inputs = [Scalar(self._scalar(each), each.source) for each in node.operands()]
        body = self._body(node)
        places = IndexCode(body, self._lin, self._place)
        match node:
            case Constant():
                return body.constant(node.value, node.type)
            case Load():
                view = self.stage.program.argument(node.argument)
                at = [places.lin(lin) for lin in self._coords(node)]
                wide = body(arith.IndexCastOp(body(tile.LoadIndexOp(view, at, LIMIT, -LIMIT)), i64))
                return cast(body, Scalar(wide, i64), node.source)
            case Coordinate():
                return cast(body, Scalar(body(arith.IndexCastOp(places.lin(node.lin), i64)), i64), node.source)
            case Cast():
                return cast(body, inputs[0], node.source)
            case Choose():
                chosen, other = (each.value for each in inputs)
                for test in [each for each in node.tests if not self._holds(each.lin, each.low, each.high)]:
                    for bound, predicate in ((test.low, "sge"), (test.high, "slt")):
                        if bound is not None:
                            holds = body.compare(predicate, places.lin(test.lin), body.constant(bound, INDEX))
                            chosen = body.select(holds, chosen, other)
                return chosen
            case Apply():
                return tile_scalar.apply(body, node.op, inputs, node.source)
            case _:
                raise AssertionError(f"{node} is not one number")

    def _place(self, atom: DomainDim | Sym) -> SSAValue:
        assert isinstance(atom, DomainDim)
        return self.stage.scalars[atom]
