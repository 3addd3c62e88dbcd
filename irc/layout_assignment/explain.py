"""A printed account of the search for layouts: for each tile the candidates and what they cost, the best first."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from irc.layout.cost import Rates
from irc.layout.search import LayoutChoice, Problem, Way, search, tile_candidates
from irc.layout.shared import SharedLayout

SHOWN = 5
"""Candidates of a tile that are printed."""

HEADER = (
    "",
    "cycles",
    "in registers",
    "registers",
    "copies",
    "vector",
    "requests",
    "sectors",
    "lines",
    "wavefronts",
    "",
)


def explain(name: str, problems: Iterable[Problem], rates: Rates) -> str:
    """A table for each tile of a program. Cycles are those of one multiprocessor for one tile; `a/b` is what is needed
    and the fewest that there could be."""
    return "".join(f"{name}: {_explain(problem, rates)}" for problem in problems)


def _explain(problem: Problem, rates: Rates) -> str:
    shape = "x".join(map(str, problem.shape)) or "scalar"
    count = "fixed" if problem.given else f"{len(tile_candidates(problem))} candidates"
    title = f"tile {shape} over {problem.threads} threads, {count}"
    rows: list[tuple[str, ...]] = [HEADER]
    for rank, choice in enumerate(search(problem, rates, SHOWN), start=1):
        rows.append(_choice_row(rank, choice))
        rows += [_way_row(way) for way in choice.ways]
    return "\n".join([title, *_table(rows), ""])


def _choice_row(rank: int, choice: LayoutChoice) -> tuple[str, ...]:
    waste = f"{choice.waste:.0%}"
    cells = (f"{rank}.", f"{choice.cycles:.0f}", f"{choice.inner:.0f}", str(choice.registers), waste)
    return (*cells, "", "", "", "", "", str(choice.fragment.layout))


def _way_row(way: Way) -> tuple[str, ...]:
    traffic, size = way.traffic, way.use.access.element_bytes
    cells: list[str] = [f"{traffic.vector} x {size} B", f"{traffic.requests:.0f}"]
    cells += [
        f"{n:.0f}/{ideal:.0f}" for n, ideal in ((traffic.units, traffic.ideal), (traffic.lines, traffic.ideal_lines))
    ]
    if way.staged is not None:
        writes, reads = way.staged.writes, way.staged.reads
        swizzle = f" swizzled by lane {','.join(map(str, way.staged.lane_swizzle))}" if way.staged.lane_swizzle else ""
        note = f"{way.use.name} through {way.staged.layout.layout} by {reads.vector} x {size} B{swizzle}"
        wavefronts = _of(writes.units + reads.units, writes.ideal + reads.ideal)
        return ("", f"{way.cycles:.0f}", "", "", "", *cells, wavefronts, note)
    if way.exchange is None:
        return ("", f"{way.cycles:.0f}", "", "", "", *cells, "", way.use.name)
    sides = (way.exchange.writes, way.exchange.reads)
    vectors = " and ".join(f"{side.vector} x {size} B" for side in sides)
    cells.append(_of(sum(s.units for s in sides), sum(s.ideal for s in sides)))
    note = f"{way.use.name} in {way.fragment.layout} through {_shared(way.exchange.layout)} by {vectors}"
    return ("", f"{way.cycles:.0f}", "", "", "", *cells, note)


def _of(needed: float, fewest: float) -> str:
    return f"{needed:.0f}/{fewest:.0f}"


def _shared(layout: SharedLayout) -> str:
    swizzle = layout.swizzle
    if swizzle.is_identity:
        return str(layout.layout)
    return f"{layout.layout} swizzle({swizzle.bits},{swizzle.base},{swizzle.shift})"


def _table(rows: Sequence[Sequence[str]]) -> list[str]:
    """Columns flush right, the last one as it is."""
    widths = [max(len(row[at]) for row in rows) for at in range(len(HEADER) - 1)]
    padded = ([cell.rjust(width) for cell, width in zip(row, widths, strict=False)] for row in rows)
    return ["  ".join([*cells, row[-1]]).rstrip() for cells, row in zip(padded, rows, strict=True)]
