"""specialize-warps: the users of a channel part into warps that fill it and warps that compute."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from xdsl.dialects import scf
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.traits import IsTerminator

from irc.analysis.budgets import (
    CONSUMER_REGISTERS,
    FEWEST_TMA_REGISTERS,
    PRODUCER_WARPS,
    TMA_REGISTERS,
    consumer_registers,
    writer_registers,
)
from irc.analysis.configs import config_of, consumer_partitions
from irc.analysis.invariants import LAID_OUT
from irc.analysis.programs import ProgramPass
from irc.dialects import tile
from irc.dialects.tile import fragment_layout
from irc.ir.blocks import end_of
from irc.ir.dtypes import element_of
from irc.ir.targets import target_of
from irc.ir.walks import makers, makers_of, reached
from irc.layout.instructions import LANES
from irc.scheduling.channels import root_of
from irc.scheduling.dead import erase_dead
from irc.scheduling.loops import with_carried
from irc.scheduling.registers import registers_of

FILLS = (tile.AcquireOp, tile.CommitOp, tile.CopyOp, tile.WriteOp)


@dataclass(frozen=True)
class SpecializeWarpsPass(ProgramPass):
    """A program with a channel -> `tile.partitions`: `@load`, a warp group that acquires, fills and commits, and
    `@compute`, warp groups that wait, multiply, release and run the epilogue. Both walk over the same tiles. Registers
    move from the first to the others. With the schedule "pingpong" there are two, `@compute_0` and `@compute_1`, of the
    same code. A thread that computes has the registers that the config says, or those that are left to it.
    """

    name: ClassVar[str] = "specialize-warps"
    requires = (LAID_OUT,)

    def run(self, program: tile.ProgramOp) -> None:
        _specialize(program)


def _specialize(program: tile.ProgramOp) -> None:
    block = program.body.block
    channels = [op for op in block.ops if isinstance(op, tile.ChannelOp) and op.in_step is None]
    if not channels:
        return
    assert program.threads is not None
    warps = program.threads.value.data // LANES
    body = [op for op in block.ops if not isinstance(op, tile.ChannelOp)]
    consumers = consumer_partitions(program)
    loads, *computes = (_clone(body) for _ in range(1 + consumers))
    for op in reversed(body):
        Rewriter.erase_op(op, safe_erase=False)
    writes = [op for op in loads.walk() if isinstance(op, tile.WriteOp) and _is_fill(op)]
    machine, given, blocks = target_of(program), config_of(program).registers, config_of(program).occupancy or 1
    held = sum(_held(op.tile) for op in writes)
    mine = TMA_REGISTERS if program.sums is None else FEWEST_TMA_REGISTERS
    if writes:
        mine = writer_registers(machine, consumers * warps, held, given or CONSUMER_REGISTERS, blocks)
    theirs = given or consumer_registers(machine, consumers * warps, mine, blocks)
    names = ["compute"] if consumers == 1 else [f"compute_{turn}" for turn in range(consumers)]
    counts = [PRODUCER_WARPS, *[warps] * consumers]
    op = tile.PartitionsOp([loads, *computes], ["load", *names], counts, [mine, *[theirs] * consumers])
    op.location = program.location
    Rewriter.insert_op(op, InsertPoint.at_end(block))
    _producer(loads)
    for partition in computes:
        _consumer(partition)


def _held(tile: SSAValue) -> int:
    """The registers that hold a tile while it is written; single bytes are apart until they are put together."""
    return fragment_layout(tile.type).value_count if element_of(tile.type).size == 1 else registers_of(tile)


def _clone(body: Sequence[Operation]) -> Region:
    mapping: dict[SSAValue, SSAValue] = {}
    return Region(Block([op.clone(mapping) for op in body]))


def _producer(region: Region) -> None:
    """Keeps what fills channels and what that needs; loops without accumulators."""
    loops = [op for op in region.walk() if isinstance(op, scf.ForOp) and any(map(_is_fill, op.walk()))]
    needed = [*filter(_is_fill, region.walk()), *makers(v for loop in loops for v in (loop.lb, loop.ub, loop.step))]
    _prune(region.block, set(reached(needed, lambda op: [maker for inner in op.walk() for maker in makers_of(inner)])))


def _prune(block: Block, kept: set[Operation]) -> None:
    """Erases the ops of a block that are not kept; loops that hold some that are stay, and carry nothing."""
    for op in reversed(list(block.ops)):
        if isinstance(op, scf.ForOp | tile.ForTilesOp) and any(inner in kept for inner in op.walk() if inner is not op):
            _prune(op.body.block, kept)
            if isinstance(op, scf.ForOp):
                _without_results(op)
        elif op not in kept and not op.has_trait(IsTerminator):
            Rewriter.erase_op(op, safe_erase=False)


def _consumer(region: Region) -> None:
    """Keeps the rest."""
    for op in reversed(list(filter(_is_fill, region.walk()))):
        Rewriter.erase_op(op, safe_erase=False)
    _erase_dead(region)


def _is_fill(op: Operation) -> bool:
    """Whether an op fills a channel: consumers write their own buffers, results and operands from other dots."""
    is_own = isinstance(op, tile.WriteOp) and isinstance(root_of(op.buffer).owner, tile.AllocOp)
    return isinstance(op, FILLS) and not is_own


def _erase_dead(region: Region) -> None:
    parent = region.parent
    assert parent is not None
    erase_dead(parent)


def _without_results(loop: scf.ForOp) -> None:
    """The loop with its carried tiles dropped: the producer keeps no accumulator."""
    if not loop.iter_args:
        return
    block = loop.body.block
    last = end_of(block)
    yields = scf.YieldOp()
    yields.location = last.location
    Rewriter.insert_op(yields, InsertPoint.before(last))
    Rewriter.erase_op(last)
    for argument in reversed(block.args[1:]):
        block.erase_arg(argument, safe_erase=False)
    new = with_carried(loop, [])
    new.attributes |= loop.attributes
    Rewriter.erase_op(loop, safe_erase=False)
