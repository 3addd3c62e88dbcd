"""How large index values of tile programs can be."""

from __future__ import annotations

from xdsl.dialects import arith, scf
from xdsl.ir import BlockArgument, SSAValue

from irc.analysis.multiples import constant_of
from irc.dialects.tile import ForTilesOp


def greatest(value: SSAValue) -> int | None:
    """What an index that is not negative is at most; None where that is not known."""
    if (number := constant_of(value)) is not None:
        return number
    if isinstance(value, BlockArgument):
        return _greatest_of_argument(value)
    owner = value.owner
    if not isinstance(owner, arith.FloorDivSIOp | arith.MinSIOp):
        return None
    most, other = greatest(owner.lhs), greatest(owner.rhs)
    if isinstance(owner, arith.MinSIOp):
        return min((n for n in (most, other) if n is not None), default=None)
    return None if most is None or not constant_of(owner.rhs) else most // (other or 1)


def _greatest_of_argument(value: BlockArgument) -> int | None:
    parent = value.block.parent_op()
    if isinstance(parent, ForTilesOp):
        return parent.extent_values[value.index] - 1
    if isinstance(parent, scf.ForOp) and value.index == 0:
        last = greatest(parent.ub)
        return None if last is None else last - 1
    return None
