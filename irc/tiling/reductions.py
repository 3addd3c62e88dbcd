"""Reductions and scans: phases over the columns of a tile of rows.

Reductions of the same columns that do not depend on each other are one phase. A phase holds all columns in one tile
("persistent"), or walks over them in chunks with an accumulator for each element of the chunk ("looped").
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects import arith
from xdsl.dialects.builtin import TensorType, i64
from xdsl.ir import Block, SSAValue

from irc.dialects import tile
from irc.ir.dtypes import element_of
from irc.ir.neutral import neutral
from irc.support.diagnostics import IrcError
from irc.tiling.combiners import (
    combine_tiles,
    combined,
    index_type,
    last_index,
    map_tiles,
    neutral_of,
    part_count,
)
from irc.tiling.groups import Result, cores
from irc.tiling.index_maps import DomainDim, Lin, atoms, lin_of
from irc.tiling.map_body import finish
from irc.tiling.nodes import (
    Choose,
    Constant,
    Coordinate,
    Dot,
    Load,
    Node,
    Reduced,
    Test,
    walk_nodes,
)
from irc.tiling.program import Axis, ProgramTiling, Shape
from irc.tiling.rescaling import lowest_of, maximum_of, moved_sum, scaled_sum, true_maximum, unless_infinite
from irc.tiling.scalar_body import Body
from irc.tiling.stage import Stage, iteration_with

Step = Callable[["ReduceStage", list[SSAValue]], list[SSAValue]]


def column_of(program: ProgramTiling, node: Reduced) -> DomainDim:
    """The one dimension that a reduction or scan runs over, after its columns have been merged."""
    if node.is_scan:
        return _only_dim(program, node, [node.at[node.axes[0]]])
    return _only_dim(program, node, [lin_of(d) for d in node.dims])


def _only_dim(program: ProgramTiling, node: Reduced, lins: Sequence[Lin]) -> DomainDim:
    found = {a for lin in lins for a in atoms(program.resolve(lin))}
    if len(found) != 1 or not isinstance(dim := next(iter(found)), DomainDim):
        raise IrcError("the reduced axes of this op cannot be tiled", node.location)
    return dim


class ReduceStage(Stage):
    """A stage that makes the tiles of reductions where they are needed: in the outermost
    stage that has their coordinates."""

    def __init__(
        self,
        program: ProgramTiling,
        block: Block,
        axes: Sequence[Axis],
        scalars: dict[DomainDim, SSAValue],
        parent: Stage | None = None,
    ):
        super().__init__(program, block, axes, scalars, parent)
        self.carries: dict[Reduced, SSAValue] = {}
        """In a loop over chunks: what each scan has accumulated before this chunk."""
        self._children: dict[DomainDim, ReduceStage] = {}

    def core(self, node: Node) -> SSAValue:
        if not isinstance(node, Reduced):
            return super().core(node)
        if node.is_scan:
            return self._scanned(node)
        if (root := self._root()).axes_of(node) is not None:
            return root.reduced_axes(node)
        owner = self
        while isinstance(owner.parent, ReduceStage) and owner.parent.has(self.program.dims(node)):
            owner = owner.parent
        if node not in owner.computed:
            owner._run_phase(node)
        value = owner.computed[node]
        missing = len(self.axes) - len(owner.axes)
        if missing == 0:
            return value
        shape = (*tile.shape_of(value.type), *(1,) * missing)
        return owner.insert(tile.ReshapeOp(value, TensorType(node.type, shape)), node.location)

    # Axes of the grid's tile: parts of a result, as many as tiles

    def _root(self) -> ReduceStage:
        stage = self
        while isinstance(stage.parent, ReduceStage):
            stage = stage.parent
        return stage

    def axes_of(self, node: Reduced) -> list[int] | None:
        """The axes of this stage whose tiles hold just what the reduction runs over; None
        where it has other dimensions."""
        axes: list[int] = []
        for dim in node.dims:
            if dim.extent == 1:
                continue
            lin = self.program.resolve(lin_of(dim))
            # Axes of extent 1 all look alike, so each is taken once.
            found = [
                i for i, a in enumerate(self.axes) if i not in axes and a.dim is not None and lin in _whole_tiles(a)
            ]
            if not found:
                return None
            axes.append(found[0])
        return sorted(axes)

    def stored_shape(self, node: Node, coords: Sequence[Lin]) -> Shape:
        """One element along the axes of this tile that a reduction, or all reductions below the node, run over."""
        found = [self.axes_of(n) or () for n in cores(node) if isinstance(n, Reduced) and not n.is_scan]
        axes = {i for each in found for i in each}
        if not isinstance(node, Reduced):
            used = self.program.lin_dims(coords) | self.program.dims(node)
            axes = {i for i in axes if self.axes[i].dim not in used}
        return tuple(1 if i in axes else n for i, n in enumerate(self.shape))

    def reduced_axes(self, node: Reduced) -> SSAValue:
        """The reduction of this tile alone."""
        if node not in self.computed:
            value = node.input
            start = Constant(value.source, node.location, neutral(node.monoid, element_of(value.source)))
            axes = self.axes_of(node) or []
            dims = [d for d in (self.axes[i].dim for i in axes) if d is not None]
            tails = [d for d in dims if d.extent % self.axes[self.axis_of[d]].extent]
            # Not `lin_of`, to which an extent of 1 is no axis: such a dimension has a tail too.
            tests = tuple(Test(Lin(((d, 1),), 0), None, d.extent) for d in tails)
            if tests:
                value = Choose(value.source, node.location, tests, value, start)
            if node.is_position:
                raise IrcError(f"{node.op.name} cannot be computed in parts", node.location)
            tile_value = self.tile(value, self.shape)
            shape = tuple(1 if i in axes else n for i, n in enumerate(self.shape))
            self.computed[node] = self.reduce(node, [tile_value], axes, shape)
        return self.computed[node]

    def reduce(self, node: Reduced, parts: Sequence[SSAValue], axes: Sequence[int], shape: Shape) -> SSAValue:
        """`tile.reduce` of the parts; gives the last result, which is the index of argmax and argmin."""
        types = [TensorType(tile.element_type_of(p.type), shape) for p in parts]
        op = tile.ReduceOp(parts, axes, types)
        body = Body(op.body.block, node.location)
        finish(body, *combined(body, node, op.body.block.args))
        self.insert(op, node.location)
        return op.results[len(parts) - 1]

    def store_all(self, results: Sequence[Result]) -> None:
        """Stores the elements of results that are on the stage's axes."""
        for result in results:
            self.store(self.program.result_argument(result.index), result.at, result.node)

    # Columns

    def over(self, column: DomainDim, roots: Sequence[Node], initial: Sequence[SSAValue], step: Step) -> list[SSAValue]:
        """Runs `step(stage with the columns, accumulators) -> accumulators` for every
        chunk; gives the last accumulators."""
        chunk = self.program.chunks[column]
        if chunk >= column.extent:
            return step(self._whole(column), list(initial))
        scans = self._scans(column, roots)
        carries = [
            self.splat(neutral(s.monoid, element_of(s.source)), s.type, self._carry_shape(), s.location) for s in scans
        ]
        arguments = [*initial, *carries]
        block = iteration_with(arguments)
        stage = self._columns(Axis(column, block.args[0], chunk), block)
        for i, scan in enumerate(scans):
            stage.carries[scan] = block.args[1 + len(initial) + i]
        results = step(stage, list(block.args[1 : 1 + len(initial)]))
        results += [stage.next_carry(s) for s in scans]
        bounds = (self.index(0), self.index(column.extent), self.index(chunk))
        unroll = self.program.unroll if self.program.unroll > 1 else None
        return self.loop(bounds, arguments, block, results, self.program.op.location, unroll)[: len(initial)]

    def _whole(self, column: DomainDim) -> ReduceStage:
        """The stage, in the same block, that holds all columns; made once, so that phases share its loads."""
        if column not in self._children:
            axis = Axis(column, self.index(0), self.program.chunks[column])
            self._children[column] = self._columns(axis, self.block)
        return self._children[column]

    def _columns(self, axis: Axis, block: Block) -> ReduceStage:
        """A stage inside with the axis in the place of the last one if that stands for nothing, else after it."""
        axes = self.axes[:-1] if self.axes[-1].dim is None else self.axes
        return ReduceStage(self.program, block, [*axes, axis], self.scalars, self)

    def _carry_shape(self) -> Shape:
        axes = self.axes[:-1] if self.axes[-1].dim is None else self.axes
        return (*(a.extent for a in axes), 1)

    # Reductions

    def _run_phase(self, node: Reduced) -> None:
        """Computes the reduction, and with it all others of the same columns that can be computed now."""
        column, depth = column_of(self.program, node), depth_of(node)
        if self.has([column]):
            raise IrcError("a reduction crosses the tiles of a kernel", node.location, "run split-reductions first")
        for below in walk_nodes([node.input], inside=lambda n: not isinstance(n, Reduced)):
            if isinstance(below, Reduced) and not below.is_scan and self.has(self.program.dims(below)):
                self.core(below)
        if node in self.computed:  # with the maximum that it is relative to
            return
        batch = [n for n in self.program.reductions if self._fits(n, column, depth)]
        roots: list[Node] = [root for n in batch for root in self._elements(n, column)]
        if self.program.chunks[column] >= column.extent:
            stage = self._whole(column)
            stage.load_first(roots)
            parts = [stage.tile(root, stage.shape) for root in roots]
        elif scaled := self._scaled(column, depth, batch):
            self._run_rescaling(column, batch, scaled)
            return
        else:
            initial = [self._start(n, i, self._chunk_shape(column)) for n in batch for i in range(part_count(n))]
            riders = self.program.take_riders(column)

            def step(stage: ReduceStage, accumulators: list[SSAValue]) -> list[SSAValue]:
                results = _accumulate(stage, batch, roots, accumulators)
                stage.store_all(riders)
                return results

            parts = self.over(column, [*roots, *(each.node for each in riders)], initial, step)
        for n in batch:
            self._finish_reduction(n, parts[: part_count(n)])
            parts = parts[part_count(n) :]

    def load_first(self, roots: Sequence[Node]) -> None:
        """Loads what several nodes need before any of them is computed: threads may meet between two, and would wait
        for the loads behind that once more."""
        loads = [n for n in walk_nodes(roots, inside=lambda n: not self.is_leaf(n)) if isinstance(n, Load)]
        for node in loads if len(roots) > 1 else ():
            self.load(node)

    def _chunk_shape(self, column: DomainDim) -> Shape:
        return (*self._carry_shape()[:-1], self.program.chunks[column])

    def _scaled(self, column: DomainDim, depth: int, batch: Sequence[Reduced]) -> dict[Reduced, Reduced]:
        """The sums of the next depth that can be computed with the batch (irc/tiling/rescaling.py): each with its
        maximum."""
        later = [n for n in self.program.reductions if self._fits(n, column, depth + 1)]
        found = {n: maximum_of(n, batch) for n in later}
        return {n: maximum for n, maximum in found.items() if maximum is not None}

    def _run_rescaling(self, column: DomainDim, batch: Sequence[Reduced], scaled: dict[Reduced, Reduced]) -> None:
        """One walk for the batch and for sums that are relative to maxima of it."""
        maxima = list(dict.fromkeys(scaled.values()))
        others = [n for n in batch if n not in maxima]
        roots = {n: self._elements(n, column) for n in (*maxima, *others)}
        chunk = self._chunk_shape(column)
        initial = [self.splat(lowest_of(n), n.type, chunk, n.location) for n in maxima]
        initial += [self._start(n, i, chunk) for n in (*scaled, *others) for i in range(part_count(n))]

        def step(stage: ReduceStage, accumulators: list[SSAValue]) -> list[SSAValue]:
            before = dict(zip(maxima, accumulators, strict=False))
            elements = {n: stage.tile(roots[n][0], stage.shape) for n in maxima}
            results = [combine_tiles(stage, n, [before[n]], [elements[n]], chunk)[0] for n in maxima]
            rest = accumulators[len(maxima) :]
            for (n, m), total in zip(scaled.items(), rest, strict=False):
                results.append(map_tiles(stage, n, [total, before[m], elements[m]], chunk, scaled_sum))
            return results + _accumulate(stage, others, [r for n in others for r in roots[n]], rest[len(scaled) :])

        parts = self.over(column, [root for each in roots.values() for root in each], initial, step)
        self._finish_scaled(scaled, dict(zip((*maxima, *scaled), parts, strict=False)))
        rest = parts[len(maxima) + len(scaled) :]
        for n in others:
            self._finish_reduction(n, rest[: part_count(n)])
            rest = rest[part_count(n) :]

    def _finish_scaled(self, scaled: dict[Reduced, Reduced], parts: dict[Reduced, SSAValue]) -> None:
        """From sums relative to a maximum for each element of a chunk to those relative to the row's."""
        row, axis = self._carry_shape(), len(self._carry_shape()) - 1
        found = {m: self.reduce(m, [parts[m]], [axis], row) for m in scaled.values()}
        for n, m in scaled.items():
            moved = map_tiles(self, n, [parts[n], parts[m], found[m]], tile.shape_of(parts[n].type), moved_sum)
            total = self.reduce(n, [moved], [axis], row)
            maximum = map_tiles(self, m, [found[m], total], row, true_maximum)
            self._keep(m, maximum)
            self._keep(n, map_tiles(self, n, [total, maximum], row, unless_infinite))

    def _fits(self, node: Reduced, column: DomainDim, depth: int) -> bool:
        if node.is_scan or node in self.computed or not self.has(self.program.dims(node)):
            return False
        return column_of(self.program, node) == column and depth_of(node) == depth

    def _elements(self, node: Reduced, column: DomainDim) -> list[Node]:
        """What is combined: the input, masked by the neutral value in the tail; for
        argmax and argmin also the index."""
        value: Node = node.input
        start = neutral(node.monoid, element_of(value.source))
        tail = column.extent % self.program.chunks[column]
        tests = (Test(lin_of(column), None, column.extent),)
        if tail:
            value = Choose(value.source, node.location, tests, value, Constant(value.source, node.location, start))
        if not node.is_position:
            return [value]
        type = index_type(node)
        position: Node = Coordinate(type, node.location, lin_of(node.dims[0]))
        if tail:
            position = Choose(type, node.location, tests, position, Constant(type, node.location, last_index(node)))
        return [value, position]

    def _start(self, node: Reduced, part: int, shape: Shape) -> SSAValue:
        value, type = neutral_of(node, part)
        return self.splat(value, type, shape, node.location)

    def _finish_reduction(self, node: Reduced, parts: Sequence[SSAValue]) -> None:
        shape = tile.shape_of(parts[0].type)
        axis = len(shape) - 1
        result = self.reduce(node, parts, [axis], (*shape[:-1], 1))
        if node.is_position and index_type(node) != node.type:
            shape = tile.shape_of(result.type)
            result = self.map([result], node.type, shape, lambda body, x: body(arith.ExtSIOp(x[0], i64)), node.location)
        self._keep(node, result)

    def _keep(self, node: Reduced, result: SSAValue) -> None:
        """Makes a tile with one element a row the result of the reduction."""
        shape = tile.shape_of(result.type)
        if len(shape) > len(self.axes):
            result = self.insert(tile.ReshapeOp(result, TensorType(node.type, shape[:-1])), node.location)
        self.computed[node] = result

    # Scans

    def _scans(self, column: DomainDim, roots: Sequence[Node]) -> list[Reduced]:
        nodes = walk_nodes(
            roots, inside=lambda n: not isinstance(n, Dot) and not (isinstance(n, Reduced) and not n.is_scan)
        )
        return [n for n in nodes if isinstance(n, Reduced) and n.is_scan and column_of(self.program, n) == column]

    def _scanned(self, node: Reduced) -> SSAValue:
        column = column_of(self.program, node)
        owner: Stage | None = self
        while owner is not None and owner.axis_of.get(column) != len(owner.axes) - 1:
            owner = owner.parent
        if not isinstance(owner, ReduceStage) or self.program.resolve(node.at[node.axes[0]]) != lin_of(column):
            raise IrcError("a scan can only be used along its own axis in one kernel", node.location)
        if node not in owner.computed:
            owner.computed[node] = owner._scan(node)
        return owner.computed[node]

    def _scan(self, node: Reduced) -> SSAValue:
        value = self.tile(node.input, self.shape)
        op = tile.ScanOp([value], len(self.axes) - 1, [value.type])
        body = Body(op.body.block, node.location)
        finish(body, *combined(body, node, op.body.block.args))
        scanned = self.insert(op, node.location)
        carry = self.carries.get(node)
        if carry is None:
            return scanned
        return combine_tiles(self, node, [carry], [scanned], self.shape)[0]

    def next_carry(self, node: Reduced) -> SSAValue:
        """The carry of a scan after this chunk."""
        value = self.tile(node.input, self.shape)
        shape = (*self.shape[:-1], 1)
        total = self.reduce(node, [value], [len(self.axes) - 1], shape)
        return combine_tiles(self, node, [self.carries[node]], [total], shape)[0]


def _whole_tiles(axis: Axis) -> tuple[Lin, ...]:
    """What runs over all elements of each tile of the axis: the remainder of its
    dimension, or all of it in one tile."""
    assert axis.dim is not None
    whole = lin_of(axis.dim)
    return (whole % axis.extent,) if axis.dim.extent > axis.extent else (whole,)


def depth_of(node: Reduced) -> int:
    """How many reductions lie below this one, one inside the other."""
    depths: dict[Node, int] = {}
    for n in walk_nodes([node.input]):
        below = max((depths[o] for o in n.operands()), default=0)
        depths[n] = below + (isinstance(n, Reduced) and not n.is_scan)
    return depths[node.input]


def _accumulate(
    stage: ReduceStage, batch: Sequence[Reduced], roots: Sequence[Node], accumulators: Sequence[SSAValue]
) -> list[SSAValue]:
    tiles = [stage.tile(root, stage.shape) for root in roots]
    results: list[SSAValue] = []
    at = 0
    for node in batch:
        count = part_count(node)
        results += combine_tiles(stage, node, accumulators[at : at + count], tiles[at : at + count], stage.shape)
        at += count
    return results
