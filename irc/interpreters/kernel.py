"""What a module of kernels means, in numpy: a `kernel.fused` computes what its block computes of its operands.

`evaluate` is that of `irc.interpreters.nd.interpreter`, on functions whose ops are kernels, and `nd` ops between them.
"""

from __future__ import annotations

from collections.abc import Sequence

from irc.dialects.kernel import FusedOp
from irc.interpreters.nd.interpreter import Array, Precision, evaluate, evaluate_block, meaning

__all__ = ["evaluate", "evaluate_block"]


@meaning(FusedOp)
def _fused(op: FusedOp, args: Sequence[Array], precision: Precision) -> tuple[Array, ...]:
    return evaluate_block(op.block, args, precision)
