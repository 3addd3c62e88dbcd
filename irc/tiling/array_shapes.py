"""The shapes of the tiles of a program's arrays, and how these are accessed."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType, TensorType
from xdsl.ir import Attribute, SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineExpr, AffineMap

from irc.analysis.op_classes import is_product
from irc.dialects import tile
from irc.ir.rewriting import Inserter
from irc.tiling.nodes import signless
from irc.tiling.placements import Placement, shape_of

MULTIPLE = 8
"""Of which the extents of tiles that are multiplied are, where they are no powers of two."""


class Shapes:
    """Of a program whose tiles have `rank` dimensions. Extents are powers of two, unless they are the step of a loop or
    what instructions multiply."""

    def __init__(self, program: tile.ProgramOp, rank: int):
        self._rank = rank
        self._multiplies = any(map(is_product, program.walk()))
        self._steps = {step for op in program.walk() if isinstance(op, tile.ForTilesOp) for step in op.step_values}

    def extent(self, extent: int) -> int:
        """That of a tile."""
        if extent in self._steps or (self._multiplies and extent % MULTIPLE == 0):
            return extent
        return 1 << max(extent - 1, 0).bit_length()

    def is_padded(self, extent: int) -> bool:
        """Whether a tile has more elements than the array."""
        return self.extent(extent) != extent

    def type(self, value: SSAValue, axes: Placement) -> TensorType[Attribute]:
        """The type of the tile of all elements of an array."""
        shape = [1] * self._rank
        for axis, extent in zip(axes, shape_of(value), strict=True):
            shape[axis] = self.extent(extent)
        return TensorType(signless(tile.element_type_of(value.type)), shape)

    def access(self, op: tile.LoadOp | tile.StoreOp, axes: Placement, at: Inserter) -> tuple[list[SSAValue], AffineMap]:
        """Offsets and map of an access whose tile's dimensions are `axes` of the program's."""
        rank = self._rank
        offsets: list[SSAValue | None] = [None] * rank
        for axis, offset in zip(axes, op.offsets, strict=True):
            offsets[axis] = offset
        dims: list[AffineExpr] = [AffineExpr.dimension(axis) for axis in axes]
        symbols: list[AffineExpr] = [AffineExpr.symbol(number) for number in range(op.access_map.num_symbols)]
        results = tuple(each.replace_dims_and_symbols(dims, symbols) for each in op.access_map.results)
        given = [at.value(arith.ConstantOp.from_int_and_width(0, IndexType())) if o is None else o for o in offsets]
        return given, AffineMap(rank, op.access_map.num_symbols, results)

    def ended(self, op: tile.StoreOp, axes: Placement, access: AffineMap) -> AffineMap:
        """The map of a store that puts what a tile has beyond the end of the array beyond that of the view, where that
        is further on: a store of a part of its axis."""
        results: list[AffineExpr] = []
        symbols: list[AffineExpr] = [AffineExpr.symbol(number) for number in range(access.num_symbols)]
        for number, (before, result) in enumerate(zip(op.access_map.results, access.results, strict=True)):
            dims: list[AffineExpr] = [AffineExpr.dimension(dim) for dim in range(self._rank)]
            for dim in before.used_dims():
                extent, whole = shape_of(op.tile)[dim], op.view_type.get_shape()[number]
                last = before.eval([extent - 1] * access.num_dims, [0] * access.num_symbols)
                if self.is_padded(extent) and last < whole - 1:
                    beyond = AffineExpr.dimension(axes[dim]) // extent
                    dims[axes[dim]] = AffineExpr.dimension(axes[dim]) + beyond * whole
            results.append(result.replace_dims_and_symbols(dims, symbols))
        return AffineMap(access.num_dims, access.num_symbols, tuple(results))

    def padded_dims(self, access: AffineMap, shape: Sequence[int]) -> set[int]:
        """The dimensions of a view that a tile goes beyond: those of axes that no power of two has."""
        padded = {axis for axis, extent in enumerate(shape) if self.is_padded(extent)}
        return {
            number
            for number, result in enumerate(access.results)
            if any(isinstance(each, AffineDimExpr) and each.position in padded for each in result.dfs())
        }
