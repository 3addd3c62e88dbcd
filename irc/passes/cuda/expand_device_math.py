"""`expand-device-math`: functions become arithmetic and instructions of a GPU."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects import arith
from xdsl.dialects.builtin import f32
from xdsl.ir import Operation

from irc.analysis.invariants import THREADS
from irc.dialects.cuda import KernelOp
from irc.expansion.code import expand, is_approximate
from irc.expansion.device_functions import function_of
from irc.ir.blocks import ops_in
from irc.ir.discardable import UNROLL
from irc.lowering.kernels import KernelPass


@dataclass(frozen=True)
class ExpandDeviceMathPass(KernelPass):
    """Functions of f32 in kernels become arithmetic and `cuda.instruction`: those that may be approximated
    (fastmath `afn`) to about 2 ** -20 of the result, exponentials, logarithms, sine, cosine, tanh, erf and rsqrt to
    about 2 units in the last place. Divisions of the elements of a tile by a number of few digits become two
    multiplications. Other functions, and those of f64, stay calls of CUDA's library.

    A division alone, as of a row's sum, stays: its branch keeps what follows from being computed ahead, in registers
    that two blocks would have."""

    name = "expand-device-math"
    requires = (THREADS,)

    def run(self, kernel: KernelOp) -> None:
        for inner in ops_in(kernel):
            if len(inner.results) == 1 and inner.results[0].type == f32 and not _is_lone_quotient(inner):
                function = function_of(inner)
                if function is not None:
                    expand(inner, function)


def _is_lone_quotient(op: Operation) -> bool:
    """Whether it is a division as accurate as f32 outside of the loops over a tile's elements."""
    if not isinstance(op, arith.DivfOp) or is_approximate(op):
        return False
    parent = op.parent_op()
    while parent is not None and UNROLL not in parent.attributes:
        parent = parent.parent_op()
    return parent is None
