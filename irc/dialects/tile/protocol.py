"""The protocol of channels: stages are ended in the order in which they were begun, on every path, and both ends of a
channel come to as many."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Block, Operation, SSAValue

from irc.dialects.tile.channel import (
    AcquireOp,
    ChannelOp,
    CommitOp,
    ReleaseOp,
    SkipOp,
    StageOp,
    WaitOp,
    carried_from,
    channel_of,
)
from irc.dialects.tile.control import ForTilesOp, PartitionsOp
from irc.dialects.tile.types import SlotType
from irc.ir.verification import NestedVerifyException
from irc.support.integers import ceil_div

ENDED: dict[type[StageOp], str] = {AcquireOp: "committed", WaitOp: "released"}


def verify_protocol(channel: ChannelOp) -> None:
    """Raises where a stage is not ended, or ended out of order, where more are held than there are, where several
    partitions fill stages, or where others are drained than are filled."""
    partitions = dict.fromkeys(_partition(use.operation) for use in channel.channel.uses)
    filling = [partition for partition in partitions if _is_used(channel, partition, AcquireOp)]
    if len(filling) > 1:
        message = f"expected one partition that fills the stages of a channel, found {len(filling)}"
        raise NestedVerifyException(channel, message)
    for partition in partitions:
        for kind in (AcquireOp, WaitOp):
            if held := _Held(channel, kind).after(partition, []):
                raise NestedVerifyException(_begin(held[0]), f"the stage is never {ENDED[kind]}")
    draining = [partition for partition in partitions if _is_used(channel, partition, WaitOp)]
    filled = [_count(channel, partition, (AcquireOp,)) for partition in filling]
    for partition in draining if filled else ():
        drained = _count(channel, partition, (WaitOp, SkipOp))
        if None not in (drained, filled[0]) and drained != filled[0]:
            message = f"expected as many stages to be waited for as are filled, {filled[0]}, found {drained}"
            raise NestedVerifyException(channel, message)


def _begin(slot: SSAValue) -> Operation:
    """The op that began a stage, through the loops that carry its slot."""
    if isinstance(slot.owner, StageOp):
        return slot.owner
    return _begin(carried_from(slot)[1])


def _partition(op: Operation) -> Block:
    """The code of the partition that an op is in: of the whole program where it has no partitions."""
    block = op.parent
    assert block is not None
    parent = block.parent_op()
    while isinstance(parent, scf.ForOp | scf.IfOp | ForTilesOp):
        assert parent.parent is not None
        block = parent.parent
        parent = block.parent_op()
    return block


def _is_used(channel: ChannelOp, partition: Block, kind: type[StageOp]) -> bool:
    users = (use.operation for use in channel.channel.uses)
    return any(isinstance(user, kind) and _partition(user) is partition for user in users)


class _Held:
    """Follows the slots of one end of a channel through blocks."""

    def __init__(self, channel: ChannelOp, kind: type[StageOp]):
        self._channel = channel
        self._kind = kind
        self._ends = CommitOp if kind is AcquireOp else ReleaseOp

    def after(self, block: Block, held: Sequence[SSAValue]) -> list[SSAValue]:
        """The slots that are held at the end of a block, the oldest first."""
        now = list(held)
        for op in block.ops:
            if isinstance(op, self._kind) and op.channel is self._channel.channel:
                now.append(op.slot)
                if len(now) > self._channel.stage_count:
                    message = f"would hold {len(now)} stages of a channel that has {self._channel.stage_count}"
                    raise NestedVerifyException(op, message)
            elif isinstance(op, self._ends) and self._is_own(op.slot):
                if not now or now.pop(0) is not op.slot:
                    raise NestedVerifyException(op, "expected the oldest of the stages that are held")
            elif isinstance(op, scf.ForOp):
                now = self._after_loop(op, now)
            elif not isinstance(op, PartitionsOp):
                for region in op.regions:
                    if any(self.after(inner, now) != now for inner in region.blocks):
                        message = f"only some paths have {ENDED[self._kind]} the stage"
                        raise NestedVerifyException(op, message)
        return now

    def _after_loop(self, loop: scf.ForOp, held: list[SSAValue]) -> list[SSAValue]:
        block = loop.body.block
        last = block.last_op
        assert last is not None
        own = [at for at, argument in enumerate(block.args[1:]) if self._is_own(argument)]
        into = {loop.iter_args[at]: block.args[1 + at] for at in own}
        inside = [into.get(slot, slot) for slot in held]
        inside += [argument for argument in into.values() if argument not in inside]
        back = {last.operands[at]: block.args[1 + at] for at in own}
        if [back.get(slot, slot) for slot in self.after(block, inside)] != inside:
            raise NestedVerifyException(loop, "an iteration ends with other stages held than it begins with")
        out: dict[SSAValue, SSAValue] = {block.args[1 + at]: loop.results[at] for at in own}
        return [out.get(slot, slot) for slot in inside]

    def _is_own(self, slot: SSAValue) -> bool:
        if not isinstance(slot.type, SlotType) or slot.type != self._kind.END:
            return False
        return channel_of(slot) is self._channel.channel


def _count(channel: ChannelOp, partition: Block, kinds: tuple[type[StageOp] | type[SkipOp], ...]) -> int | None:
    """How many stages of the channel a partition begins; None where a loop's bounds, or a branch, are not known."""
    total = 0
    for use in channel.channel.uses:
        op = use.operation
        if not isinstance(op, kinds) or _partition(op) is not partition:
            continue
        times = _constant(op.count) if isinstance(op, SkipOp) else 1
        parent = op.parent_op()
        while times is not None and isinstance(parent, scf.ForOp | scf.IfOp | ForTilesOp):
            trips = _trips(parent)
            times = None if trips is None else times * trips
            parent = parent.parent_op()
        if times is None:
            return None
        total += times
    return total


def _trips(op: scf.ForOp | scf.IfOp | ForTilesOp) -> int | None:
    """How often what is in an op runs. Those that take turns in tiles pass over the others' stages."""
    if isinstance(op, scf.IfOp):
        return None
    if isinstance(op, ForTilesOp):
        return 1 if op.turn is None else None
    low, high, step = (_constant(value) for value in (op.lb, op.ub, op.step))
    return None if low is None or high is None or not step else max(0, ceil_div(high - low, step))


def _constant(value: SSAValue) -> int | None:
    constant = value.owner.value if isinstance(value.owner, arith.ConstantOp) else None
    return constant.value.data if isinstance(constant, IntegerAttr) else None
