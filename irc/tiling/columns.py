"""Products summed in registers where a thread has whole columns of the result: a partial sum for each row of M.

Gradients of the kernels of depthwise convolutions are such products: M are the taps, N the channels, K the pixels. A
thread walks over pixels. In each step it loads a few neighbors along K of the right operand, and the window of the left
one that all the rows read, once. Threads side by side along `k` walk over parts of K; their sums are added in order.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from math import gcd, prod

from xdsl.dialects.builtin import LocationAttr, TensorType
from xdsl.ir import SSAValue

from irc.dialects import tile
from irc.ir.iteration import iteration_of
from irc.support.diagnostics import IrcError
from irc.support.integers import power_of_two
from irc.tiling.config import Config
from irc.tiling.direct_products import multiply_add
from irc.tiling.domains import Space
from irc.tiling.groups import Result
from irc.tiling.index_maps import Coords, DomainDim, Lin, constant, dims_in, lin_of, new_dim, point, substitute
from irc.tiling.map_body import finish
from irc.tiling.nodes import Dot, Node, walk_nodes
from irc.tiling.program import Axis, ProgramTiling
from irc.tiling.reductions import ReduceStage
from irc.tiling.scalar_body import Body
from irc.tiling.scalars import combine
from irc.tiling.sizes import matmul_depth, matmul_tiles
from irc.tiling.stage import iteration_with
from irc.tiling.view_bounds import bounded_load

Factors = list[tuple[Node, Node]]
"""The operands of a product at each place of a step."""


@dataclass
class ColumnsPlan:
    """The dimensions of a product; each of `m` and of `k` stays one by itself."""

    dot: Dot
    batch: Space
    m: Space
    n: list[Space]
    """The groups, and the columns of each; or those alone of which there are several."""
    k: list[Space] = field(default_factory=list[Space])
    """In the order of the left operand; a space has several where the dimension was split."""

    @staticmethod
    def of(program: ProgramTiling, dots: Sequence[Dot], own: Space) -> ColumnsPlan:
        dot, *others = dots
        if others:
            raise IrcError("several products have no kernel of whole columns", others[0].location)
        sides = dot.side("m"), dot.side("n"), dot.columns
        m, inner, columns = (dims_in(map(program.resolve, lins)) for lins in sides)
        if set(m) & set(columns):
            raise IrcError("a product whose rows and columns are not independent has no kernel", dot.location)
        n = [space for space in ([d for d in columns if d not in inner], inner) if space] or [[]]
        return ColumnsPlan(dot, [d for d in own if d not in m and d not in columns], m, n, [[d] for d in dot.k])

    @property
    def spaces(self) -> list[Space]:
        return [self.batch, *([d] for d in self.m), *self.n, *self.k]

    @property
    def single(self) -> list[Space]:
        return self.n

    def contracted(self, program: ProgramTiling, values: Mapping[DomainDim, Lin]) -> Coords:
        """The contracted coordinates at these values, in the order of the op's dimensions."""
        iteration = iteration_of(self.dot.op)
        dims = dict(zip(iteration.along(iteration.inputs[0].map, "k"), self.dot.k, strict=True))
        return tuple(substitute(program.resolve(lin_of(dims[i])), values) for i in sorted(dims))


@dataclass
class _Walk:
    """How a thread goes over K: `loops` are the dimensions that it walks along, outermost first, the last one in steps
    of `run` neighbors. `parts` has the neighbors that threads side by side are at, None where all are at one place.
    `values` are the contracted dimensions in terms of these."""

    loops: list[DomainDim]
    run: int
    parts: DomainDim | None
    values: dict[DomainDim, Lin]

    @staticmethod
    def of(dims: Sequence[DomainDim], together: int, run: int, location: LocationAttr) -> _Walk:
        """`together`: neighbors along a dimension that threads side by side are at, whose windows overlap: along the
        innermost one that has whole sets of so many, but the one of runs."""
        run = gcd(run, dims[-1].extent) if dims else 1
        steps = {dim: dim.extent // run if dim is dims[-1] else dim.extent for dim in dims}
        inner_first = [*reversed(dims[:-1]), *dims[-1:]] if together > 1 else []
        parted = next((dim for dim in inner_first if steps[dim] % together == 0), None)
        if together > 1 and parted is None:
            extents = " x ".join(str(dim.extent) for dim in dims)
            found = f"K of {extents} has no {together} equal parts side by side"
            raise IrcError(found, location, "a divisor of one of the extents")
        walk = _Walk([], run, None, {})
        for dim in dims:
            count = steps[dim]
            if dim is parted:
                count //= together
                walk.parts = new_dim(together)
            walk.loops.append(new_dim(count))
            at = lin_of(walk.loops[-1])
            if dim is parted and walk.parts is not None:
                at = at * together + lin_of(walk.parts)
            walk.values[dim] = at * run if dim is dims[-1] else at
        return walk

    def places(self, last: DomainDim | None) -> Iterator[dict[DomainDim, Lin]]:
        """Where a step reads."""
        for at in range(self.run):
            yield self.values if last is None else {**self.values, last: self.values[last] + at}


def emit_columns(program: ProgramTiling, plan: ColumnsPlan, results: Sequence[Result], config: Config) -> None:
    """The loop over tiles: batch dimensions one by one, then N."""
    n = [space[0] for space in plan.n]
    dims = [*plan.batch, *n]
    widths = _widths(n, config.tile)
    steps = [*(1 for _ in plan.batch), *widths]
    loop = program.over_tiles([d.extent for d in dims], steps, schedule=config.schedule)
    block = loop.body.block
    scalars = dict(zip(plan.batch, loop.offsets, strict=False))
    k = [d for space in plan.k for d in space]
    walk = _Walk.of(k, matmul_depth(1, config.tile), config.unroll or 1, plan.dot.location)
    columns = [Axis(dim, at, width) for dim, at, width in zip(n, loop.offsets[-len(n) :], widths, strict=True)]
    outer = ReduceStage(program, block, [Axis(None, loop.offsets[-1], 1), *columns], scalars)
    parts = Axis(walk.parts, outer.index(0), 1 if walk.parts is None else walk.parts.extent)
    rows = [_row(program, plan, results, place) for place in product(*(range(d.extent) for d in plan.m))]
    dots = list(dict.fromkeys(dot for row in rows for _, node in row for dot in _dots(node)))
    points = [plan.contracted(program, values) for values in walk.places(k[-1] if k else None)]
    factors = {dot: [_factors(program, dot, at) for at in points] for dot in dots}
    stage = ReduceStage(program, block, [parts, *columns], scalars)
    sums = _walked(stage, walk.loops, dots, factors, [stage.splat(0, d.type, stage.shape, d.location) for d in dots])
    if walk.parts is not None:
        sums = _joined(outer, dots, sums)
    outer.computed |= dict(zip(dots, sums, strict=True))
    for row in rows:
        for result, (at, node) in zip(results, row, strict=True):
            outer.store(program.result_argument(result.index), at, node)


def _widths(n: Sequence[DomainDim], tile: Mapping[str, int]) -> list[int]:
    """The extents of a tile along the groups, if there are several, and along the columns of each."""
    _, width = matmul_tiles(new_dim(1), new_dim(prod(dim.extent for dim in n)), tile)
    inner = min(width, power_of_two(n[-1].extent))
    return [inner] if len(n) == 1 else [width // inner, inner]


def _row(
    program: ProgramTiling, plan: ColumnsPlan, results: Sequence[Result], place: Sequence[int]
) -> list[tuple[Coords, Node]]:
    """The results at one place of M."""
    values = dict(zip(plan.m, map(constant, place), strict=True))
    coords = [tuple(substitute(program.resolve(lin), values) for lin in result.at) for result in results]
    return [(at, program.trace.at(result.value, at)) for result, at in zip(results, coords, strict=True)]


def _dots(node: Node) -> list[Dot]:
    return [each for each in walk_nodes([node]) if isinstance(each, Dot)]


def _factors(program: ProgramTiling, dot: Dot, k: Coords) -> tuple[Node, Node]:
    """The operands at a place of what is contracted."""
    lhs, rhs = program.trace.factors(dot.op, point(iteration_of(dot.op), dot.at, k))
    return _bounded(program, lhs), _bounded(program, rhs)


def _bounded(program: ProgramTiling, node: Node) -> Node:
    load = bounded_load(program.domains, node)
    return node if load is None else load


def _walked(
    stage: ReduceStage,
    loops: Sequence[DomainDim],
    dots: Sequence[Dot],
    factors: Mapping[Dot, Factors],
    totals: Sequence[SSAValue],
) -> list[SSAValue]:
    """The sums so far and those over all steps: a loop for each dimension that has several places, one in the other."""
    if not loops:
        return [_added(stage, dot, factors[dot], total) for dot, total in zip(dots, totals, strict=True)]
    dim, *inner = loops
    if dim.extent == 1:
        return _walked(stage, inner, dots, factors, totals)
    block = iteration_with(totals)
    inside = ReduceStage(stage.program, block, stage.axes, {**stage.scalars, dim: block.args[0]})
    found = _walked(inside, inner, dots, factors, block.args[1:])
    bounds = stage.index(0), stage.index(dim.extent), stage.index(1)
    return stage.loop(bounds, totals, block, found, dots[0].location)


def _added(stage: ReduceStage, dot: Dot, factors: Factors, total: SSAValue) -> SSAValue:
    """The sum so far and the products of a step, one after the other."""
    tiles = [stage.tile(node) for pair in factors for node in pair]

    def added(body: Body, args: Sequence[SSAValue]) -> SSAValue:
        value = args[0]
        for pair, of in zip(zip(args[1::2], args[2::2], strict=True), factors, strict=True):
            value = multiply_add(body, dot, value, pair, of)
        return value

    return stage.map([total, *tiles], dot.type, stage.shape, added, dot.location)


def _joined(stage: ReduceStage, dots: Sequence[Dot], totals: Sequence[SSAValue]) -> list[SSAValue]:
    """The sums of the parts that threads side by side have: one reduction, for which the warps meet once."""
    types = [TensorType(dot.type, (1, *tile.shape_of(total.type)[1:])) for dot, total in zip(dots, totals, strict=True)]
    op = tile.ReduceOp(totals, [0], types)
    body = Body(op.body.block, dots[0].location)
    pairs = zip(op.body.block.args[: len(dots)], op.body.block.args[len(dots) :], strict=True)
    sums = [combine(body, "sum", dot.source, *pair) for dot, pair in zip(dots, pairs, strict=True)]
    finish(body, *sums)
    stage.insert(op, body.location)
    return list(op.outputs)
