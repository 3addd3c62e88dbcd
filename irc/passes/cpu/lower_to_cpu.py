"""`lower-to-cpu`: layout-free tile programs become loop nests."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.rewriter import Rewriter

from irc.analysis.access_bounds import check_accesses
from irc.analysis.invariants import LAYOUT_FREE, TILED
from irc.dialects import tile
from irc.ir.discardable import INTERPRETED
from irc.ir.extents import require_sizes
from irc.ir.passes import Pass
from irc.looping.kernels import loops_of
from irc.looping.unsupported import Unsupported


@dataclass(frozen=True)
class LowerToCpuPass(Pass):
    """Each program becomes a `cpu.kernel`: what it computes once and reads again is memory of a thread's own, the rest
    is computed in the loops that need it.

    A program with an op that has no loops so far stays as it is, for the interpreter; its attribute says why.
    """

    name = "lower-to-cpu"
    requires = (TILED, LAYOUT_FREE)

    def check_given(self, module: ModuleOp) -> None:
        for program in [each for each in module.ops if isinstance(each, tile.ProgramOp)]:
            check_accesses(program)

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        require_sizes(op, "a loop nest of a CPU")
        for program in [each for each in op.ops if isinstance(each, tile.ProgramOp)]:
            try:
                kernel = loops_of(program)
            except Unsupported as reason:
                program.attributes[INTERPRETED] = StringAttr(f"no loops for {reason}")
                continue
            Rewriter.replace_op(program, kernel, [])
