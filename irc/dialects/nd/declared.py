"""The two attributes that speak of roundings which have not happened, or need not.

`nd.declared = bf16` on an op: `widen-arithmetic` computes its result, which the user declared bf16, in f32. The value
is not rounded; whoever stores it between kernels rounds it to the declared type.

`nd.deferred` on an `nd.cast`: a decomposition begins or ends in this cast because the op that it replaces had a narrow
operand or result. The user did not ask for it, so `widen-arithmetic` drops it where the value goes into further
arithmetic; with `strict-rounding` it rounds.
"""

from __future__ import annotations

from xdsl.dialects.builtin import UnitAttr
from xdsl.ir import Attribute, Operation, SSAValue

DECLARED = "nd.declared"
"""Discardable attribute: the element type that the op's results were declared with."""

DEFERRED = "nd.deferred"
"""Discardable attribute of `nd.cast`: the user did not write it."""


def declared_element(value: SSAValue) -> Attribute | None:
    """The element type that a value was declared with, where it is computed wider than that; else None."""
    owner = value.owner
    return owner.attributes.get(DECLARED) if isinstance(owner, Operation) else None


def declare(op: Operation, element: Attribute) -> None:
    """Records that the op's results were declared with `element`."""
    op.attributes[DECLARED] = element


def defer(op: Operation) -> None:
    """Marks a cast as one that the user did not write."""
    op.attributes[DEFERRED] = UnitAttr()


def is_deferred(op: Operation) -> bool:
    """Whether the op is a cast that the user did not write."""
    return DEFERRED in op.attributes
