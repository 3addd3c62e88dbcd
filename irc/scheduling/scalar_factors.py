"""How a value of a scalar body depends on some of the body's arguments: as a factor exp(sum of c * argument)."""

from __future__ import annotations

from collections.abc import Mapping, Set
from math import log

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import FloatAttr
from xdsl.ir import Operation, SSAValue

from irc.analysis.factors import joined, scaled

Exponents = Mapping[SSAValue, float]
"""Of a value that is g * exp(sum of c * a), with a g that none of the arguments has a part in: c by argument."""


def factor_of(value: SSAValue, arguments: Set[SSAValue]) -> Exponents | None:
    """Of a value that is such a product; None of others."""
    op = value.owner
    if not depends(value, arguments):
        return {}
    match op:
        case math.ExpOp():
            return term_of(op.operand, arguments)
        case math.Exp2Op():
            return scaled(term_of(op.operand, arguments), log(2))
        case arith.MulfOp():
            return joined(factor_of(op.lhs, arguments), factor_of(op.rhs, arguments))
        case arith.SelectOp() if not depends(op.cond, arguments):
            found = [factor_of(each, arguments) for each in (op.lhs, op.rhs) if number_of(each) != 0]
            return found[0] if found and all(each == found[0] for each in found) else None
        case _:
            return None


def term_of(value: SSAValue, arguments: Set[SSAValue]) -> Exponents | None:
    """Of a value that is h + sum of c * a, with an h that none of the arguments has a part in: c by argument."""
    op = value.owner
    if value in arguments:
        return {value: 1.0}
    if not depends(value, arguments):
        return {}
    match op:
        case arith.AddfOp():
            return joined(term_of(op.lhs, arguments), term_of(op.rhs, arguments))
        case arith.SubfOp():
            return joined(term_of(op.lhs, arguments), scaled(term_of(op.rhs, arguments), -1.0))
        case arith.NegfOp():
            return scaled(term_of(op.operand, arguments), -1.0)
        case arith.MulfOp():
            for term, number in ((op.lhs, number_of(op.rhs)), (op.rhs, number_of(op.lhs))):
                if number is not None:
                    return scaled(term_of(term, arguments), number)
            return None
        case _:
            return None


def depends(value: SSAValue, arguments: Set[SSAValue]) -> bool:
    """Whether any of the arguments has a part in a value."""
    op = value.owner
    return value in arguments or (isinstance(op, Operation) and any(depends(each, arguments) for each in op.operands))


def number_of(value: SSAValue) -> float | None:
    """The number that a constant of a float type is; None of anything else."""
    constant = value.owner.value if isinstance(value.owner, arith.ConstantOp) else None
    return constant.value.data if isinstance(constant, FloatAttr) else None
