"""Fragments of accumulators, by the instruction that the config names.

Accumulators of unequal columns may meet in vectors of their rows (`Space.neighbors`), as those of the two products of
attention do. Warps, or threads, are then split between rows and columns in one way for all of them: each thread has the
same rows of every one. wgmma has one split only, warp groups along the rows, and tcgen05 one along the columns.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import StringAttr

from irc.dialects import tile
from irc.dialects.kernel.config import ConfigFields
from irc.dialects.tile import element_type_of, shape_of
from irc.ir.dtypes import element_of
from irc.ir.targets import Target
from irc.layout.fragment import Fragment, Mode
from irc.layout.instructions import (
    LANES,
    WARP_GROUP,
    WGMMA_ROWS,
    Atom,
    fma_accumulator,
    fma_grid,
    is_wgmma_width,
    mma_accumulator,
    replicated,
    wgmma_accumulator,
    wgmma_depth,
)
from irc.layout.tcgen05 import OPERAND_BYTES, ROWS, WIDTHS, accumulator
from irc.layout_assignment.operand_layouts import choose_atom
from irc.layout_assignment.spaces import Space
from irc.scheduling.streamed_operands import reads_bytes_of_rows
from irc.support.diagnostics import IrcError


def assign_accumulators(space: Space, instruction: str, threads: int, machine: Target, config: ConfigFields) -> None:
    """Gives a space that dots accumulate into its fragment, and its neighbors that dots accumulate into theirs. An
    IrcError where the instruction cannot be spread over the threads so."""
    spaces = [each for each in space.neighbors if each.dots]
    for dot in (dot for each in spaces for dot in each.dots):
        dot.instruction = StringAttr(instruction)
    if instruction == "wgmma":
        for each in spaces:
            each.fragment = _wgmma(each, threads)
    elif instruction == "tcgen05":
        for each in spaces:
            each.fragment = _tcgen05(each, threads)
    elif instruction == "mma":
        _assign_mma(spaces, threads // LANES, machine, config)
    else:
        _assign_fma(spaces, threads)


def _wgmma(space: Space, threads: int) -> Fragment:
    m, n = _shape(space)
    groups = threads // WARP_GROUP
    element = element_of(element_type_of(space.dots[0].lhs.type))
    if m % (WGMMA_ROWS * groups) or not is_wgmma_width(n, of_integers=not element.is_float):
        columns = "8 to 256" if element.is_float else "8, 24 or a multiple of 16"
        raise IrcError(
            f"wgmma on {groups} warp groups takes tiles of a multiple of {WGMMA_ROWS * groups} rows and {columns} "
            f"columns, found {m} x {n}",
            space.dots[0].location,
        )
    for dot in space.dots:
        _check_depth(dot, "wgmma", wgmma_depth(element.size))
    return wgmma_accumulator((m, n), groups, paired=any(map(reads_bytes_of_rows, space.dots)))


def _tcgen05(space: Space, threads: int) -> Fragment:
    """One warp group has all columns of its rows. Several share a few neighbors each where an epilogue has slices,
    which a loop may cut further: no element of a slice moves to another group."""
    (m, n), groups = _shape(space), threads // WARP_GROUP
    uses = [use.operation for value in space.values for use in value.uses]
    is_cut = groups > 1 and any(isinstance(op, tile.SliceOp) for op in uses)
    part = min(_part_columns(space), WIDTHS[0]) if is_cut else n
    if threads % WARP_GROUP or m % ROWS or n not in WIDTHS or part % groups:
        raise IrcError(
            f"tcgen05 takes tiles of a multiple of {ROWS} rows and {WIDTHS[0]} to {WIDTHS[-1]} columns, a multiple of "
            f"{WIDTHS.step}, which {threads} threads load in equal parts, found {m} x {n}",
            space.dots[0].location,
        )
    for dot in space.dots:
        _check_depth(dot, "tcgen05", OPERAND_BYTES // element_of(element_type_of(dot.lhs.type)).size)
    return accumulator((m, n), groups, part)


def _assign_mma(spaces: Sequence[Space], warps: int, machine: Target, config: ConfigFields) -> None:
    atoms = [choose_atom(space.dots, machine, config.shape) for space in spaces]
    rows_and_columns, parts = (None, 1) if config.warp_grid is None else (config.warp_grid[:2], config.warp_grid[2])
    warps //= parts
    tiles = [(atom, (_shape(space)[0], _part_columns(space))) for space, atom in zip(spaces, atoms, strict=True)]
    together = warp_split(tiles, warps, rows_and_columns)
    for space, each in zip(spaces, tiles, strict=True):
        atom, (rows, columns) = each
        for dot in space.dots:
            _check_depth(dot, atom.name, atom.k * parts)
            dot.atom = StringAttr(atom.name)
        split = together or warp_split([each], warps, rows_and_columns)
        if split is None:
            found = f"a tile of {rows} x {columns} cannot be split over {warps} warps of {atom.name}"
            raise IrcError(found, space.dots[0].location, "another number of warps")
        space.fragment = replicated(mma_accumulator(atom, _shape(space), split), parts)


def warp_split(
    tiles: Sequence[tuple[Atom, tuple[int, int]]], warps: int, given: tuple[int, ...] | None = None
) -> tuple[int, int] | None:
    """Warps along M and along N: those given, or of the splits that divide the tiles, the one whose warps read the
    fewest operands; None where none does."""
    splits = [
        (m, warps // m)
        for m in range(1, warps + 1)
        if warps % m == 0
        and given in (None, (m, warps // m))
        and all(rows % (atom.m * m) == 0 and columns % (atom.n * (warps // m)) == 0 for atom, (rows, columns) in tiles)
    ]
    cost = [(sum(rows // m + columns // n for _, (rows, columns) in tiles), m, n) for m, n in splits]
    return min(cost)[1:] if cost else None


def _assign_fma(spaces: Sequence[Space], threads: int) -> None:
    parts = [(_shape(space)[0], _part_columns(space)) for space in spaces]
    grid = fma_grid(parts, threads)
    for space, (m, part) in zip(spaces, parts, strict=True):
        fragment = fma_accumulator((m, part), threads, grid)
        n = _shape(space)[1]
        more = (Mode(n // part, 1, part),) if part != n else ()
        space.fragment = Fragment((m, n), fragment.threads, (*fragment.values, *more))


def _check_depth(dot: tile.DotOp, instruction: str, depth: int) -> None:
    if dot.mnk[2] % depth:
        raise IrcError(f"{instruction} takes steps of {depth} along K, found {dot.mnk[2]}", dot.location)


def _shape(space: Space) -> tuple[int, int]:
    rows, columns = shape_of(space.dots[0].result.type)
    return rows, columns


def _part_columns(space: Space) -> int:
    """The columns of the slices that the accumulator is cut into: each thread holds the same elements of every one."""
    widths = [
        shape_of(use.operation.result.type)[1]
        for value in space.values
        if shape_of(value.type)[1] != 1
        for use in value.uses
        if isinstance(use.operation, tile.SliceOp)
    ]
    return min([_shape(space)[1], *widths])
