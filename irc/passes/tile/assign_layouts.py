"""assign-layouts: every tile gets a fragment, every buffer a layout with its swizzle, every dot its instruction."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, StringAttr, i64
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from irc.diagnostics import IrcError
from irc.dialects import tile
from irc.dialects.tile import shape_of
from irc.layout.cost import rates_of
from irc.layout.fragment import Fragment, Mode
from irc.layout.instructions import (
    LANES,
    WARP_GROUP,
    fma_accumulator,
    mma_accumulator,
    wgmma_accumulator,
    wgmma_operand,
)
from irc.layout.search import Plan, Problem, search
from irc.passes.tile.attributes import with_fragment
from irc.passes.tile.configs import PRODUCER_WARPS, compute_warps, config_of
from irc.passes.tile.explain_layouts import explain
from irc.passes.tile.layout_problems import problem_of
from irc.passes.tile.operand_layouts import assign_buffers, choose_atom, warp_split
from irc.passes.tile.rings import is_staging
from irc.passes.tile.spaces import Space, collect
from irc.passes.tile.streamed_operands import reads_bytes_of_rows
from irc.targets import DEFAULT_TARGET, Target, target


@dataclass(frozen=True)
class AssignLayoutsPass(ModulePass):
    """Fragments, swizzles, instructions and conversions.

    Tiles that one computation touches share a fragment (irc/passes/tile/spaces.py). The accumulator of a dot has its
    instruction's fragment. Elsewhere the fragment is searched for, with one for each access that is better made
    otherwise and is converted through shared memory: the cheapest under the cost function of irc/layout/cost.py.
    """

    name: ClassVar[str] = "assign-layouts"
    arch: str = DEFAULT_TARGET
    explain: bool = False
    """Print to stderr, for each tile, the candidates and what they cost, the best first."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        machine = target(self.arch)
        for program in op.body.block.ops:
            if isinstance(program, tile.ProgramOp):
                problems = assign(program, machine)
                if self.explain:
                    print(explain(program.sym_name.data, problems, rates_of(machine)), end="", file=sys.stderr)


def assign(program: tile.ProgramOp, machine: Target) -> list[Problem]:
    """Gives every tile and buffer its layout. The problems that were solved, one for each space, in program order."""
    rates = rates_of(machine)
    instruction = config_of(program).instruction
    threads = LANES * compute_warps(program)
    program.attributes["threads"] = IntegerAttr(threads, i64)
    _separate_splats(program)
    spaces = collect(program)
    distinct = list(dict.fromkeys(spaces.values()))
    for space in distinct:
        if space.dots:
            space.fragment = _accumulator(space, instruction or "fma", threads, machine)
        elif space.factors:
            (rows, depth) = shape_of(space.factors[0].lhs.type)
            paired = reads_bytes_of_rows(space.factors[0])
            space.fragment = wgmma_operand((rows, depth), threads // WARP_GROUP, paired=paired)
    _propagate(program, spaces)
    problems: dict[Space, Problem] = {}
    has_dots = any(space.dots for space in distinct)
    for space in distinct:
        writes = _writes(space) if instruction == "wgmma" else []
        crew = LANES * PRODUCER_WARPS if writes else threads
        problems[space] = problem_of(space, crew, is_alone=has_dots, writes=writes)
        if space.fragment is None:
            space.fragment = search(problems[space], rates)[0].fragment
            _propagate(program, spaces)
    for space, problem in problems.items():
        _convert_accesses(space, search(problem, rates)[0])
    for space in distinct:
        for value in space.values:
            _set_fragment(value, space.layout(value))
    assign_buffers(program)
    return list(problems.values())


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


def _accumulator(space: Space, instruction: str, threads: int, machine: Target) -> Fragment:
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
        return wgmma_accumulator((m, n), groups, paired=any(map(reads_bytes_of_rows, space.dots)))
    part = _part_columns(space, n)
    if instruction == "mma":
        atom = choose_atom(dot, machine)
        for each in space.dots:
            each.atom = StringAttr(atom.name)
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
        if shape_of(value.type)[1] != 1
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
                if source.fragment is None or target.fragment is not None or _is_flat(op.result, target):
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


def _is_flat(value: SSAValue, space: Space) -> bool:
    """Whether a tile has an extent of 1 where others of its space have more: what it is made from says too little."""
    return any(own == 1 != extent for own, extent in zip(shape_of(value.type), space.shape, strict=True))


def _writes(space: Space) -> list[tile.WriteOp]:
    """What writes the space to operands' buffers: then the producer of a wgmma kernel computes in it."""
    uses = [use.operation for value in space.values for use in value.uses]
    return [op for op in uses if isinstance(op, tile.WriteOp) and not is_staging(op)]


# Conversions


def _convert_accesses(space: Space, plan: Plan) -> None:
    """Accesses that the plan makes in fragments of their own."""
    for (op, value), way in zip(list(space.accesses), plan.ways, strict=True):
        if way.staged is not None:
            assert isinstance(op, tile.LoadOp)
            op.through = tile.SharedAttr(way.staged.layout)
        if way.exchange is not None:
            _insert_convert(op, value, space, way.fragment, tile.SharedAttr(way.exchange.layout))


def _insert_convert(
    op: tile.AccessOp, value: SSAValue, space: Space, fragment: Fragment, through: tile.SharedAttr
) -> None:
    outside = with_fragment(value.type, fragment)
    if isinstance(op, tile.StoreOp):
        # A load of this value may have been converted before.
        stored = op.tile
        convert = tile.ConvertOp(stored, outside, through, op.location)
        Rewriter.insert_op(convert, InsertPoint.before(op))
        op.operands[list(op.operands).index(stored)] = convert.result
        return
    assert isinstance(op, tile.LoadOp)
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
    convert = tile.ConvertOp(loaded.result, value.type, through, op.location)
    space.values.remove(value)
    space.values.append(convert.result)
    Rewriter.replace_op(op, [loaded, convert], [convert.result])


def _set_fragment(value: SSAValue, fragment: Fragment) -> None:
    Rewriter.replace_value_with_new_type(value, with_fragment(value.type, fragment))
