"""Attributes that speak of roundings which have not happened, or need not, and of how accurate a value must be
(`irc/ir/discardable.py` declares them).

`nd.declared = bf16` on an op: `widen-arithmetic` computes its result, which the user declared bf16, in f32. The value
is not rounded; whoever stores it between kernels rounds it to the declared type.

`nd.deferred` on an `nd.cast`: a decomposition begins or ends in this cast because the op that it replaces had a narrow
operand or result. The user did not ask for it, so `widen-arithmetic` drops it where the value goes into further
arithmetic; with `strict-rounding` it rounds.

`nd.relaxed` on an op in f32: its result was declared narrow, or it belongs to the decomposition of an op whose result
was, or to a kernel written in Python all results of which are narrow. It may be computed to about 2 ** -20 (relative),
which is far below what rounding to the declared type takes; what the user declared f32 is computed to f32's accuracy.
`decompose-nd`, `fuse-kernels` and `tile-arrays` mark the ops that are relaxable.
"""

from __future__ import annotations

from xdsl.dialects.builtin import UnitAttr
from xdsl.ir import Attribute, Operation, SSAValue

from irc.ir.discardable import DECLARED, DEFERRED, RELAXED, is_relaxable
from irc.ir.dtypes import Element, element_of


def declared_element(value: SSAValue) -> Attribute | None:
    """The element type that a value was declared with, where it is computed wider than that; else None."""
    owner = value.owner
    return owner.attributes.get(DECLARED) if isinstance(owner, Operation) else None


def stored_element(value: SSAValue) -> Element:
    """The element type in which kernels store a value between them."""
    declared = declared_element(value)
    return element_of(value.type if declared is None else declared)


def declare(op: Operation, element: Attribute) -> None:
    """Records that the op's results were declared with `element`."""
    op.attributes[DECLARED] = element


def defer(op: Operation) -> None:
    """Marks a cast as one that the user did not write."""
    op.attributes[DEFERRED] = UnitAttr()


def is_deferred(op: Operation) -> bool:
    """Whether the op is a cast that the user did not write."""
    return DEFERRED in op.attributes


def relax(op: Operation) -> None:
    """Marks an op as part of the computation of a narrow value, where that makes it cheaper."""
    if is_relaxable(op):
        op.attributes[RELAXED] = UnitAttr()


def is_relaxed(op: Operation) -> bool:
    """Whether the op's value need not have the accuracy of f32, in which it is computed."""
    return RELAXED in op.attributes
