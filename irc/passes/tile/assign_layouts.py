"""assign-layouts: every tile gets a fragment, every buffer a layout with its swizzle, every dot its instruction."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import ClassVar

from xdsl.dialects.builtin import IntegerAttr, UnitAttr, i64
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from irc.analysis.budgets import PRODUCER_WARPS
from irc.analysis.configs import compute_warps, config_of
from irc.analysis.invariants import LAID_OUT, LAYOUT_FREE, TILED
from irc.analysis.matrix_instructions import has_producer
from irc.analysis.programs import ProgramPass
from irc.dialects import tile
from irc.dialects.tile import shape_of, with_fragment
from irc.ir.blocks import behind, block_of
from irc.ir.properties import numbers
from irc.ir.targets import Target, target_of
from irc.layout.cost import rates_of
from irc.layout.fragment import Fragment
from irc.layout.instructions import LANES, WARP_GROUP, wgmma_operand
from irc.layout.search import LayoutChoice, Problem, search
from irc.layout_assignment.accumulators import assign_accumulators
from irc.layout_assignment.explain import explain
from irc.layout_assignment.operand_layouts import assign_buffers
from irc.layout_assignment.problems import problem_of
from irc.layout_assignment.spaces import Space, collect
from irc.layout_assignment.vectors import convert_vectors, part_fragment
from irc.scheduling.channels import is_staging
from irc.scheduling.streamed_operands import reads_bytes_of_rows


@dataclass(frozen=True)
class AssignLayoutsPass(ProgramPass):
    """Fragments, swizzles, instructions and conversions.

    Tiles that one computation touches share a fragment (irc/layout_assignment/spaces.py). Tiles of unequal columns that
    meet in a vector of their rows have one each, with the same rows; the vector is converted where they cannot have.
    The accumulator of a dot has its instruction's fragment. Elsewhere the fragment is searched for, with one for each
    access that is better made otherwise and is converted through shared memory: the cheapest under the cost function of
    irc/layout/cost.py.
    """

    name: ClassVar[str] = "assign-layouts"
    requires = (TILED, LAYOUT_FREE)
    establishes = (LAID_OUT,)
    explain: bool = False
    """Print to stderr, for each tile, the candidates and what they cost, the best first."""

    def run(self, program: tile.ProgramOp) -> None:
        machine = target_of(program)
        problems = assign(program, machine)
        if self.explain:
            print(explain(program.sym_name.data, problems, rates_of(machine)), end="", file=sys.stderr)


def assign(program: tile.ProgramOp, machine: Target) -> list[Problem]:
    """Gives every tile and buffer its layout. The problems that were solved, one for each space, in program order."""
    rates = rates_of(machine)
    config = config_of(program)
    instruction = config.instruction
    threads = LANES * compute_warps(program)
    program.threads = IntegerAttr(threads, i64)
    _separate_splats(program)
    spaces = collect(program)
    distinct = list(dict.fromkeys(spaces.values()))
    for space in distinct:
        if space.dots and space.fragment is None:
            assign_accumulators(space, instruction or "fma", threads, machine, config)
        elif space.factors and not space.dots:
            (rows, depth) = shape_of(space.factors[0].lhs.type)
            paired = reads_bytes_of_rows(space.factors[0])
            space.fragment = wgmma_operand((rows, depth), threads // WARP_GROUP, paired=paired)
    _propagate(program, spaces)
    problems: dict[Space, Problem] = {}
    has_dots = any(space.dots for space in distinct)
    for space in distinct:
        writes = _writes(space) if has_producer(program) else []
        count = LANES * PRODUCER_WARPS if writes else threads
        problems[space] = problem_of(space, count, is_alone=has_dots, writes=writes)
        if space.fragment is None:
            space.fragment = search(problems[space], rates)[0].fragment
            _propagate(program, spaces)
    for space, problem in problems.items():
        _convert_accesses(space, search(problem, rates)[0])
    for space in distinct:
        for value in space.values:
            Rewriter.replace_value_with_new_type(value, with_fragment(value.type, space.layout(value)))
    convert_vectors(program)
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


def _propagate(program: tile.ProgramOp, spaces: dict[SSAValue, Space]) -> None:
    """Slices, permutations and concatenations hand a known fragment on, until no space gets one."""
    ops = [op for op in program.walk() if isinstance(op, tile.SliceOp | tile.PermuteOp)]
    joins = [op for op in program.walk() if isinstance(op, tile.ConcatOp)]
    while any(_hand_on(op, spaces[op.operands[0]], spaces[op.result]) for op in ops) or any(
        _hand_back(op, part, spaces) for op in joins for part in op.inputs
    ):
        pass


def _hand_on(op: tile.SliceOp | tile.PermuteOp, source: Space, target: Space) -> bool:
    """Whether the op gave one of the spaces its fragment. A slice of all of a tile gives the tile that of its use: what
    is loaded before a loop over subtiles lies as they do."""
    if (source.fragment is None) == (target.fragment is None):
        return False
    if source.fragment is None:
        is_whole = isinstance(op, tile.SliceOp) and shape_of(op.result.type) == shape_of(op.source.type) == source.shape
        source.fragment = target.layout(op.result) if is_whole else None
        return is_whole
    if isinstance(op, tile.PermuteOp):
        target.fragment = source.layout(op.source).permute(op.dim_values)
        return True
    if _is_flat(op.result, target):
        return False
    target.fragment = part_fragment(op, source.layout(op.source))
    return True


def _hand_back(op: tile.ConcatOp, part: SSAValue, spaces: dict[SSAValue, Space]) -> bool:
    """Whether the op gave one of its parts the fragment that it has in the whole."""
    whole, space = spaces[op.result], spaces[part]
    if whole.fragment is None or space.fragment is not None or _is_flat(part, space):
        return False
    space.fragment = whole.layout(op.result).slice(op.axis_value, shape_of(part.type)[op.axis_value])
    return space.fragment is not None


def _is_flat(value: SSAValue, space: Space) -> bool:
    """Whether a tile has an extent of 1 where others of its space have more: what it is made from says too little."""
    return any(own == 1 != extent for own, extent in zip(shape_of(value.type), space.shape, strict=True))


def _writes(space: Space) -> list[tile.WriteOp]:
    """What writes the space to operands' buffers: then the producer of a wgmma kernel computes in it."""
    uses = [use.operation for value in space.values for use in value.uses]
    return [op for op in uses if isinstance(op, tile.WriteOp) and not is_staging(op)]


# Conversions


def _convert_accesses(space: Space, plan: LayoutChoice) -> None:
    """Accesses that the plan makes in fragments of their own."""
    for (op, value), way in zip(list(space.accesses), plan.ways, strict=True):
        if isinstance(op, tile.LoadOp):
            op.through = None if way.staged is None else tile.SharedAttr(way.staged.layout)
            swizzle = () if way.staged is None else way.staged.lane_swizzle
            op.lane_swizzle = numbers(swizzle) if swizzle else None
            op.across = UnitAttr() if way.traffic.is_across else None
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
    loaded.across = op.across
    convert = tile.ConvertOp(loaded.result, value.type, through, op.location)
    space.values.remove(value)
    space.values.append(convert.result)
    # Behind other loads, which are on their way then while the exchange waits.
    Rewriter.insert_op(convert, InsertPoint.before(_first_user(op)))
    Rewriter.replace_op(op, [loaded], [convert.result])


def _first_user(op: tile.LoadOp) -> Operation:
    """The first op behind a load, in its block, that uses what was loaded."""
    users = {block_of(op).find_ancestor_op_in_block(use.operation) for use in op.result.uses}
    return next(each for each in behind(op) if each in users)
