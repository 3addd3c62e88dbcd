"""What reverse mode does at each op: one rule an op, a file for each family.

`irc/autodiff/reverse_mode.py` walks a function backwards with them. docs/autodiff.md has the conventions.
"""

from __future__ import annotations

from xdsl.ir import Operation

from irc.autodiff.gradients.attention import ATTENTION
from irc.autodiff.gradients.composed import COMPOSED
from irc.autodiff.gradients.convolution import CONVOLUTION
from irc.autodiff.gradients.indexed import INDEXED
from irc.autodiff.gradients.products import PRODUCTS
from irc.autodiff.gradients.reductions import REDUCTIONS
from irc.autodiff.gradients.scans import SCANS
from irc.autodiff.gradients.shapes import SHAPES
from irc.autodiff.gradients.windows import WINDOWS
from irc.dialects import nd
from irc.dialects.nd.table import ROWS
from irc.dialects.nd.terms import Gradient, Term


def cast(op: nd.CastOp, g: Term) -> list[Term | None]:
    """The walk converts it back: a rounding or a saturation counts as the identity."""
    return [g]


RULES: dict[type[Operation], Gradient] = {
    **{op: row.gradient for op, row in ROWS.items() if row.gradient is not None},
    nd.CastOp: cast,
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

REFUSED: dict[type[Operation], str] = {
    nd.BitcastOp: "its result depends on the bits of its operand, not on their value",
    **dict.fromkeys(
        (nd.AllReduceOp, nd.AllGatherOp, nd.ReduceScatterOp),
        "a program is differentiated as one of whole arrays, before it is divided among ranks",
    ),
}
"""Ops from floats to floats that have no derivative, and why."""

CONSTANT: tuple[type[Operation], ...] = (
    *(op for op, row in ROWS.items() if not row.carries_floats),
    nd.AnyOp,
    nd.AllOp,
    nd.ArgReduceOp,
    nd.OneHotOp,
    nd.CheckIndicesOp,
    nd.AscendingOp,
    nd.ConstantOp,
    nd.ExtentOp,
    nd.IotaOp,
    nd.RandomOp,
)
"""Ops without a float operand or without a float result: nothing flows through them."""

__all__ = ["CONSTANT", "REFUSED", "RULES"]
