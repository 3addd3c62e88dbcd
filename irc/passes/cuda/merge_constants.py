"""`merge-constants`: a kernel has each integer once."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Attribute
from xdsl.rewriter import InsertPoint, Rewriter

from irc.analysis.invariants import THREADS
from irc.dialects.cuda import KernelOp
from irc.ir.blocks import ops_in
from irc.lowering.kernels import KernelPass


@dataclass(frozen=True)
class MergeConstantsPass(KernelPass):
    """Equal constants of an integer type become one, where the kernel begins, with the kernel's location; those that
    nothing uses are gone. Passes before it write a constant wherever they need a number: a quarter of the ops of a
    kernel. Floats are left alone: 0.0 and -0.0 are equal, and are two.
    """

    name = "merge-constants"
    requires = (THREADS,)

    def run(self, kernel: KernelOp) -> None:
        known: dict[tuple[Attribute, Attribute], arith.ConstantOp] = {}
        for op in ops_in(kernel):
            if not isinstance(op, arith.ConstantOp) or not isinstance(op.value, IntegerAttr):
                continue
            key = op.value, op.result.type
            if key in known:
                Rewriter.replace_op(op, [], [known[key].result])
            elif op.result.uses.get_length():
                known[key] = op
            else:
                Rewriter.erase_op(op)
        for op in known.values():
            op.detach()
            op.location = kernel.location
        if known:
            Rewriter.insert_op(list(known.values()), InsertPoint.at_start(kernel.body.block))
