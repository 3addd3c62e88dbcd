"""queue-tiles: blocks take their next tiles from a counter, and tell all of their warps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, i32
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from irc.analysis.invariants import LAID_OUT
from irc.dialects import tile
from irc.ir.blocks import ops_in
from irc.ir.passes import Pass
from irc.ir.properties import number, numbers, values_of
from irc.ir.rewriting import give_location, location_of
from irc.ir.targets import target_of
from irc.layout.cute import Layout
from irc.layout.shared import SharedLayout
from irc.scheduling.channels import filled_in
from irc.scheduling.grids import has_rounds
from irc.support.diagnostics import IrcError
from irc.tiling.launches import add_counters

TICKETS = 2
"""Stages of the channel of tickets: the partition that loads is up to as many tiles ahead."""

WORD = tile.BufferType.of([1], i32, tile.SharedAttr(SharedLayout(Layout((1,), (1,)))))


@dataclass(frozen=True)
class QueueTilesPass(Pass):
    """A loop over tiles with the schedule "dynamic", of which a block may have several: each iteration ends in the
    ticket of the next one (`tile.next_tile`), which the block takes from a counter in global memory.

    In a program with partitions the one that loads takes the ticket, when it has issued what it loads, and the others
    read it from a channel of two tickets. Without partitions all threads have it from a buffer. The counter is a result
    of the program among its `sums`, and so of its launches: each launch has one of its own, which is 0 before it.
    """

    name: ClassVar[str] = "queue-tiles"
    requires = (LAID_OUT,)

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        queued = set[str]()
        for program in [each for each in op.ops if isinstance(each, tile.ProgramOp)]:
            loops = [each for each in _dynamic(program) if has_rounds(each, program, target_of(program))]
            if not loops:
                continue
            if sum(isinstance(each, tile.ForTilesOp) for each in program.body.block.ops) > 1:
                message = f'one loop over tiles of a program may have the schedule "{tile.DYNAMIC}", found several'
                raise IrcError(message, location_of(loops[0]), f'"persistent" for {program.sym_name.data}')
            counter = _add_counter(program)
            _queue(program, loops, counter)
            queued.add(program.sym_name.data)
        if queued:
            add_counters(op, queued)


def _dynamic(program: tile.ProgramOp) -> list[tile.ForTilesOp]:
    loops = [op for op in ops_in(program) if isinstance(op, tile.ForTilesOp)]
    return [loop for loop in loops if loop.schedule_name == tile.DYNAMIC]


def _add_counter(program: tile.ProgramOp) -> SSAValue:
    arguments = program.body.block.args
    counter = program.body.block.insert_arg(tile.ViewType.of([1], i32), len(arguments))
    counter.name_hint = "counter"
    program.sums = numbers([*values_of(program.sums), counter.index])
    program.results_count = number(program.result_count + 1)
    return counter


def _queue(program: tile.ProgramOp, loops: list[tile.ForTilesOp], counter: SSAValue) -> None:
    block = program.body.block
    partitions = next((op for op in block.ops if isinstance(op, tile.PartitionsOp)), None)
    if partitions is None:
        alloc = tile.AllocOp(WORD)
        _insert(InsertPoint.at_start(block), loops[0], alloc)
        for loop in loops:
            take = tile.TakeTicketOp(counter, alloc.buffer)
            _end(loop, take, tile.NextTileOp(take.ticket))
        return
    channel = tile.ChannelOp(TICKETS, [WORD])
    channel.channel.name_hint = "tickets"
    _insert(InsertPoint.before(partitions), loops[0], channel)
    for region in partitions.partitions:
        fills = bool(filled_in(region))
        for loop in [each for each in loops if region.block.find_ancestor_op_in_block(each) is not None]:
            (_take if fills else _read)(loop, channel.channel, counter)


def _take(loop: tile.ForTilesOp, channel: SSAValue, counter: SSAValue) -> None:
    acquire = tile.AcquireOp(channel)
    take = tile.TakeTicketOp(counter, acquire.buffers[0])
    _end(loop, acquire, take, tile.CommitOp(acquire.slot), tile.NextTileOp(take.ticket))


def _read(loop: tile.ForTilesOp, channel: SSAValue, counter: SSAValue) -> None:
    wait = tile.WaitOp(channel)
    read = tile.ReadTicketOp(wait.buffers[0])
    _end(loop, wait, read, tile.ReleaseOp(wait.slot), tile.NextTileOp(read.ticket))


def _end(loop: tile.ForTilesOp, *ops: Operation) -> None:
    """Puts the ops at the end of an iteration."""
    _insert(InsertPoint.at_end(loop.body.block), loop, *ops)


def _insert(point: InsertPoint, loop: tile.ForTilesOp, *ops: Operation) -> None:
    for op in ops:
        give_location(op, location_of(loop))
    Rewriter.insert_op(ops, point)
