"""How the values between two products of a cascade depend on reductions: as factors exp(c * r), or in another way."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import log
from typing import TypeVar

from xdsl.ir import Operation, SSAValue

from irc.analysis.op_classes import is_cast, is_elementwise, is_splittable, is_unit_reshape
from irc.dialects import nd
from irc.ir.iteration import is_broadcast

KeyT = TypeVar("KeyT")

Exponents = Mapping[Operation, float]
"""Of a value that is g * exp(sum of c * r): c by the reduction that gives r."""


@dataclass
class Factors:
    """How values depend on reductions, as factors."""

    reductions: set[Operation]
    _known: dict[SSAValue, bool] = field(default_factory=dict[SSAValue, bool])

    def of(self, value: SSAValue) -> Exponents | None:
        """Of a value that is g * exp(sum of c * r), with a g that no reduction has a part in; None of others."""
        if not self._depends(value):
            return {}
        op = value.owner
        assert isinstance(op, Operation)
        match op:
            case nd.ExpOp():
                return self._sum(op.operands[0])
            case nd.Exp2Op():
                return scaled(self._sum(op.operands[0]), log(2))
            case nd.MulOp():
                return joined(self.of(op.lhs), self.of(op.rhs))
            case nd.DivOp():
                return joined(self.of(op.lhs), scaled(self.of(op.rhs), -1))
            case nd.WhereOp():
                return self._either(op)
            case nd.NegOp():
                return self.of(op.operands[0])
            case _ if _passes(op):
                return self.of(op.operands[0])
            case _:
                return None

    def _either(self, op: nd.WhereOp) -> Exponents | None:
        condition, *choices = op.operands
        found = [self.of(value) for value in choices if not is_zero(value)]
        alike = all(each == found[0] for each in found)
        return found[0] if found and alike and not self._depends(condition) else None

    def _sum(self, value: SSAValue) -> Exponents | None:
        """Of a value that is h + sum of c * r."""
        if not self._depends(value):
            return {}
        op = value.owner
        assert isinstance(op, Operation)
        match op:
            case nd.AddOp():
                return joined(self._sum(op.lhs), self._sum(op.rhs))
            case nd.SubOp():
                return joined(self._sum(op.lhs), scaled(self._sum(op.rhs), -1))
            case nd.NegOp():
                return scaled(self._sum(op.operands[0]), -1)
            case nd.MulOp():
                pairs = ((op.lhs, _number(op.rhs)), (op.rhs, _number(op.lhs)))
                return next((scaled(self._sum(v), n) for v, n in pairs if n is not None), None)
            case _ if op in self.reductions:
                return {op: 1.0}
            case _ if _passes(op) and not is_cast(op):
                return self._sum(op.operands[0])
            case _:
                return None

    def _depends(self, value: SSAValue) -> bool:
        """Whether a reduction has a part in the value."""
        if value not in self._known:
            op = value.owner
            self._known[value] = isinstance(op, Operation) and (
                op in self.reductions or (is_between(op) and any(self._depends(operand) for operand in op.operands))
            )
        return self._known[value]


def is_between(op: Operation) -> bool:
    return is_elementwise(op) or is_broadcast(op) or is_unit_reshape(op) or is_splittable(op)


def _passes(op: Operation) -> bool:
    """Whether elements of the result are those of the operand, but for a rounding."""
    return is_cast(op) or is_broadcast(op) or is_unit_reshape(op)


def joined(a: Mapping[KeyT, float] | None, b: Mapping[KeyT, float] | None) -> Mapping[KeyT, float] | None:
    """Exponents of a product, from those of its factors."""
    if a is None or b is None:
        return None
    total = {op: a.get(op, 0.0) + b.get(op, 0.0) for op in {**a, **b}}
    return {op: coefficient for op, coefficient in total.items() if coefficient}


def scaled(found: Mapping[KeyT, float] | None, by: float) -> Mapping[KeyT, float] | None:
    """Exponents of a power."""
    return None if found is None else {op: by * coefficient for op, coefficient in found.items()}


def _number(value: SSAValue) -> float | None:
    """The one element of a constant."""
    number = value.owner.splat_value if isinstance(value.owner, nd.ConstantOp) else None
    return None if number is None else float(number)


def is_zero(value: SSAValue) -> bool:
    return _number(value) == 0.0
