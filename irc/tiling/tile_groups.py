"""From a group of results to its loop over tiles: which dimensions are rows, columns, M, N and K."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

from irc.analysis.op_classes import instructions_of
from irc.dialects import tile
from irc.ir.dtypes import element_of
from irc.layout.requests import WIDEST
from irc.support.diagnostics import IrcError
from irc.tiling.boxes import fullest_boxes
from irc.tiling.cascades import CascadePlan, emit_cascade
from irc.tiling.chains import walk_of
from irc.tiling.columns import ColumnsPlan, emit_columns
from irc.tiling.config import Config
from irc.tiling.domains import Space
from irc.tiling.groups import Group, Result, bind_rows, cores
from irc.tiling.index_maps import DomainDim, dims_in, lin_of
from irc.tiling.nodes import Apply, Dot, Joined, Node, Reduced
from irc.tiling.products import MatmulPlan, emit_matmul, split_axes
from irc.tiling.program import Axis, ProgramTiling, shared_nodes
from irc.tiling.reductions import ReduceStage
from irc.tiling.sizes import (
    ELEMENTS,
    SHORTEST_RUN,
    SQUARE,
    THREADS,
    along,
    contiguity,
    exact_map_tiles,
    exact_reduce_tiles,
    map_tiles,
    reduce_tiles,
)
from irc.tiling.stage import Stage
from irc.tiling.window_sizes import reached_dims, window_tiles


@dataclass
class GroupTiling:
    """A group with its spaces: `rows` are walked by the grid; each of `columns` is a loop or a tile axis inside."""

    group: Group
    nodes: list[Node]
    rows: Space = field(default_factory=Space)
    columns: list[Space] = field(default_factory=list[Space])
    matmul: MatmulPlan | ColumnsPlan | CascadePlan | None = None
    box: dict[DomainDim, int] = field(default_factory=dict[DomainDim, int])
    """The extents of the tiles of a permutation, along its rows."""

    @property
    def is_map(self) -> bool:
        """Whether elements are computed one by one, without reductions, scans and products."""
        return self.matmul is None and not any(isinstance(n, Reduced) for n in self.nodes)

    @property
    def spaces(self) -> list[Space]:
        if self.matmul is not None:
            return [*self.matmul.spaces, *self.columns]
        return [self.rows, *self.columns]


def plan_group(program: ProgramTiling, group: Group, nodes: list[Node], config: Config) -> GroupTiling:
    """Finds the spaces; binds reduced dimensions to the columns of results where they have the same extents."""
    if (config.is_by_columns or not config.is_direct) and split_axes(program.domains.bindings, nodes, "n"):
        program.trace.forget()
        nodes = group.traced_again(program.trace)
    plan = GroupTiling(group, nodes)
    own = dims_in(program.resolve(lin) for r in group.results for lin in r.at)
    plan.matmul = CascadePlan.of(program, group, own)
    if plan.matmul is not None:
        plan.nodes = group.nodes(program.trace)
        return plan
    if any(isinstance(n, Dot) for n in nodes):
        if any(isinstance(n, Reduced) for n in nodes):
            bind_rows(program.trace, nodes)
            program.trace.forget()
            plan.nodes = nodes = group.traced_again(program.trace)
        dots = [n for n in nodes if isinstance(n, Dot)]
        # Last, and nothing is traced again: a place beyond the axis is nowhere, and reshapes need not tell where.
        if split_axes(program.domains.bindings, nodes, "m"):
            own = dims_in(program.resolve(lin) for r in group.results for lin in r.at)
        if config.is_by_columns:
            plan.matmul = ColumnsPlan.of(program, dots, own)
        else:
            plan.matmul = MatmulPlan.of(program, dots, nodes, own, config)
        inner = {d for n in nodes if isinstance(n, Reduced) for d in n.dims}
        taken = {d for space in plan.matmul.spaces for d in space}
        for dim in sorted(inner - taken):
            _add_columns(program, plan, [dim])
        return plan
    reductions = [n for n in nodes if isinstance(n, Reduced)]
    if not reductions:
        plan.rows = own
        return plan
    needed = _row_dims(program, group)
    plan.rows = [d for d in own if d in needed] + sorted(d for d in needed if d not in own)
    for result in group.results:
        _add_columns(program, plan, [d for d in dims_in(result.at) if d not in needed])
    for node in reductions:
        if not node.is_scan:
            _add_columns(program, plan, list(node.dims))
    return plan


def _row_dims(program: ProgramTiling, group: Group) -> set[DomainDim]:
    """The dimensions at which reductions are needed, and all but the scanned one of scans."""
    needed: set[DomainDim] = set()
    for result in group.results:
        for core in cores(result.node):
            assert isinstance(core, Reduced)
            lins = core.coords()
            if core.is_scan:
                (axis,) = core.axes
                lins = (*lins[:axis], *lins[axis + 1 :])
            needed |= program.lin_dims(lins)
    return needed


def _add_columns(program: ProgramTiling, plan: GroupTiling, dims: Space) -> None:
    """Makes the dimensions columns; where there are columns of the same extents already, they become those."""
    bindings = program.domains.bindings
    dims = [d for d in dims if d.extent != 1 and d not in bindings.values]
    if not dims or any(d in space for space in plan.columns for d in dims):
        return
    for space in plan.columns:
        if [d.extent for d in space] == [d.extent for d in dims]:
            for dim, column in zip(dims, space, strict=True):
                bindings.bind(dim, lin_of(column))
            return
    plan.columns.append(dims)


def emit_group(program: ProgramTiling, plan: GroupTiling, config: Config) -> None:
    """Adds the group's loop over tiles to the program."""
    program.reductions = [n for n in plan.nodes if isinstance(n, Reduced)]
    program.shared = frozenset()
    program.unroll = config.unroll or 1
    if isinstance(plan.matmul, CascadePlan):
        emit_cascade(program, plan.matmul, plan.group.results, config)
    elif isinstance(plan.matmul, ColumnsPlan):
        emit_columns(program, plan.matmul, plan.group.results, config)
    elif plan.matmul is not None:
        program.shared = shared_nodes(_roots(program, plan))
        emit_matmul(program, plan.matmul, plan.group.results, config)
    elif plan.columns or any(n.is_scan for n in program.reductions):
        _emit_rows(program, plan, config)
    else:
        _emit_map(program, plan, config)


def box_group(program: ProgramTiling, plan: GroupTiling, config: Config) -> None:
    """Chooses the tiles of a permutation, for which its dimensions are split and merged."""
    sizes = config.sizes if config.sizes is not None and len(config.sizes) in (2, 3) else (SQUARE, SQUARE)
    if plan.is_map and not program.domains.machine.exact_tiles:
        instructions = sum(instructions_of(node.op) for node in plan.nodes if isinstance(node, Apply))
        plan.box = fullest_boxes(program.domains, plan.rows, sizes, instructions)
        for result in plan.group.results:
            _see_in_order_of_memory(program, result)


def _see_in_order_of_memory(program: ProgramTiling, result: Result) -> None:
    """Puts the dimensions of a result of boxes in the order of memory, in which those of a row merge."""
    operand = program.domains.operands[program.result_argument(result.index)]
    if not operand.is_boxed:
        return
    order = sorted(range(len(result.shape)), key=lambda d: -result.strides[d])
    result.shape, result.strides = (tuple(each[d] for d in order) for each in (result.shape, result.strides))
    result.at = tuple(result.at[d] for d in order)
    operand.shape, operand.strides, operand.accesses = result.shape, result.strides, [result.at]


def for_tiles(
    program: ProgramTiling, plan_dims: Sequence[DomainDim], tiles: dict[DomainDim, int], config: Config
) -> tile.ForTilesOp:
    """The loop over all tiles; dimensions that are not in `tiles` go one by one. Without
    dimensions there is one tile."""
    extents, steps = [d.extent for d in plan_dims] or [1], [tiles.get(d, 1) for d in plan_dims] or [1]
    return program.over_tiles(extents, steps, schedule=config.schedule, group=config.group)


def _roots(program: ProgramTiling, plan: GroupTiling) -> list[Node]:
    """What is computed by a map of its own: results, and what reductions combine."""
    results = [r.node for r in plan.group.results if not isinstance(r.node, Reduced)]
    return [*results, *(n.input for n in program.reductions)]


def _emit_map(program: ProgramTiling, plan: GroupTiling, config: Config) -> None:
    dims = plan.rows
    program.shared = shared_nodes(_roots(program, plan))
    tiles = _map_tiles(program, plan, config) if dims else {}
    loop = for_tiles(program, dims, tiles, Config(schedule=config.schedule))
    offsets = dict(zip(dims, loop.offsets, strict=False))
    axes = [Axis(d, offsets[d], tiles[d]) for d in dims if d in tiles]
    scalars = {d: offsets[d] for d in dims if d not in tiles}
    stage = ReduceStage(program, loop.body.block, axes or [Axis(None, loop.offsets[0], 1)], scalars)
    stage.store_all(plan.group.results)


def _map_tiles(program: ProgramTiling, plan: GroupTiling, config: Config) -> dict[DomainDim, int]:
    """The tiled dimensions of elementwise work, with their extents."""
    dims, weights = plan.rows, contiguity(program.domains, plan.rows)
    elements = prod(config.sizes or (ELEMENTS,))
    if program.domains.machine.exact_tiles:
        return exact_map_tiles(dims, weights, elements)
    alike = _walked_alike(program, plan, config)
    joined = {n.monoid for n in plan.nodes if isinstance(n, Joined)}
    reached = reached_dims(program.domains, dims, overlap="prod" in joined) if joined else []
    if reached:
        inner = max(dims, key=lambda d: (weights.get(d, 0), dims.index(d)))
        alike = window_tiles(dims, inner, reached, elements)
    return plan.box or alike or map_tiles(dims, weights, config.sizes)


def _walked_alike(program: ProgramTiling, plan: GroupTiling, config: Config) -> dict[DomainDim, int]:
    """The tiles of a permutation whose arrays are walked from the same dimension on, along what is loaded; none where
    that is short. On an H200, runs of 256 bytes reach 1.00 of a copy so, and 0.96 in tiles of four words a thread."""
    loaded = program.domains.loaded
    if len(config.tile) < 2 or len(plan.rows) < 3 or len(loaded) != 1:
        return {}
    size = element_of(loaded[0].element_type).size
    walk = walk_of(program.domains, loaded[0], plan.rows)
    if not walk or walk[0].extent * size < SHORTEST_RUN:
        return {}
    return along(walk, THREADS * WIDEST // size)


def _emit_rows(program: ProgramTiling, plan: GroupTiling, config: Config) -> None:
    columns = [space[0] for space in plan.columns]
    weights = contiguity(program.domains, [*plan.rows, *columns])
    if program.domains.machine.exact_tiles:
        row, height, chunks = exact_reduce_tiles(plan.rows, columns, weights, config.tile)
    else:
        row, height, chunks = reduce_tiles(plan.rows, columns, weights, config.tile, config.reduction)
    program.chunks |= chunks
    program.unstored = _by_column(program, plan, columns)
    walked = [c for c in columns if chunks[c] < c.extent]
    if not walked or any(map(program.riders, walked)):
        program.shared = shared_nodes(_roots(program, plan))
    tiles = {} if row is None else {row: height}
    loop = for_tiles(program, plan.rows, tiles, Config(schedule=config.schedule))
    offsets = dict(zip(plan.rows, loop.offsets, strict=False))
    nothing = Stage(program, loop.body.block, [], {})
    zero = nothing.index(0)
    first = Axis(None, zero, 1) if row is None else Axis(row, offsets[row], height)
    scalars = {d: offset for d, offset in offsets.items() if d != row}
    stage = ReduceStage(program, loop.body.block, [first, Axis(None, zero, 1)], scalars)
    for column in [None, *columns]:
        _store(program, stage, column)


def _by_column(
    program: ProgramTiling, plan: GroupTiling, columns: Sequence[DomainDim]
) -> dict[DomainDim | None, list[Result]]:
    """The results along each column, and those along none."""
    found: dict[DomainDim | None, list[Result]] = {}
    for result in plan.group.results:
        found.setdefault(_column(program, result, columns), []).append(result)
    return found


def _column(program: ProgramTiling, result: Result, columns: Sequence[DomainDim]) -> DomainDim | None:
    dims = program.lin_dims(result.at) | program.dims(result.node)
    found = [c for c in columns if c in dims]
    if len(found) > 1:
        raise IrcError("this combination of reductions cannot be one kernel", result.node.location)
    return found[0] if found else None


def _store(program: ProgramTiling, stage: ReduceStage, column: DomainDim | None) -> None:
    """Stores what no walk over a column has stored."""
    if not (results := program.unstored.pop(column, [])):
        return
    if column is None:
        stage.store_all(results)
        return

    def step(inner: ReduceStage, _: list[Any]) -> list[Any]:
        inner.store_all(results)
        return []

    _prepare(stage, [r.node for r in results])
    stage.over(column, [r.node for r in results], [], step)


def _prepare(stage: ReduceStage, roots: Sequence[Node]) -> None:
    """Computes what the loop needs from before it."""
    for root in roots:
        for core in cores(root):
            if isinstance(core, Reduced) and not core.is_scan and stage.has(stage.program.dims(core)):
                stage.core(core)
