"""Products by tcgen05: one thread of a group issues instructions of 128 rows on descriptors."""

from __future__ import annotations

from xdsl.dialects import arith
from xdsl.dialects.builtin import i1

from irc.dialects import cuda
from irc.ir.targets import target_of
from irc.layout.tcgen05 import ROWS
from irc.lowering.emitter import known
from irc.lowering.operand_descriptors import advanced, depth_of, descriptor_of, matrix_of, operand_type
from irc.lowering.values import ThreadCode
from irc.support.diagnostics import IrcError


def multiply_tcgen05(code: ThreadCode, dot: cuda.DotOp) -> None:
    """Steps of 32 bytes along K of each 128 rows, whose sums lie in columns behind those of the rows before. Where the
    product overwrites the sums, the first step does. IrcError on another target than sm_100a."""
    if not (machine := target_of(dot)).has_tcgen05:
        raise IrcError(f"tcgen05 is an instruction of sm_100a, found {machine.name}", dot.location)
    e, (m, n, k) = code.e, dot.mnk
    lhs, rhs = matrix_of(dot.lhs, (m, k)), matrix_of(dot.rhs, (k, n))
    depth, types = depth_of(rhs), [operand_type(dot, each) for each in (lhs, rhs)]
    with e.when(e.compare("eq", code.group.thread, 0)):
        b, transpose_b = descriptor_of(code, rhs, 0, 1, 0, cuda.Tcgen05DescriptorOp)
        for row in range(m // ROWS):
            a, transpose_a = descriptor_of(code, lhs, 1, 0, row * ROWS, cuda.Tcgen05DescriptorOp)
            columns = e.i32(e.add(known(dot.index), row * n))
            tensor = e.value(arith.AddiOp(dot.accumulator, columns))
            with e.loop(0, k // depth, unroll=True, hint="k") as step:
                e.insert(
                    cuda.Tcgen05MmaOp(
                        tensor,
                        advanced(code, a, lhs, 1, step, depth),
                        advanced(code, b, rhs, 0, step, depth),
                        e.constant(1, i1) if dot.overwrites is None else e.compare("ne", step, 0),
                        n=n,
                        lhs_type=types[0],
                        rhs_type=types[1],
                        transpose_lhs=transpose_a,
                        transpose_rhs=transpose_b,
                    )
                )
