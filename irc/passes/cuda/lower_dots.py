"""`lower-dots`: products become instructions of tensor cores."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.rewriter import Rewriter

from irc.analysis.invariants import DOTS_LOWERED, THREADS
from irc.dialects import cuda
from irc.ir.blocks import ops_in
from irc.lowering.emitter import emitted_before
from irc.lowering.kernels import KernelPass
from irc.lowering.tensor_cores import multiply


@dataclass(frozen=True)
class LowerDotsPass(KernelPass):
    """`cuda.dot` becomes the instructions of its product. One of mma.sync loads its operands from shared memory to
    registers, by ldmatrix where rows of 16 bytes lie in one piece, and multiplies them atom by atom. One of wgmma has
    descriptors of them, and an instruction for each 64 rows of a warp group and 32 bytes of K, all in one group. One of
    tcgen05 is the same for each 128 rows, and the group's first thread issues it.

    Waits are there already: which products may be in flight is what `lower-to-cuda` knew of tiles. So are scalar
    multiply-adds.
    """

    name = "lower-dots"
    requires = (THREADS,)
    establishes = (DOTS_LOWERED,)

    def run(self, kernel: cuda.KernelOp) -> None:
        ops = ops_in(kernel)
        for op in ops:
            if isinstance(op, cuda.DotOp):
                with emitted_before(op, op.location) as e:
                    multiply(op, e)
                Rewriter.erase_op(op)
        for op in ops:
            if isinstance(op, cuda.MatrixOp):
                Rewriter.erase_op(op)
