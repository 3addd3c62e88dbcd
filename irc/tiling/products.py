"""Products: a tile of the result is accumulated over K, then the epilogue runs on it.

A convolution is a product whose left operand is read at places that depend on M and on K. Its taps are part of K: where
a step along K is inside of the channels of one tap, the loop goes over the channels of one tap after the other; where
it is not, channels and taps are one dimension, which tiles cut anywhere.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod

from xdsl.dialects import arith
from xdsl.dialects.builtin import bf16
from xdsl.ir import Block, SSAValue

from irc.analysis.block_sums import is_block_sum
from irc.analysis.op_classes import precision_of
from irc.dialects import tile
from irc.ir.dtypes import element_of
from irc.ir.iteration import Kind, iteration_of
from irc.ir.properties import numbers
from irc.layout.instructions import wgmma_depth
from irc.support.diagnostics import IrcError
from irc.support.integers import ceil_div, round_up
from irc.tiling.config import Config
from irc.tiling.direct_products import accumulate_directly
from irc.tiling.domains import Bindings, Space
from irc.tiling.grouped_products import Groups
from irc.tiling.groups import Result
from irc.tiling.index_maps import Div, DomainDim, Lin, atoms, dims_in, lin_of, new_dim
from irc.tiling.nodes import Cast, Choose, Constant, Dot, Joined, Load, Node, Reduced, Test
from irc.tiling.program import Axis, ProgramTiling
from irc.tiling.reductions import ReduceStage
from irc.tiling.scalar_body import is_unsigned
from irc.tiling.sizes import matmul_depth, matmul_tiles
from irc.tiling.stage import Stage, iteration_with
from irc.tiling.taps import Steps, Taps
from irc.tiling.view_bounds import bounded_load


@dataclass
class Contracted:
    """What products contract. A step of the loop over K has elements of `along`, at one place of `around`: these become
    a dimension each, or one together."""

    dims: Space
    around: Space
    along: Space
    taps: Taps | None = None
    """The places of `around` that there are, where that depends on the batch."""

    @staticmethod
    def of(dot: Dot) -> Contracted:
        """The taps of a window are around what is contracted besides, where that is innermost."""
        iteration = iteration_of(dot.op)
        kinds = [iteration.dims[i].kind for i in iteration.along(iteration.inputs[0].map, "k")]
        dims = [d for d in dot.k if d.extent != 1]
        is_around = Kind.WINDOW in kinds and kinds[-1] is not Kind.WINDOW and dot.k[-1].extent != 1
        around = dims[:-1] if is_around else []
        return Contracted(dims, around, dims[len(around) :])

    @property
    def extent(self) -> int:
        return prod(d.extent for d in (*self.around, *self.along))

    def settle(self, step: int) -> None:
        """Decides whether a step is at one place of `around`: one of several elements that wastes less than half of
        those steps."""
        length = prod(d.extent for d in self.along)
        if step == 1 or round_up(length, step) >= 2 * length:
            self.around[:], self.along[:] = [], [*self.around, *self.along]
        if self.taps is not None and self.taps.dims and not self.around:
            self.taps = None

    def end(self, step: int) -> int:
        """Where the loop over K ends: steps at one place of `around` are whole."""
        (along,) = self.along
        return prod(d.extent for d in self.around) * round_up(along.extent, step) if self.around else along.extent


@dataclass
class MatmulPlan:
    """The dimensions of the products of a group; `batch` are all that are neither M, N nor K."""

    dots: list[Dot]
    batch: Space
    m: Space
    n: Space
    ks: list[Contracted] = field(default_factory=list[Contracted])
    is_direct: bool = False
    """Whether sums are in registers alone: a tile has columns of several groups then."""
    groups: Groups | None = None
    """Those that data cuts, if there are some."""
    blocks: Reduced | None = None
    """The sum over blocks of K of what is computed from the product of each, if it is one."""
    parts: int = 1
    """Parts of K, the first of `batch`, whose products blocks add up one after the other."""

    @staticmethod
    def of(program: ProgramTiling, dots: list[Dot], nodes: Sequence[Node], own: Space, config: Config) -> MatmulPlan:
        is_direct = config.is_direct
        rows = [lin for dot in dots for lin in (dot.side("m") if is_direct else dot.rows)]
        columns = [lin for dot in dots for lin in (dot.columns if is_direct else dot.side("n"))]
        m, n = (dims_in(map(program.resolve, lins)) for lins in (rows, columns))
        if set(m) & set(n):
            raise IrcError("a product whose rows and columns are not independent has no kernel", dots[0].location)
        batch = [d for d in own if d not in m and d not in n]
        sums = [node for node in nodes if isinstance(node, Reduced)]
        blocks = None
        if config.parts > 1:
            batch = [*sums[0].dims, *batch]
        elif len(dots) == 1:
            blocks = next((each for each in sums if is_block_sum(each.op, dots[0].op)), None)
        groups = Groups.of(program, dots)
        plan = MatmulPlan(dots, batch, m, n, is_direct=is_direct, groups=groups, blocks=blocks, parts=config.parts)
        for dot in dots:
            plan._add_k(program, dot)
        return plan

    def _add_k(self, program: ProgramTiling, dot: Dot) -> None:
        """Products with contracted dimensions of the same extents share them, and with them their loop."""
        own = Contracted.of(dot)
        if self.blocks is not None:
            own = Contracted([*self.blocks.dims, *own.dims], list(self.blocks.dims), own.along)
        for each in self.ks:
            if [d.extent for d in each.dims] == [d.extent for d in own.dims]:
                for dim, known in zip(own.dims, each.dims, strict=True):
                    if dim != known:
                        program.domains.bindings.bind(dim, lin_of(known))
                each.taps = None
                return
        self.ks.append(own)
        own.taps = Taps.of(program.domains.bindings, dot, own.around, self.batch)

    @property
    def spaces(self) -> list[Space]:
        return [self.batch, *self.single]

    @property
    def single(self) -> list[Space]:
        """Those that become one dimension each."""
        around = [each.around for each in self.ks if each.around]
        return [self.m, self.n, *around, *(each.along for each in self.ks)]

    def settle(self, tile: Mapping[str, int]) -> None:
        """Decides how the loops over K go over what is contracted, by the sizes of a tile."""
        for each in self.ks:
            each.settle(1 if self.is_direct else matmul_depth(each.extent, tile))

    def contracted(self, program: ProgramTiling, dot: Dot) -> Contracted:
        """What a product contracts, after merging."""
        dims = program.lin_dims(lin_of(d) for d in dot.k)
        found = [each for each in self.ks if each.along[0] in dims]
        return found[0] if found else next(each for each in self.ks if each.extent == 1)


def split_axes(bindings: Bindings, nodes: Sequence[Node], role: str) -> bool:
    """Where an axis of a product's result has groups and, in each, columns (`n`), or places and their phases (`m`):
    makes two dimensions of its one. Gives whether there was one. Those of places may go beyond the axis."""
    found = False
    for dot in [node for node in nodes if isinstance(node, Dot)]:
        own = {atom for lin in dot.side(role) for atom in atoms(bindings.resolve(lin))}
        for lin in dot.side("b"):
            for atom, _ in bindings.resolve(lin).terms:
                if not isinstance(atom, Div) or len(atom.value.terms) != 1:
                    continue
                dim = atom.value.terms[0][0]
                if isinstance(dim, DomainDim) and dim in own:
                    outer, inner = new_dim(ceil_div(dim.extent, atom.by)), new_dim(atom.by)
                    bindings.bind(dim, lin_of(outer) * atom.by + lin_of(inner))
                    found = True
    return found


def emit_matmul(program: ProgramTiling, plan: MatmulPlan, results: Sequence[Result], config: Config) -> None:
    """The loop over tiles: batch dimensions one by one, then M and N."""
    m, n = plan.m[0], plan.n[0]
    bm, bn = matmul_tiles(m, n, config.tile)
    cluster = config.cluster or (1, 1)
    rows = m.extent if plan.groups is None else plan.groups.rows(m, bm * cluster[0])
    loop = program.over_tiles(
        [*(d.extent for d in plan.batch), rows, n.extent],
        [1] * len(plan.batch) + [bm, bn],
        schedule=config.schedule,
        group=config.group,
        cluster=cluster if prod(cluster) > 1 else None,
    )
    scalars = dict(zip(plan.batch, loop.offsets, strict=False))
    axes = [Axis(m, loop.offsets[-2], bm), Axis(n, loop.offsets[-1], bn)]
    limits: Limits | None = None
    if plan.groups is not None:
        (each,) = plan.ks
        before = Stage(program, loop.body.block, [], {})
        end = each.end(matmul_depth(each.extent, config.tile))
        axes[0], first, last = plan.groups.begin(program, before, axes[0], scalars, end=end, height=bm * cluster[0])
        limits = plan.groups, first, last
    stage = ReduceStage(program, loop.body.block, axes[::-1] if config.swap_ab else axes, scalars)
    for each in plan.ks:
        dots = [d for d in plan.dots if plan.contracted(program, d) is each]
        if plan.is_direct:
            accumulate_directly(program, stage, {d: _factors(program, d, each.along[0]) for d in dots}, each.along[0])
            continue
        steps = _Loop(program, stage, dots, each, matmul_depth(each.extent, config.tile), config.swap_ab)
        if plan.blocks is not None:
            steps.add_blocks(plan.blocks)
        else:
            steps.accumulate(limits)
    if plan.parts > 1:
        _add_part(program, stage, plan, results, loop.offsets[0])
        return
    stage.store_all(results)


def _add_part(
    program: ProgramTiling, stage: ReduceStage, plan: MatmulPlan, results: Sequence[Result], part: SSAValue
) -> None:
    """Adds the product of a part of K to those of the parts before it. The semaphores are the last result."""
    (result,), (dot,) = results, plan.dots
    sums, semaphores = (program.result_argument(index) for index in (result.index, program.op.result_count - 1))
    own = part, program.argument(semaphores), plan.parts
    stage.store(sums, result.at, dot, add=True, part=own)
    program.op.sums = numbers([sums, semaphores])


Limits = tuple[Groups, SSAValue, SSAValue]
"""Groups that data cuts, and from where to where the loop over K runs for one of them."""


def last_step(dot: Dot, step: int) -> int:
    """Elements of a step of the loop over what is left of a step, where K ends anywhere: those of one matrix
    instruction. Threads bring them, and hold few."""
    least = wgmma_depth(element_of(dot.lhs.source).size)
    return least if step % least == 0 else step


@dataclass(frozen=True)
class _Loop:
    """A loop over K for products that is to be built, once or more; their accumulators become the tiles of their nodes.
    Those that are `transposed` have the right operand on the left."""

    program: ProgramTiling
    stage: ReduceStage
    dots: Sequence[Dot]
    contracted: Contracted
    step: int
    transposed: bool
    steps: Steps | None = None
    blocks: Reduced | None = None
    """What adds up the results of the steps, where each is of a block of K by itself."""

    def accumulate(self, limits: Limits | None) -> None:
        """The loop for all the products. Where K ends anywhere, a second loop has what is left of a step."""
        stage, taps = self.stage, self.contracted.taps
        sums = [stage.splat(0, d.type, stage.shape, d.location) for d in self.dots]
        loop = self if taps is None else replace(self, steps=taps.begin(stage))
        if limits is None:
            end = stage.index(self.contracted.end(self.step))
            if loop.steps is not None:
                length = stage.index(round_up(self.contracted.along[0].extent, self.step))
                end = stage.insert(arith.MuliOp(loop.steps.total(stage), length), self.program.op.location)
            sums = loop.add(stage.index(0), end, sums)
        elif not limits[0].contracts_rows:
            sums = loop.add(limits[1], limits[2], sums)
        else:
            whole = limits[0].whole_steps(stage, limits[1], limits[2], self.step)
            sums = loop.add(limits[1], whole, sums)
            rest = replace(loop, step=last_step(self.dots[0], self.step))
            sums = rest.add(whole, limits[2], sums, has_end=True)
        for dot, value in zip(self.dots, sums, strict=True):
            stage.computed[dot] = value

    def add_blocks(self, blocks: Reduced) -> None:
        """The loop over the blocks of K: what is computed from the product of each is added up."""
        stage, extent = self.stage, self.contracted.along[0].extent
        if self.step != extent:
            found = f"blocks of {extent} elements of K are scaled, and a step has {self.step}"
            raise IrcError(found, blocks.location, f"k = {extent} in the tile of its #kernel.config")
        start = stage.splat(0, blocks.type, stage.shape, blocks.location)
        loop = replace(self, blocks=blocks)
        (stage.computed[blocks],) = loop.add(stage.index(0), stage.index(self.contracted.end(self.step)), [start])

    def add(self, begin: SSAValue, end: SSAValue, sums: Sequence[SSAValue], *, has_end: bool = False) -> list[SSAValue]:
        """From where to where; adds to what is summed so far. has_end: whether a step may go beyond the end."""
        program, contracted = self.program, self.contracted
        block = iteration_with(sums)
        row_axis, column_axis = self.stage.axes
        k_axis, scalars = self._step(block, end if has_end else None)
        left = ReduceStage(program, block, [row_axis, k_axis], scalars)
        right = ReduceStage(program, block, [k_axis, column_axis], scalars)
        results: list[SSAValue] = []
        for dot, acc in zip(self.dots, block.args[1:], strict=True):
            precision = precision_of(dot.op)
            kernel = dot.rhs if contracted.taps is None else contracted.taps.inside(dot.rhs)
            sides = (kernel, dot.lhs) if self.transposed else (dot.lhs, kernel)
            lhs, rhs = (dot_operand(program, node, contracted.along[0], self.step, precision) for node in sides)
            a, b = left.tile(lhs, left.shape), right.tile(rhs, right.shape)
            if self.blocks is not None:
                results.append(self._add_block(block, scalars, dot, a, b))
                continue
            results.append(left.insert(dot_of(dot, a, b, acc), dot.location))
        bounds = begin, end, self.stage.index(self.step)
        return self.stage.loop(bounds, sums, block, results, self.dots[0].location)

    def _step(self, block: Block, end: SSAValue | None) -> tuple[Axis, dict[DomainDim, SSAValue]]:
        """The axis of a step, whose own elements end at `end`, if it may begin anywhere, and the dimensions that are
        scalars there."""
        (along,), around, at = self.contracted.along, self.contracted.around, block.args[0]
        if not around:
            return Axis(along, at, self.step, end, is_loaded=False), self.stage.scalars
        whole = round_up(along.extent, self.step)
        inside, length, where = Stage(self.program, block, [], {}), self.stage.index(whole), self.program.op.location
        place, offset = inside.insert(arith.FloorDivSIOp(at, length), where), self.stage.index(0)
        if whole != self.step:
            start = inside.insert(arith.MuliOp(place, length), where)
            offset = inside.insert(arith.SubiOp(at, start), where)
        if self.steps is not None:
            place = self.steps.place(inside, place)
        return Axis(along, offset, self.step), {**self.stage.scalars, around[0]: place}

    def _add_block(
        self, block: Block, scalars: dict[DomainDim, SSAValue], dot: Dot, lhs: SSAValue, rhs: SSAValue
    ) -> SSAValue:
        """The sum so far, and what is computed from the product of a block."""
        blocks = self.blocks
        assert blocks is not None
        inner = ReduceStage(self.program, block, self.stage.axes, scalars)
        inner.of_tile = {}
        zero = inner.splat(0, dot.type, inner.shape, dot.location)
        inner.computed[dot] = inner.insert(dot_of(dot, lhs, rhs, zero), dot.location)
        before = replace(blocks)
        inner.computed[before] = block.args[1]
        return inner.tile(Joined(blocks.source, blocks.location, "sum", (before, blocks.input)), inner.shape)


def _factors(program: ProgramTiling, dot: Dot, k: DomainDim) -> tuple[Node, Node]:
    """The operands of a product of which each step has one element along K."""
    precision = precision_of(dot.op)
    return dot_operand(program, dot.lhs, k, 1, precision), dot_operand(program, dot.rhs, k, 1, precision)


def dot_of(dot: Dot, lhs: SSAValue, rhs: SSAValue, acc: SSAValue) -> tile.DotOp:
    """A product of tiles as the node asks for."""
    return tile.DotOp(lhs, rhs, acc, precision=precision_of(dot.op), unsigned=is_unsigned(dot.lhs.source))


def dot_operand(program: ProgramTiling, node: Node, k: DomainDim, step: int, precision: str | None) -> Node:
    """The operand as it feeds `tile.dot`: rounded to bf16 where the product asks for that, and 0 beyond the end of
    K."""
    if (load := bounded_load(program.domains, node)) is not None:
        node = load
    if precision == "bf16" and element_of(node.source).name == "f32":
        node = Cast(bf16, node.location, node)
    if k.extent % step == 0 or _is_zero_beyond(program, node, k):
        return node
    zero = Constant(node.source, node.location, 0)
    position = Lin(((k, 1),), 0)  # not `lin_of`, to which an extent of 1 is no axis
    return Choose(node.source, node.location, (Test(position, None, k.extent),), node, zero)


def _is_zero_beyond(program: ProgramTiling, node: Node, k: DomainDim) -> bool:
    """Whether a load reads 0 beyond the end of K because that is the end of a dimension of its view."""
    if isinstance(node, Cast):
        return _is_zero_beyond(program, node.input, k)
    if not isinstance(node, Load) or k.extent == 1:
        return False
    operand = program.domains.operands[node.argument]
    coords = operand.view_coords(program.domains.bindings, node.at)
    return any(c == lin_of(k) and n == k.extent for c, n in zip(coords, operand.view_extents, strict=True))
