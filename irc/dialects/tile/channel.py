"""Channels: pipelines of stages through shared memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects import scf
from xdsl.dialects.builtin import DenseArrayBase, IndexType, IntegerAttr, TensorType, UnitAttr
from xdsl.ir import Attribute, Block, BlockArgument, Operation, OpResult, SSAValue
from xdsl.irdl import (
    BaseAttr,
    EqAttrConstraint,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import MemoryAllocEffect
from xdsl.utils.exceptions import VerifyException

from irc.dialects.tile.checks import verify_same
from irc.dialects.tile.types import DRAIN, FILL, ChannelType, PendingType, SlotType
from irc.ir.blocks import end_of
from irc.ir.operations import BuiltOp, EffectOp, PureOp
from irc.ir.properties import values_of


@irdl_op_definition
class ChannelOp(BuiltOp):
    """A pipeline of `stages` stages through shared memory, with a full and an empty barrier a stage.

    A producer acquires a stage, copies into its buffers and commits; a consumer waits for it, reads and releases.
    With `in_step` all threads of the block do both, and there are no barriers: a wait is for the thread's own copies,
    then for the other threads. Its loop may fill up to `stages` - 1 stages ahead of the one that it waits for.
    `cluster` is the shape of the cluster whose blocks fill each other's stages; `offset` in bytes is given by
    `plan-shared`.
    """

    name = "tile.channel"
    stages = prop_def(IntegerAttr)
    cluster = opt_prop_def(DenseArrayBase)
    in_step = opt_prop_def(UnitAttr)
    offset = opt_prop_def(IntegerAttr)
    channel = result_def(ChannelType)

    traits = traits_def(MemoryAllocEffect())
    assembly_format = "attr-dict `:` type($channel)"

    def __init__(
        self,
        stages: int,
        buffers: Sequence[Attribute],
        cluster: Sequence[int] | None = None,
        *,
        in_step: bool = False,
    ):
        super().__init__(stages, cluster, in_step, channel=ChannelType.of(buffers))

    @property
    def stage_count(self) -> int:
        return self.stages.value.data

    @property
    def cluster_shape(self) -> tuple[int, int]:
        rows, columns = values_of(self.cluster) or (1, 1)
        return rows, columns

    def verify_(self) -> None:
        least = 1 if self.in_step is None else 2
        if self.stage_count < least:
            raise VerifyException(f"expected at least {least} stage{'s' * (least > 1)}, found {self.stage_count}")


class StageOp(EffectOp):
    """What `acquire` and `wait` share: `%s, %a, %b = tile.wait %channel : !tile.channel<A, B>` gives a slot, and one
    buffer for each type of the channel."""

    channel = operand_def(ChannelType)
    slot = result_def(SlotType)
    buffers = var_result_def()

    END: ClassVar[SlotType]

    def __init__(self, channel: SSAValue | Operation):
        value = SSAValue.get(channel)
        assert isinstance(value.type, ChannelType)
        super().__init__(value, self.END, list(value.type.buffers))
        self.slot.name_hint = "slot"

    def verify_(self) -> None:
        assert isinstance(self.channel.type, ChannelType)
        verify_same("a slot of type", self.END, self.slot.type)
        verify_same("buffers", [str(t) for t in self.channel.type.buffers], [str(b.type) for b in self.buffers])

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.channel)
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.channel.type)

    @classmethod
    def parse(cls, parser: Parser):
        unresolved = parser.parse_unresolved_operand()
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        type = parser.parse_attribute()
        if not isinstance(type, ChannelType):
            parser.raise_error(f"expected a channel, found {type}")
        op = cls(parser.resolve_operand(unresolved, type))
        op.attributes |= attributes
        return op


@irdl_op_definition
class AcquireOp(StageOp):
    """The next stage to fill, when those that drain the channel have released it."""

    name = "tile.acquire"
    END: ClassVar[SlotType] = FILL


@irdl_op_definition
class WaitOp(StageOp):
    """The next stage to drain, when what fills it has arrived."""

    name = "tile.wait"
    END: ClassVar[SlotType] = DRAIN


@irdl_op_definition
class CommitOp(EffectOp):
    """What fills an acquired stage is on its way; the stage may be waited for."""

    name = "tile.commit"
    slot = operand_def(EqAttrConstraint(FILL))

    assembly_format = "$slot attr-dict"


@irdl_op_definition
class ReleaseOp(EffectOp):
    """A stage that was waited for may be filled again, when the dots `after` which it is released, and those issued
    before them, are complete. In the first iteration of a loop that begins with `no_slot` there is none, and nothing
    happens; nor behind such a loop that has not run."""

    name = "tile.release"
    slot = operand_def(EqAttrConstraint(DRAIN))
    after = var_operand_def(BaseAttr(TensorType) | BaseAttr(PendingType))

    assembly_format = "$slot (`after` $after^ `:` type($after))? attr-dict"


@irdl_op_definition
class NoSlotOp(PureOp):
    """No stage: what a loop that carries the slot of the step before begins with."""

    name = "tile.no_slot"
    slot = result_def(EqAttrConstraint(DRAIN))

    assembly_format = "attr-dict"


def channel_of(slot: SSAValue) -> SSAValue:
    """The channel of a slot, through the loops that carry it."""
    return origin_of(slot, StageOp)


def origin_of(value: SSAValue, begin: type[Operation]) -> SSAValue:
    """What the ops of the type `begin` that a held value comes from, through loops, are given first."""
    found = _origins(value, begin, set())
    if len(found) != 1:
        raise VerifyException(f"expected a value of type {value.type} of one origin, found one of {len(found)}")
    return found.pop()


def _origins(value: SSAValue, begin: type[Operation], seen: set[SSAValue]) -> set[SSAValue]:
    if value in seen:
        return set()
    seen.add(value)
    owner = value.owner
    if isinstance(owner, begin):
        return {owner.operands[0]}
    return {origin for source in carried_from(value) for origin in _origins(source, begin, seen)}


def carried_from(value: SSAValue) -> list[SSAValue]:
    """What a loop's carried value or result is: its start, and what an iteration ends with. Nothing of others."""
    loop = value.owner.parent_op() if isinstance(value.owner, Block) else value.owner
    if not isinstance(loop, scf.ForOp):
        return []
    assert isinstance(value, BlockArgument | OpResult)
    at = value.index - 1 if isinstance(value, BlockArgument) else value.index
    last = end_of(loop.body.block)
    return [loop.iter_args[at], last.operands[at]]


class TurnOp(EffectOp):
    """What `begin_turn` and `end_turn` share: `turn` is [t, n], as that of `for_tiles`."""

    channel = operand_def(ChannelType)
    turn = prop_def(DenseArrayBase)

    assembly_format = "$channel attr-dict `:` type($channel)"

    @property
    def turns(self) -> tuple[int, int]:
        own, count = values_of(self.turn)
        return own, count

    def verify_(self) -> None:
        turn = values_of(self.turn)
        if len(turn) != 2 or not 0 <= turn[0] < turn[1]:
            raise VerifyException(f"expected a turn below the number of turns, found {list(turn)}")


@irdl_op_definition
class BeginTurnOp(TurnOp):
    """Consumer t of n that take turns in the stages of a channel goes on when the one before it has ended its turn.

    Without it, a consumer could wait for a stage a whole round before it is its own: a barrier knows only the parity
    of its phase.
    """

    name = "tile.begin_turn"


@irdl_op_definition
class EndTurnOp(TurnOp):
    """Consumer t of n has waited for the last stage of its turn."""

    name = "tile.end_turn"


@irdl_op_definition
class SkipOp(EffectOp):
    """The next `count` stages, 0 or more, are not this consumer's: it neither waits for them nor releases them."""

    name = "tile.skip"
    channel = operand_def(ChannelType)
    count = operand_def(IndexType)

    assembly_format = "$channel `by` $count attr-dict `:` type($channel)"
