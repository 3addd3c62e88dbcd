"""`expand-math`: functions become arithmetic that vectors have."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, f32
from xdsl.dialects.utils import FastMathFlag
from xdsl.ir import Operation
from xdsl.rewriter import InsertPoint, Rewriter

from irc.dialects.cpu import KernelOp
from irc.ir.passes import Pass
from irc.looping.functions import APPROXIMATIONS, FUNCTIONS, Code


@dataclass(frozen=True)
class ExpandMathPass(Pass):
    """Exponentials, logarithms, tanh and erf of f32 in loop nests become polynomials, without branches. Other
    functions, and those of f64, stay calls of the C library."""

    name = "expand-math"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for kernel in [each for each in op.ops if isinstance(each, KernelOp)]:
            for inner in [each for each in kernel.walk() if type(each) in FUNCTIONS]:
                if inner.results[0].type == f32:
                    _expand(inner)


def _expand(op: Operation) -> None:
    builder = Builder(InsertPoint.before(op))
    code = Code(builder)
    last = op.prev_op
    known = APPROXIMATIONS if type(op) in APPROXIMATIONS and _is_approximate(op) else FUNCTIONS
    value = known[type(op)](code, op.operands[0])
    made = op.prev_op
    while made is not None and made is not last:
        made.location = op.location
        made = made.prev_op
    Rewriter.replace_op(op, [], [value])


def _is_approximate(op: Operation) -> bool:
    flags = getattr(op, "fastmath", None)
    return flags is not None and FastMathFlag.APPROX_FUNC in flags.data
