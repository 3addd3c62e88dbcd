"""`split-reductions`: a reduction that crosses tiles becomes partial results and a second kernel.

Four need it: one in the epilogue of a product, whose tiles cover parts of M and N; one with fewer rows than the GPU has
room for, a product with few tiles and a long K, and a cascade of few rows, which `choose-config` marked by `split`. The
first kernel reduces each part, of which there is one for each tile, and stores the partial results; one more kernel
finishes all reductions of the first, and does the elementwise work on their results. The parts of K of a product can be
added up by the first kernel instead, by blocks that wait for each other at semaphores. A few parts that only one kernel
reads the sum of are added up by that kernel.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import partial
from math import prod
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, BlockArgument, Operation, Region, SSAValue

from irc.analysis.block_sums import block_sum
from irc.analysis.cascades import cascade_in
from irc.analysis.invariants import FUSED
from irc.analysis.op_classes import (
    has_parts,
    is_position,
    is_reduction,
    is_splittable,
    reduced_axes,
    shape_of,
    size_of,
)
from irc.analysis.reduction_problem import reduction_of
from irc.analysis.whole_rows import whole_rows
from irc.configs.candidates import candidates
from irc.dialects.kernel import Anchor, ConfigAttr, FusedOp, YieldOp
from irc.dialects.nd import ConstantOp
from irc.dialects.nd.base import tensor
from irc.ir.blocks import block_of, ops_in
from irc.ir.dtypes import element_named
from irc.ir.iteration import iteration_of
from irc.ir.passes import Pass
from irc.ir.rewriting import location_of
from irc.ir.targets import Target, target_of
from irc.ir.walks import depending_on
from irc.splitting.cascades import SplitCascade
from irc.splitting.finishes import finish_in_readers
from irc.splitting.partials import Cut, Side, TwoStages, alike_axes, cut_reduction, first_stage
from irc.splitting.positions import split_position
from irc.splitting.products import split_product, split_serially
from irc.support.diagnostics import IrcError
from irc.support.integers import ceil_div
from irc.support.semaphores import SEMAPHORE_ELEMENTS

ENOUGH_TO_CUT = 4
"""The outermost reduced axes are cut where they have at least so many elements for each part."""


@dataclass(frozen=True)
class SplitReductionsPass(Pass):
    """Splits reductions that cross tiles into partial results and a kernel that finishes them: the one that reads what
    a few parts add up to, where that takes less than a launch."""

    name: ClassVar[str] = "split-reductions"
    requires = (FUSED,)

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        machine = target_of(op)
        finishes: list[FusedOp] = []
        for kernel in [inner for inner in ops_in(op) if isinstance(inner, FusedOp)]:
            if (stages := _stages(kernel)) and (finish := _split(kernel, stages, machine)) is not None:
                finishes.append(finish)
        finish_in_readers(finishes, machine)


Stage = Callable[[Operation, Callable[[Operation], None]], TwoStages]
"""Builds the first stage of a reduction."""


def _stages(kernel: FusedOp) -> dict[Operation, Stage]:
    """The reductions of a kernel to split, and how."""
    match kernel.kind:
        case Anchor.CASCADE if (parts := _parts(kernel)) > 1:
            cascade = cascade_in(kernel)
            return dict.fromkeys((*cascade.reductions, *cascade.products), SplitCascade(cascade, parts).stage)
        case Anchor.MATMUL if (parts := _parts(kernel)) > 1:
            if _is_serial(kernel):
                return dict.fromkeys(kernel.cores(), lambda op, insert: split_serially(op, parts, insert))
            # A thread that has whole columns of the product stores those of neighbors side by side.
            by_columns = kernel.config is not None and kernel.config.instruction == "columns"
            return dict.fromkeys(
                kernel.cores(), lambda op, insert: split_product(op, parts, insert, columns_last=by_columns)
            )
        case Anchor.MATMUL:
            sides = _tile_sides(kernel)
            return {op: lambda op, insert: first_stage(op, sides[op], insert) for op in sides}
        case Anchor.REDUCE:
            if (cut := _cut(kernel)) is None:
                return {}
            return dict.fromkeys(kernel.cores(), partial(_cut_stage, cut))
        case _:
            return {}


def _cut_stage(cut: Cut, op: Operation, insert: Callable[[Operation], None]) -> TwoStages:
    return split_position(op, cut, insert) if is_position(op) else cut_reduction(op, cut, insert)


def _parts(kernel: FusedOp) -> int:
    """The parts that the config asks for."""
    return 1 if kernel.config is None else kernel.config.split or 1


def _is_serial(kernel: FusedOp) -> bool:
    return _parts(kernel) > 1 and kernel.config is not None and kernel.config.split_sums == "serial"


def _semaphores(kernel: FusedOp) -> SSAValue:
    """Which part is added to each tile next, in the end none: a word for each 8 rows and columns, along the dimensions
    of a tile."""
    config, iteration = kernel.config, iteration_of(kernel.cores()[0])
    assert config is not None
    roles = ("n", "m") if config.swap_ab else ("m", "n")
    shape = [ceil_div(iteration.extent(role), SEMAPHORE_ELEMENTS) for role in roles]
    semaphores = ConstantOp.splat(0, tensor(shape, element_named("i32")), location=kernel.location)
    kernel.block.insert_op_before(semaphores, kernel.yielded)
    return semaphores.results[0]


def _tile_sides(kernel: FusedOp) -> dict[Operation, list[Side]]:
    """Reductions of an epilogue: M and N are cut into the tiles of the product."""
    blocks = block_sum(kernel)
    reductions = [op for op in kernel.block.ops if is_splittable(op) and has_parts(op) and op is not blocks]
    if not reductions:
        return {}
    tile = None if kernel.config is None else kernel.config.tile
    if tile is None or not {"m", "n"} <= tile.keys():
        message = "a product's reductions are split by its tile, and it has none"
        raise IrcError(message, location_of(kernel), "run choose-config")
    iteration = iteration_of(kernel.cores()[0])
    sizes = {"b": 1, "m": tile["m"], "n": tile["n"]}
    axes = {role: iteration.axes(iteration.result, role) for role in sizes}
    axes["m"] = iteration.touched(iteration.result, "m")  # phases of places are along their axes too
    groups = [(tuple(sorted(axes[role])), size) for role, size in sizes.items()]
    whole = whole_rows(kernel)
    return {op: [_side(op, *group) for group in groups if group[0]] for op in reductions if op not in whole}


def _side(op: Operation, axes: tuple[int, ...], tile: int) -> Side:
    """A side that is reduced is cut into tiles; a batch is a tile of its own."""
    is_reduced = bool(set(axes) & set(reduced_axes(op)))
    return Side(axes, tile if is_reduced else None)


def _cut(kernel: FusedOp) -> Cut | None:
    """How the reductions of a kernel with a `split` are cut; None where there are no two parts.

    The outermost reduced axes are cut, or the longest where those are few. Parts are multiples of the steps in which a
    tile walks over them. Before a run of memory of a step and more, axes are cut into single elements: each part is a
    run then, and no index is divided to find an element."""
    config = kernel.config
    if config is None or (parts := config.split) is None:
        return None
    reduction = reduction_of(kernel)
    together, keeps_last = reduction.together, reduction.inner > 1
    if parts * together == 1 and not keeps_last:
        return None
    cores = kernel.cores()
    if other := next((op for op in cores if not is_reduction(op)), None):
        raise IrcError(f"{other.name} cannot be split, its config asks for {parts} parts", other.location)
    if not all(map(has_parts, cores)):
        return None
    shape, axes = shape_of(cores[0].operands[0]), reduced_axes(cores[0])
    sides = alike_axes(shape, axes)
    extents = [prod(shape[axis] for axis in side) for side in sides]
    reduced = [at for at, side in enumerate(sides) if set(axes) & {axis for axis in side if shape[axis] != 1}]
    if not reduced:
        return None
    reduced = reduced[:-1] if keeps_last else reduced
    steps = config.tile.get("r", 1) if config.tile is not None else 1
    ends_in_runs = together == 1 and len(reduced) == 2 and reduced[-1] == len(sides) - 1
    if ends_in_runs and extents[-1] >= steps and extents[reduced[0]] >= parts:
        return Cut(sides, reduced[0], 1, extents[reduced[0]])
    at = next((i for i in reduced if extents[i] >= ENOUGH_TO_CUT * parts), max(reduced, key=lambda i: extents[i]))
    step = unroll = 1
    if len(reduced) == 1:
        step, unroll = steps, 1 if keeps_last else config.unroll or 1
    extent = extents[at] // together
    if together > 1:
        part = _close_part(extent, parts, step)
    elif _stores_elements(kernel):
        part = _even_part(extent, parts, step * unroll)
    else:
        part = _part(extent, parts, step * unroll)
    count = extent // part
    if keeps_last and count < 2:
        return Cut(sides, at, extent, 1, keeps_last=True)
    return Cut(sides, at, part, count, together, keeps_last) if count * together > 1 else None


def _stores_elements(kernel: FusedOp) -> bool:
    """Whether the kernel stores what it reduces, or what is computed from the same elements one by one."""
    fed = _dependent(kernel, kernel.cores())
    size = prod(shape_of(kernel.cores()[0].operands[0]))
    return any(size_of(value) == size and value not in fed for value in kernel.yielded.outputs)


def _even_part(extent: int, parts: int, step: int) -> int:
    """The same where elements are stored on the walk over parts, which has no end of its own then: parts may be half or
    twice as long to leave nothing over."""
    part = _part(extent, parts, step)
    sizes = [size for size in range(step, min(2 * part, extent) + 1, step) if extent % size == 0 and 2 * size >= part]
    return min(sizes, key=lambda size: max(size / part, part / size), default=part)


def _part(extent: int, parts: int, step: int) -> int:
    """About extent / parts elements: a multiple of the step, the one that leaves least over."""
    part = max(1, ceil_div(extent, parts))
    step = min(step, part)
    part = ceil_div(part, step) * step
    return min(range(part, part + part // 8 + 1, step), key=lambda candidate: (extent % candidate, candidate))


def _close_part(extent: int, parts: int, step: int) -> int:
    """The same where what is left over is slow to reduce, as rows that are not put together are: parts may be half as
    long again."""
    part = ceil_div(max(1, ceil_div(extent, parts)), step) * step
    sizes = [size for size in range(part, part + part // 2 + 1, step) if size <= extent]
    return min(sizes, key=lambda size: (extent % size, size), default=extent)


def _split(kernel: FusedOp, build: dict[Operation, Stage], machine: Target) -> FusedOp | None:
    """Gives the kernel that finishes the reductions; None where the first one does."""
    dependent = _dependent(kernel, build)
    old_yield = kernel.yielded
    if any(operand in dependent for op in kernel.cores() if op not in build for operand in op.operands):
        raise IrcError("a product of a reduction's result cannot be in the reduction's kernel", location_of(kernel))
    stages = [stage(op, lambda new: kernel.block.insert_op_before(new, old_yield)) for op, stage in build.items()]
    # What is left over starts first.
    partials = list(dict.fromkeys(each for stage in stages for each in reversed(stage.partials)))
    kept = [i for i, value in enumerate(old_yield.outputs) if value not in dependent]
    moved = [i for i, value in enumerate(old_yield.outputs) if value in dependent]
    finish = _Finish(kernel, stages)
    for i in moved:
        finish.add_result(old_yield.outputs[i])
    values = [*(old_yield.outputs[i] for i in kept), *partials]
    is_serial = _is_serial(kernel)
    first = _first_kernel(kernel, [*values, _semaphores(kernel)] if is_serial else values, is_serial=is_serial)
    named: dict[SSAValue, SSAValue] = dict(zip(partials, first.results[len(kept) : len(values)], strict=True))
    block = block_of(kernel)
    block.insert_op_before(first, kernel)
    results: list[SSAValue | None] = [None] * len(kernel.results)
    for new, i in enumerate(kept):
        results[i] = first.results[new]
    second = None
    if finish.is_done:
        finished = [named[stage.partials[0]] for stage in stages]
    else:
        second = finish.build(named, machine, Anchor.MAP if is_serial else Anchor.REDUCE)
        block.insert_op_before(second, kernel)
        finished = list(second.results)
    for new, i in enumerate(moved):
        results[i] = finished[new]
    for old, new in zip(kernel.results, results, strict=True):
        assert new is not None
        new.name_hint = old.name_hint
        old.replace_all_uses_with(new)
    kernel.detach()
    kernel.erase()
    for op in reversed(list(first.block.ops)):
        if op.results and not any(result.uses for result in op.results):
            op.detach()
            op.erase()
    return second


def _dependent(kernel: FusedOp, split: Collection[Operation]) -> set[SSAValue]:
    """The values that the reductions give, or that depend on them."""
    return {result for op in (*split, *depending_on(split, kernel.block.ops)) for result in op.results}


def _first_kernel(kernel: FusedOp, values: list[SSAValue], *, is_serial: bool) -> FusedOp:
    """The kernel with other results. Its body moves; the old op is left with an empty one. is_serial: it adds up
    parts, of which its config says how many."""
    config = kernel.config
    if config is not None and not is_serial:
        config = config.replace(split=None)
    old_yield = kernel.yielded
    kernel.block.insert_op_before(YieldOp(*values, location=old_yield.location), old_yield)
    old_yield.detach()
    old_yield.erase()
    region = Region()
    kernel.body.move_blocks(region)
    kernel.body.add_block(Block())
    name = None if kernel.sym_name is None else kernel.sym_name.data
    types = [value.type for value in values]
    return FusedOp(kernel.inputs, types, kernel.kind, region, sym_name=name, config=config, location=kernel.location)


class _Finish:
    """The second kernel: the last stage of each reduction, and what is computed from their results."""

    def __init__(self, kernel: FusedOp, stages: list[TwoStages]):
        self._kernel = kernel
        self._block = Block()
        self._sources: list[SSAValue] = []
        self._values: dict[SSAValue, SSAValue] = {}
        self._results: list[SSAValue] = []
        partials: dict[SSAValue, SSAValue] = {}
        for stage in stages:
            for each in stage.partials:
                if each not in partials:
                    partials[each] = self._argument(each)
            arguments = [partials[each] for each in stage.partials]
            self._values[stage.op.results[0]] = stage.finish(arguments, self._block.add_op)

    def _argument(self, value: SSAValue) -> SSAValue:
        argument = self._block.insert_arg(value.type, len(self._block.args))
        argument.name_hint = value.name_hint
        self._sources.append(value)
        return argument

    def add_result(self, value: SSAValue) -> None:
        self._results.append(self._value(value))

    def _value(self, value: SSAValue) -> SSAValue:
        """The value in this kernel: what it depends on is copied, operands of the first kernel are read again."""
        if value in self._values:
            return self._values[value]
        if isinstance(value, BlockArgument):
            self._values[value] = self._argument(value)
            return self._values[value]
        op = value.owner
        assert isinstance(op, Operation)
        copy = op.clone({operand: self._value(operand) for operand in op.operands})
        self._block.add_op(copy)
        self._values |= dict(zip(op.results, copy.results, strict=True))
        return self._values[value]

    @property
    def is_done(self) -> bool:
        """Whether nothing is left to do: the results are those of the first kernel."""
        return bool(self._results) and not self._block.ops.first and self._results == list(self._block.args)

    def build(self, partials: dict[SSAValue, SSAValue], machine: Target, kind: Anchor) -> FusedOp:
        """The kernel; `partials` are the results of the first kernel that hold the partial results."""
        self._block.add_op(YieldOp(*self._results, location=self._kernel.location))
        operands = [partials[v] if v in partials else self._operand(v) for v in self._sources]
        name = None if self._kernel.sym_name is None else f"{self._kernel.sym_name.data}_finish"
        kernel = FusedOp(
            operands,
            [value.type for value in self._results],
            kind,
            Region(self._block),
            sym_name=name,
            location=self._kernel.location,
        )
        kernel.config = _finish_config(kernel, machine)
        return kernel

    def _operand(self, argument: SSAValue) -> SSAValue:
        assert isinstance(argument, BlockArgument)
        return self._kernel.inputs[argument.index]


def _finish_config(kernel: FusedOp, machine: Target) -> ConfigAttr:
    """Reductions of one domain get a config as any kernel; for several domains tiling chooses for each."""
    domains = {(shape_of(op.operands[0]), reduced_axes(op)) for op in kernel.cores() if kernel.kind is Anchor.REDUCE}
    if len(domains) > 1:
        return ConfigAttr.of(schedule="grid")
    return next(candidates(kernel, machine)).replace(split=None)
