"""lower-schedule: tile loops become block numbers, and loops over them where blocks persist."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial, reduce
from itertools import chain
from math import prod
from typing import ClassVar

from xdsl.dialects import scf
from xdsl.dialects.builtin import ArrayAttr, DenseArrayBase, IntegerAttr, i64
from xdsl.ir import Block, Operation, SSAValue
from xdsl.rewriter import Rewriter
from xdsl.transforms.dead_code_elimination import is_trivially_dead

from irc.analysis.index_values import is_even
from irc.analysis.invariants import SCHEDULED, TILED
from irc.analysis.programs import ProgramPass
from irc.dialects import cuda, tile
from irc.ir.extents import dims_of
from irc.ir.properties import numbers
from irc.ir.rewriting import location_of, remove_dead_among
from irc.ir.targets import Target, target_of
from irc.lowering.emitter import INDEX, Emitter, Index
from irc.scheduling.grids import block_count, cluster_count, most_clusters
from irc.support.diagnostics import IrcError
from irc.support.extents import varying


@dataclass(frozen=True)
class LowerSchedulePass(ProgramPass):
    """`tile.for_tiles` -> arithmetic on the block's number; sets the program's `grid`.

    "grid" gives a block one tile. "persistent" launches as many blocks as the chip has SMs, which take tiles in turn.
    "dynamic" launches as many: a block begins with the tile of its number, and goes on with those that its tickets
    stand for (`tile.next_tile`), of the tiles behind the first ones. Several tile loops beside each other share the
    grid as ranges of blocks; those of partitions walk over the same tiles. The blocks of a cluster are neighbors in the
    grid, numbered column by column; clusters take turns as blocks do. Where the tiles that follow one another first are
    phases that differ in their iterations, and turns would bring a block to the same phase again, it goes on to the
    next phase at each turn.

    Where extents are known when the program is called, so is the number of tiles: it is computed from `tile.extent`.
    The `grid` is that of the numbers which stand for the extents, and `domains` say how that of a call follows.
    """

    name: ClassVar[str] = "lower-schedule"
    requires = (TILED,)
    establishes = (SCHEDULED,)

    def run(self, program: tile.ProgramOp) -> None:
        if program.grid is None:
            _lower(program, target_of(program))


def _lower(program: tile.ProgramOp, machine: Target) -> None:
    first = total = 0
    beside = [op for op in program.body.block.ops if isinstance(op, tile.ForTilesOp)]
    inside = [op for op in program.walk() if isinstance(op, tile.ForTilesOp) and op not in beside]
    _set_domains(program, beside or inside[:1], machine)
    for loop in beside:
        blocks = block_count(loop, program, machine)
        _replace(loop, blocks, first if len(beside) > 1 else None)
        first += blocks
        total += blocks
    for loop in inside:
        blocks = block_count(loop, program, machine)
        _replace(loop, blocks, None)
        total = max(total, blocks)
    program.grid = IntegerAttr(max(1, total), i64)
    if program.domains is not None:
        _remove_unused(program)


def _remove_unused(program: tile.ProgramOp) -> None:
    """Removes numbers of tiles that no block needs."""
    for op in reversed(list(program.body.walk())):
        if is_trivially_dead(op):
            Rewriter.erase_op(op)


def _set_domains(program: tile.ProgramOp, loops: Sequence[tile.ForTilesOp], machine: Target) -> None:
    """Says of which domain the grid has the tiles, where run-time extents are among its. IrcError where the program
    cannot have those."""
    for loop in [loop for loop in loops if any(map(partial(_varies, loop), loop.extent_values))]:
        if len(loops) > 1:
            raise IrcError("several loops over tiles cannot have run-time extents", location_of(program))
        for extent, blocks in zip(loop.extent_values[-2:], loop.cluster_shape, strict=False):
            if blocks > 1 and _varies(loop, extent):
                raise IrcError("clusters cannot lie along a run-time extent", location_of(program))
        program.domains = ArrayAttr([_domain(loop, program, machine)])


def _domain(loop: tile.ForTilesOp, program: tile.ProgramOp, machine: Target) -> DenseArrayBase:
    """A loop's blocks of a cluster, the most clusters, and the extent and the step along each dimension."""
    sides = chain.from_iterable(zip(loop.extent_values, loop.step_values, strict=True))
    return numbers([prod(loop.cluster_shape), most_clusters(loop, program, machine), *sides])


def _varies(loop: tile.ForTilesOp, extent: int) -> bool:
    return bool(varying(extent, dims_of(loop)))


def _replace(loop: tile.ForTilesOp, blocks: int, first: int | None) -> None:
    """Puts what the loop means in its place. `first` is the number of its first block where it shares the grid."""
    code = Block()
    e = Emitter(code, loop.location)
    size = prod(loop.cluster_shape)
    counts, turns = _counts(e, loop), blocks // size
    own, count = loop.turns
    if tiles := cluster_count(loop):
        block: Index = e.value(cuda.BlockIdOp(), "block")
        inside = None
        if first is not None:
            inside = e.all([e.compare("sge", block, first), e.compare("slt", block, first + blocks)])
            block = e.sub(block, first)
        with e.when(inside):
            first_tile = e.div(block, size)
            if loop.stays and tiles > turns:
                end = e.div(reduce(e.mul, counts, 1), size)
                if loop.schedule_name == tile.DYNAMIC:
                    _take_tiles(e, loop, counts, (first_tile, end), turns)
                else:
                    with e.loop(e.add(first_tile, own * turns), end, count * turns, hint="tile") as at:
                        _body(e, loop, counts, at, turns)
            elif own == 0:
                _skip_none(loop)
                _body(e, loop, counts, first_tile, turns)
    ops = list(code.ops)
    for op in ops:
        op.detach()
    Rewriter.replace_op(loop, ops, [])


def _skip_none(loop: tile.ForTilesOp) -> None:
    """Removes what passes over the stages of other turns behind the only tile of a block: there are none."""
    ended: set[SSAValue] = set()
    for op in list(loop.body.block.ops):
        if isinstance(op, tile.EndTurnOp):
            ended.add(op.channel)
        elif isinstance(op, tile.SkipOp) and op.channel in ended:
            count = op.count.owner
            Rewriter.erase_op(op)
            remove_dead_among([count] if isinstance(count, Operation) else [])


def _counts(e: Emitter, loop: tile.ForTilesOp) -> list[Index]:
    """The number of tiles in each dimension."""
    counts: list[Index] = list(loop.tile_counts)
    for dim, (extent, step) in enumerate(zip(loop.extent_values, loop.step_values, strict=True)):
        if _varies(loop, extent):
            counts[dim] = e.div(e.add(e.value(tile.ExtentOp(extent)), step - 1), step)
    return counts


def _take_tiles(
    e: Emitter, loop: tile.ForTilesOp, counts: Sequence[Index], ends: tuple[Index, Index], blocks: int
) -> None:
    """A loop from the block's first tile to those of its tickets, as long as they are tiles. `ends`: the first tile,
    and the number of all tiles."""
    last = loop.body.block.last_op
    if not isinstance(last, tile.NextTileOp):
        raise IrcError(
            f'expected tile.next_tile at the end of a loop over tiles with the schedule "{tile.DYNAMIC}"',
            location_of(loop),
            "queue-tiles puts it there",
        )
    ticket = last.ticket
    before, after = (Block(arg_types=[INDEX]) for _ in range(2))
    e.insert(scf.WhileOp([e.index(ends[0])], [INDEX], [before], [after]))
    with e.inside(before):
        (at,) = before.args
        e.insert(scf.ConditionOp(e.compare("slt", at, ends[1]), at))
    with e.inside(after):
        (at,) = after.args
        at.name_hint = "tile"
        _body(e, loop, counts, at, blocks)
        e.insert(scf.YieldOp(e.index(e.add(ticket, blocks))))


def _body(e: Emitter, loop: tile.ForTilesOp, counts: Sequence[Index], at: Index, turns: int) -> None:
    """The tile number `at`. `turns`: how far the tiles of a block's turns are apart."""
    body = loop.body.block
    around = turns if _meets_same_phases(loop, turns) else None
    for argument, offset in zip(body.args, _offsets(e, loop, counts, at, around), strict=True):
        value = e.index(offset)
        value.name_hint = value.name_hint or argument.name_hint
        argument.replace_all_uses_with(value)
    for other in [op for op in loop.walk() if isinstance(op, tile.TurnOffsetsOp)]:
        beside = e.add(at, turns * (other.turn_number - loop.turns[0]))
        Rewriter.replace_op(other, [], [e.index(offset) for offset in _offsets(e, loop, counts, beside, around)])
    for op in list(body.ops):
        op.detach()
        if not isinstance(op, tile.NextTileOp):
            e.block.add_op(op)


def _meets_same_phases(loop: tile.ForTilesOp, turns: int) -> bool:
    """Whether a block would meet the same phases, the tiles that follow one another, in each of its turns, and phases
    differ in their iterations."""
    phases = _phases(loop)
    if phases == 1 or turns % phases or loop.schedule_name != "persistent" or cluster_count(loop) <= turns:
        return False
    return not all(is_even(loop, loop.offsets[dim]) for dim in loop.fastest_dims)


def _phases(loop: tile.ForTilesOp) -> int:
    """How many tiles follow one another first."""
    return prod(loop.tile_counts[dim] for dim in loop.fastest_dims)


def _turned(e: Emitter, at: Index, phases: int, around: int) -> Index:
    """The number of a tile of which the phase is as many further on, around, as the tile's block had turns before."""
    place = e.div(at, phases)
    phase = e.rem(e.add(e.rem(at, phases), e.div(at, around)), phases)
    return e.add(e.mul(place, phases), phase)


def _offsets(e: Emitter, loop: tile.ForTilesOp, counts: Sequence[Index], at: Index, around: int | None) -> list[Index]:
    """`around`: the tiles of a turn, where blocks go on to another phase in the next one."""
    if around is not None:
        at = _turned(e, at, _phases(loop), around)
    indices = _indices(e, loop, counts, at)
    for dim in loop.reversed_dims:
        indices[dim] = e.sub(e.sub(counts[dim], 1), indices[dim])
    return [e.mul(index, step) for index, step in zip(indices, loop.step_values, strict=True)]


def _indices(e: Emitter, loop: tile.ForTilesOp, counts: Sequence[Index], at: Index) -> list[Index]:
    """The tile's index in each dimension: the last the fastest, or, in groups, `group` rows for each column. Of a
    cluster's tiles, the one of this block."""
    cluster = loop.cluster_shape
    if prod(cluster) == 1:
        return _ordered(e, loop, at, list(counts))
    *outer, rows, columns = counts
    *before, row, column = _ordered(e, loop, at, [*outer, e.div(rows, cluster[0]), e.div(columns, cluster[1])])
    inside = e.split(e.value(cuda.ClusterRankOp(), "rank"), cluster)
    return [*before, *(e.add(e.mul(i, n), r) for i, n, r in zip((row, column), cluster, inside, strict=True))]


def _ordered(e: Emitter, loop: tile.ForTilesOp, at: Index, counts: list[Index]) -> list[Index]:
    """The indices of number `at` in the order of the loop over `counts`."""
    if fastest := loop.fastest_dims:
        others = [dim for dim in range(len(counts)) if dim not in fastest]
        *inner, at = e.split(at, [*(counts[dim] for dim in reversed(fastest)), 0])
        found = dict(zip(reversed(fastest), inner, strict=True))
        found |= dict(zip(others, _grouped(e, loop, at, [counts[dim] for dim in others]), strict=True))
        return [found[dim] for dim in range(len(counts))]
    return _grouped(e, loop, at, counts)


def _grouped(e: Emitter, loop: tile.ForTilesOp, at: Index, counts: list[Index]) -> list[Index]:
    """The same, where no dimensions are the fastest."""
    group = 1 if loop.group is None else max(1, loop.group.value.data // loop.cluster_shape[0])
    if group <= 1 or len(counts) < 2:
        return list(reversed(e.split(at, list(reversed(counts)))))
    rows, columns = counts[-2:]
    outer = list(reversed(e.split(at, [e.mul(rows, columns), *reversed(counts[:-2])])))
    at = outer.pop()
    chunk = e.div(at, e.mul(columns, group))
    within = e.sub(at, e.mul(chunk, e.mul(columns, group)))
    height: Index = group
    if not isinstance(rows, int) or rows % group:
        height = e.minimum(e.sub(rows, e.mul(chunk, group)), group)
    return [*outer, e.add(e.mul(chunk, group), e.rem(within, height)), e.div(within, height)]
