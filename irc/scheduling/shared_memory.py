"""What a tile program holds in shared memory: the account that passes ask, from the first buffer to the last offset."""

from __future__ import annotations

from collections.abc import Container, Iterator

from xdsl.dialects import scf
from xdsl.ir import Block, SSAValue

from irc.analysis.budgets import ACCUMULATOR_BYTES, LOAD_STAGES, aligned, channel_bytes
from irc.analysis.configs import config_of, consumer_partitions
from irc.dialects.tile import AccumulatorOp, AllocOp, BufferType, ChannelOp, DotOp, ForTilesOp, ProgramOp
from irc.scheduling.channels import (
    alloc_bytes,
    channel_plan,
    fills_of,
    has_tickets,
    is_exchanged,
    is_swizzled,
    readers_of,
    root_of,
    tile_bytes,
)

REST_PART, REST_STAGES = 4, 1
"""A loop over what is left of a step of another one has steps of at most this part of its bytes, and few stages."""


def placed(
    program: ProgramOp, without: Container[AllocOp] = ()
) -> Iterator[tuple[ChannelOp | AllocOp | AccumulatorOp, int, int]]:
    """The channels and buffers of a program that has layouts, where each begins and where it ends. Channels come first:
    their stages are aligned to what the 128-byte swizzle needs. So are swizzled buffers. Tickets, and
    what accumulators in Tensor Memory have of shared memory, lie behind the barriers of the last channel, before the
    next stage could begin."""
    at = behind = 0
    channels = [op for op in program.walk() if isinstance(op, ChannelOp)]
    for channel in [op for op in channels if not has_tickets(op.channel)]:
        plan = channel_plan(channel)
        yield channel, at, at + plan.size
        behind, at = at + plan.end, at + plan.size
    for channel in [op for op in channels if has_tickets(op.channel)]:
        yield channel, behind, behind + channel_plan(channel).size
        behind += channel_plan(channel).size
        at = max(at, aligned(behind))
    for sums in [op for op in program.walk() if isinstance(op, AccumulatorOp)]:
        behind = aligned(behind, ACCUMULATOR_BYTES)
        yield sums, behind, behind + ACCUMULATOR_BYTES
        behind += ACCUMULATOR_BYTES
        at = max(at, aligned(behind))
    for alloc in [op for op in program.walk() if isinstance(op, AllocOp) and op not in without]:
        at = aligned(at) if is_swizzled(alloc) else at
        yield alloc, at, at + alloc_bytes(alloc)
        at += alloc_bytes(alloc)


def held_bytes(program: ProgramOp, without: Container[AllocOp] = ()) -> int:
    """Bytes of all of them, or of those that are not left out."""
    return max((end for _, _, end in placed(program, without)), default=0)


def expected_bytes(program: ProgramOp) -> int:
    """Bytes that a program will hold, which has no layouts yet: of each loop over tiles the channels that buffers will
    be (irc/passes/tile/make_channels.py), with the stages of the config, and for each partition that computes the
    buffers through which its results leave."""
    loops = [op for op in program.walk() if isinstance(op, ForTilesOp)]
    allocs = [op.buffer for op in program.walk() if isinstance(op, AllocOp)]
    leaving = sum(aligned(tile_bytes(buffer)) for buffer in allocs if not readers_of(buffer))
    return sum(_of_loop(program, loop) for loop in loops) + consumer_partitions(program) * leaving


def _of_loop(program: ProgramOp, loop: ForTilesOp) -> int:
    """One channel of the operands of each product, or one of each where some are not filled in its loop, and one of
    what the epilogue reads. Loops one behind the other go on with each other's stages."""
    config = config_of(program)
    stages, loads = config.stages or 1, config.load_stages or LOAD_STAGES
    size, filled = 0, dict[object, list[list[int]]]()
    for block in [op.body.block for op in loop.walk() if isinstance(op, scf.ForOp)]:
        read = _read_in(block)
        size += sum(aligned(tile_bytes(b)) for b in read if is_exchanged(b))
        own = [b for b in read if not is_exchanged(b)]
        held = [b for b in own if not any(block.find_ancestor_op_in_block(fill) for fill in fills_of(b))]
        kind = (block.parent_block(), tuple(b.type for b in own))
        if not own:
            continue
        if not any(isinstance(op, DotOp) for op in block.ops):
            size += channel_bytes([max(map(tile_bytes, own))], loads)
        elif kind not in filled:
            size += sum(channel_bytes([tile_bytes(b)], 1) for b in held)
            streamed = [tile_bytes(b) for b in own if b not in held]
            filled[kind] = [[each] for each in streamed] if held else [streamed]
    largest = max((_stage(channels) for channels in filled.values()), default=0)
    for channels in filled.values():
        count = REST_STAGES if is_rest(_stage(channels), largest) else stages
        size += sum(channel_bytes(buffers, count) for buffers in channels)
    return size


def _read_in(block: Block) -> list[SSAValue]:
    """The buffers that dots and reads of a block read."""
    operands = [root_of(b) for op in block.ops for b in op.operands if isinstance(b.type, BufferType)]
    return [b for b in dict.fromkeys(operands) if readers_of(b)]


def _stage(channels: list[list[int]]) -> int:
    """Bytes of a stage of all of a loop's channels."""
    return sum(map(sum, channels))


def is_rest(size: int, largest: int) -> bool:
    """Whether a loop whose steps have so many bytes is for what is left of a step of the one with the most."""
    return 0 < size * REST_PART <= largest
