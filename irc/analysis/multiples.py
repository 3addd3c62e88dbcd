"""What tile-level index values are known to be multiples of: the alignment that vectors need."""

from __future__ import annotations

from math import gcd

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import BlockArgument, SSAValue

from irc.dialects.tile import ForTilesOp


def constant_of(value: SSAValue) -> int | None:
    """The number of an `arith.constant`; None for anything else."""
    if isinstance(value.owner, arith.ConstantOp) and isinstance(value.owner.value, IntegerAttr):
        return value.owner.value.value.data
    return None


def multiple_of(value: SSAValue) -> int:
    """A number that the value is a multiple of; 0 where the value is 0."""
    number = constant_of(value)
    if number is not None:
        return abs(number)
    if isinstance(value, BlockArgument):
        return _multiple_of_argument(value)
    owner = value.owner
    match owner:
        case arith.MuliOp():
            return multiple_of(owner.lhs) * multiple_of(owner.rhs)
        case arith.ShLIOp():
            shift = constant_of(owner.rhs)
            return multiple_of(owner.lhs) << shift if shift is not None else 1
        case arith.AddiOp() | arith.SubiOp() | arith.MinSIOp() | arith.MaxSIOp() | arith.MinUIOp() | arith.MaxUIOp():
            return gcd(multiple_of(owner.lhs), multiple_of(owner.rhs))
        case arith.SelectOp():
            return gcd(multiple_of(owner.lhs), multiple_of(owner.rhs))
        case arith.DivUIOp() | arith.FloorDivSIOp():
            by, of = constant_of(owner.rhs), multiple_of(owner.lhs)
            return of // by if by and of % by == 0 else 1
        case _:
            return 1


def _multiple_of_argument(value: BlockArgument) -> int:
    parent = value.block.parent_op()
    if isinstance(parent, ForTilesOp):
        return parent.step_values[value.index]
    if isinstance(parent, scf.ForOp) and value.index == 0:
        return gcd(multiple_of(parent.lb), multiple_of(parent.step))
    return 1
