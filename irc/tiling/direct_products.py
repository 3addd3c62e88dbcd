"""Products summed in registers: each step of the loop over K multiplies two vectors, of the tile's rows and columns.

For products of so few columns, or of such a short K, that a matrix instruction would multiply zeros: convolutions of a
channel or a few in each group. A tile's columns go over several groups, whose rows are not the same: then each element
of the tile reads one of its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.dialects import arith
from xdsl.ir import SSAValue

from irc.tiling.index_maps import DomainDim
from irc.tiling.nodes import Dot, Node
from irc.tiling.program import ProgramTiling
from irc.tiling.reductions import ReduceStage
from irc.tiling.scalar_body import Body, Scalar, cast, is_float
from irc.tiling.stage import Stage, iteration_with

MAX_UNROLLED = 64
"""Steps of a loop that is unrolled as a whole."""

UNROLLED = 8
"""Steps of a longer one that are unrolled."""


def accumulate_directly(
    program: ProgramTiling, stage: ReduceStage, factors: Mapping[Dot, tuple[Node, Node]], k: DomainDim
) -> None:
    """One loop over K for all the products, of these operands; their sums become the tiles of their nodes."""
    dots = list(factors)
    initial = [stage.splat(0, d.type, stage.shape, d.location) for d in dots]
    block = iteration_with(initial)
    inner = ReduceStage(program, block, stage.axes, {**stage.scalars, k: block.args[0]})
    results = [_sum(inner, dot, factors[dot], acc) for dot, acc in zip(dots, block.args[1:], strict=True)]
    bounds = stage.index(0), stage.index(k.extent), stage.index(1)
    unroll = k.extent if k.extent <= MAX_UNROLLED else UNROLLED
    sums = stage.loop(bounds, initial, block, results, dots[0].location, unroll)
    stage.computed |= dict(zip(dots, sums, strict=True))


def _sum(stage: Stage, dot: Dot, factors: tuple[Node, Node], acc: SSAValue) -> SSAValue:
    """The sum so far and one more product, in the accumulator's type."""
    tiles = [acc, *map(stage.tile, factors)]

    def total(body: Body, args: Sequence[SSAValue]) -> SSAValue:
        return multiply_add(body, dot, args[0], args[1:], factors)

    return stage.map(tiles, dot.type, stage.shape, total, dot.location)


def multiply_add(
    body: Body, dot: Dot, total: SSAValue, values: Sequence[SSAValue], factors: tuple[Node, Node]
) -> SSAValue:
    """The sum and one more product, of the values of two factors, in the accumulator's type."""
    x, y = (cast(body, Scalar(value, of.source), dot.source) for value, of in zip(values, factors, strict=True))
    multiply, add = (arith.MulfOp, arith.AddfOp) if is_float(dot.source) else (arith.MuliOp, arith.AddiOp)
    return body(add(total, body(multiply(x, y))))
