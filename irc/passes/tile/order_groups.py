"""order-groups: warp groups issue the first product of a step in turn."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from itertools import pairwise, takewhile
from typing import ClassVar

from xdsl.dialects import scf
from xdsl.ir import Operation, Region
from xdsl.rewriter import InsertPoint, Rewriter

from irc.analysis.configs import config_of
from irc.analysis.invariants import LAID_OUT
from irc.analysis.programs import ProgramPass
from irc.dialects import tile
from irc.ir.blocks import block_of
from irc.ir.locations import describe
from irc.layout.instructions import LANES, WARP_GROUP
from irc.scheduling.dependences import needed_by
from irc.scheduling.schedules import begins_anew, dots_of


@dataclass(frozen=True)
class OrderGroupsPass(ProgramPass):
    """A partition of several warp groups, in a program whose config says `turns = true`: a `tile.order` of the groups.
    In loops where a dot is fed by another one, the first dot of an iteration stands between `take` and `pass`: a group
    issues it when the group before it has. What groups compute between their products then runs beside the products of
    others, in place of beside each other's. Dots that go on with the first one's sums are issued in the same turn. So
    is the one dot of a loop that begins anew in each step, as that of a block of K with scales of its own.

    Other loops whose dots do not feed each other are left alone, as are partitions of one warp group, and those that
    have an order.
    """

    name: ClassVar[str] = "order-groups"
    requires = (LAID_OUT,)
    explain: bool = False
    """Print to stderr what the warp groups of each partition issue in turn."""

    def run(self, program: tile.ProgramOp) -> None:
        if not config_of(program).turns:
            return
        for partitions in [each for each in program.body.block.ops if isinstance(each, tile.PartitionsOp)]:
            self._order(program.sym_name.data, partitions)

    def _order(self, program: str, op: tile.PartitionsOp) -> None:
        for region, name, warps in zip(op.partitions, op.partition_names, op.warp_counts, strict=True):
            groups = warps * LANES // WARP_GROUP
            found = _order(region) if groups > 1 else []
            if self.explain:
                where = f"{program} @{name}: {groups} warp group{'s' * (groups > 1)}"
                lines = [f"{where} issue the product at {describe(dot.location)} in turn" for dot in found]
                print("\n".join(lines or [f"{where}, no turns"]), file=sys.stderr)


def _order(region: Region) -> list[tile.DotOp]:
    """Orders the groups of a partition; gives the first product of each of its turns."""
    if any(isinstance(op, tile.OrderOp) for op in region.block.ops):
        return []
    found = [dots for op in region.walk() if isinstance(op, scf.ForOp) and (dots := _first_product(op))]
    if not found:
        return []
    order = tile.OrderOp(found[0][0].location)
    Rewriter.insert_op(order, InsertPoint.at_start(region.block))
    for dots in found:
        take = tile.TakeOp(order.order, dots[0].location)
        Rewriter.insert_op(take, InsertPoint.before(dots[0]))
        Rewriter.insert_op(tile.PassOp(take.token, dots[-1].location), InsertPoint.after(dots[-1]))
    return [dots[0] for dots in found]


def _first_product(loop: scf.ForOp) -> list[tile.DotOp]:
    """The first dot of an iteration, with those behind it that go on with its sums; nothing where no dot of the loop is
    fed by another, unless it has one, which begins anew."""
    dots = dots_of(loop)
    if not any(map(_is_fed, dots)) and not (len(dots) == 1 and begins_anew(loop)):
        return []
    going_on = takewhile(lambda pair: pair[1].acc is pair[0].result, pairwise(dots))
    return [*dots[:1], *(dot for _, dot in going_on)]


def _is_fed(dot: tile.DotOp) -> bool:
    """Whether another dot of the iteration has a part in what a dot multiplies."""
    block = block_of(dot)
    owners = [value.owner for value in (dot.lhs, dot.rhs) if isinstance(value.owner, Operation)]
    return any(isinstance(op, tile.DotOp) for op in needed_by(owners, block))
