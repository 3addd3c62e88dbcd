"""Tickets: the numbers by which blocks take tiles while a kernel runs."""

from __future__ import annotations

from xdsl.dialects.builtin import IndexType, i32
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, result_def
from xdsl.utils.exceptions import VerifyException

from irc.dialects.tile.control import DYNAMIC, ForTilesOp
from irc.dialects.tile.types import BufferType, ViewType
from irc.ir.operations import EffectOp


@irdl_op_definition
class TakeTicketOp(EffectOp):
    """The next ticket of a counter in global memory, one element of i32 that is 0 before the launch: the number of
    those that blocks took before it. One thread takes it; all that run the op have it. It is left in a shared buffer:
    in a stage of a channel for other partitions, which fills the stage, or in a buffer of the block."""

    name = "tile.take_ticket"
    counter = operand_def(ViewType)
    buffer = operand_def(BufferType)
    ticket = result_def(IndexType)

    assembly_format = "$counter `->` $buffer attr-dict `:` type($counter) `->` type($buffer)"

    def __init__(self, counter: SSAValue, buffer: SSAValue):
        super().__init__(counter, buffer)
        self.ticket.name_hint = "ticket"

    def verify_(self) -> None:
        _verify_word("a counter", self.counter.type)
        _verify_word("a buffer", self.buffer.type)


@irdl_op_definition
class ReadTicketOp(EffectOp):
    """The ticket that another partition took, from the buffer where it was left."""

    name = "tile.read_ticket"
    buffer = operand_def(BufferType)
    ticket = result_def(IndexType)

    assembly_format = "$buffer attr-dict `:` type($buffer)"

    def __init__(self, buffer: SSAValue):
        super().__init__(buffer)
        self.ticket.name_hint = "ticket"

    def verify_(self) -> None:
        _verify_word("a buffer", self.buffer.type)


@irdl_op_definition
class NextTileOp(EffectOp):
    """Ends an iteration of a loop over tiles with the schedule "dynamic": the block goes on with the tile that a ticket
    stands for, of those behind the first tiles of all blocks. Where there is no such tile, the loop ends."""

    name = "tile.next_tile"
    ticket = operand_def(IndexType)

    assembly_format = "$ticket attr-dict"

    def verify_(self) -> None:
        loop = self.parent_op()
        if not isinstance(loop, ForTilesOp) or loop.schedule_name != DYNAMIC:
            raise VerifyException(f'expected a loop over tiles with the schedule "{DYNAMIC}" around it')
        if self.next_op is not None:
            raise VerifyException(f"expected it to end an iteration, found {self.next_op.name} behind it")


def _verify_word(what: str, type: Attribute) -> None:
    assert isinstance(type, ViewType | BufferType)
    if type.get_shape() != (1,) or type.element_type != i32:
        raise VerifyException(f"expected {what} of one element of i32, found {type}")
