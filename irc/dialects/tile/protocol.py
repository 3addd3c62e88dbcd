"""The protocols of channels and orders: what is begun is ended in its order, once on every path; both ends of a channel
come to as many stages."""

from __future__ import annotations

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Block, Operation, SSAValue

from irc.dialects.tile.channel import AcquireOp, ChannelOp, CommitOp, ReleaseOp, SkipOp, StageOp, WaitOp
from irc.dialects.tile.control import ForTilesOp
from irc.dialects.tile.linear import Linear
from irc.dialects.tile.order import OrderOp, PassOp, TakeOp
from irc.dialects.tile.types import TokenType
from irc.ir.blocks import block_of
from irc.ir.verification import NestedVerifyException
from irc.support.integers import ceil_div


def verify_protocol(channel: ChannelOp) -> None:
    """Raises where a stage is not ended, or ended out of order, where more are held than there are, where several
    partitions fill stages, or where others are drained than are filled."""
    partitions = dict.fromkeys(_partition(use.operation) for use in channel.channel.uses)
    filling = [partition for partition in partitions if _is_used(channel, partition, AcquireOp)]
    if len(filling) > 1:
        message = f"expected one partition that fills the stages of a channel, found {len(filling)}"
        raise NestedVerifyException(channel, message)
    for partition in partitions:
        for slots in _slots(channel):
            slots.verify(partition)
    draining = [partition for partition in partitions if _is_used(channel, partition, WaitOp)]
    filled = [_count(channel, partition, (AcquireOp,)) for partition in filling]
    for partition in draining if filled else ():
        drained = _count(channel, partition, (WaitOp, SkipOp))
        if None not in (drained, filled[0]) and drained != filled[0]:
            message = f"expected as many stages to be waited for as are filled, {filled[0]}, found {drained}"
            raise NestedVerifyException(channel, message)


def _slots(channel: ChannelOp) -> tuple[Linear, Linear]:
    """What a partition holds of the stages that it fills, and of those that it drains."""
    value, stages = channel.channel, channel.stage_count
    return (
        Linear(value, AcquireOp.END, AcquireOp, CommitOp, stages, "stage", "a channel", "committed"),
        Linear(value, WaitOp.END, WaitOp, ReleaseOp, stages, "stage", "a channel", "released"),
    )


def verify_order(order: OrderOp) -> None:
    """Raises where a token is not passed on once on every path, or taken by a group that has it: no other group would
    come to its turn."""
    tokens = Linear(order.order, TokenType(), TakeOp, PassOp, 1, "token", "an order", "passed")
    block = block_of(order)
    tokens.verify(block)


def _partition(op: Operation) -> Block:
    """The code of the partition that an op is in: of the whole program where it has no partitions."""
    block = block_of(op)
    parent = block.parent_op()
    while isinstance(parent, scf.ForOp | scf.IfOp | ForTilesOp):
        assert parent.parent is not None
        block = parent.parent
        parent = block.parent_op()
    return block


def _is_used(channel: ChannelOp, partition: Block, kind: type[StageOp]) -> bool:
    users = (use.operation for use in channel.channel.uses)
    return any(isinstance(user, kind) and _partition(user) is partition for user in users)


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
