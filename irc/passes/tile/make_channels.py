"""make-channels: buffers that loops fill and multiply become stages of channels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects import scf
from xdsl.dialects.builtin import BFloat16Type, Float16Type, ModuleOp, TensorType
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
from irc.scheduling.loops import with_carried
from irc.scheduling.pipeline_in_step import is_filled_ahead, pipeline_in_step

SCRATCH = 4 * 1024
"""Shared memory left at least to the exchanges of an epilogue, reductions among them, where channels take the rest."""


@dataclass(frozen=True)
class MakeChannelsPass(Pass):
    """Operand buffers of wgmma dots -> channels, one for the buffers that are filled in one loop and read by one chain
    of dots: `acquire` and `commit` around what fills them, `wait` before what reads them and `release` behind it. A
    buffer that is filled outside of the dots' loop gets a channel of one stage, which is held all through the loop.

    Of a loop with one chain of dots, whose results the loop does no more with than carry them, one dot stays in flight:
    its stage is released when the next one has been issued. Of dots on parts of K, all but one stay in flight; of two
    that are computed in 16 bits, the next step reads before it waits for the first. A channel of one stage has none to
    fill meanwhile, and is released at once. A loop with an mma dot, whose config asks for several stages: a channel in
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
        slots = [_make_channel(program, group, stages) for group in own]
        dots = _products(block, "wgmma")
        loop = block.parent_op()
        assert isinstance(loop, scf.ForOp)
        if len(own) == 1 and set(dots) <= set(own[0].readers) and stages > 1 and _stay_in_flight(loop, dots):
            _keep_in_flight(loop, dots, slots[0])
    for group in groups:
        if not _is_loop(group.block):
            _make_channel(program, group, 1)


def _is_loop(block: Block) -> bool:
    return isinstance(block.parent_op(), scf.ForOp)


def _make_channel(program: tile.ProgramOp, group: BufferGroup, stages: int) -> SSAValue:
    """The slot that is released behind what reads the group."""
    channel = tile.ChannelOp(stages, [b.type for b in group.buffers], _cluster(_loop_of(group)))
    _new_channel(program, _loop_of(group), channel)
    _fill_stages(channel, group)
    slot = _drain_stages(channel, group)
    for dot, following in pairwise(op for op in group.readers if isinstance(op, tile.DotOp)):
        if following.acc is dot.result and dot.result.has_one_use():
            Rewriter.replace_value_with_new_type(dot.result, tile.PendingType(dot.result.type))
    for buffer in group.buffers:
        assert isinstance(buffer.owner, tile.AllocOp)
        Rewriter.erase_op(buffer.owner)
    return slot


def _fill_in_step(program: tile.ProgramOp, loop: scf.ForOp, channels: int) -> None:
    """`channels` is how many loops of the program get one: they share the stages that the config asks for."""
    buffers, stages = _filled_ahead(loop), (config_of(program).stages or 1) // channels
    if stages < 2 or not buffers:
        return
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


def _drain_stages(channel: tile.ChannelOp, group: BufferGroup) -> SSAValue:
    """The slot that is waited for before the first use of the group, and released behind the last reader."""
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
    release = tile.ReleaseOp(wait.slot)
    release.location = location
    Rewriter.insert_op(release, InsertPoint.after(group.readers[-1]))
    return wait.slot


def _stay_in_flight(loop: scf.ForOp, dots: list[tile.DotOp]) -> bool:
    """Whether dots may be in flight when the next one has been issued. One on buffers leaves those to the next step;
    dots on parts of K leave the others of a whole step, so that a part's registers are free when it is computed
    again."""
    follow = all(after.acc is before.result for before, after in pairwise(dots))
    are_computed = [isinstance(dot.lhs.type, TensorType) for dot in dots]
    return follow and all(_is_carried(loop, dot) for dot in dots) and are_computed == [len(dots) > 1] * len(dots)


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


def _is_carried(loop: scf.ForOp, dot: tile.DotOp) -> bool:
    """Whether nothing but the next dot, in this iteration or the next one, uses the dot's result."""
    last = loop.body.block.last_op
    return all(use.operation is last or isinstance(use.operation, tile.DotOp) for use in dot.result.uses)


def _reads_ahead(block: Block, dots: list[tile.DotOp]) -> bool:
    """Whether a step of two parts begins to read while both dots of the one before are in flight: what the last one
    waits for is waited for before the first map, which computes a part in registers that are free then. Steps of more
    parts, and maps that compute in 32 bits, need more registers than ptxas leaves: it would serialize the products."""
    maps = [op for op in block.ops if isinstance(op, tile.MapOp)]
    return len(dots) == 2 and all(isinstance(dot.lhs.owner, tile.MapOp) for dot in dots) and all(map(_is_narrow, maps))


def _is_narrow(op: tile.MapOp) -> bool:
    """Whether a map computes floats of 16 bits."""
    return all(isinstance(v.type, Float16Type | BFloat16Type) for each in op.body.block.ops for v in each.results)


def _keep_in_flight(loop: scf.ForOp, dots: list[tile.DotOp], slot: SSAValue) -> None:
    """Dots are waited for when their operands are to be overwritten, and the stage of the step before is released
    behind the last one; the last dots and their stage are waited for and released after the loop."""
    block, last, location = loop.body.block, loop.body.block.last_op, dots[-1].location
    assert last is not None
    at = list(last.operands).index(dots[-1].result)
    Rewriter.replace_value_with_new_type(dots[-1].result, tile.PendingType(dots[-1].result.type))
    accumulator = Rewriter.replace_value_with_new_type(block.args[at + 1], dots[-1].result.type)
    begin, no_slot = tile.AsPendingOp(loop.iter_args[at]), tile.NoSlotOp()
    ahead = _reads_ahead(block, dots)
    others = dots[:1] if ahead else dots[1:-1]
    before = {dot: block.insert_arg(accumulator.type, len(block.args)) for dot in others} | {dots[-1]: accumulator}
    previous = block.insert_arg(slot.type, len(block.args))
    previous.name_hint = "previous"
    for use in list(slot.uses):
        Rewriter.erase_op(use.operation)
    release = tile.ReleaseOp(previous)
    yields = scf.YieldOp(*last.operands, *(dot.result for dot in others), slot)
    for op in (begin, no_slot, release, yields):
        op.location = location
    Rewriter.insert_op(release, InsertPoint.after(dots[-1]))
    if ahead:
        first = next(op for op in block.ops if isinstance(op, tile.MapOp))
        Rewriter.insert_op(tile.AwaitOp(before[dots[0]], location), InsertPoint.before(first))
    for dot, following in pairwise(dots):
        Rewriter.insert_op(tile.AwaitOp(before[following], location), InsertPoint.after(dot))
    if not ahead:
        oldest = dots[0].result if len(dots) > 1 else accumulator
        Rewriter.insert_op(tile.AwaitOp(oldest, location), InsertPoint.after(dots[-1]))
    Rewriter.replace_op(last, yields)
    starts = [*loop.iter_args, *[begin.result] * len(others), no_slot.slot]
    starts[at] = begin.result
    Rewriter.insert_op([begin, no_slot], InsertPoint.before(loop))
    new = with_carried(loop, starts)
    done, released = tile.DotWaitOp(new.results[at], location), tile.ReleaseOp(new.results[-1])
    released.location = location
    Rewriter.insert_op([done, released], InsertPoint.after(new))
    results = list(new.results[: len(loop.results)])
    results[at] = done.result
    for old, result in zip(loop.results, results, strict=True):
        result.name_hint = old.name_hint
    new.attributes |= loop.attributes
    Rewriter.replace_op(loop, [], results)
