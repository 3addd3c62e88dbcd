"""`expand-math`: functions become arithmetic that vectors have."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, f32

from irc.dialects.cpu import KernelOp
from irc.expansion.code import expand, is_approximate
from irc.expansion.vector_functions import APPROXIMATIONS, FUNCTIONS
from irc.ir.passes import Pass


@dataclass(frozen=True)
class ExpandMathPass(Pass):
    """Exponentials, logarithms, tanh and erf of f32 in loop nests become polynomials, without branches. Other
    functions, and those of f64, stay calls of the C library."""

    name = "expand-math"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for kernel in [each for each in op.ops if isinstance(each, KernelOp)]:
            for inner in [each for each in kernel.walk() if type(each) in FUNCTIONS]:
                if inner.results[0].type == f32:
                    known = APPROXIMATIONS if type(inner) in APPROXIMATIONS and is_approximate(inner) else FUNCTIONS
                    expand(inner, known[type(inner)])
