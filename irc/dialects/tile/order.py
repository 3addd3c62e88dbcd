"""Orders: the warp groups of a partition go through a section of its code one after the other."""

from __future__ import annotations

from xdsl.dialects.builtin import LocationAttr
from xdsl.ir import Operation, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, result_def, traits_def
from xdsl.traits import MemoryAllocEffect
from xdsl.utils.exceptions import VerifyException

from irc.dialects.tile.channel import origin_of
from irc.dialects.tile.control import PartitionsOp
from irc.dialects.tile.types import OrderType, TokenType
from irc.ir.operations import BuiltOp, EffectOp
from irc.layout.instructions import LANES, WARP_GROUP


@irdl_op_definition
class OrderOp(BuiltOp):
    """A cycle of the warp groups of the partition that it stands in, at least two. Its one token is the first group's
    to begin with.

    A group takes the token when the group before it has passed it on, so what stands between `take` and `pass` is
    issued by one group at a time, and by all of them in turn. The groups run the same code, which takes and passes the
    token equally often in each.
    """

    name = "tile.order"
    order = result_def(OrderType)

    traits = traits_def(MemoryAllocEffect())
    assembly_format = "attr-dict"

    @property
    def groups(self) -> int:
        """How many warp groups the partition has."""
        parent, region = self.parent_op(), self.parent_region()
        if not isinstance(parent, PartitionsOp) or region is None:
            raise VerifyException("expected an order in the code of a partition")
        return parent.warp_counts[list(parent.partitions).index(region)] * LANES // WARP_GROUP

    def verify_(self) -> None:
        if self.groups < 2:
            raise VerifyException(f"expected a partition of two warp groups or more, found {self.groups}")


@irdl_op_definition
class TakeOp(EffectOp):
    """The order's token, when it is this warp group's turn."""

    name = "tile.take"
    order = operand_def(OrderType)
    token = result_def(TokenType)

    assembly_format = "$order attr-dict"

    def __init__(self, order: SSAValue | Operation, location: LocationAttr | None = None):
        super().__init__(order, location)
        self.token.name_hint = "token"


@irdl_op_definition
class PassOp(EffectOp):
    """The token goes to the next warp group; from the last one to the first, for its next turn. What was issued in the
    turn need not be complete."""

    name = "tile.pass"
    token = operand_def(TokenType)

    assembly_format = "$token attr-dict"


def order_of(token: SSAValue) -> SSAValue:
    """The order of a token, through the loops that carry it."""
    return origin_of(token, TakeOp)
