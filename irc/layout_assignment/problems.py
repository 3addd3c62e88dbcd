"""What a space asks of its layout, for the search of `irc/layout/search.py`."""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd, prod

from xdsl.dialects import scf
from xdsl.ir import BlockArgument, Operation, SSAValue

from irc.analysis.accesses import access_of
from irc.dialects import tile
from irc.dialects.tile import element_type_of, shape_of
from irc.ir.dtypes import element_of
from irc.ir.extents import dims_of
from irc.ir.properties import constant_of
from irc.layout.access import MemoryAccess
from irc.layout.affine import slope_of
from irc.layout.candidates import side_by_side, transposing
from irc.layout.fragment import REPLICATED, Fragment, Mode
from irc.layout.requests import WIDEST
from irc.layout.search import Problem, Reduction, Use
from irc.layout.windows import Reach, Read, closest_runs
from irc.layout_assignment.operand_layouts import written_major
from irc.layout_assignment.spaces import Space
from irc.scheduling.carried_reductions import deferrable
from irc.support.extents import varying
from irc.support.integers import ceil_div

PLAIN = (tile.LoadOp, tile.StoreOp, tile.MapOp, tile.SplatOp, tile.IotaOp, tile.ConvertOp, tile.YieldOp)
"""Ops of a loop over tiles in which elements meet no others."""

UNKNOWN_TRIPS = 4
"""How often a loop is taken to run whose bounds are not constants."""


def problem_of(space: Space, threads: int, *, is_alone: bool, writes: Sequence[tile.WriteOp]) -> Problem:
    """The accesses, reductions and slices of a space, in a block that has its multiprocessor for itself or not. A space
    that `writes` operands of wgmma holds runs along one dimension only: the buffer's panels lie along it. Where they
    have to lie along another one than memory does, its threads turn blocks of the tile."""
    shape = space.shape
    weights = _weights(space)
    along = max(range(len(shape)), key=lambda d: (weights[d], d)) if writes else None
    transposed = _transposing(space, along, threads, writes)
    windows = _windows(space, threads)
    given = (space.fragment,) if space.fragment is not None else windows or transposed
    if space.scans and not given:
        given = (_scanned(shape, space.scans, weights, threads),)
    return Problem(
        shape,
        threads,
        tuple(_use(space, op, value, is_bound=bool(windows or transposed)) for op, value in space.accesses),
        tuple(_reductions(space)),
        sum(trips(op) * (len(op.body.block.ops) - 1) for op in _makers(space) if isinstance(op, tile.MapOp)),
        max((_size(v) for v in space.values if shape_of(v.type) == shape), default=4),
        given,
        tuple(_slices(space)),
        along,
        is_alone,
    )


def _windows(space: Space, threads: int) -> tuple[Fragment, ...]:
    """The fragment of a space that a load of windows is in; none where there is no such load. Threads hold vectors
    along what is contiguous, and neighbors along the outermost dimension that windows reach along: those share the most
    of what they read. Where all places multiply it by the same elements, neighbors along two dimensions are closer."""
    loads = [op for op, _ in space.accesses if isinstance(op, tile.LoadWindowOp)]
    whole = [(op, access_of(op)) for op, value in space.accesses if shape_of(value.type) == space.shape]
    if not loads or not whole:
        return ()
    stored = [each for each in whole if isinstance(each[0], tile.StoreOp)] or whole
    access = max((each for _, each in stored), key=lambda each: each.element_bytes)
    order = access.order(space.shape)
    is_shared = any(shape_of(value.type) != space.shape for op in loads for value in op.outputs)
    reached = {d for op in loads for d in _reached(op, overlap=is_shared)}
    each = max(1, prod(space.shape) // threads)
    run = min(access.vector(order[0], space.shape[order[0]]), each)
    outer = [d for d in reversed(order) if d in reached and d != order[0]][:2]

    def along(runs: Sequence[int]) -> list[int]:
        lengths = dict(zip((order[0], *outer), runs, strict=False))
        return [gcd(n, lengths.get(d, 1)) for d, n in enumerate(space.shape)]

    runs = (run, each // run)
    if is_shared and order[0] not in reached:
        extents = [space.shape[d] for d in outer]
        runs = closest_runs(
            each, run, access.element_bytes, extents, lambda runs: [_read(op, along(runs)) for op in loads]
        )
    return (side_by_side(space.shape, order, along(runs), threads),)


def _read(op: tile.LoadWindowOp, runs: Sequence[int]) -> Read:
    """What a thread reads that has such runs of a tile."""
    shape, dims = shape_of(op.outputs[0].type), len(op.offsets)
    axes: list[Reach] = []
    for expr, places in zip(op.access_map.results, zip(*op.tap_values, strict=True), strict=True):
        moving = {d: abs(slope_of(expr, d) or 0) for d in expr.used_dims() if d < dims and min(runs[d], shape[d]) > 1}
        count, step = prod(runs[d] for d in moving), max(moving.values(), default=0)
        axes.append(Reach(count, step, max(places) - min(places), len(set(places))))
    return Read(tuple(axes), element_of(element_type_of(op.outputs[0].type)).size)


def _reached(op: tile.LoadWindowOp, *, overlap: bool) -> set[int]:
    """The tile's dimensions along which windows reach over several places; with `overlap`, those alone along which
    neighbors read some of the same elements."""
    exprs = zip(op.access_map.results, zip(*op.tap_values, strict=True), strict=True)
    slopes = [(d, slope_of(expr, d) or 0, places) for expr, places in exprs for d in expr.used_dims()]
    return {d for d, slope, places in slopes if (abs(slope) if overlap else 1) <= max(places) - min(places)}


def _transposing(space: Space, along: int | None, threads: int, writes: Sequence[tile.WriteOp]) -> tuple[Fragment, ...]:
    """The fragment of a space that is read along one dimension and written along the other; none where it is not."""
    if along is None or len(space.shape) != 2:
        return ()
    for op in writes:
        if written_major(op.buffer) not in (None, along):
            run = max((access_of(o).vector(along, shape_of(v.type)[along]) for o, v in space.accesses), default=1)
            rows, columns = space.shape
            return (transposing((rows, columns), along, run, WIDEST // _size(op.buffer), threads),)
    return ()


def trips(op: Operation) -> int:
    """How often an op runs for each tile."""
    count = 1
    parent = op.parent_op()
    while parent is not None and not isinstance(parent, tile.ForTilesOp):
        count *= _trips(parent) if isinstance(parent, scf.ForOp) else 1
        parent = parent.parent_op()
    return count


def _trips(loop: scf.ForOp) -> int:
    first, last, step = constant_of(loop.lb), constant_of(loop.ub), constant_of(loop.step)
    if first is None or last is None or not step:
        return UNKNOWN_TRIPS
    return max(1, ceil_div(last - first, step))


def _use(space: Space, op: tile.AccessOp, value: SSAValue, *, is_bound: bool) -> Use:
    """`is_bound`: the access is made in the space's fragment."""
    is_store = isinstance(op, tile.StoreOp)
    shape = shape_of(value.type)
    gathers = op.gathers
    is_free = (
        shape == space.shape and not gathers and not is_bound and not (space.scans and is_store and len(shape) < 2)
    )
    view = op.view.name_hint or (op.view.index if isinstance(op.view, BlockArgument) else "?")
    name = f"{'store' if is_store else 'load'} %{view}"
    access = access_of(op)
    can_stage = _can_exceed(op) and _loads_alone(op) and _has_known_places(op, access)
    can_realign = _can_exceed(op) and not _loads_alone(op) and not varying(access.size, dims_of(op))
    is_copied = can_stage and _is_copied(value)
    return Use(name, access, shape, is_store, is_free, trips(op), can_realign, can_stage, is_copied)


def _is_copied(value: SSAValue) -> bool:
    """Whether a tile is stored, and nothing else is done to it."""
    return all(isinstance(use.operation, tile.StoreOp) for use in value.uses) and value.has_one_use()


def _can_exceed(op: tile.AccessOp) -> bool:
    """Whether an op loads for a program that computes elements one by one and stores those that there are: what it
    finds outside the view, or beside its elements, meets nothing else."""
    loop = op.parent_op()
    if not isinstance(op, tile.LoadOp) or op.other is not None or not isinstance(loop, tile.ForTilesOp):
        return False
    program = op.view.owner.parent_op()
    assert isinstance(program, tile.ProgramOp)
    is_plain = all(isinstance(each, PLAIN) or each.dialect_name() in ("arith", "math") for each in loop.body.block.ops)
    return is_plain and program.in_place is None


def _has_known_places(op: tile.AccessOp, access: MemoryAccess) -> bool:
    """Whether it is known where in its word of memory each row begins, if only the first one's place is."""
    word = max(1, WIDEST // access.element_bytes)
    return not any(stride % word and varying(stride, dims_of(op)) for stride in access.strides)


def _loads_alone(op: tile.AccessOp) -> bool:
    """Whether a loop has no other load."""
    block = op.parent_block()
    return block is not None and sum(isinstance(each, tile.LoadOp) for each in block.ops) == 1


def _reductions(space: Space) -> list[Reduction]:
    """Threads meet behind a loop for what it carries of a reduction (`defer-reductions`)."""
    found: list[Reduction] = []
    for op in dict.fromkeys(use.operation for value in space.values for use in value.uses):
        if isinstance(op, tile.ReduceOp):
            size = sum(_size(value) for value in op.inputs)
            loop = op.parent_op()
            times = trips(loop) if isinstance(loop, scf.ForOp) and _is_deferred(op, loop) else trips(op)
            found.append(Reduction(frozenset(op.axis_values), size, times))
    return found


def _is_deferred(reduce: tile.ReduceOp, loop: scf.ForOp) -> bool:
    values = (one for each, relative in deferrable(loop) for one in (each, *(relative[0] if relative else ())))
    return any(each.reduce is reduce for each in values)


def _makers(space: Space) -> list[Operation]:
    return list(dict.fromkeys(v.owner for v in space.values if isinstance(v.owner, Operation)))


def _slices(space: Space) -> list[tuple[int, int]]:
    """(dimension, extent) of the slices that are taken of the space's tiles."""
    found: dict[tuple[int, int], None] = {}
    for value in space.values:
        for use in value.uses:
            if isinstance(use.operation, tile.SliceOp):
                extents = shape_of(use.operation.result.type)
                found.update(dict.fromkeys((d, n) for d, n in enumerate(extents) if n != space.shape[d]))
    return list(found)


def _size(value: SSAValue) -> int:
    return element_of(element_type_of(value.type)).size


def _weights(space: Space) -> list[int]:
    """For each dimension, the bytes of the accesses that are best made along it."""
    weights = [0] * len(space.shape)
    for op, value in space.accesses:
        access, extents = access_of(op), shape_of(value.type)
        found = [(access.vector(d, n), access.is_contiguous(d), d) for d, n in enumerate(extents) if n > 1]
        if found:
            weights[max(found)[2]] += prod(extents) * access.element_bytes
    return weights


def _scanned(shape: Sequence[int], scans: set[int], weights: Sequence[int], threads: int) -> Fragment:
    """Threads along the other dimensions first, then along the scanned one, each with a run of neighbors there."""
    (axis,) = scans
    across = sorted((d for d in range(len(shape)) if d != axis), key=lambda d: -weights[d])
    spread = dict.fromkeys(range(len(shape)), 1)
    modes: list[Mode] = []
    left = threads
    for dim in (axis, *across):
        rows = prod(shape[d] for d in across)
        size = min(left, shape[dim], max(1, threads // rows)) if dim == axis else min(left, shape[dim])
        if size > 1:
            modes.append(Mode(size, dim, shape[dim] // size if dim == axis else 1))
            spread[dim] = size
            left //= size
    if left > 1:
        modes.append(Mode(left, REPLICATED, 0))
    values = [Mode(shape[axis] // spread[axis], axis, 1)]
    values += [Mode(shape[d] // spread[d], d, spread[d]) for d in across]
    return Fragment(tuple(shape), tuple(modes), tuple(v for v in values if v.size > 1))
