"""Products that contract the rows of a cascade: each tile of rows adds its part to the sum, step by step.

What a step's columns give of one is a product of its own, of the left operand as columns x rows and the right operand's
rows of the tile, which a block holds. Other blocks add to the same sums.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import TensorType
from xdsl.ir import SSAValue

from irc.dialects import tile
from irc.dialects.tile import element_type_of, shape_of
from irc.layout.instructions import WGMMA_ROWS
from irc.tiling.groups import Result
from irc.tiling.index_maps import DomainDim
from irc.tiling.nodes import Dot, Node
from irc.tiling.products import dot_of, dot_operand
from irc.tiling.program import Axis, ProgramTiling
from irc.tiling.reductions import ReduceStage


@dataclass
class SumAcross:
    """A product that contracts the rows, with the dimension of its columns, and where it is stored. groups: the warp
    groups that multiply. stage: the rows of a tile, outside of the loop."""

    program: ProgramTiling
    dot: Dot
    columns: DomainDim
    result: Result
    groups: int
    stage: ReduceStage

    @property
    def weights(self) -> Node:
        """The left operand: 0 beyond the last row."""
        return self._inside(self.dot.lhs)

    def multiply(self, inner: ReduceStage) -> None:
        """The product of a step. Its rows are the step's columns, or, where warp groups cannot share these, those of
        the right operand."""
        stage, dot, (rows, step) = self.stage, self.dot, inner.axes
        whole = Axis(self.columns, stage.index(0), self.columns.extent)
        held = ReduceStage(self.program, stage.block, [rows, whole], stage.scalars)
        self._out = ReduceStage(self.program, inner.block, [step, whole], inner.scalars)
        weights, operand = inner.tile(self.weights, inner.shape), held.tile(self._inside(dot.rhs), held.shape)
        unit = WGMMA_ROWS * self.groups
        is_swapped = step.extent % unit != 0 and self.columns.extent % unit == 0
        shape = self._out.shape[::-1] if is_swapped else self._out.shape
        lhs, rhs = (operand, weights) if is_swapped else (weights, operand)
        zero = stage.splat(0, dot.type, shape, dot.location)
        value = inner.insert(dot_of(dot, self._turned(inner, lhs), rhs, zero), dot.location)
        self._out.computed[dot] = self._turned(inner, value) if is_swapped else value

    def add(self) -> None:
        """Adds the product of the step to what is stored."""
        argument = self.program.result_argument(self.result.index)
        self._out.store(argument, self.result.at, self.dot, add=True)

    def _inside(self, node: Node) -> Node:
        rows, _ = self.stage.axes
        assert rows.dim is not None
        return dot_operand(self.program, node, rows.dim, rows.extent, None)

    def _turned(self, inner: ReduceStage, value: SSAValue) -> SSAValue:
        type = TensorType(element_type_of(value.type), shape_of(value.type)[::-1])
        return inner.insert(tile.PermuteOp(value, (1, 0), type), self.dot.location)
