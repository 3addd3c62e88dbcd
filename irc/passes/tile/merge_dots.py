"""merge-dots: products of one left operand become one product over concatenated columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from irc.analysis.invariants import LAYOUT_FREE, TILED
from irc.analysis.programs import ProgramPass
from irc.dialects import tile
from irc.dialects.tile import element_type_of, shape_of
from irc.ir.blocks import end_of
from irc.layout.instructions import WGMMA_COLUMNS
from irc.scheduling.loops import with_carried

PANEL = 32
"""Columns of which those of merged products are a multiple, or a power of two."""


@dataclass(frozen=True)
class MergeDotsPass(ProgramPass):
    """Dots of a loop with the same left operand, each accumulating into its own splat -> one dot; slices of its result
    after.

    The left operand is read once for all of them, and in registers element (i, j) of each product is held by the same
    thread: an epilogue that joins them moves nothing. Products of more than 256 columns together are left alone.
    """

    name: ClassVar[str] = "merge-dots"
    requires = (TILED, LAYOUT_FREE)

    def run(self, program: tile.ProgramOp) -> None:
        for loop in [o for o in program.walk() if isinstance(o, scf.ForOp)]:
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
        if len(dots) > 1 and columns <= WGMMA_COLUMNS and same and _is_whole(columns) and _one_start(loop, dots):
            return dots
    return []


def _is_whole(columns: int) -> bool:
    """Whether fragments and panels have tiles of so many columns."""
    return columns % PANEL == 0 or columns & (columns - 1) == 0


def _position(loop: scf.ForOp, dot: tile.DotOp) -> int | None:
    """Which loop-carried value the dot accumulates into, where it does nothing else with it."""
    block = loop.body.block
    last = end_of(block)
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
    starts = {_start(loop, dot) for dot in dots}
    return len(starts) == 1 and None not in starts


def _start(loop: scf.ForOp, dot: tile.DotOp) -> Attribute | SSAValue | None:
    """The number or scalar whose splat the dot's accumulator starts from; None where it starts from another tile."""
    at = _position(loop, dot)
    owner = loop.iter_args[at].owner if at is not None else None
    if not isinstance(owner, tile.SplatOp):
        return None
    scalar = owner.value.owner
    return scalar.value if isinstance(scalar, arith.ConstantOp) else owner.value


def _merge(loop: scf.ForOp, dots: Sequence[tile.DotOp]) -> None:
    positions = [p for d in dots if (p := _position(loop, d)) is not None]
    first = loop.iter_args[positions[0]].owner
    assert isinstance(first, tile.SplatOp)
    slots = [(d.result.type, d.location) for d in dots]
    wide = _widened([type for type, _ in slots])
    start = tile.SplatOp(first.value, wide, location=dots[0].location)
    Rewriter.insert_op(start, InsertPoint.before(loop))
    _merge_body(loop, dots, positions, wide)
    kept = [v for at, v in enumerate(loop.iter_args) if at not in positions]
    merged = with_carried(loop, [*kept, start.result])
    parts: dict[int, SSAValue] = {}
    column = 0
    for at, (type, location) in zip(positions, slots, strict=True):
        part = tile.SliceOp(merged.results[-1], [0, column], type, location=location)
        Rewriter.insert_op(part, InsertPoint.before(loop))
        parts[at] = part.result
        column += shape_of(type)[1]
    others = iter(merged.results)
    for at, result in enumerate(loop.results):
        result.replace_all_uses_with(parts[at] if at in parts else next(others))
    Rewriter.erase_op(loop)


def _widened(types: Sequence[Attribute]) -> TensorType[Attribute]:
    """The type of tiles side by side."""
    return TensorType(element_type_of(types[0]), [shape_of(types[0])[0], sum(shape_of(t)[1] for t in types)])


def _merge_body(loop: scf.ForOp, dots: Sequence[tile.DotOp], positions: Sequence[int], wide: Attribute) -> None:
    """The dots become one on the concatenated right operands, which accumulates into a last carried value."""
    block = loop.body.block
    carried = block.insert_arg(wide, len(block.args))
    columns = _widened([d.rhs.type for d in dots])
    concat = tile.ConcatOp([d.rhs for d in dots], 1, columns, location=dots[0].location)
    dot = tile.DotOp(dots[0].lhs, concat.result, carried, location=dots[-1].location)
    dot.precision, dot.unsigned = dots[0].precision, dots[0].unsigned
    Rewriter.insert_op([concat, dot], InsertPoint.before(dots[-1]))
    last = end_of(block)
    yields = scf.YieldOp(*(v for at, v in enumerate(last.operands) if at not in positions), dot.result)
    yields.location = last.location
    Rewriter.replace_op(last, yields)
    for each in dots:
        Rewriter.erase_op(each)
    for at in sorted(positions, reverse=True):
        block.erase_arg(block.args[at + 1])
