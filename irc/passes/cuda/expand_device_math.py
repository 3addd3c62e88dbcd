"""`expand-device-math`: functions become arithmetic and instructions of a GPU."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, f32

from irc.analysis.invariants import THREADS
from irc.dialects.cuda import KernelOp
from irc.expansion.code import expand
from irc.expansion.device_functions import function_of
from irc.ir.blocks import ops_in
from irc.ir.passes import Pass


@dataclass(frozen=True)
class ExpandDeviceMathPass(Pass):
    """Functions of f32 in kernels become arithmetic and `cuda.instruction`: those that may be approximated
    (fastmath `afn`) to about 2 ** -20 of the result, exponentials, logarithms, sine, cosine, tanh, erf and rsqrt to
    about 2 units in the last place. A division by a number of few digits becomes two multiplications. Other functions,
    and those of f64, stay calls of CUDA's library."""

    name = "expand-device-math"
    requires = (THREADS,)

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for kernel in [each for each in op.ops if isinstance(each, KernelOp)]:
            for inner in ops_in(kernel):
                if len(inner.results) == 1 and inner.results[0].type == f32:
                    function = function_of(inner)
                    if function is not None:
                        expand(inner, function)
