"""Channels that all threads of a block fill and read in step: cp.async groups (PTX ISA, cp.async.wait_group) and one
barrier of the block for each stage.

The wait for a stage is for the thread's own copies into it, then for the other threads. Behind it every thread has read
the stage before, which is the one that is filled next.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.ir import Operation, SSAValue

from irc.analysis.async_copies import async_copy, copy_fragment
from irc.dialects import cuda, tile
from irc.lowering import memory
from irc.lowering.emitter import Emitter, Index
from irc.lowering.values import Bytes, Code, buffer_of, element_bytes
from irc.scheduling.channels import ChannelPlan, channel_plan, fills_of


@dataclass(frozen=True)
class StepChannel:
    """The stages that are read and filled next are numbers in registers."""

    plan: ChannelPlan
    offset: int
    read: SSAValue
    filled: SSAValue
    is_copied: bool
    """Whether asynchronous copies fill part of a stage."""
    commits: tuple[Operation, ...]


def enter(code: Code, op: tile.ChannelOp) -> None:
    e = code.e
    acquires = [use.operation for use in op.channel.uses if isinstance(use.operation, tile.AcquireOp)]
    fills = [fill for acquire in acquires for buffer in acquire.buffers for fill in fills_of(buffer)]
    offset = op.offset.value.data if op.offset is not None else 0
    is_copied = any(isinstance(fill, tile.CopyOp) for fill in fills)
    commits = tuple(
        use.operation for op in acquires for use in op.slot.uses if isinstance(use.operation, tile.CommitOp)
    )
    plan = channel_plan(op)
    code.step_channels[op.channel] = StepChannel(plan, offset, e.counter(), e.counter(), is_copied, commits)


def acquire(code: Code, op: tile.AcquireOp) -> None:
    channel = code.step_channels[op.channel]
    code.access("write", Bytes(memory.shared_start(code, channel.offset), channel.plan.size))
    _stage_buffers(code, channel, op, code.e.read(channel.filled))


def commit(code: Code, held: SSAValue) -> None:
    channel = code.step_channels[held]
    if channel.is_copied:
        code.e.insert(cuda.CpAsyncCommitOp())
    _advance(code.e, channel.filled, channel.plan.stages)


def wait(code: Code, op: tile.WaitOp) -> None:
    """Of the stages that were committed before, ahead of the loop or in this iteration, all but one may be pending."""
    channel = code.step_channels[op.channel]
    if channel.is_copied:
        before = [each for each in channel.commits if each.parent is not op.parent or each.is_before_in_block(op)]
        code.e.insert(cuda.CpAsyncWaitOp(min(len(before) - 1, cuda.CpAsyncWaitOp.MOST)))
    code.sync("a stage is read")
    _stage_buffers(code, channel, op, code.e.read(channel.read))
    _advance(code.e, channel.read, channel.plan.stages)


def skip(code: Code, op: tile.SkipOp) -> None:
    """What is left is not read; the copies into it end before it is filled again."""
    channel = code.step_channels[op.channel]
    if channel.is_copied:
        code.e.insert(cuda.CpAsyncWaitOp(0))
    stages = channel.plan.stages
    _advance(code.e, channel.read, stages, code.e.rem(code.scalar(op.count), stages))


def copy(code: Code, op: tile.CopyOp) -> None:
    """Each thread copies its runs; zeros where one is outside the view. What goes to no stage is waited for at once."""
    e, buffer = code.e, code.buffer(op.buffer)
    is_staged = memory.in_channel(op.buffer)
    if not is_staged:
        code.access("write")
    way = async_copy(op, buffer.shape)
    assert way is not None
    fragment = copy_fragment(buffer.shape, way, code.group.count)
    width = way.vector * element_bytes(buffer.element)
    with e.when(code.first_copy(fragment)), code.each(fragment, way.vector) as components:
        offset, conditions = memory.locate(code, op, fragment, components, way.vector)
        address = memory.tile_address(code, buffer, fragment, components)
        e.insert(cuda.CpAsyncOp(address, code.pointers[op.view], e.index(offset), e.all(conditions), bytes=width))
    if not is_staged:
        e.insert(cuda.CpAsyncCommitOp())
        e.insert(cuda.CpAsyncWaitOp(0))


def _stage_buffers(code: Code, channel: StepChannel, op: tile.AcquireOp | tile.WaitOp, stage: Index) -> None:
    e = code.e
    for value, start, pitch in zip(op.buffers, channel.plan.buffers, channel.plan.pitches, strict=True):
        assert isinstance(value.type, tile.BufferType)
        base = memory.shared_base(code, channel.offset + start)
        code.values[value] = buffer_of(value.type, e.add(base, e.mul(stage, pitch)))


def _advance(e: Emitter, register: SSAValue, stages: int, by: Index = 1) -> None:
    moved = e.add(e.read(register), by)
    wrapped = e.select(e.compare("sge", moved, stages), e.sub(moved, stages), moved)
    e.insert(cuda.SetOp(register, e.index(0), e.index(wrapped)))
