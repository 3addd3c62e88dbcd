"""take-turns: consumers of a pingpong program take turns in the tiles of a block."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects import scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from irc.analysis.configs import consumer_partitions
from irc.analysis.invariants import LAID_OUT
from irc.dialects import tile
from irc.ir.passes import Pass
from irc.scheduling.channels import drained_in
from irc.scheduling.loops import trips


@dataclass(frozen=True)
class TakeTurnsPass(Pass):
    """A program with several partitions that drain: each consumer takes every n-th tile, skips the stages
    of the others' tiles, and begins when the one before it has waited for its last stage. So the epilogue of one runs
    beside the products of another. Programs of one consumer are left alone.
    """

    name: ClassVar[str] = "take-turns"
    requires = (LAID_OUT,)

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for program in op.body.block.ops:
            if isinstance(program, tile.ProgramOp) and (count := consumer_partitions(program)) > 1:
                for partitions in [each for each in program.body.block.ops if isinstance(each, tile.PartitionsOp)]:
                    consumers = [region for region in partitions.partitions if drained_in(region)]
                    for turn, region in enumerate(consumers):
                        _take_turns(region, turn, count)


def _take_turns(region: Region, turn: int, consumers: int) -> None:
    """Leaves the other consumers' tiles, and the stages that they read, to them."""
    for loop in [op for op in region.walk() if isinstance(op, tile.ForTilesOp)]:
        loop.turn = tile.dense([turn, consumers])
        waits = [op for op in loop.walk() if isinstance(op, tile.WaitOp)]
        for channel in dict.fromkeys(op.channel for op in waits):
            own = [op for op in waits if op.channel is channel]
            stages = sum(_repeats(op, loop) for op in own)
            before = _skip(channel, turn * stages)
            begin, end = tile.BeginTurnOp(channel, (turn, consumers)), tile.EndTurnOp(channel, (turn, consumers))
            after = _skip(channel, (consumers - 1 - turn) * stages)
            for op in (*before, begin, end, *after):
                op.location = own[0].location
            Rewriter.insert_op([*before, begin], InsertPoint.before(_outermost(own[0], loop)))
            Rewriter.insert_op(end, InsertPoint.after(_outermost(own[-1], loop)))
            Rewriter.insert_op(after, InsertPoint.at_end(loop.body.block))


def _skip(channel: SSAValue, stages: int) -> list[Operation]:
    return [tile.SkipOp(channel, stages)] if stages else []


def _outermost(op: Operation, loop: tile.ForTilesOp) -> Operation:
    """The op of the loop's own block that an op is in."""
    while op.parent_op() is not loop:
        parent = op.parent_op()
        assert parent is not None
        op = parent
    return op


def _repeats(op: Operation, loop: tile.ForTilesOp) -> int:
    """How often an op runs for a tile: the trips of the loops around it."""
    count, parent = 1, op.parent_op()
    while parent is not None and parent is not loop:
        count *= trips(parent) if isinstance(parent, scf.ForOp) else 1
        parent = parent.parent_op()
    return count
