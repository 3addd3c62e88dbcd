"""Products: a tile of the result is accumulated over K, then the epilogue runs on it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod

from xdsl.dialects import scf
from xdsl.dialects.builtin import StringAttr, bf16
from xdsl.ir import Block, Region, SSAValue

from irc.dialects import tile
from irc.ir.dtypes import element_of
from irc.support.diagnostics import IrcError
from irc.tiling.config import Config
from irc.tiling.domains import Space
from irc.tiling.groups import Result
from irc.tiling.index_maps import Dim, Lin, atoms, lin_of
from irc.tiling.nodes import Cast, Choose, Constant, Dot, Load, Node, Test
from irc.tiling.program import INDEX, Axis, Program
from irc.tiling.reductions import ReduceStage
from irc.tiling.scalar_body import is_unsigned
from irc.tiling.sizes import matmul_tiles


@dataclass
class MatmulPlan:
    """The dimensions of the products of a group; `batch` are all that are neither M, N nor K."""

    dots: list[Dot]
    batch: Space
    m: Space
    n: Space
    ks: list[Space] = field(default_factory=list[Space])

    @staticmethod
    def of(program: Program, dots: list[Dot], own: Space) -> MatmulPlan:
        m: Space = []
        n: Space = []
        for dot in dots:
            rows, columns = dot.at[dot.batch : dot.batch + dot.rows], dot.at[dot.batch + dot.rows :]
            _add(program, m, rows)
            _add(program, n, columns)
        if set(m) & set(n):
            raise IrcError("a product whose rows and columns are not independent has no kernel", dots[0].location)
        plan = MatmulPlan(dots, [d for d in own if d not in m and d not in n], m, n)
        for dot in dots:
            plan._add_k(program, dot)
        return plan

    def _add_k(self, program: Program, dot: Dot) -> None:
        """Products with contracted dimensions of the same extents share them, and with them their loop."""
        dims = [d for d in dot.k if d.extent != 1]
        for space in self.ks:
            if [d.extent for d in space] == [d.extent for d in dims]:
                for dim, known in zip(dims, space, strict=True):
                    if dim != known:
                        program.domains.bindings.bind(dim, lin_of(known))
                return
        self.ks.append(dims)

    @property
    def spaces(self) -> list[Space]:
        return [self.batch, *self.single]

    @property
    def single(self) -> list[Space]:
        """Those that become one dimension each."""
        return [self.m, self.n, *self.ks]

    def k_of(self, program: Program, dot: Dot) -> Dim:
        """The one contracted dimension of a product, after merging."""
        found = [s[0] for s in self.ks if s[0] in program.lin_dims(lin_of(d) for d in dot.k)]
        return found[0] if found else next(s[0] for s in self.ks if s[0].extent == 1)


def _add(program: Program, space: Space, lins: Sequence[Lin]) -> None:
    for lin in lins:
        for dim in sorted(a for a in atoms(program.resolve(lin)) if isinstance(a, Dim)):
            if dim not in space:
                space.append(dim)


def emit_matmul(program: Program, plan: MatmulPlan, results: Sequence[Result], config: Config) -> None:
    """The loop over tiles: batch dimensions one by one, then M and N."""
    m, n = plan.m[0], plan.n[0]
    bm, bn, bk = matmul_tiles(m, n, [k[0] for k in plan.ks], config.tile)
    dims = [*plan.batch, m, n]
    loop = tile.ForTilesOp(
        [d.extent for d in dims],
        [1] * len(plan.batch) + [bm, bn],
        schedule=config.schedule,
        group=config.group,
        cluster=config.cluster if prod(config.cluster or ()) > 1 else None,
    )
    loop.location = program.op.location
    program.op.body.block.add_op(loop)
    scalars = dict(zip(plan.batch, loop.offsets, strict=False))
    axes = [Axis(m, loop.offsets[-2], bm), Axis(n, loop.offsets[-1], bn)]
    stage = ReduceStage(program, loop.body.block, axes[::-1] if config.swap_ab else axes, scalars)
    for space in plan.ks:
        dots = [d for d in plan.dots if plan.k_of(program, d) == space[0]]
        _accumulate(program, stage, dots, space[0], bk[space[0]], config.swap_ab)
    for result in results:
        stage.store(program.result_argument(result.index), result.at, result.node)


def _accumulate(program: Program, stage: ReduceStage, dots: Sequence[Dot], k: Dim, step: int, transposed: bool) -> None:
    """One loop over K for all the products; their accumulators become the tiles of their nodes. Those that are
    `transposed` have the right operand on the left."""
    shape = stage.shape
    initial = [stage.splat(0, d.type, shape, d.location) for d in dots]
    block = Block(arg_types=[INDEX, *(v.type for v in initial)])
    row_axis, column_axis = stage.axes
    k_axis = Axis(k, block.args[0], step)
    left = ReduceStage(program, block, [row_axis, k_axis], stage.scalars)
    right = ReduceStage(program, block, [k_axis, column_axis], stage.scalars)
    results: list[SSAValue] = []
    for dot, acc in zip(dots, block.args[1:], strict=True):
        precision = _precision(dot)
        lhs, rhs = (dot.rhs, dot.lhs) if transposed else (dot.lhs, dot.rhs)
        a = left.tile(dot_operand(program, lhs, k, step, precision), left.shape)
        b = right.tile(dot_operand(program, rhs, k, step, precision), right.shape)
        results.append(left.insert(dot_of(dot, a, b, acc), dot.location))
    left.insert(scf.YieldOp(*results), program.op.location)
    bounds = (stage.index(0), stage.index(k.extent), stage.index(step))
    loop = scf.ForOp(*bounds, initial, Region(block))
    loop.location = dots[0].location
    stage.block.add_op(loop)
    for dot, value in zip(dots, loop.results, strict=True):
        stage.computed[dot] = value


def dot_of(dot: Dot, lhs: SSAValue, rhs: SSAValue, acc: SSAValue) -> tile.DotOp:
    """A product of tiles as the node asks for."""
    return tile.DotOp(lhs, rhs, acc, precision=_precision(dot), unsigned=is_unsigned(dot.lhs.source))


def _precision(dot: Dot) -> str | None:
    """How f32 operands are multiplied; None where nothing is asked for."""
    value = dot.op.properties.get("precision")
    if not isinstance(value, StringAttr) or value.data == "default":
        return None
    return value.data


def dot_operand(program: Program, node: Node, k: Dim, step: int, precision: str | None) -> Node:
    """The operand as it feeds `tile.dot`: rounded to bf16 where the product asks for that, and 0 beyond the end of
    K."""
    if precision == "bf16" and element_of(node.source).name == "f32":
        node = Cast(bf16, node.location, node)
    if k.extent % step == 0 or _is_zero_beyond(program, node, k):
        return node
    zero = Constant(node.source, node.location, 0)
    position = Lin(((k, 1),), 0)  # not `lin_of`, to which an extent of 1 is no axis
    return Choose(node.source, node.location, (Test(position, None, k.extent),), node, zero)


def _is_zero_beyond(program: Program, node: Node, k: Dim) -> bool:
    """Whether a load reads 0 beyond the end of K because that is the end of a dimension of its view."""
    if isinstance(node, Cast):
        return _is_zero_beyond(program, node.input, k)
    if not isinstance(node, Load) or k.extent == 1:
        return False
    operand = program.domains.operands[node.argument]
    coords = operand.view_coords(program.domains.bindings, node.at)
    return any(c == lin_of(k) and n == k.extent for c, n in zip(coords, operand.view_extents, strict=True))
