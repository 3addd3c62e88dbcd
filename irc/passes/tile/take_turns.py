"""take-turns: consumers of a pingpong program take turns in the tiles of a block."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from xdsl.dialects import scf
from xdsl.ir import Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from irc.analysis.configs import consumer_partitions
from irc.analysis.invariants import LAID_OUT
from irc.analysis.programs import ProgramPass
from irc.dialects import tile
from irc.ir.blocks import behind
from irc.ir.properties import numbers
from irc.ir.rewriting import give_location
from irc.scheduling.channels import drained_in
from irc.scheduling.dependences import needed_by
from irc.scheduling.trip_counts import TripCounts


@dataclass(frozen=True)
class TakeTurnsPass(ProgramPass):
    """A program with several partitions that drain: each consumer takes every n-th tile, skips the stages
    of the others' tiles, and begins when the one before it has waited for its last stage. So the epilogue of one runs
    beside the products of another. What loops of the epilogue have loaded ahead is loaded before the turn. How many
    stages a tile has may depend on its offsets, and on nothing else. Programs of one consumer are left alone.
    """

    name: ClassVar[str] = "take-turns"
    requires = (LAID_OUT,)

    def run(self, program: tile.ProgramOp) -> None:
        if (count := consumer_partitions(program)) == 1:
            return
        for partitions in [each for each in program.body.block.ops if isinstance(each, tile.PartitionsOp)]:
            consumers = [region for region in partitions.partitions if drained_in(region)]
            for turn, region in enumerate(consumers):
                _take_turns(region, turn, count)


def _take_turns(region: Region, turn: int, consumers: int) -> None:
    """Leaves the other consumers' tiles, and the stages that they read, to them."""
    for loop in [op for op in region.walk() if isinstance(op, tile.ForTilesOp)]:
        loop.turn = numbers([turn, consumers])
        waits = [op for op in loop.walk() if isinstance(op, tile.WaitOp)]
        for channel in dict.fromkeys(op.channel for op in waits):
            own = [op for op in waits if op.channel is channel]
            before = _skip(channel, loop, own, range(turn))
            begin, end = tile.BeginTurnOp(channel, (turn, consumers)), tile.EndTurnOp(channel, (turn, consumers))
            after = _skip(channel, loop, own, range(turn + 1, consumers))
            for op in (*before, begin, end, *after):
                give_location(op, own[0].location)
            Rewriter.insert_op([*before, begin], InsertPoint.before(_outermost(own[0], loop)))
            for each in [op for op in behind(begin) if isinstance(op, scf.ForOp)]:
                _load_before(begin, each)
            Rewriter.insert_op(end, InsertPoint.after(_outermost(own[-1], loop)))
            Rewriter.insert_op(after, InsertPoint.at_end(loop.body.block))


def _load_before(turn: Operation, loop: scf.ForOp) -> None:
    """Puts the loads that a loop behind a turn begins with before the turn, where only scalars are needed for them."""
    assert turn.parent is not None
    loads = [start.owner for start in loop.iter_args if isinstance(start.owner, tile.LoadOp)]
    needed = [op for op in needed_by(loads, turn.parent) if turn.is_before_in_block(op)]
    if all(op in loads or op.name.startswith("arith.") for op in needed):
        for op in needed:
            op.detach()
            Rewriter.insert_op(op, InsertPoint.before(turn))


def _skip(
    channel: SSAValue, loop: tile.ForTilesOp, waits: Sequence[tile.WaitOp], turns: Sequence[int]
) -> list[Operation]:
    """Passes over the stages of the tiles of other turns: as many as are waited for with these tiles' offsets."""
    ops: list[Operation] = []
    for turn in turns:
        other = tile.TurnOffsetsOp(turn, len(loop.offsets))
        counts = TripCounts(loop, other.offsets)
        count = counts.sum([counts.of(wait) for wait in waits])
        if count == 0:
            continue
        skip = tile.SkipOp(channel, counts.value(count))
        ops += [*([other] if any(offset.uses for offset in other.offsets) else []), *counts.ops, skip]
    return ops


def _outermost(op: Operation, loop: tile.ForTilesOp) -> Operation:
    """The op of the loop's own block that an op is in."""
    while op.parent_op() is not loop:
        parent = op.parent_op()
        assert parent is not None
        op = parent
    return op
