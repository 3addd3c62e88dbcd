"""References that lag behind the maxima, or minima, that exponentials are relative to.

Any reference will do that is not far from the maximum: sums of exponentials relative to it are right after one
multiplication. So it is raised only where the maximum has grown by more than some powers of two: then exponentials are
at most as many powers of two large, and what has been summed need not be rescaled in most steps (FlashAttention-4,
2026).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from math import log

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import TensorType, i1
from xdsl.ir import Block, Operation, Region, SSAValue

from irc.analysis.cascades import Cascade, Exponents
from irc.analysis.op_classes import shape_of
from irc.dialects import tile
from irc.ir.rewriting import give_location
from irc.tiling.combiners import map_tiles
from irc.tiling.nodes import Reduced
from irc.tiling.scalar_body import Body
from irc.tiling.stage import Stage


def lagging(
    reductions: Sequence[Reduced], exponents: Callable[[Reduced], Exponents], relative: Collection[Operation]
) -> list[Reduced]:
    """The reductions in whose place a reference can lag: those that others are `relative` to, unless one of them is so
    itself, or comes behind what is."""
    first = [node for node in reductions if not exponents(node)]
    found = [node for node in first if node.op in relative]
    return found if len(found) == len(relative) and list(reductions[: len(first)]) == first else []


def is_used_behind(cascade: Cascade, value: SSAValue) -> bool:
    """Whether something behind the loop of a cascade uses a value that rows have, or what only moves it."""
    for user in {use.operation for use in value.uses}:
        if user not in cascade.between and user not in cascade.products:
            return True
        is_row = user in cascade.between and shape_of(user.results[0]) != cascade.domain
        if is_row and user not in cascade.reductions and is_used_behind(cascade, user.results[0]):
            return True
    return False


def raised(
    stage: Stage, node: Reduced, before: SSAValue, part: SSAValue, powers: int, coefficient: float
) -> tuple[SSAValue, SSAValue]:
    """The reference now, and where it has changed. before, part: the reference, and the maximum or minimum of a step's
    columns. Exponentials are of `coefficient` times the difference, and at most 2 to the number of `powers`."""
    shape = tile.shape_of(before.type)
    distance = powers * log(2) / coefficient

    op = tile.MapOp([before, part], TensorType(i1, shape))
    body, (old, new) = Body(op.body.block, node.location), op.body.block.args
    growth = body(arith.SubfOp(old, new) if node.monoid == "min" else arith.SubfOp(new, old))
    body.block.add_op(tile.YieldOp(body.compare("ogt", growth, body.constant(distance, growth.type))))
    give_location(op, node.location)
    has_grown = stage.insert(op, node.location)

    def now(body: Body, args: list[SSAValue]) -> SSAValue:
        return body.select(args[2], args[1], args[0])

    return map_tiles(stage, node, [before, part, has_grown], shape, now), has_grown


def where_any(
    stage: Stage,
    node: Reduced,
    tiles: Sequence[SSAValue],
    values: Sequence[SSAValue],
    work: Callable[[Block], list[SSAValue]],
) -> list[SSAValue]:
    """The values after some work on them where an element of the tiles is true: a branch, in which the work changes
    nothing of the rows that have no such element."""
    together = tiles[0]
    for other in tiles[1:]:
        together = map_tiles(stage, node, [together, other], tile.shape_of(together.type), _either)
    vote = stage.insert(tile.AnyOp(together), node.location)
    inside = Block()
    changed = work(inside)
    inside.add_op(scf.YieldOp(*changed))
    otherwise = Block([scf.YieldOp(*values)])
    branch = scf.IfOp(vote, [value.type for value in values], Region(inside), Region(otherwise))
    give_location(branch, node.location)
    stage.insert(branch, node.location)
    return list(branch.results)


def _either(body: Body, args: list[SSAValue]) -> SSAValue:
    return body(arith.OrIOp(args[0], args[1]))
