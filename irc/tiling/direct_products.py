"""Products summed in registers: each step of the loop over K multiplies two vectors, of the tile's rows and columns.

For products of so few columns, or of such a short K, that a matrix instruction would multiply zeros: convolutions of a
channel or a few in each group. A tile's columns go over several groups, whose rows are not the same: then each element
of the tile reads one of its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IntegerAttr, TensorType, i64
from xdsl.ir import Block, Region, SSAValue

from irc.dialects import tile
from irc.ir.discardable import UNROLL
from irc.tiling.index_maps import DomainDim
from irc.tiling.map_body import finish
from irc.tiling.nodes import Dot, Node
from irc.tiling.program import INDEX, ProgramTiling
from irc.tiling.reductions import ReduceStage
from irc.tiling.scalar_body import Body, Scalar, cast, is_float
from irc.tiling.stage import Stage

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
    block = Block(arg_types=[INDEX, *(v.type for v in initial)])
    inner = ReduceStage(program, block, stage.axes, {**stage.scalars, k: block.args[0]})
    results = [_sum(inner, dot, factors[dot], acc) for dot, acc in zip(dots, block.args[1:], strict=True)]
    inner.insert(scf.YieldOp(*results), program.op.location)
    loop = scf.ForOp(stage.index(0), stage.index(k.extent), stage.index(1), initial, Region(block))
    loop.location = dots[0].location
    unroll = k.extent if k.extent <= MAX_UNROLLED else UNROLLED
    loop.attributes[UNROLL] = IntegerAttr(unroll, i64)
    stage.block.add_op(loop)
    for dot, value in zip(dots, loop.results, strict=True):
        stage.computed[dot] = value


def _sum(stage: Stage, dot: Dot, factors: tuple[Node, Node], acc: SSAValue) -> SSAValue:
    """The sum so far and one more product, in the accumulator's type."""
    op = tile.MapOp([acc, *map(stage.tile, factors)], TensorType(dot.type, stage.shape))
    body = Body(op.body.block, dot.location)
    total, *arguments = op.body.block.args
    finish(body, multiply_add(body, dot, total, arguments, factors))
    return stage.insert(op, dot.location)


def multiply_add(
    body: Body, dot: Dot, total: SSAValue, values: Sequence[SSAValue], factors: tuple[Node, Node]
) -> SSAValue:
    """The sum and one more product, of the values of two factors, in the accumulator's type."""
    x, y = (cast(body, Scalar(value, of.source), dot.source) for value, of in zip(values, factors, strict=True))
    multiply, add = (arith.MulfOp, arith.AddfOp) if is_float(dot.source) else (arith.MuliOp, arith.AddiOp)
    return body(add(total, body(multiply(x, y))))
