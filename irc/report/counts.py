"""What the simulator counts of a program's kernels, by op and by line of the program."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from irc.dialects.cuda import KernelOp
from irc.interpreters.sim.statistics import OpStatistics
from irc.report.columns import Place, places_in
from irc.runtime.artifact import ArraySpec
from irc.runtime.sim import SimProgram
from irc.support.diagnostics import IrcError

MOST_ENTERED = 1250
"""Blocks of ops that the kernels of a program enter together: seconds."""

LEAST_ENTERED = 50
"""That a kernel enters, however many there are."""

MOST_BYTES = 4 * 2**30
"""Of the arrays of a program that is simulated."""

SUMMED = ("instructions", "requests", "sectors", "ideal_sectors", "wavefronts", "ideal_wavefronts")


@dataclass(frozen=True)
class OpCounts:
    """An op of a kernel, and where in the program it comes from first."""

    kernel: str
    op: Operation
    place: Place | None
    found: OpStatistics


@dataclass(frozen=True)
class Counts:
    """Of ops that accessed memory, and of lines of the program. note: why there are none, where there are none."""

    ops: Sequence[OpCounts] = ()
    lines: Sequence[tuple[int, OpStatistics]] = ()
    note: str = ""

    def marks(self) -> dict[Operation, str]:
        """What is said of an op."""
        return {each.op: mark(each.found) for each in self.ops}

    def line_marks(self) -> dict[int, str]:
        """What is said of a line."""
        return {line: text for line, found in self.lines if (text := mark(found))}


def mark(found: OpStatistics) -> str:
    """Sectors against the fewest that could do, and conflicts of banks."""
    parts: list[str] = []
    if found.sectors:
        parts.append(f"{found.sectors} sectors" + (f", {found.ideal_sectors} would do" if _is_more(found) else ""))
    if found.wavefronts:
        parts.append(f"{found.conflicts} conflicts in {found.wavefronts} wavefronts")
    return "; ".join(parts)


def _is_more(found: OpStatistics) -> bool:
    return found.sectors > found.ideal_sectors


def counts(module: ModuleOp, arguments: Sequence[ArraySpec], results: Sequence[ArraySpec], file: str) -> Counts:
    """Of the first blocks of each kernel, on arrays of zeros. The module has its host plan."""
    if any(spec.extents for spec in (*arguments, *results)):
        return Counts(note="The simulator runs programs of one size: give the sizes of its dims with -D.")
    if (total := sum(spec.nbytes for spec in (*arguments, *results))) > MOST_BYTES:
        return Counts(
            note=f"Its arrays take {total / 2**30:.1f} GiB: the simulator runs programs of {MOST_BYTES >> 30}."
        )
    kernels = {op.sym_name.data: op for op in module.ops if isinstance(op, KernelOp)}
    try:
        sampled = SimProgram(module, arguments, results).sampled(
            max(LEAST_ENTERED, MOST_ENTERED // max(1, len(kernels)))
        )
    except IrcError as error:
        return Counts(note=f"The simulator stopped: {error.message}")
    ops = [
        OpCounts(name, op, next(iter(places_in(file, [op.location])), None), counters.of(op))
        for name, counters in sampled.items()
        for op in kernels[name].walk()
        if op is not kernels[name]
    ]
    return Counts([each for each in ops if each.found.requests], by_line(ops))


def by_line(ops: Iterable[OpCounts]) -> list[tuple[int, OpStatistics]]:
    """The sums of each line's ops, by its number."""
    found: dict[int, OpStatistics] = {}
    for each in ops:
        if each.place is not None:
            line, own = each.place.line, each.found
            sums = found.get(line, OpStatistics("", ""))
            found[line] = replace(
                sums,
                **{name: getattr(sums, name) + getattr(own, name) for name in SUMMED},
            )
    return sorted((line, sums) for line, sums in found.items() if sums.instructions)
