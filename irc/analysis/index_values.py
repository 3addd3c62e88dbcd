"""What is known of tile-level index values: what they are multiples of, which is the alignment that vectors need, how
large they can be, and whether they grow with others."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import gcd
from typing import TypeVar

from xdsl.dialects import arith, scf
from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from irc.dialects.tile import ForTilesOp, LoadIndexOp
from irc.ir.properties import constant_of

T = TypeVar("T")


def _once(rule: Callable[[SSAValue, Callable[[SSAValue], T]], T], value: SSAValue) -> T:
    """What a rule says of a value. It asks for what the value is computed from, of each once: index code shares values,
    a walk each of them with two more."""
    found: dict[SSAValue, T] = {}

    def of(each: SSAValue) -> T:
        if each not in found:
            found[each] = rule(each, of)
        return found[each]

    return of(value)


def multiple_of(value: SSAValue) -> int:
    """A number that the value is a multiple of; 0 where the value is 0."""
    return _once(_multiple_of, value)


def _multiple_of(value: SSAValue, of: Callable[[SSAValue], int]) -> int:
    number = constant_of(value)
    if number is not None:
        return abs(number)
    if isinstance(value, BlockArgument):
        return _multiple_of_argument(value)
    owner = value.owner
    match owner:
        case arith.MuliOp():
            return of(owner.lhs) * of(owner.rhs)
        case arith.ShLIOp():
            shift = constant_of(owner.rhs)
            return of(owner.lhs) << shift if shift is not None else 1
        case arith.AddiOp() | arith.SubiOp() | arith.MinSIOp() | arith.MaxSIOp() | arith.MinUIOp() | arith.MaxUIOp():
            return gcd(of(owner.lhs), of(owner.rhs))
        case arith.SelectOp():
            return gcd(of(owner.lhs), of(owner.rhs))
        case arith.DivUIOp() | arith.FloorDivSIOp():
            by, whole = constant_of(owner.rhs), of(owner.lhs)
            return whole // by if by and whole % by == 0 else 1
        case _:
            return 1


def _multiple_of_argument(value: BlockArgument) -> int:
    parent = value.block.parent_op()
    if isinstance(parent, ForTilesOp):
        return parent.step_values[value.index]
    if isinstance(parent, scf.ForOp) and value.index == 0:
        return gcd(multiple_of(parent.lb), multiple_of(parent.step))
    return 1


def greatest(value: SSAValue) -> int | None:
    """What an index that is not negative is at most; None where that is not known."""
    if (number := constant_of(value)) is not None:
        return number
    if isinstance(value, BlockArgument):
        return _greatest_of_argument(value)
    owner = value.owner
    if isinstance(owner, LoadIndexOp):
        return owner.most_value
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


def slope(value: SSAValue, by: SSAValue) -> int | None:
    """1 where a value may rise and never falls as `by` grows, -1 where it may fall and never rises, 0 where it does not
    depend on it; None where that is not known."""
    return _once(partial(_slope, by=by), value)


def is_even(op: Operation, by: SSAValue) -> bool:
    """Whether the loops within an op are known to have as many iterations, whatever `by` is."""
    bounds = (bound for each in op.walk() if isinstance(each, scf.ForOp) for bound in (each.lb, each.ub, each.step))
    return all(slope(bound, by) == 0 for bound in bounds)


def _slope(value: SSAValue, of: Callable[[SSAValue], int | None], by: SSAValue) -> int | None:
    if value is by:
        return 1
    if isinstance(value.owner, Block):
        return None if isinstance(value.owner.parent_op(), scf.ForOp) else 0
    op = value.owner
    match op:
        case arith.AddiOp() | arith.MinSIOp() | arith.MaxSIOp():
            return together(of(op.lhs), of(op.rhs))
        case arith.SubiOp():
            return together(of(op.lhs), opposite(of(op.rhs)))
        case arith.MuliOp() if (factor := constant_of(op.rhs)) is not None:
            return of(op.lhs) if factor > 0 else opposite(of(op.lhs)) if factor else 0
        case arith.FloorDivSIOp() | arith.CeilDivSIOp() if (constant_of(op.rhs) or 0) > 0:
            return of(op.lhs)
        case _:
            is_apart = not op.regions and all(of(operand) == 0 for operand in op.operands)
            return 0 if is_apart else None


def together(a: int | None, b: int | None) -> int | None:
    """The slope of a sum."""
    if a == 0 or b == 0:
        return b if a == 0 else a
    return a if a == b else None


def opposite(a: int | None) -> int | None:
    return None if a is None else -a
