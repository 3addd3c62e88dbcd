"""Cascades: a tile has rows of all products, and a loop walks over the columns of the scores.

Each step computes columns of the scores, brings the reductions up to date, and adds what the step's columns give to the
products. What earlier steps have added was relative to reductions that have changed since: it is rescaled
(`irc/analysis/cascades.py`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf

from xdsl.dialects import arith
from xdsl.ir import Block, SSAValue

from irc.analysis.cascades import MIN_ROWS, Cascade, cascade_of, is_crosswise
from irc.dialects import tile
from irc.ir.dtypes import element_of
from irc.ir.neutral import neutral
from irc.ir.properties import constant_of, numbers
from irc.layout.instructions import GROUP_WARPS
from irc.support.integers import ceil_div
from irc.tiling.column_bounds import ColumnBounds
from irc.tiling.combiners import combine_tiles, map_tiles
from irc.tiling.config import Config
from irc.tiling.domains import Space
from irc.tiling.groups import Group, Result
from irc.tiling.index_maps import DomainDim, atoms, dims_in, lin_of
from irc.tiling.nodes import Choose, Constant, Dot, Node, Reduced, Test, walk_nodes
from irc.tiling.predicates import Inequalities, Sum, Support, tested
from irc.tiling.products import dot_of, dot_operand
from irc.tiling.program import Axis, ProgramTiling, Shape
from irc.tiling.reductions import ReduceStage, depth_of
from irc.tiling.references import References, Values
from irc.tiling.scalar_body import Body
from irc.tiling.stage import Stage, iteration_with
from irc.tiling.sums_across import SumAcross

TILE = {"m": 64, "k": 64}
"""The sizes that a config leaves open."""


@dataclass
class CascadePlan:
    """The dimensions of a cascade. `outer` and `steps` are contracted by the products, and are the columns of the
    scores: all steps are walked over for each of what is outside. `depths` are what each of the scores contracts.
    `across` are products of the cascade that contract its rows, each with the dimension of its columns."""

    cascade: Cascade
    products: list[Dot]
    scores: list[Dot]
    reductions: list[Reduced]
    batch: Space
    m: Space
    n: Space
    outer: Space
    steps: Space
    depths: list[Space]
    across: list[tuple[Dot, Space]]

    @property
    def spaces(self) -> list[Space]:
        return [self.batch, *self.single]

    @property
    def single(self) -> list[Space]:
        """Those that become one dimension each."""
        return [
            self.m,
            self.n,
            *([self.outer] if self.outer else []),
            self.steps,
            *self.depths,
            *(n for _, n in self.across),
        ]

    @staticmethod
    def of(program: ProgramTiling, group: Group, own: Space) -> CascadePlan | None:
        """The plan of a group whose results come from products of what is computed from other ones."""
        dots = [n for n in group.nodes(program.trace) if isinstance(n, Dot)]
        cascade = next((found for n in dots if (found := cascade_of(n.op)) is not None), None)
        if cascade is None:
            return None
        first, *others = [n for n in dots if n.op in cascade.products]
        for node in others:
            _bind(program, _dims(program, node, "n"), _dims(program, first, "n"))
        for node in [n for n in dots if n.op in cascade.across]:
            _bind(program, _dims(program, node, "m"), first.k)
        program.trace.forget()
        nodes = group.traced_again(program.trace)
        first, *others = [n for n in nodes if isinstance(n, Dot) and n.op in cascade.products]
        for node in others:
            _bind(program, node.k, first.k)
        for node in group.nodes(program.trace):
            if isinstance(node, Reduced) and node.op in cascade.reductions:
                _bind(program, node.dims, first.k)
            if isinstance(node, Dot) and node.op in cascade.across:
                _bind(program, node.k, _dims(program, first, "m"))
        program.trace.forget()
        nodes = group.traced_again(program.trace)
        scores, products = (
            [n for n in nodes if isinstance(n, Dot) and n.op in ops] for ops in (cascade.scores, cascade.products)
        )
        reductions = sorted((n for n in nodes if isinstance(n, Reduced)), key=depth_of)
        # What is computed from few others is there first.
        products.sort(key=lambda dot: sum(isinstance(n, Dot) for n in walk_nodes([dot.lhs])))
        rows, n = _dims(program, products[0], "m"), _dims(program, products[0], "n")
        m = rows[-1:] if rows and rows[-1].extent >= MIN_ROWS else rows
        across = [(dot, _dims(program, dot, "n")) for dot in nodes if isinstance(dot, Dot) and dot.op in cascade.across]
        taken = {d for dims in (m, n, _free(program, first.k), *(columns for _, columns in across)) for d in dims}
        batch = [d for d in own if d not in taken and d not in program.domains.bindings.values]
        depths = [list(node.k) for node in scores]
        columns = _free(program, first.k)
        at = len(columns) - 1 if columns[-1].extent >= MIN_ROWS else 0
        outer, steps = columns[:at], columns[at:]
        return CascadePlan(cascade, products, scores, reductions, batch, m, n, outer, steps, depths, across)


def _bind(program: ProgramTiling, dims: Sequence[DomainDim], to: Sequence[DomainDim]) -> None:
    """Makes dimensions the same as others."""
    for dim, known in zip(_free(program, dims), _free(program, to), strict=True):
        if dim != known:
            program.domains.bindings.bind(dim, lin_of(known))


def _free(program: ProgramTiling, dims: Sequence[DomainDim]) -> Space:
    """The dimensions that these stand for."""
    found = [atom for dim in dims for atom in atoms(program.resolve(lin_of(dim)))]
    return [atom for atom in found if isinstance(atom, DomainDim)]


def _dims(program: ProgramTiling, dot: Dot, side: str) -> Space:
    """The dimensions of a product's rows (m) or columns (n)."""
    return dims_in(map(program.resolve, dot.side(side)))


def emit_cascade(program: ProgramTiling, plan: CascadePlan, results: Sequence[Result], config: Config) -> None:
    """The loop over tiles: batch dimensions one by one, then rows."""
    m, n = plan.m[0], plan.n[0]
    rows = config.tile.get("m", TILE["m"])
    dims = [*plan.batch, m]
    steps = [1] * len(plan.batch) + [rows]
    loop = program.over_tiles([d.extent for d in dims], steps, schedule=config.schedule, group=config.group)
    scalars = dict(zip(plan.batch, loop.offsets, strict=False))
    zero = Stage(program, loop.body.block, [], {}).index(0)
    axes = [Axis(m, loop.offsets[-1], rows), Axis(n, zero, n.extent)]
    stage = _RowStage(program, loop.body.block, axes, scalars)
    groups = max(1, (config.warps or 1) // GROUP_WARPS)
    stored = {result.node: result for result in results}
    sums = [SumAcross(program, dot, n[0], stored[dot], groups, stage) for dot, n in plan.across]
    _Walk(program, plan, stage, config.tile.get("k", TILE["k"]), config.lag, sums).emit()
    added = [each.result for each in sums]
    if added:
        program.op.sums = numbers([program.result_argument(result.index) for result in added])
    stage.store_all([each for each in results if each not in added])


class _RowStage(ReduceStage):
    """The stage of the last product's tile, where reductions have one element a row."""

    def stored_shape(self, node: Node, coords: Sequence[object]) -> Shape:
        rows, columns = self.axes
        used = self.program.lin_dims(coords) | self.program.dims(node)  # pyright: ignore
        return self.shape if columns.dim in used else (rows.extent, 1)


@dataclass
class _Walk:
    """The loop over the columns of the scores. `stage` has the tiles of the products. `lag`: the powers of two by which
    what exponentials are relative to may lag behind (`irc/tiling/references.py`); None where it does not. `across`:
    what each step adds to sums of all rows."""

    program: ProgramTiling
    plan: CascadePlan
    stage: ReduceStage
    step: int
    lag: int | None = None
    across: Sequence[SumAcross] = ()

    def __post_init__(self) -> None:
        self.column = self.plan.steps[0]
        plan = self.plan
        self.references = References(self.program, plan.cascade, plan.reductions, plan.products, self.lag)
        self.tail = (
            () if self.column.extent % self.step == 0 else (Test(lin_of(self.column), None, self.column.extent),)
        )
        """What the columns of the last step have to pass."""
        beyond = tested(self.tail)
        hiding = (n for n in self.plan.scores if beyond <= self._common(Support({n: beyond})))
        self.hiding = next(hiding, None)
        """Scores of which nothing comes where they are -inf."""

    def emit(self) -> None:
        stage, plan, references = self.stage, self.plan, self.references
        rows, columns = stage.axes
        initial = [self._start(r, (rows.extent, 1)) for r in (*plan.reductions, *references.followed)]
        initial += [stage.splat(0, dot.type, stage.shape, dot.location) for dot in plan.products]
        block = iteration_with(initial)
        bounds, offset, scalars = None, block.args[0], stage.scalars
        if plan.outer:
            bounds, offset, scalars = self._flattened(block, plan.outer[0])
        scalars = dict(scalars)
        inner = ReduceStage(self.program, block, [rows, Axis(self.column, offset, self.step, is_aligned=True)], scalars)
        inner.of_tile = {}
        weights = [self._weights(dot) for dot in plan.products]
        roots = [self._masked(r) for r in plan.reductions]
        self.program.shared = _shared([*roots, *weights, *(each.weights for each in self.across)])
        for scores, depth in zip(plan.scores, plan.depths, strict=True):
            inner.computed[scores] = self._scores(inner, scores, depth[0])
        carried = dict(zip(plan.reductions, block.args[1:], strict=False))
        sums = dict(zip(plan.products, block.args[-len(plan.products) :], strict=True))
        found = [self._updated(inner, r, carried, sums, root) for r, root in zip(plan.reductions, roots, strict=True)]
        found += references.follow(inner, block.args[1 + len(roots) : -len(sums)])
        right = ReduceStage(self.program, block, [inner.axes[1], columns], scalars)
        right.of_tile = inner.of_tile
        for dot, lhs in zip(plan.products, weights, strict=True):
            if dot is plan.products[-1]:
                for each in self.across:  # Before the last product, which runs while they are added.
                    each.multiply(inner)
            total = references.rescaled(inner, dot, carried, sums)
            a = inner.tile(lhs, inner.shape)
            b = right.tile(self._operand(dot.rhs), right.shape)
            found.append(inner.insert(dot_of(dot, a, b, total), dot.location))
        for each in self.across:
            each.add()
        bounds = bounds or (*self._bounds(), stage.index(self.step))
        values = stage.loop(bounds, initial, block, found, plan.products[0].location)
        ended: dict[Reduced, SSAValue] = dict(zip(plan.reductions, values, strict=False))
        stage.computed |= {**ended, **dict(zip(references.followed, values[len(roots) :], strict=False))}
        stage.computed |= dict(zip(plan.products, values[-len(plan.products) :], strict=True))
        references.catch_up(stage, ended)
        for node in plan.reductions:
            stage.computed[node] = self._finished(node, stage.computed[node])

    def _flattened(
        self, block: Block, outer: DomainDim
    ) -> tuple[tuple[SSAValue, SSAValue, SSAValue], SSAValue, dict[DomainDim, SSAValue]]:
        """The bounds of one loop over what is outside of the steps, and over these, and in an iteration the first
        column, and the scalars. Of two loops, the inner one would wait for its loads each time."""
        stage, location = self.stage, self.program.op.location
        first, end = self._bounds()
        step = stage.index(self.step)
        trips, total = self._trips(first, end, outer.extent)
        body = Stage(self.program, block, [], {})
        number = body.insert(arith.DivUIOp(block.args[0], trips), location)
        place = body.insert(arith.RemUIOp(block.args[0], trips), location)
        offset = body.insert(arith.MuliOp(place, step), location)
        if constant_of(first) != 0:
            offset = body.insert(arith.AddiOp(first, offset), location)
        return (stage.index(0), total, stage.index(1)), offset, {**stage.scalars, outer: number}

    def _trips(self, first: SSAValue, end: SSAValue, times: int) -> tuple[SSAValue, SSAValue]:
        """How many steps there are, and how many in so many walks over them."""
        stage, location = self.stage, self.program.op.location
        begin, last = constant_of(first), constant_of(end)
        if begin is not None and last is not None:
            trips = ceil_div(max(0, last - begin), self.step)
            return stage.index(trips), stage.index(trips * times)
        distance = stage.insert(arith.SubiOp(end, first), location)
        span = stage.insert(arith.MaxSIOp(distance, stage.index(0)), location)
        trips = stage.insert(arith.CeilDivSIOp(span, stage.index(self.step)), location)
        return trips, stage.insert(arith.MuliOp(trips, stage.index(times)), location)

    def _bounds(self) -> tuple[SSAValue, SSAValue]:
        """The columns that anything is known to come from."""
        in_order = sorted(
            self._common(Support({})), key=lambda each: ([e.argument for e, _ in each.elements], str(each))
        )
        return ColumnBounds(self.stage, self.stage.axes[0], self.column, self.step).of(in_order)

    def _common(self, support: Support) -> Inequalities:
        """What holds of the columns that change a reduction, or a product."""
        found = [support.of(r.input, _nothing(r)) for r in self.plan.reductions]
        found += [support.of(dot.lhs, 0) for dot in (*self.plan.products, *(dot for dot, _ in self.plan.across))]
        return frozenset[Sum].intersection(*found)

    def _scores(self, inner: ReduceStage, scores: Dot, depth: DomainDim) -> SSAValue:
        """Scores of a step: the whole contracted extent at once. What does not change from step to step is loaded
        before the loop."""
        stage = self.stage
        whole = Axis(depth, stage.index(0), depth.extent)
        before = ReduceStage(self.program, stage.block, [stage.axes[0], whole], stage.scalars)
        beside = ReduceStage(self.program, inner.block, [whole, inner.axes[1]], inner.scalars)
        beside.of_tile = inner.of_tile
        lhs, rhs = scores.lhs, scores.rhs
        if is_crosswise(self.plan.products[0].op, scores.op):
            lhs, rhs = rhs, lhs
        zero = stage.splat(0, scores.type, inner.shape, scores.location)
        left, right = before.tile(lhs, before.shape), beside.tile(rhs, beside.shape)
        product = inner.insert(dot_of(scores, left, right, zero), scores.location)
        if not self.tail or scores is not self.hiding:
            return product
        unmasked = replace(scores)
        inner.computed[unmasked] = product
        hidden = Constant(scores.source, scores.location, -inf)
        return inner.tile(Choose(scores.source, scores.location, self.tail, unmasked, hidden), inner.shape)

    # Reductions

    def _start(self, node: Reduced, shape: Shape) -> SSAValue:
        """What a reduction of nothing is. One that others are relative to is finite, so that rows may start with
        infinities."""
        is_relative = node.op in self.references.relative
        start = self._least(node) if is_relative else _nothing(node)
        return self.stage.splat(start, node.type, shape, node.location)

    def _finished(self, node: Reduced, value: SSAValue) -> SSAValue:
        """Where nothing has been found, a reduction that others are relative to is what one of nothing is."""
        if node.op not in self.references.relative:
            return value

        def finished(body: Body, args: Sequence[SSAValue]) -> SSAValue:
            start, nothing = (body.constant(x, node.type) for x in (self._least(node), _nothing(node)))
            return body.select(body.compare("oeq", args[0], start), nothing, args[0])

        return map_tiles(self.stage, node, [value], tile.shape_of(value.type), finished)

    def _least(self, node: Reduced) -> float:
        """What maxima begin at, or minima: finite, also as an exponent of 2."""
        limit = float(element_of(node.input.source).limits()[0 if node.monoid == "max" else 1])
        return limit / max(1.0, 2 * self.references.relative[node.op])

    def _updated(
        self, inner: ReduceStage, node: Reduced, carried: Values, sums: Mapping[Dot, SSAValue], root: Node
    ) -> SSAValue:
        """The reduction with this step's columns."""
        shape = tile.shape_of(carried[node].type)
        before = self.references.rescaled(inner, node, carried, sums)
        part = inner.reduce(node, [inner.tile(root, inner.shape)], [1], shape)
        if node in self.references.lagging:
            inner.computed[node] = self.references.raised(inner, node, before, part)
        else:
            inner.computed[node] = combine_tiles(inner, node, [before], [part], shape)[0]
        return inner.computed[node]

    # Tails

    def _masked(self, node: Reduced) -> Node:
        """What a reduction combines: beyond the last column what changes nothing."""
        value = node.input
        if not self.tail or self.hiding is not None:
            return value
        return Choose(
            value.source, node.location, self.tail, value, Constant(value.source, node.location, _nothing(node))
        )

    def _weights(self, dot: Dot) -> Node:
        """The left operand of a product: 0 beyond the last column."""
        return dot.lhs if self.hiding is not None else self._operand(dot.lhs)

    def _operand(self, node: Node) -> Node:
        return dot_operand(self.program, node, self.column, self.step, None)


def _nothing(node: Reduced) -> float:
    """What a reduction of nothing is."""
    return neutral(node.monoid, element_of(node.input.source))


def _shared(roots: Sequence[Node]) -> frozenset[Node]:
    """What several roots are computed from, as far as they have it in common."""
    below = [set(walk_nodes([root], inside=_goes_on)) for root in roots]
    counts = Counter(node for nodes in below for node in nodes)
    found: set[Node] = set()
    for root, nodes in zip(roots, below, strict=True):
        found |= {root} if counts[root] > 1 else set()
        found |= {o for n in nodes if _goes_on(n) for o in n.operands() if counts[o] > counts[n]}
    return frozenset(n for n in found if counts[n] > 1 and not isinstance(n, Constant) and _goes_on(n))


def _goes_on(node: Node) -> bool:
    return not isinstance(node, Reduced | Dot)
