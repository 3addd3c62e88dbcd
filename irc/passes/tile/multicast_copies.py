"""multicast-copies: blocks of a cluster that need the same box bring a part of it each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerAttr, i64
from xdsl.ir import Operation, SSAValue

from irc.analysis.invariants import LAYOUT_FREE, TILED
from irc.analysis.programs import ProgramPass
from irc.dialects import tile
from irc.dialects.tile import shape_of
from irc.ir.properties import constant_of


@dataclass(frozen=True)
class MulticastCopiesPass(ProgramPass):
    """A copy by TMA in a tile loop over clusters that does not depend on the tile's row, or column, while the cluster
    has several -> `multicast` along that dimension: a box crosses from the L2 cache to the SMs once a cluster. Other
    copies are left alone.
    """

    name: ClassVar[str] = "multicast-copies"
    requires = (TILED, LAYOUT_FREE)

    def run(self, program: tile.ProgramOp) -> None:
        for loop in [o for o in program.walk() if isinstance(o, tile.ForTilesOp) and o.cluster is not None]:
            dependent = [_dependents(loop, dim) for dim in (-2, -1)]
            for copy in [o for o in loop.walk() if isinstance(o, tile.CopyOp)]:
                if copy.is_by_tma:
                    _share(copy, loop, dependent)


def _share(copy: tile.CopyOp, loop: tile.ForTilesOp, dependent: list[set[SSAValue]]) -> None:
    if 1 in shape_of(copy.buffer.type):
        return
    for dim, (blocks, values) in enumerate(zip(loop.cluster_shape, dependent, strict=True)):
        if blocks > 1 and not any(v in values for v in (*copy.offsets, *copy.symbols)):
            copy.multicast = IntegerAttr(dim, i64)
            return


def _dependents(loop: tile.ForTilesOp, dim: int) -> set[SSAValue]:
    """The values of the loop that may differ between blocks of a cluster along a dimension."""
    together = loop.cluster_shape[dim] * loop.step_values[dim]
    found = {loop.offsets[dim]}
    for op in loop.walk():
        if op is not loop and any(v in found for v in op.operands) and not _is_shared(op, loop.offsets[dim], together):
            found.update(op.results, *(block.args for region in op.regions for block in region.blocks))
    return found


def _is_shared(op: Operation, offset: SSAValue, together: int) -> bool:
    """Whether the op computes from an offset which cluster it lies in."""
    if not isinstance(op, arith.DivUIOp) or op.lhs is not offset:
        return False
    by = constant_of(op.rhs)
    return by is not None and by % together == 0
