"""merge-reductions: reductions over the same axes become one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xdsl.ir import Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.traits import is_side_effect_free

from irc.analysis.invariants import LAYOUT_FREE, TILED
from irc.analysis.programs import ProgramPass
from irc.dialects import tile
from irc.dialects.tile import shape_of
from irc.ir.rewriting import fuse_locations


@dataclass(frozen=True)
class MergeReductionsPass(ProgramPass):
    """Reductions of tiles of one shape over the same axes, in a program with products -> one reduction of several
    tiles, where the results are only stored.

    The warps of a block meet once for all of them. What a later one reduces is computed before the first; one that
    needs more than arithmetic between the two stays by itself. Other programs hold more of a tile in registers, and
    are left alone.
    """

    name: ClassVar[str] = "merge-reductions"
    requires = (TILED, LAYOUT_FREE)

    def run(self, program: tile.ProgramOp) -> None:
        if not any(isinstance(o, tile.DotOp) for o in program.walk()):
            return
        for reduce in [o for o in program.walk() if isinstance(o, tile.ReduceOp)]:
            if reduce.parent is not None and reduce.is_stored:
                _merge(reduce)


def _merge(first: tile.ReduceOp) -> None:
    """Merges reductions that follow into the first one."""
    following = first.next_op
    while following is not None:
        op, following = following, following.next_op
        if isinstance(op, tile.ReduceOp) and _are_alike(first, op):
            between = _between(first, op)
            if between is not None:
                for each in between:
                    each.detach()
                    Rewriter.insert_op(each, InsertPoint.before(first))
                first = _joined(first, op)


def _are_alike(a: tile.ReduceOp, b: tile.ReduceOp) -> bool:
    same = a.axes == b.axes and shape_of(a.inputs[0].type) == shape_of(b.inputs[0].type)
    return same and a.neutral is None and b.neutral is None and b.is_stored


def _between(first: Operation, last: Operation) -> list[Operation] | None:
    """What `last` needs of the ops between the two, in order; None where that is more than arithmetic."""
    needed = _read(last)
    found: list[Operation] = []
    op = last.prev_op
    while op is not None and op is not first:
        if any(result in needed for result in op.results):
            if not is_side_effect_free(op):
                return None
            found.insert(0, op)
            needed |= _read(op)
        op = op.prev_op
    return None if any(result in needed for result in first.results) else found


def _read(op: Operation) -> set[SSAValue]:
    """What an op and its body read."""
    return {value for each in op.walk() for value in each.operands}


def _joined(a: tile.ReduceOp, b: tile.ReduceOp) -> tile.ReduceOp:
    """One reduction of what both reduce, in the place of `a`."""
    ops, inputs = (a, b), (*a.inputs, *b.inputs)
    both = tile.ReduceOp(inputs, a.axis_values, [v.type for v in (*a.outputs, *b.outputs)])
    both.location = fuse_locations(a.location, b.location)
    block, count = both.body.block, len(inputs)
    yields: list[SSAValue] = []
    for op in ops:
        start = len(yields)
        at = [*range(start, start + len(op.inputs)), *range(count + start, count + start + len(op.inputs))]
        yields += _inlined(op.body.block, block, [block.args[n] for n in at])
    end = tile.YieldOp(*yields)
    end.location = both.location
    block.add_op(end)
    Rewriter.insert_op(both, InsertPoint.before(a))
    results = iter(both.outputs)
    for op in ops:
        for old in op.outputs:
            old.replace_all_uses_with(next(results))
        Rewriter.erase_op(op)
    return both


def _inlined(source: Block, target: Block, arguments: list[SSAValue]) -> list[SSAValue]:
    """Clones a combiner to the end of a block; gives what it yields there."""
    mapping: dict[SSAValue, SSAValue] = dict(zip(source.args, arguments, strict=True))
    for op in source.ops:
        if isinstance(op, tile.YieldOp):
            return [mapping.get(v, v) for v in op.operands]
        target.add_op(op.clone(mapping))
    raise AssertionError("a combiner yields")
