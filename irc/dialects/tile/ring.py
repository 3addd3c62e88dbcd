"""Rings: pipelines of stages through shared memory."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, UnitAttr, i64
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    ParsePropInAttrDict,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import (
    MemoryAllocEffect,
    MemoryReadEffect,
    MemoryWriteEffect,
)
from xdsl.utils.exceptions import VerifyException

from irc.dialects.tile.memory import dense, ints, verify_same
from irc.dialects.tile.types import RingType


@irdl_op_definition
class RingOp(IRDLOperation):
    """A pipeline of `stages` stages through shared memory, with a full and an empty barrier a stage.

    A producer acquires a stage, copies into its buffers and commits; a consumer waits for it, reads and releases.
    With `in_step` all threads of the block do both, and there are no barriers: a wait is for the thread's own copies,
    then for the other threads, and `stages` - 1 stages are committed before the first wait and one with each.
    `cluster` is the shape of the cluster whose blocks fill each other's stages; `offset` in bytes is given by
    `plan-shared`.
    """

    name = "tile.ring"
    stages = prop_def(IntegerAttr)
    cluster = opt_prop_def(DenseArrayBase)
    in_step = opt_prop_def(UnitAttr)
    offset = opt_prop_def(IntegerAttr)
    ring = result_def(RingType)

    traits = traits_def(MemoryAllocEffect())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "attr-dict `:` type($ring)"

    def __init__(
        self,
        stages: int,
        buffers: Sequence[Attribute],
        cluster: Sequence[int] | None = None,
        *,
        in_step: bool = False,
    ):
        super().__init__(
            properties={
                "stages": IntegerAttr(stages, i64),
                "cluster": None if cluster is None else dense(cluster),
                "in_step": UnitAttr() if in_step else None,
            },
            result_types=[RingType.of(buffers)],
        )

    @property
    def stage_count(self) -> int:
        return self.stages.value.data

    @property
    def cluster_shape(self) -> tuple[int, int]:
        rows, columns = ints(self.cluster) or (1, 1)
        return rows, columns

    def verify_(self) -> None:
        least = 1 if self.in_step is None else 2
        if self.stage_count < least:
            raise VerifyException(f"expected at least {least} stage{'s' * (least > 1)}, found {self.stage_count}")


class RingAccessOp(IRDLOperation):
    """What `acquire` and `wait` share: `%a, %b = tile.wait %ring : !tile.ring<A, B>`
    gives one buffer for each type of the ring."""

    ring = operand_def(RingType)
    buffers = var_result_def()

    def __init__(self, ring: SSAValue | Operation):
        value = SSAValue.get(ring)
        assert isinstance(value.type, RingType)
        super().__init__(operands=[value], result_types=[list(value.type.buffers)])

    def verify_(self) -> None:
        assert isinstance(self.ring.type, RingType)
        verify_same("buffers", [str(t) for t in self.ring.type.buffers], [str(b.type) for b in self.buffers])

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.ring)
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.ring.type)

    @classmethod
    def parse(cls, parser: Parser):
        unresolved = parser.parse_unresolved_operand()
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        type = parser.parse_attribute()
        if not isinstance(type, RingType):
            parser.raise_error(f"expected a ring, found {type}")
        op = cls(parser.resolve_operand(unresolved, type))
        op.attributes |= attributes
        return op


@irdl_op_definition
class AcquireOp(RingAccessOp):
    """The producer's next stage, when its consumers have released it."""

    name = "tile.acquire"
    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())


@irdl_op_definition
class WaitOp(RingAccessOp):
    """The consumer's next stage, when its copies have arrived."""

    name = "tile.wait"
    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())


@irdl_op_definition
class CommitOp(IRDLOperation):
    """The copies into the stage acquired last are on their way; consumers may wait for it."""

    name = "tile.commit"
    ring = operand_def(RingType)

    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())
    assembly_format = "$ring attr-dict `:` type($ring)"

    def __init__(self, ring: SSAValue | Operation):
        super().__init__(operands=[ring])


@irdl_op_definition
class ReleaseOp(IRDLOperation):
    """The stage waited for `lag` waits ago (0: the last) may be filled again."""

    name = "tile.release"
    ring = operand_def(RingType)
    lag = opt_prop_def(IntegerAttr)

    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$ring attr-dict `:` type($ring)"

    def __init__(self, ring: SSAValue | Operation, lag: int = 0):
        super().__init__(operands=[ring], properties={"lag": IntegerAttr(lag, i64) if lag else None})


class TurnOp(IRDLOperation):
    """What `begin_turn` and `end_turn` share: `turn` is [t, n], as that of `for_tiles`."""

    ring = operand_def(RingType)
    turn = prop_def(DenseArrayBase)

    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$ring attr-dict `:` type($ring)"

    def __init__(self, ring: SSAValue | Operation, turn: Sequence[int]):
        super().__init__(operands=[ring], properties={"turn": dense(turn)})

    @property
    def turns(self) -> tuple[int, int]:
        own, count = ints(self.turn)
        return own, count

    def verify_(self) -> None:
        numbers = ints(self.turn)
        if len(numbers) != 2 or not 0 <= numbers[0] < numbers[1]:
            raise VerifyException(f"expected a turn below the number of turns, found {list(numbers)}")


@irdl_op_definition
class BeginTurnOp(TurnOp):
    """Consumer t of n that take turns in the stages of a ring goes on when the one before it has ended its turn.

    Without it, a consumer could wait for a stage a whole round before it is its own: a barrier knows only the parity
    of its phase.
    """

    name = "tile.begin_turn"


@irdl_op_definition
class EndTurnOp(TurnOp):
    """Consumer t of n has waited for the last stage of its turn."""

    name = "tile.end_turn"


@irdl_op_definition
class SkipOp(IRDLOperation):
    """The next `count` stages are not this consumer's: it neither waits for them nor releases them."""

    name = "tile.skip"
    ring = operand_def(RingType)
    count = prop_def(IntegerAttr)

    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$ring attr-dict `:` type($ring)"

    def __init__(self, ring: SSAValue | Operation, count: int):
        super().__init__(operands=[ring], properties={"count": IntegerAttr(count, i64)})
