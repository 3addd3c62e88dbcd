"""make-channels: buffers that loops fill and multiply become stages of channels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from xdsl.dialects import scf
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from irc.analysis.budgets import EPILOGUE_BYTES, MAX_STAGES, MIN_EXCHANGED, aligned, block_memory, shared_left
from irc.analysis.configs import config_of
from irc.analysis.invariants import LAID_OUT
from irc.analysis.matrix_instructions import has_producer, is_in_step
from irc.analysis.programs import ProgramPass
from irc.dialects import tile
from irc.ir.blocks import end_of
from irc.ir.rewriting import give_location
from irc.ir.targets import Target, target_of
from irc.scheduling.buffer_groups import BufferGroup, buffer_groups, is_fill
from irc.scheduling.channels import alloc_bytes, fills_of, root_of, tile_bytes
from irc.scheduling.dead import erase_dead
from irc.scheduling.dependences import needed_by, operands_of
from irc.scheduling.shared_memory import REST_STAGES, held_bytes, is_rest


@dataclass(frozen=True)
class MakeChannelsPass(ProgramPass):
    """Operand buffers of wgmma dots -> channels, one for the buffers that are filled in one loop and read by one chain
    of dots: `acquire` and `commit` around what fills them, `wait` before what reads them and `release` behind it. A
    buffer that is filled outside of the dots' loop gets a channel of one stage, which is held all through the loop.
    Loops one behind the other that fill buffers of the same types use the same channels; a loop over what is left of
    the steps of another has few stages of its own.

    A loop with an mma dot, whose config asks for several stages: a channel that all threads fill and read, of the
    buffers whose content does not depend on what the loop computes. What fills a stage stands before what reads it, and
    is the ops' own: `schedule-loops` has it work ahead. Buffers of other dots stay as they are.
    """

    name: ClassVar[str] = "make-channels"
    requires = (LAID_OUT,)

    def run(self, program: tile.ProgramOp) -> None:
        _make_channels(program)
        in_step = [loop for loop in _loops(program) if any(map(is_in_step, _dots(loop.body.block)))]
        for loop in in_step:
            _fill_in_step(program, loop, len(in_step))
        for loop in [loop for loop in _loops(program) if not any(map(has_producer, _dots(loop.body.block)))]:
            _stage_reads(program, loop, target_of(program))


def _loops(program: tile.ProgramOp) -> list[scf.ForOp]:
    return [op for op in program.walk() if isinstance(op, scf.ForOp)]


def _dots(block: Block) -> list[tile.DotOp]:
    return [op for op in block.ops if isinstance(op, tile.DotOp)]


def _make_channels(program: tile.ProgramOp) -> None:
    groups = buffer_groups(program)
    held = [group for group in groups if not _is_loop(group.block)]
    in_loops: dict[Block, list[BufferGroup]] = {}
    for group in groups:
        if _is_loop(group.block):
            in_loops.setdefault(group.block, []).append(group)
    kinds = {block: _kind(block, own) for block, own in in_loops.items()}
    sizes = {kinds[block]: sum(map(_bytes, own)) for block, own in in_loops.items()}
    few = {kind for kind, size in sizes.items() if is_rest(size, max(sizes.values()))}
    channels: dict[object, list[tile.ChannelOp]] = {}
    for block, own in in_loops.items():
        if kinds[block] not in channels:
            stages = REST_STAGES if kinds[block] in few else _stages(program, own, held, len(sizes) - len(few))
            channels[kinds[block]] = [_channel(program, group, stages) for group in own]
        for channel, group in zip(channels[kinds[block]], own, strict=True):
            _use_channel(channel, group)
    for group in held:
        _use_channel(_channel(program, group, 1), group)


def _is_loop(block: Block) -> bool:
    return isinstance(block.parent_op(), scf.ForOp)


def _kind(block: Block, groups: Sequence[BufferGroup]) -> object:
    """What loops have in common that go on with the stages of one another: they stand in one block, and fill buffers of
    the same types in the same ways."""
    loop = block.parent_op()
    assert loop is not None
    fills = [[(buffer.type, frozenset(map(type, fills_of(buffer)))) for buffer in group.buffers] for group in groups]
    return loop.parent, tuple(map(tuple, fills))


def _channel(program: tile.ProgramOp, group: BufferGroup, stages: int) -> tile.ChannelOp:
    channel = tile.ChannelOp(stages, [b.type for b in group.buffers], _cluster(_loop_of(group)))
    return _new_channel(program, _loop_of(group), channel)


def _use_channel(channel: tile.ChannelOp, group: BufferGroup) -> None:
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
    _fill_and_drain(channel, loop.body.block, buffers)
    for alloc in allocs:
        Rewriter.erase_op(alloc)
    erase_dead(loop)


def _fill_and_drain(channel: tile.ChannelOp, block: Block, buffers: Sequence[SSAValue]) -> None:
    """Puts what fills the buffers before the rest of the loop, with copies of all that it needs."""
    fills = [fill for buffer in buffers for fill in fills_of(buffer)]
    acquire, wait = tile.AcquireOp(channel.channel), tile.WaitOp(channel.channel)
    mapping: dict[SSAValue, SSAValue] = dict(zip(buffers, acquire.buffers, strict=True))
    filling = [op.clone(mapping) for op in needed_by(fills, block)]
    start = [acquire, *filling, tile.CommitOp(acquire.slot), wait]
    release = tile.ReleaseOp(wait.slot)
    for fill in fills:
        Rewriter.erase_op(fill)
    for old, *new in zip(buffers, acquire.buffers, wait.buffers, strict=True):
        for each in new:
            each.name_hint = old.name_hint
        old.replace_all_uses_with(new[1])
    assert block.last_op is not None
    for op in (*start, release):
        give_location(op, channel.location)
    Rewriter.insert_op(start, InsertPoint.at_start(block))
    Rewriter.insert_op(release, InsertPoint.before(block.last_op))


def _filled_ahead(loop: scf.ForOp) -> list[SSAValue]:
    """The buffers that the loop fills, its dots multiply, and no result of the loop goes into."""
    multiplied = [root_of(b) for op in loop.body.block.ops if isinstance(op, tile.DotOp) for b in (op.lhs, op.rhs)]
    own = [b for b in dict.fromkeys(multiplied) if isinstance(b.owner, tile.AllocOp)]
    return [buffer for buffer in own if _is_filled_ahead(buffer, loop.body.block)]


def _is_filled_ahead(buffer: SSAValue, block: Block) -> bool:
    """Whether a loop fills a buffer with what no earlier iteration, and no dot, has a part in."""
    fills = fills_of(buffer)
    if any(fill.parent is not block for fill in fills):
        return False
    made = needed_by(fills, block)
    inputs = [v for op in made for v in operands_of(op)]
    carried = any(v.owner is block and v is not block.args[0] for v in inputs)
    return not carried and not any(isinstance(inner, tile.DotOp) for op in made for inner in op.walk())


def _new_channel(program: tile.ProgramOp, loop: Operation, channel: tile.ChannelOp) -> tile.ChannelOp:
    channel.location = loop.location
    Rewriter.insert_op(channel, InsertPoint.at_start(program.body.block))
    return channel


def _stage_reads(program: tile.ProgramOp, loop: scf.ForOp, machine: Target) -> None:
    """A stage for each copy, of as many as there is room for, or the config says: they are read one after the other."""
    by_type: dict[Attribute, list[tile.AllocOp]] = {}
    limit = block_memory(machine, config_of(program).occupancy)
    exchanged = max((tile_bytes(op.result) for op in program.walk() if isinstance(op, tile.ConvertOp)), default=0)
    exchanged = max(exchanged, MIN_EXCHANGED)
    for read in [op for op in loop.body.block.ops if isinstance(op, tile.ReadOp)]:
        if isinstance(read.buffer.owner, tile.AllocOp):
            by_type.setdefault(read.buffer.type, []).append(read.buffer.owner)
    for type, allocs in by_type.items():
        stage = aligned(alloc_bytes(allocs[0]))
        room = shared_left(limit, held_bytes(program, without=allocs), exchanged)
        fit = max(1, min(MAX_STAGES, room // stage))
        stages = config_of(program).load_stages or fit
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
        room = block_memory(target_of(program), config_of(program).occupancy) - EPILOGUE_BYTES - sum(map(_bytes, held))
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
    after = _given(last, group) or [dot.result for dot in dots[-1:]]
    release = tile.ReleaseOp(wait.slot, [*after, *_read_beside(group)], location)
    Rewriter.insert_op(release, InsertPoint.after(last))


def _read_beside(group: BufferGroup) -> list[SSAValue]:
    """What is read from a group that its dots do not multiply."""
    needed = needed_by([op for op in group.readers if isinstance(op, tile.DotOp)], group.block)
    return [op.result for op in group.readers if isinstance(op, tile.ReadOp) and op not in needed]


def _put_last(block: Block, drains: list[Operation]) -> None:
    """Moves what drains a stage, and what depends on it, behind all that fills the stage, so that it can be waited for
    before the first of them; where something that fills it depends on what drains it, nothing."""
    last = end_of(block)
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
    last = end_of(op.body.block)
    return [result for result, value in zip(op.results, last.operands, strict=True) if value.owner in group.dots]
