"""assign-layouts: every tile gets a fragment, every buffer a layout with its swizzle, every dot its instruction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, StringAttr, TensorType, i64
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from irc.diagnostics import IrcError
from irc.dialects import tile
from irc.dialects.tile import shape_of
from irc.dtypes import element_of
from irc.layout.access import Access
from irc.layout.candidates import blocked
from irc.layout.fragment import REPLICATED, Fragment, Mode
from irc.layout.instructions import LANES, WARP_GROUP, fma_accumulator, mma_accumulator, wgmma_accumulator
from irc.passes.tile.accesses import access_of
from irc.passes.tile.attributes import with_fragment
from irc.passes.tile.configs import PRODUCER_WARPS, compute_warps, config_of
from irc.passes.tile.operand_layouts import assign_buffers, mma_atom, warp_split
from irc.passes.tile.spaces import Space, collect


@dataclass(frozen=True)
class AssignLayoutsPass(ModulePass):
    """Fragments, swizzles, instructions and conversions.

    Tiles that one computation touches share a fragment (irc/passes/tile/spaces.py). The accumulator of a dot has its
    instruction's fragment. Elsewhere the accesses vote, weighted by bytes: threads lie side by side along the
    dimension that is contiguous in memory for most of them, each with the widest vector. An access whose own direction
    is another one gets a fragment of its own and a conversion through shared memory.
    """

    name: ClassVar[str] = "assign-layouts"
    arch: str = "sm_90a"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for program in op.body.block.ops:
            if isinstance(program, tile.ProgramOp):
                assign(program)


def assign(program: tile.ProgramOp) -> None:
    instruction = config_of(program).instruction
    threads = LANES * compute_warps(program)
    program.attributes["threads"] = IntegerAttr(threads, i64)
    _separate_splats(program)
    spaces = collect(program)
    distinct = list(dict.fromkeys(spaces.values()))
    for space in distinct:
        if space.dots:
            space.fragment = _accumulator(space, instruction or "fma", threads)
    _propagate(program, spaces)
    for space in distinct:
        if space.fragment is None:
            fills = instruction == "wgmma" and _is_written(space)
            space.fragment = _vote(space, LANES * PRODUCER_WARPS if fills else threads)
            _propagate(program, spaces)
    for space in distinct:
        _convert_accesses(space)
    for space in distinct:
        for value in space.values:
            _set_fragment(value, space.layout(value))
    assign_buffers(program)


def _separate_splats(program: tile.ProgramOp) -> None:
    """A splat or a coordinate for each use: they are free, and sharing one would join spaces that have nothing else in
    common."""
    for op in list(program.walk()):
        if not isinstance(op, tile.SplatOp | tile.IotaOp):
            continue
        for use in list(op.result.uses)[1:]:
            clone = op.clone()
            Rewriter.insert_op(clone, InsertPoint.before(op))
            use.operation.operands[use.index] = clone.results[0]


def _accumulator(space: Space, instruction: str, threads: int) -> Fragment:
    """The fragment of a dot's accumulator by its instruction, which the config names."""
    dot = space.dots[0]
    m, n = shape_of(dot.result.type)
    for each in space.dots:
        each.instruction = StringAttr(instruction)
    if instruction == "wgmma":
        groups = threads // WARP_GROUP
        if m % (64 * groups) or n % 8 or n > 256:
            raise IrcError(
                f"wgmma on {groups} warp groups takes tiles of a multiple of {64 * groups} rows and 8 to 256 columns, "
                f"found {m} x {n}",
                dot.location,
            )
        return wgmma_accumulator((m, n), groups)
    part = _part_columns(space, n)
    if instruction == "mma":
        atom = mma_atom(dot)
        return mma_accumulator(atom, (m, n), warp_split(atom, (m, part), threads // LANES))
    fragment = fma_accumulator((m, part), threads)
    if part == n:
        return fragment
    return Fragment((m, n), fragment.threads, (*fragment.values, Mode(n // part, 1, part)))


def _part_columns(space: Space, columns: int) -> int:
    """The columns of the slices that the accumulator is cut into: each thread holds the same elements of every one."""
    widths = [
        shape_of(use.operation.result.type)[1]
        for value in space.values
        for use in value.uses
        if isinstance(use.operation, tile.SliceOp)
    ]
    return min([columns, *widths])


def _propagate(program: tile.ProgramOp, spaces: dict[SSAValue, Space]) -> None:
    """Slices, permutations and concatenations hand a known fragment on."""
    for op in program.walk():
        match op:
            case tile.SliceOp():
                source, target = spaces[op.source], spaces[op.result]
                if source.fragment is None or target.fragment is not None:
                    continue
                fragment: Fragment | None = source.layout(op.source)
                for dim, extent in enumerate(shape_of(op.result.type)):
                    fragment = fragment.slice(dim, extent) if fragment is not None else None
                if fragment is None:
                    raise IrcError("a slice that moves elements between threads has no layout", op.location)
                target.fragment = fragment
            case tile.PermuteOp():
                source, target = spaces[op.source], spaces[op.result]
                if source.fragment is not None and target.fragment is None:
                    target.fragment = source.layout(op.source).permute(op.dim_values)
            case _:
                pass


def _is_written(space: Space) -> bool:
    """Whether the space is written to an operand's buffer: the producer of a wgmma kernel computes in it."""
    return any(isinstance(use.operation, tile.WriteOp) for value in space.values for use in value.uses)


# The vote


def _direction(access: Access, shape: Sequence[int]) -> tuple[int, int]:
    """(dimension, vector): the tile dimension along which an access is best made, and its widest vector there."""
    best = (0, False, -1)
    for dim, extent in enumerate(shape):
        if extent > 1:
            best = max(best, (access.vector(dim, extent), access.is_contiguous(dim), dim))
    vector, _, dim = best
    return (dim, vector) if dim >= 0 else (len(shape) - 1, 1)


def _vote(space: Space, threads: int) -> Fragment:
    shape = space.shape
    weights = [0] * len(shape)
    vectors = [1] * len(shape)
    for op, value in space.accesses:
        extents = shape_of(value.type)
        dim, vector = _direction(access_of(op), extents)
        weight = 2 * prod(extents) * element_of(op.view_type.element_type).size
        weights[dim] += weight + (1 if isinstance(op, tile.StoreOp) else 0)
        vectors[dim] = max(vectors[dim], vector)
    if space.scans:
        return _scanned(shape, space.scans, weights, threads)
    dim = max(range(len(shape)), key=lambda d: (weights[d], d)) if shape else 0
    vector = min(vectors[dim], max(1, prod(shape) // threads)) if shape else 1
    order = [dim, *(d for d in reversed(range(len(shape))) if d != dim)]
    return blocked(shape, order, vector, threads)


def _scanned(shape: Sequence[int], scans: set[int], weights: Sequence[int], threads: int) -> Fragment:
    """Threads along the other dimensions first, then along the scanned one, each with a run of neighbours there."""
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


# Conversions


def _convert_accesses(space: Space) -> None:
    """Accesses that would be strided, or narrow, in the space's fragment get one of their own."""
    assert space.fragment is not None
    shape, threads = space.shape, space.fragment.thread_count
    for op, value in space.accesses:
        if shape_of(value.type) != shape or (space.scans and isinstance(op, tile.StoreOp) and len(shape) < 2):
            continue
        access = access_of(op)
        dim, vector = _direction(access, shape)
        own_dim, own_run = space.fragment.vector
        if dim == own_dim and (isinstance(op, tile.LoadOp) or access.vector(own_dim, own_run) * 2 > vector):
            continue
        if dim != own_dim and not access.is_contiguous(dim):
            continue
        vector = min(vector, max(1, prod(shape) // threads))
        order = [dim, *(d for d in reversed(range(len(shape))) if d != dim)]
        fragment = blocked(shape, order, vector, threads)
        if fragment != space.fragment:
            _insert_convert(op, value, space, fragment)


def _insert_convert(op: Operation, value: SSAValue, space: Space, fragment: Fragment) -> None:
    outside = with_fragment(value.type, fragment)
    if isinstance(op, tile.StoreOp):
        convert = tile.ConvertOp(value, outside)
        convert.location = op.location
        Rewriter.insert_op(convert, InsertPoint.before(op))
        op.operands[list(op.operands).index(value)] = convert.result
        return
    assert isinstance(op, tile.LoadOp)
    if any(isinstance(symbol.type, TensorType) for symbol in op.symbols):
        return
    loaded = tile.LoadOp.of(
        op.view,
        op.offsets,
        outside,
        symbols=op.symbols,
        other=op.other,
        map=op.access_map,
        checked=op.checked_dims,
        location=op.location,
    )
    convert = tile.ConvertOp(loaded.result, value.type)
    convert.location = op.location
    space.values.remove(value)
    space.values.append(convert.result)
    Rewriter.replace_op(op, [loaded, convert], [convert.result])


def _set_fragment(value: SSAValue, fragment: Fragment) -> None:
    Rewriter.replace_value_with_new_type(value, with_fragment(value.type, fragment))
