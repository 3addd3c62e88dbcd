"""make-channels: buffers that loops fill and multiply become stages of channels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects import scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from irc.analysis.configs import config_of
from irc.analysis.invariants import LAID_OUT
from irc.configs.product import EPILOGUE_BYTES, MAX_STAGES
from irc.dialects import tile
from irc.ir.passes import Pass
from irc.ir.targets import target_of
from irc.scheduling.buffer_groups import BufferGroup, buffer_groups, is_fill
from irc.scheduling.channels import ALIGNMENT, aligned, alloc_bytes, channel_plan, root_of, tile_bytes
from irc.scheduling.dead import erase_dead
from irc.scheduling.pipeline_in_step import is_filled_ahead, pipeline_in_step

SCRATCH = 4 * 1024
"""Shared memory left at least to the exchanges of an epilogue, reductions among them, where channels take the rest."""


@dataclass(frozen=True)
class MakeChannelsPass(Pass):
    """Operand buffers of wgmma dots -> channels, one for the buffers that are filled in one loop and read by one chain
    of dots: `acquire` and `commit` around what fills them, `wait` before what reads them and `release` behind it. A
    buffer that is filled outside of the dots' loop gets a channel of one stage, which is held all through the loop.

    A loop with an mma dot, whose config asks for several stages: a channel in
    which all threads fill the stages ahead of those that they multiply (irc/scheduling/pipeline_in_step.py), of the
    buffers whose content does not depend on what the loop computes. Buffers of other dots stay as they are.
    """

    name: ClassVar[str] = "make-channels"
    requires = (LAID_OUT,)

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for program in op.body.block.ops:
            if isinstance(program, tile.ProgramOp):
                _make_channels(program)
                in_step = [loop for loop in _loops(program) if _products(loop.body.block, "mma")]
                for loop in in_step:
                    _fill_in_step(program, loop, len(in_step))
                for loop in [loop for loop in _loops(program) if not _products(loop.body.block, "wgmma")]:
                    _stage_reads(program, loop, target_of(op).shared_memory)


def _loops(program: tile.ProgramOp) -> list[scf.ForOp]:
    return [op for op in program.walk() if isinstance(op, scf.ForOp)]


def _products(block: Block, instruction: str) -> list[tile.DotOp]:
    dots = [op for op in block.ops if isinstance(op, tile.DotOp)]
    return [op for op in dots if op.instruction is not None and op.instruction.data == instruction]


def _make_channels(program: tile.ProgramOp) -> None:
    groups = buffer_groups(program)
    loops = list(dict.fromkeys(group.block for group in groups if _is_loop(group.block)))
    for block in loops:
        own = [group for group in groups if group.block is block]
        held = [group for group in groups if not _is_loop(group.block)]
        stages = _stages(program, own, held, len(loops))
        for group in own:
            _make_channel(program, group, stages)
    for group in groups:
        if not _is_loop(group.block):
            _make_channel(program, group, 1)


def _is_loop(block: Block) -> bool:
    return isinstance(block.parent_op(), scf.ForOp)


def _make_channel(program: tile.ProgramOp, group: BufferGroup, stages: int) -> None:
    channel = tile.ChannelOp(stages, [b.type for b in group.buffers], _cluster(_loop_of(group)))
    _new_channel(program, _loop_of(group), channel)
    _fill_stages(channel, group)
    _drain_stages(channel, group)
    for buffer in group.buffers:
        assert isinstance(buffer.owner, tile.AllocOp)
        Rewriter.erase_op(buffer.owner)


def _fill_in_step(program: tile.ProgramOp, loop: scf.ForOp, channels: int) -> None:
    """`channels` is how many loops of the program get one: they share the stages that the config asks for, and have no
    fewer than two."""
    buffers, stages = _filled_ahead(loop), config_of(program).stages or 1
    if stages < 2 or not buffers:
        return
    stages = max(2, stages // channels)
    allocs = [b.owner for b in buffers if isinstance(b.owner, tile.AllocOp)]
    channel = _new_channel(program, loop, tile.ChannelOp(stages, [b.type for b in buffers], in_step=True))
    rewritten = pipeline_in_step(channel, loop, buffers)
    for alloc in allocs:
        Rewriter.erase_op(alloc)
    erase_dead(rewritten)


def _filled_ahead(loop: scf.ForOp) -> list[SSAValue]:
    """The buffers that the loop fills, its dots multiply, and no result of the loop goes into."""
    multiplied = [root_of(b) for op in loop.body.block.ops if isinstance(op, tile.DotOp) for b in (op.lhs, op.rhs)]
    own = [b for b in dict.fromkeys(multiplied) if isinstance(b.owner, tile.AllocOp)]
    return [buffer for buffer in own if is_filled_ahead(buffer, loop)]


def _new_channel(program: tile.ProgramOp, loop: Operation, channel: tile.ChannelOp) -> tile.ChannelOp:
    channel.location = loop.location
    first = program.body.block.first_op
    assert first is not None
    Rewriter.insert_op(channel, InsertPoint.before(first))
    return channel


def _stage_reads(program: tile.ProgramOp, loop: scf.ForOp, limit: int) -> None:
    """A stage for each copy, of as many as there is room for: they are read one after the other."""
    by_type: dict[Attribute, list[tile.AllocOp]] = {}
    exchanged = max((tile_bytes(op.result) for op in program.walk() if isinstance(op, tile.ConvertOp)), default=0)
    for read in [op for op in loop.body.block.ops if isinstance(op, tile.ReadOp)]:
        if isinstance(read.buffer.owner, tile.AllocOp):
            by_type.setdefault(read.buffer.type, []).append(read.buffer.owner)
    for type, allocs in by_type.items():
        used = sum(channel_plan(op).size for op in program.walk() if isinstance(op, tile.ChannelOp))
        others = [op for op in program.walk() if isinstance(op, tile.AllocOp) and op not in allocs]
        room = limit - used - sum(aligned(alloc_bytes(op)) for op in others) - max(SCRATCH, exchanged + ALIGNMENT)
        stages = max(1, min(MAX_STAGES, room // aligned(alloc_bytes(allocs[0]))))
        channel = _new_channel(program, loop, tile.ChannelOp(stages, [type]))
        for alloc in allocs:
            _pass_through(channel.channel, alloc)


def _pass_through(channel: SSAValue, alloc: tile.AllocOp) -> None:
    """The copy to a buffer, and the read of it, on a stage of their own."""
    uses = {type(use.operation): use.operation for use in alloc.buffer.uses}
    copy, read = uses[tile.CopyOp], uses[tile.ReadOp]
    acquire, wait = tile.AcquireOp(channel), tile.WaitOp(channel)
    commit, release = tile.CommitOp(acquire.slot), tile.ReleaseOp(wait.slot)
    for op in (acquire, commit, wait, release):
        op.location = alloc.location
    for op, stage in ((copy, acquire.buffers[0]), (read, wait.buffers[0])):
        stage.name_hint = alloc.buffer.name_hint
        op.operands[list(op.operands).index(alloc.buffer)] = stage
    Rewriter.insert_op(acquire, InsertPoint.before(copy))
    Rewriter.insert_op(commit, InsertPoint.after(copy))
    Rewriter.insert_op(wait, InsertPoint.before(read))
    Rewriter.insert_op(release, InsertPoint.after(read))
    Rewriter.erase_op(alloc)


def _loop_of(group: BufferGroup) -> Operation:
    """The loop that fills a group."""
    loop = group.block.parent_op()
    assert loop is not None
    return loop


def _cluster(loop: Operation) -> tuple[int, int] | None:
    """The cluster whose blocks fill each other's stages; None of a block by itself."""
    parent: Operation | None = loop
    while parent is not None and not isinstance(parent, tile.ForTilesOp):
        parent = parent.parent_op()
    return parent.cluster_shape if parent is not None and parent.cluster is not None else None


def _stages(program: tile.ProgramOp, own: Sequence[BufferGroup], held: Sequence[BufferGroup], loops: int) -> int:
    """The stages of the channels of a loop. Loops share those that the config asks for, or else those that there is
    room for beside what is held outside of loops."""
    stages = config_of(program).stages
    if stages is None:
        room = target_of(program).shared_memory - EPILOGUE_BYTES - sum(map(_bytes, held))
        stages = min(MAX_STAGES, room // sum(map(_bytes, own)))
    return max(1, stages // loops)


def _bytes(group: BufferGroup) -> int:
    return sum(alloc_bytes(b.owner) for b in group.buffers if isinstance(b.owner, tile.AllocOp))


def _fill_stages(channel: tile.ChannelOp, group: BufferGroup) -> None:
    acquire = tile.AcquireOp(channel.channel)
    acquire.location = group.fills[0].location
    Rewriter.insert_op(acquire, InsertPoint.before(group.fills[0]))
    for old, new in zip(group.buffers, acquire.buffers, strict=True):
        new.name_hint = old.name_hint
        for use in list(old.uses):
            if is_fill(use.operation):
                use.operation.operands[use.index] = new
    commit = tile.CommitOp(acquire.slot)
    commit.location = group.fills[-1].location
    Rewriter.insert_op(commit, InsertPoint.after(group.fills[-1]))


def _drain_stages(channel: tile.ChannelOp, group: BufferGroup) -> None:
    """A stage is waited for before the first use of the group, and released behind the last reader."""
    dots = [op for op in group.readers if isinstance(op, tile.DotOp)]
    location = (dots or group.readers)[0].location
    uses = [use.operation for buffer in group.buffers for use in buffer.uses]
    drains = {group.block.find_ancestor_op_in_block(op) for op in uses}
    _put_last(group.block, [op for op in group.block.ops if op in drains])
    wait = tile.WaitOp(channel.channel)
    wait.location = location
    Rewriter.insert_op(wait, InsertPoint.before(next(op for op in group.block.ops if op in drains)))
    for old, new in zip(group.buffers, wait.buffers, strict=True):
        new.name_hint = old.name_hint
        old.replace_all_uses_with(new)
    last = group.readers[-1]
    release = tile.ReleaseOp(wait.slot, _given(last, group) if last not in dots else [dots[-1].result], location)
    Rewriter.insert_op(release, InsertPoint.after(last))


def _put_last(block: Block, drains: list[Operation]) -> None:
    """Moves what drains a stage, and what depends on it, behind all that fills the stage, so that it can be waited for
    before the first of them; where something that fills it depends on what drains it, nothing."""
    last = block.last_op
    assert last is not None
    moved: dict[Operation, None] = dict.fromkeys(drains)
    for op in block.ops:
        if any(value.owner in moved for inner in op.walk() for value in inner.operands):
            moved[op] = None
    moved.pop(last, None)
    if any(is_fill(op) for op in moved):
        return
    for op in [op for op in block.ops if op in moved]:
        op.detach()
        block.insert_op_before(op, last)


def _given(op: Operation, group: BufferGroup) -> list[SSAValue]:
    """What the group's dots give out of the last op that holds one: they may still be in flight behind it."""
    if not isinstance(op, scf.ForOp):
        return []
    last = op.body.block.last_op
    assert last is not None
    return [result for result, value in zip(op.results, last.operands, strict=True) if value.owner in group.dots]
