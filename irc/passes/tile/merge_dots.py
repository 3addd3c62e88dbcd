"""merge-dots: products of one left operand become one product over concatenated columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects import scf
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import Block, Region, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from irc.dialects import tile
from irc.dialects.tile import element_type_of, shape_of

WIDEST = 256
"""Columns that one wgmma computes (PTX ISA, 9.7.15.5); a wider product would need its operand twice again."""


@dataclass(frozen=True)
class MergeDotsPass(ModulePass):
    """Dots of a loop with the same left operand, each accumulating into its own splat -> one dot; slices of its result
    after.

    The left operand is read once for all of them, and in registers element (i, j) of each product is held by the same
    thread: an epilogue that joins them moves nothing. Products of more than 256 columns together are left alone.
    """

    name: ClassVar[str] = "merge-dots"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for loop in [o for o in op.walk() if isinstance(o, scf.ForOp)]:
            group = _group(loop)
            if group:
                _merge(loop, group)


def _group(loop: scf.ForOp) -> list[tile.DotOp]:
    """The dots of a loop that can become one; none where fewer than two can."""
    groups: dict[SSAValue, list[tile.DotOp]] = {}
    for op in loop.body.block.ops:
        if isinstance(op, tile.DotOp) and _position(loop, op) is not None:
            groups.setdefault(op.lhs, []).append(op)
    for dots in groups.values():
        columns = sum(shape_of(d.result.type)[1] for d in dots)
        same = len({(str(element_type_of(d.rhs.type)), str(element_type_of(d.acc.type))) for d in dots}) == 1
        if len(dots) > 1 and columns <= WIDEST and columns & (columns - 1) == 0 and same and _one_start(loop, dots):
            return dots
    return []


def _position(loop: scf.ForOp, dot: tile.DotOp) -> int | None:
    """Which loop-carried value the dot accumulates into, where it does nothing else with it."""
    block = loop.body.block
    last = block.last_op
    assert last is not None
    for at, argument in enumerate(block.args[1:]):
        if (
            dot.acc is argument
            and argument.has_one_use()
            and dot.result.has_one_use()
            and last.operands[at] is dot.result
        ):
            return at
    return None


def _one_start(loop: scf.ForOp, dots: Sequence[tile.DotOp]) -> bool:
    """Whether all of them start from splats of one scalar."""
    starts: set[str] = set()
    for dot in dots:
        at = _position(loop, dot)
        assert at is not None
        owner = loop.iter_args[at].owner
        if not isinstance(owner, tile.SplatOp):
            return False
        scalar = owner.value.owner
        starts.add(str(scalar) if not isinstance(scalar, Block) else f"argument {id(owner.value)}")
    return len({s.split("=", 1)[-1] for s in starts}) == 1


def _merge(loop: scf.ForOp, dots: Sequence[tile.DotOp]) -> None:
    positions = [p for d in dots if (p := _position(loop, d)) is not None]
    rows = shape_of(dots[0].result.type)[0]
    widths = [shape_of(d.result.type)[1] for d in dots]
    element = element_type_of(dots[0].result.type)
    wide = TensorType(element, [rows, sum(widths)])
    first = loop.iter_args[positions[0]].owner
    assert isinstance(first, tile.SplatOp)
    start = tile.SplatOp(first.value, wide, location=dots[0].location)
    Rewriter.insert_op(start, InsertPoint.before(loop))

    block = loop.body.block
    carried = block.insert_arg(wide, len(block.args))
    depth = shape_of(dots[0].rhs.type)[0]
    columns = TensorType(element_type_of(dots[0].rhs.type), [depth, sum(widths)])
    concat = tile.ConcatOp([d.rhs for d in dots], 1, columns, location=dots[0].location)
    dot = tile.DotOp(dots[0].lhs, concat.result, carried, location=dots[-1].location)
    dot.precision = dots[0].precision
    Rewriter.insert_op([concat, dot], InsertPoint.before(dots[-1]))

    last = block.last_op
    assert last is not None
    kept = [v for at, v in enumerate(last.operands) if at not in positions]
    yields = scf.YieldOp(*kept, dot.result)
    yields.location = last.location
    Rewriter.replace_op(last, yields)
    for each in dots:
        Rewriter.erase_op(each)
    for at in sorted(positions, reverse=True):
        block.erase_arg(block.args[at + 1])

    body = loop.detach_region(loop.body)
    starts = [v for at, v in enumerate(loop.iter_args) if at not in positions]
    merged = scf.ForOp(loop.lb, loop.ub, loop.step, [*starts, start.result], Region())
    merged.detach_region(merged.body)
    merged.add_region(body)
    merged.location = loop.location
    Rewriter.insert_op(merged, InsertPoint.before(loop))
    column = 0
    replacements: dict[int, SSAValue] = {}
    for at, width, each in zip(positions, widths, dots, strict=True):
        part = tile.SliceOp(merged.results[-1], [0, column], TensorType(element, [rows, width]), location=each.location)
        Rewriter.insert_op(part, InsertPoint.before(loop))
        replacements[at] = part.result
        column += width
    others = iter(merged.results[:-1])
    for at, result in enumerate(loop.results):
        result.replace_all_uses_with(replacements[at] if at in replacements else next(others))
    Rewriter.erase_op(loop)
