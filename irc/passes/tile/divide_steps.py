"""divide-steps: warps of a block along K, each with the products of its part of every step."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass
from typing import Any, ClassVar

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import FloatAttr, IntegerAttr, TensorType, i64
from xdsl.ir import Block, SSAValue

from irc.analysis.configs import config_of
from irc.analysis.invariants import LAYOUT_FREE, TILED
from irc.analysis.programs import ProgramPass
from irc.dialects import tile
from irc.ir.rewriting import Inserter, location_of
from irc.support.diagnostics import IrcError


@dataclass(frozen=True)
class DivideStepsPass(ProgramPass):
    """Dots of a product of warps whose config has several of these along K (`warp_grid`) -> dots of so many `parts`,
    and a `tile.sum_warps` behind the loop over K.

    Each warp multiplies a part of a step, and its sums are a part of the block's until they are added, in the order of
    the parts. That pays where a tile is small: more warps share its loads, without fewer rows and columns for each.
    Programs without such a config are left alone.
    """

    name: ClassVar[str] = "divide-steps"
    requires = (TILED, LAYOUT_FREE)

    def run(self, program: tile.ProgramOp) -> None:
        grid = config_of(program).warp_grid
        if grid is None or grid[2] == 1:
            return
        loops: dict[scf.ForOp, None] = {}
        for dot in [op for op in program.walk() if isinstance(op, tile.DotOp)]:
            loop = dot.parent_op()
            if not isinstance(loop, scf.ForOp):
                message = "warps along K add up products in a loop, found one outside"
                raise IrcError(message, location_of(dot), "leave warp_grid out")
            dot.parts = IntegerAttr(grid[2], i64)
            loops[loop] = None
        for loop in loops:
            _add_up(loop, loops, grid[2])


def _add_up(loop: scf.ForOp, loops: Container[Any], parts: int) -> None:
    """Adds the parts of what a loop sums, but where another loop goes on with them."""
    for initial, result in zip(loop.iter_args, loop.results, strict=True):
        if not isinstance(result.type, TensorType):
            continue
        if initial.owner not in loops and not _is_zero(initial):
            found = "warps along K begin with sums of 0, found others"
            raise IrcError(found, location_of(loop), "leave warp_grid out")
        users = [use for use in result.uses if not (use.operation in loops and use.operation is not loop)]
        if not users:
            continue
        at = Inserter.after(loop)
        added = at(tile.SumWarpsOp(result, parts))
        for use in users:
            use.operation.operands[use.index] = added.result
        added.result.name_hint = result.name_hint


def _is_zero(value: SSAValue) -> bool:
    splat = value.owner
    if isinstance(splat, Block) or not isinstance(splat, tile.SplatOp):
        return False
    constant = splat.value.owner
    if not isinstance(constant, arith.ConstantOp):
        return False
    number = constant.value
    return isinstance(number, FloatAttr | IntegerAttr) and number.value.data == 0
