"""The protocols of channels and orders: linear values, which one op begins and another ends, in their order and once on
every path; both ends of a channel come to as many stages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects import scf
from xdsl.ir import Attribute, Block, Operation, SSAValue

from irc.dialects.tile.channel import (
    AcquireOp,
    ChannelOp,
    CommitOp,
    ReleaseOp,
    SkipOp,
    StageOp,
    WaitOp,
    carried_from,
    origin_of,
)
from irc.dialects.tile.control import ForTilesOp, PartitionsOp
from irc.dialects.tile.order import OrderOp, PassOp, TakeOp
from irc.dialects.tile.types import TokenType
from irc.ir.blocks import block_of, end_of
from irc.ir.properties import constant_of
from irc.ir.verification import NestedVerifyException
from irc.support.integers import ceil_div


@dataclass(frozen=True)
class Linear:
    """The values of `type` that ops of the type `begin` take from `origin`, and ops of the type `end` end. At most
    `most` are held at a time, and they end in the order in which they began.

    noun, holder, ended: how messages name a value, its origin, and what becomes of it.
    """

    origin: SSAValue
    type: Attribute
    begin: type[Operation]
    end: type[Operation]
    most: int
    noun: str
    holder: str
    ended: str

    def verify(self, block: Block) -> None:
        """Raises where a value that a block begins is not ended once on every path, or out of order."""
        if held := self._after(block, []):
            raise NestedVerifyException(self._begun(held[0]), f"the {self.noun} is never {self.ended}")

    def _begun(self, value: SSAValue) -> Operation:
        """The op that began a value, through the loops that carry it."""
        return value.owner if isinstance(value.owner, self.begin) else self._begun(carried_from(value)[1])

    def _after(self, block: Block, held: Sequence[SSAValue]) -> list[SSAValue]:
        """The values that are held at the end of a block, the oldest first."""
        now = list(held)
        for op in block.ops:
            if isinstance(op, self.begin) and op.operands[0] is self.origin:
                now.append(next(result for result in op.results if result.type == self.type))
                if len(now) > self.most:
                    message = f"would hold {len(now)} {self.noun}s of {self.holder} that has {self.most}"
                    raise NestedVerifyException(op, message)
            elif isinstance(op, self.end) and self._is_own(op.operands[0]):
                if not now or now.pop(0) is not op.operands[0]:
                    raise NestedVerifyException(op, f"expected the oldest of the {self.noun}s that are held")
            elif isinstance(op, scf.ForOp):
                now = self._after_loop(op, now)
            elif not isinstance(op, PartitionsOp):
                for region in op.regions:
                    if any(self._after(inner, now) != now for inner in region.blocks):
                        raise NestedVerifyException(op, f"only some paths have {self.ended} the {self.noun}")
        return now

    def _after_loop(self, loop: scf.ForOp, held: list[SSAValue]) -> list[SSAValue]:
        block = loop.body.block
        last = end_of(block)
        own = [at for at, argument in enumerate(block.args[1:]) if self._is_own(argument)]
        into = {loop.iter_args[at]: block.args[1 + at] for at in own}
        inside = [into.get(value, value) for value in held]
        inside += [argument for argument in into.values() if argument not in inside]
        back = {last.operands[at]: block.args[1 + at] for at in own}
        if [back.get(value, value) for value in self._after(block, inside)] != inside:
            message = f"an iteration ends with other {self.noun}s held than it begins with"
            raise NestedVerifyException(loop, message)
        out: dict[SSAValue, SSAValue] = {block.args[1 + at]: loop.results[at] for at in own}
        return [out.get(value, value) for value in inside]

    def _is_own(self, value: SSAValue) -> bool:
        return value.type == self.type and origin_of(value, self.begin) is self.origin


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
    while isinstance(parent, scf.ForOp | scf.WhileOp | scf.IfOp | ForTilesOp):
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
        times = constant_of(op.count) if isinstance(op, SkipOp) else 1
        parent = op.parent_op()
        while times is not None and isinstance(parent, scf.ForOp | scf.WhileOp | scf.IfOp | ForTilesOp):
            trips = _trips(parent)
            times = None if trips is None else times * trips
            parent = parent.parent_op()
        if times is None:
            return None
        total += times
    return total


def _trips(op: scf.ForOp | scf.WhileOp | scf.IfOp | ForTilesOp) -> int | None:
    """How often what is in an op runs. Those that take turns in tiles pass over the others' stages."""
    if isinstance(op, scf.IfOp | scf.WhileOp):
        return None
    if isinstance(op, ForTilesOp):
        return 1 if op.turn is None else None
    low, high, step = (constant_of(value) for value in (op.lb, op.ub, op.step))
    return None if low is None or high is None or not step else max(0, ceil_div(high - low, step))
