"""What each op of a tile program becomes, loops, branches and partitions among them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IndexType, IntegerAttr, TensorType
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from irc.analysis.resources import named_barriers
from irc.dialects import cuda, tile
from irc.dialects.tile import fragment_layout
from irc.ir.blocks import block_of, end_of
from irc.ir.discardable import UNROLL
from irc.layout.instructions import LANES, WARP_GROUP
from irc.lowering import (
    channels,
    compute,
    dots,
    exchanges,
    loads,
    memory,
    orders,
    reduce,
    scan,
    segments,
    step_channels,
    tensor_memory,
    tickets,
    tma,
    warp_sums,
    windows,
)
from irc.lowering.emitter import Emitter, Index
from irc.lowering.values import Buffer, Code, Registers, Sums, ThreadGroup, Tile, buffer_of, tile_element
from irc.scheduling.channels import drained_in, filled_in, turns_of
from irc.support.diagnostics import IrcError

Place = Registers | Sums | SSAValue
"""Where a loop keeps what it carries, or a branch what it gives: the register of a scalar, those of a tile, or Tensor
Memory, whose content the ops inside change themselves."""


def lower_block(code: Code, block: Block, places: Sequence[Place | None] = ()) -> None:
    """The ops of a block; what the body of a loop or a side of a branch yields is put in its places."""
    for op in block.ops:
        with code.e.at(op.location):
            if isinstance(op, scf.YieldOp):
                _update(code, op, places)
            else:
                lower_op(code, op)


def lower_op(code: Code, op: Operation) -> None:
    lowering = LOWERINGS.get(type(op))
    if lowering is not None:
        lowering(code, op)
    elif op.name.startswith(("arith.", "math.", "scalar.", "cuda.")):
        _scalar(code, op)
    else:
        raise IrcError(f"lower-to-cuda has no lowering for {op.name}", op.location)


# Scalars and control flow


def _extent(code: Code, op: tile.ExtentOp) -> None:
    code.values[op.result] = code.extent(op.extent.value.data)


_FOLDED: dict[type[Operation], Callable[[Emitter, Index, Index], Index]] = {
    arith.AddiOp: Emitter.add,
    arith.SubiOp: Emitter.sub,
    arith.MuliOp: Emitter.mul,
    arith.DivUIOp: Emitter.div,
    arith.RemUIOp: Emitter.rem,
}


def _scalar(code: Code, op: Operation) -> None:
    if isinstance(op, arith.ConstantOp) and isinstance(op.value, IntegerAttr) and isinstance(op.result.type, IndexType):
        code.values[op.result] = op.value.value.data
        return
    fold = _FOLDED.get(type(op))
    if fold is not None and isinstance(op.results[0].type, IndexType):
        code.values[op.results[0]] = fold(code.e, code.scalar(op.operands[0]), code.scalar(op.operands[1]))
        return
    clone = op.clone({v: code.ssa(v) for v in op.operands})
    code.e.insert(clone)
    code.values.update(zip(op.results, clone.results, strict=True))


def _for(code: Code, op: scf.ForOp) -> None:
    """Loop-carried values live in registers that the body updates, buffers as their addresses; slots, tokens, and dots
    that are only waited for, in none. Sums in Tensor Memory stay there."""
    block = op.body.block
    carried = [
        None if _is_token(argument) else _carried(code, initial)
        for argument, initial in zip(block.args[1:], op.iter_args, strict=True)
    ]
    factor = op.attributes.get(UNROLL)
    unroll = factor.value.data if isinstance(factor, IntegerAttr) else factor is not None
    with code.e.loop(
        code.scalar(op.lb), code.scalar(op.ub), code.scalar(op.step), unroll=unroll, hint=block.args[0].name_hint or "i"
    ) as i:
        code.values[block.args[0]] = i
        for argument, place in zip(block.args[1:], carried, strict=True):
            if place is not None:
                code.values[argument] = _current(code, place, argument.type)
        lower_block(code, block, carried)
    for result, place in zip(op.results, carried, strict=True):
        if place is not None:
            code.values[result] = _current(code, place, result.type)


def _while(code: Code, op: scf.WhileOp) -> None:
    """A loop that carries scalars."""
    regions = op.before_region, op.after_region
    before, after = (Block(arg_types=region.block.arg_types) for region in regions)
    made = scf.WhileOp([code.ssa(value) for value in op.arguments], op.result_types, [before], [after])
    code.e.insert(made)
    for source, block in zip((region.block for region in regions), (before, after), strict=True):
        for old, new in zip(source.args, block.args, strict=True):
            new.name_hint = old.name_hint
            code.values[old] = new
        last = end_of(source)
        with code.e.inside(block):
            for inner in source.ops:
                if inner is not last:
                    with code.e.at(inner.location):
                        lower_op(code, inner)
            code.e.insert(last.clone({value: code.ssa(value) for value in last.operands}))
    code.values.update(zip(op.results, made.results, strict=True))


def _is_token(carried: SSAValue) -> bool:
    """Whether a carried value only says when something is done."""
    waited = isinstance(carried.type, tile.PendingType)
    return isinstance(carried.type, tile.SlotType | tile.TokenType) or (
        waited and all(isinstance(use.operation, tile.AwaitOp) for use in carried.uses)
    )


def _carried(code: Code, initial: SSAValue) -> Place:
    """The registers that hold a loop-carried tile, or the one that holds a scalar, with the initial value in them."""
    if isinstance(sums := code.values[initial], Sums):
        return sums
    if isinstance(initial.type, TensorType | tile.PendingType):
        source = code.tile(initial)
        if isinstance(source, Registers) and _is_handed_over(initial):
            return source
        place = code.array(source.fragment, tile_element(initial.type), initial.name_hint)
        code.copy(source, place)
        return place
    scalar = _scalar_of(code, initial)
    register = code.e.value(cuda.RegistersOp(1, scalar.type))
    code.e.insert(cuda.SetOp(register, code.e.index(0), scalar))
    return register


def _is_handed_over(initial: SSAValue) -> bool:
    """Whether a loop goes on with the sums of dots that nothing else reads, or carries one in flight: in the same
    registers."""
    dot = initial.owner
    if isinstance(initial.type, tile.PendingType):
        return isinstance(dot, tile.DotOp) and initial.has_one_use()
    return isinstance(dot, tile.DotWaitOp) and initial.has_one_use() and dot.acc.has_one_use()


def _scalar_of(code: Code, value: SSAValue) -> SSAValue:
    """A scalar, or the address of a buffer that begins where its layout does."""
    return code.e.index(code.buffer(value).address) if isinstance(value.type, tile.BufferType) else code.ssa(value)


def _current(code: Code, place: Place, type: Attribute) -> Registers | Sums | Buffer | SSAValue:
    if isinstance(place, Registers | Sums):
        return place
    scalar = code.e.value(cuda.GetOp(place, code.e.index(0)))
    return buffer_of(type, scalar) if isinstance(type, tile.BufferType) else scalar


def _update(code: Code, op: scf.YieldOp, carried: Sequence[Place | None]) -> None:
    """Puts the yielded values in place. A tile that lies in the registers of another place is copied out first."""
    arrays = {place.array for place in carried if isinstance(place, Registers)}
    tiles: list[tuple[Tile, Registers]] = []
    scalars: list[tuple[SSAValue, SSAValue]] = []
    for value, place in zip(op.operands, carried, strict=True):
        if place is None or isinstance(place, Sums):
            continue
        if not isinstance(place, Registers):
            scalars.append((_scalar_of(code, value), place))
            continue
        source = code.tile(value)
        if isinstance(source, Registers) and source.array is place.array:
            continue
        if isinstance(source, Registers) and source.array in arrays:
            copied = code.array(source.fragment, tile_element(value.type))
            code.copy(source, copied)
            source = copied
        tiles.append((source, place))
    for source, place in tiles:
        code.copy(source, place)
    for scalar, place in scalars:
        code.e.insert(cuda.SetOp(place, code.e.index(0), scalar))


def _if(code: Code, op: scf.IfOp) -> None:
    """What a branch gives lives in registers that both sides write."""
    for result in op.results:
        if isinstance(result.type, tile.SlotType | tile.TokenType | tile.PendingType):
            raise IrcError(f"expected tiles and scalars as results of a branch, found {result.type}", op.location)
    places = [_result(code, result) for result in op.results]
    then = partial(lower_block, code, op.true_region.block, places)
    if op.false_region.blocks:
        code.e.branch(code.ssa(op.cond), then, partial(lower_block, code, op.false_region.block, places))
    else:
        with code.e.when(code.ssa(op.cond)):
            then()
    for result, place in zip(op.results, places, strict=True):
        code.values[result] = _current(code, place, result.type)


def _result(code: Code, result: SSAValue) -> Registers | SSAValue:
    """Registers for a tile, or the one for a scalar, that a branch gives."""
    if isinstance(result.type, TensorType):
        return code.array(fragment_layout(result.type), tile_element(result.type), result.name_hint)
    return code.e.value(cuda.RegistersOp(1, result.type))


def _partitions(code: Code, op: tile.PartitionsOp) -> None:
    """Each partition in a branch of its own, for its warps. Which end of a channel it is at is what its ops do."""
    e = code.e
    block = block_of(op)
    channel_ops = [each for each in block.ops if isinstance(each, tile.ChannelOp)]
    declared: dict[tile.ChannelOp, SSAValue] = {}
    for channel in channel_ops:
        filling = _threads(op, channel, filled_in)
        draining = _threads(op, channel, drained_in)
        # Where consumers take turns, one of them reads and releases a stage.
        consumers = draining[0] if turns_of(channel) else sum(draining)
        declared[channel] = channels.declare(code, channel, consumers, sum(filling))
    if any(channel.cluster is not None for channel in channel_ops):
        e.insert(cuda.ClusterSyncOp())
    else:
        code.sync("barriers of channels are set up")
    group = e.value(cuda.WarpUniformOp(e.index(e.div(code.group.thread, WARP_GROUP))))

    def chain(number: int, start: int) -> None:
        """One if/else over all partitions: setmaxnreg needs each in a branch of its own."""
        if number == len(op.partitions) - 1:
            _partition(code, op, declared, number, start)
            return
        end = start + LANES * op.warp_counts[number]
        mine = e.compare("slt", group, end // WARP_GROUP)
        own = partial(_partition, code, op, declared, number, start)
        e.branch(mine, own, lambda: chain(number + 1, end))

    chain(0, 0)


def _threads(op: tile.PartitionsOp, channel: tile.ChannelOp, used_in: Callable[[Region], set[SSAValue]]) -> list[int]:
    """The threads of each partition that is at one end of a channel."""
    regions = zip(op.partitions, op.warp_counts, strict=True)
    return [LANES * warps for region, warps in regions if channel.channel in used_in(region)]


def _partition(
    code: Code, op: tile.PartitionsOp, declared: Mapping[tile.ChannelOp, SSAValue], number: int, start: int
) -> None:
    """The code of one partition, whose first thread is `start`. One that only issues TMA is one thread."""
    e, whole, region = code.e, code.group, op.partitions[number]
    filled, drained = filled_in(region), drained_in(region)
    if op.registers is not None:
        e.insert(cuda.SetRegistersOp(op.register_counts[number], grow=not filled))
    own, threads = e.sub(whole.thread, start), LANES * op.warp_counts[number]
    # A consumer whose turn never comes has no code left, and is one still.
    alone = bool(filled) and not drained and not any(map(channels.is_written, filled))
    code.group = ThreadGroup(own, 1) if alone else ThreadGroup(own, threads, named_barriers(op)[region])
    with e.when(e.compare("eq", own, 0) if alone else None):
        for channel, value in declared.items():
            first = next((each for each in op.partitions if channel.channel in drained_in(each)), None)
            channels.enter(code, channel, value, fills=channel.channel in filled, first=first is region)
        lower_block(code, region.block)
        for channel in declared:
            if channel.channel in filled:
                channels.leave(code, channel)
        for order in [each for each in region.block.ops if isinstance(each, tile.OrderOp)]:
            orders.leave(code, order)
    code.group = whole


def _alloc(code: Code, op: tile.AllocOp) -> None:
    assert isinstance(op.buffer.type, tile.BufferType)
    code.values[op.buffer] = buffer_of(op.buffer.type, memory.shared_base(code, channels.offset_of(op)))


def _channel(code: Code, op: tile.ChannelOp) -> None:
    """Channels with barriers are set up where the partitions begin."""
    if op.in_step is not None:
        step_channels.enter(code, op)


LOWERINGS: dict[type[Operation], Callable[[Code, Any], None]] = {
    scf.ForOp: _for,
    scf.IfOp: _if,
    scf.WhileOp: _while,
    tile.AccumulatorOp: tensor_memory.enter,
    tile.AcquireOp: channels.lower_acquire,
    tile.AllocOp: _alloc,
    tile.AnyOp: compute.lower_any,
    tile.AsPendingOp: tensor_memory.lower_as_pending,
    tile.AwaitOp: dots.lower_await,
    tile.CommitOp: channels.lower_commit,
    tile.ConcatOp: compute.lower_concat,
    tile.ConvertOp: exchanges.lower_convert,
    tile.CopyOp: tma.lower_copy,
    tile.DotOp: dots.lower_dot,
    tile.DotWaitOp: dots.lower_dot_wait,
    tile.SumWarpsOp: warp_sums.lower_sum_warps,
    tile.ExtentOp: _extent,
    tile.IotaOp: compute.lower_iota,
    tile.FindSegmentOp: segments.lower_find_segment,
    tile.LoadIndexOp: loads.lower_load_index,
    tile.LoadOp: exchanges.lower_load,
    tile.LoadWindowOp: windows.lower_load_window,
    tile.MapOp: compute.lower_map,
    tile.PermuteOp: compute.lower_permute,
    tile.NoSlotOp: lambda code, op: None,
    tile.ReadOp: memory.lower_read,
    tile.ReduceOp: reduce.lower_reduce,
    tile.ReleaseOp: channels.lower_release,
    tile.ChannelOp: _channel,
    tile.OrderOp: orders.enter,
    tile.PartitionsOp: _partitions,
    tile.PassOp: orders.lower_pass,
    tile.FoldOp: reduce.lower_fold,
    tile.UnfoldOp: reduce.lower_unfold,
    tile.ScanOp: scan.lower_scan,
    tile.BeginTurnOp: channels.lower_begin_turn,
    tile.EndTurnOp: channels.lower_end_turn,
    tile.SkipOp: channels.lower_skip,
    tile.SliceOp: compute.lower_slice,
    tile.SplatOp: compute.lower_splat,
    tile.StoreOp: tma.lower_store,
    tile.StoreWaitOp: tma.lower_store_wait,
    tile.SubviewOp: channels.lower_subview,
    tile.ReadTicketOp: tickets.lower_read_ticket,
    tile.TakeOp: orders.lower_take,
    tile.TakeTicketOp: tickets.lower_take_ticket,
    tile.TransposeOp: channels.lower_transpose,
    tile.WaitOp: channels.lower_wait,
    tile.WriteOp: tma.lower_write,
}
