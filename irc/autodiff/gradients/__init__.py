"""What reverse mode does at each op: one rule an op, a file for each family.

`irc/autodiff/reverse_mode.py` walks a function backwards with them. docs/autodiff.md has the conventions.
"""

from __future__ import annotations

from irc.autodiff.gradients.attention import ATTENTION
from irc.autodiff.gradients.composed import COMPOSED
from irc.autodiff.gradients.convolution import CONVOLUTION
from irc.autodiff.gradients.elementwise import ELEMENTWISE
from irc.autodiff.gradients.indexed import INDEXED
from irc.autodiff.gradients.products import PRODUCTS
from irc.autodiff.gradients.reductions import REDUCTIONS
from irc.autodiff.gradients.rule import Rule
from irc.autodiff.gradients.scans import SCANS
from irc.autodiff.gradients.shapes import SHAPES
from irc.autodiff.gradients.windows import WINDOWS
from irc.dialects import nd

RULES: dict[type[nd.NdOp], Rule] = {
    **ELEMENTWISE,
    **SHAPES,
    **INDEXED,
    **REDUCTIONS,
    **SCANS,
    **WINDOWS,
    **PRODUCTS,
    **CONVOLUTION,
    **COMPOSED,
    **ATTENTION,
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
