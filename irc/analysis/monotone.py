"""Whether index values grow with others."""

from __future__ import annotations

from xdsl.dialects import arith, scf
from xdsl.ir import Block, Operation, SSAValue

from irc.analysis.multiples import constant_of


def slope(value: SSAValue, by: SSAValue) -> int | None:
    """1 where a value may rise and never falls as `by` grows, -1 where it may fall and never rises, 0 where it does not
    depend on it; None where that is not known."""
    if value is by:
        return 1
    if isinstance(value.owner, Block):
        return None if isinstance(value.owner.parent_op(), scf.ForOp) else 0
    op = value.owner
    match op:
        case arith.AddiOp() | arith.MinSIOp() | arith.MaxSIOp():
            return together(slope(op.lhs, by), slope(op.rhs, by))
        case arith.SubiOp():
            return together(slope(op.lhs, by), opposite(slope(op.rhs, by)))
        case arith.MuliOp() if (factor := constant_of(op.rhs)) is not None:
            return slope(op.lhs, by) if factor > 0 else opposite(slope(op.lhs, by)) if factor else 0
        case arith.FloorDivSIOp() | arith.CeilDivSIOp() if (constant_of(op.rhs) or 0) > 0:
            return slope(op.lhs, by)
        case _:
            return 0 if _is_apart(op, by) else None


def together(a: int | None, b: int | None) -> int | None:
    """The slope of a sum."""
    if a == 0 or b == 0:
        return b if a == 0 else a
    return a if a == b else None


def opposite(a: int | None) -> int | None:
    return None if a is None else -a


def _is_apart(op: Operation, by: SSAValue) -> bool:
    """Whether nothing that an op uses depends on a value."""
    return not op.regions and all(slope(operand, by) == 0 for operand in op.operands)
