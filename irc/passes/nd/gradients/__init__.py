"""What reverse mode does at each op: one rule an op, a file for each family.

`irc/passes/nd/reverse_mode.py` walks a function backwards with them. docs/autodiff.md has the conventions.
"""

from __future__ import annotations

from irc.dialects import nd
from irc.passes.nd.gradients.composed import COMPOSED
from irc.passes.nd.gradients.convolution import CONVOLUTION
from irc.passes.nd.gradients.elementwise import ELEMENTWISE
from irc.passes.nd.gradients.indexed import INDEXED
from irc.passes.nd.gradients.products import PRODUCTS
from irc.passes.nd.gradients.reductions import REDUCTIONS
from irc.passes.nd.gradients.rule import Rule
from irc.passes.nd.gradients.scans import SCANS
from irc.passes.nd.gradients.shapes import SHAPES

RULES: dict[type[nd.NdOp], Rule] = {
    **ELEMENTWISE,
    **SHAPES,
    **INDEXED,
    **REDUCTIONS,
    **SCANS,
    **PRODUCTS,
    **CONVOLUTION,
    **COMPOSED,
}

REFUSED: dict[type[nd.NdOp], str] = {
    nd.BitcastOp: "its result depends on the bits of its operand, not on their value",
}
"""Ops from floats to floats that have no derivative, and why."""

CONSTANT: tuple[type[nd.NdOp], ...] = (
    nd.TestOp,
    nd.CompareOp,
    nd.BitwiseOp,
    nd.BitwiseNotOp,
    nd.ShiftOp,
    nd.AnyOp,
    nd.AllOp,
    nd.ArgReduceOp,
    nd.OneHotOp,
    nd.CheckIndicesOp,
    nd.ConstantOp,
    nd.IotaOp,
    nd.RandomOp,
)
"""Ops without a float operand or without a float result: nothing flows through them."""

__all__ = ["CONSTANT", "REFUSED", "RULES", "Rule"]
