"""Products by tcgen05: one thread of a group issues instructions of 128 rows on descriptors."""

from __future__ import annotations

from typing import Any

from xdsl.dialects import arith
from xdsl.ir import Operation, SSAValue

from irc.dialects import cuda
from irc.ir.targets import target_of
from irc.layout.tcgen05 import ROWS
from irc.lowering.emitter import known
from irc.lowering.operand_descriptors import insert_steps
from irc.lowering.values import ThreadCode
from irc.support.diagnostics import IrcError


def multiply_tcgen05(code: ThreadCode, dot: cuda.DotOp) -> None:
    """Steps of 32 bytes along K of each 128 rows, whose sums lie in columns behind those of the rows before. Where the
    product overwrites the sums, the first step does. IrcError on another target than sm_100a."""
    if not (machine := target_of(dot)).has_tcgen05:
        raise IrcError(f"tcgen05 is an instruction of sm_100a, found {machine.name}", dot.location)
    e, (m, n, _) = code.e, dot.mnk

    def instruction(row: int, lhs: SSAValue, rhs: SSAValue, adds: SSAValue, **properties: Any) -> Operation:
        column = e.i32(e.add(known(dot.index), row * n))
        return cuda.Tcgen05MmaOp(e.value(arith.AddiOp(dot.accumulator, column)), lhs, rhs, adds, **properties)

    with e.when(e.compare("eq", code.group.thread, 0)):
        insert_steps(code, dot, range(0, m, ROWS), instruction, cuda.Tcgen05DescriptorOp)
