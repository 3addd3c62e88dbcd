"""Votes: branches that a warp takes where an element of a tile says so."""

from __future__ import annotations

from xdsl.dialects import scf
from xdsl.dialects.builtin import TensorType, i1
from xdsl.ir import Operation
from xdsl.irdl import irdl_op_definition, operand_def, result_def
from xdsl.utils.exceptions import VerifyException

from irc.dialects.tile.checks import verify_same
from irc.dialects.tile.compute import ConcatOp, IotaOp, MapOp, SliceOp, SplatOp
from irc.dialects.tile.types import element_type_of, verify_broadcast
from irc.ir.operations import PureOp
from irc.ir.verification import NestedVerifyException

WITHIN_THREADS = (ConcatOp, IotaOp, MapOp, SliceOp, SplatOp, scf.YieldOp)
"""Ops for which a thread needs nothing of others."""


@irdl_op_definition
class AnyOp(PureOp):
    """Whether any element of a tile is true: the condition of branches.

    Each warp votes on the elements that its threads hold, and takes a branch by its own vote. So the two sides of a
    branch have to give the same in the rows and columns that have no true element: one does work there that changes
    nothing, such as a multiplication by 1. Their tiles lie as the tile of the vote does, and they hold only ops for
    which threads need nothing of each other.
    """

    name = "tile.any"
    tile = operand_def(TensorType)
    result = result_def(i1)

    assembly_format = "$tile attr-dict `:` type($tile) `->` type($result)"

    def verify_(self) -> None:
        verify_same("elements of type", i1, element_type_of(self.tile.type))
        for branch in [use.operation for use in self.result.uses]:
            if not isinstance(branch, scf.IfOp):
                raise VerifyException(f"expected a vote to be the condition of branches, found {branch.name}")
            self._verify_branch(branch)

    def _verify_branch(self, branch: scf.IfOp) -> None:
        for result in branch.results:
            if not isinstance(result.type, TensorType):
                message = f"expected tiles as results of a branch on a vote, found {result.type}"
                raise NestedVerifyException(branch, message)
            verify_broadcast(self.tile.type, result.type)
        for op in [op for region in branch.regions for block in region.blocks for op in block.ops]:
            if not isinstance(op, WITHIN_THREADS) and not _is_scalar(op):
                message = f"expected ops within threads in a branch on a vote, found {op.name}"
                raise NestedVerifyException(op, message)


def _is_scalar(op: Operation) -> bool:
    return op.name.startswith(("arith.", "math.", "scalar."))
