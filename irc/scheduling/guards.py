"""Loops that may have too few iterations for what is made of them, in a branch that runs where they have enough."""

from __future__ import annotations

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IndexType, IntegerAttr
from xdsl.ir import Block, Operation, Region
from xdsl.rewriter import InsertPoint, Rewriter

from irc.dialects import tile
from irc.ir.rewriting import give_location


def guard(loop: scf.ForOp, iterations: int) -> None:
    """Puts a loop into a branch that runs where it has so many iterations, at least 1. Elsewhere it runs as it stands,
    without its schedule; where it has none, its results are what it begins with."""
    used = [result for result in loop.results if result.uses]
    plain = _plain(loop) if iterations > 1 else None
    starts = [(plain.results if plain is not None else loop.iter_args)[result.index] for result in used]
    last, ops = loop.lb, list[Operation]()
    if iterations > 1:
        count = arith.ConstantOp(IntegerAttr(iterations - 1, IndexType()))
        distance = arith.MuliOp(count.result, loop.step)
        place = arith.AddiOp(loop.lb, distance.result)
        last = place.result
        ops += [count, distance, place]
    runs = arith.CmpiOp(last, loop.ub, "slt")
    otherwise = Block([*([plain] if plain is not None else []), scf.YieldOp(*starts)])
    then = Block()
    branch = scf.IfOp(runs.result, [result.type for result in used], Region(then), Region(otherwise))
    for op in (*ops, runs, branch):
        give_location(op, loop.location)
    Rewriter.insert_op([*ops, runs, branch], InsertPoint.before(loop))
    for old, new in zip(used, branch.results, strict=True):
        new.name_hint = old.name_hint
        old.replace_all_uses_with(new)
    loop.detach()
    end = scf.YieldOp(*used)
    give_location(end, loop.location)
    then.add_ops([loop, end])


def _plain(loop: scf.ForOp) -> scf.ForOp:
    """A copy of the loop without its schedule."""
    copy = loop.clone()
    for op in copy.body.block.ops:
        op.attributes.pop(tile.SCHEDULED, None)
    return copy
