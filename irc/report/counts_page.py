"""The simulator's counts as HTML."""

from __future__ import annotations

from collections.abc import Sequence

from irc.interpreters.sim.statistics import OpStatistics
from irc.report.columns import Column
from irc.report.counts import Counts
from irc.report.markup import Markup, element, joined, table

COLUMNS = ("instructions", "requests", "sectors", "fewest", "wavefronts", "conflicts")


def simulated(counts: Counts | None, source: Column, number: int) -> Markup:
    """Tables by line of the program, and by op; `number` is that of the program."""
    if counts is None:
        return Markup()
    if counts.note:
        return element("p", counts.note, class_="note")

    def link(line: int) -> Markup:
        return element("a", str(line), href=f"#{number + 1 if number else ''}L{line}")

    lines = [[link(line), source.lines[line - 1].text.strip(), *_numbers(found)] for line, found in counts.lines]
    ops = [
        [each.kernel, each.op.name, "" if each.place is None else link(each.place.line), *_numbers(each.found)]
        for each in counts.ops
    ]
    help = (
        "Counts of the first blocks of each kernel on arrays of zeros, up to a limit, so that what comes late may be "
    )
    help += "missing: they compare accesses, not kernels. irc-run --target sim --stats counts whole runs."
    return joined(
        [
            element("p", help, class_="help"),
            element("h3", "By line"),
            table(("line", "", *COLUMNS), lines, numbers_from=2),
            element("h3", "By op that accesses memory"),
            table(("kernel", "op", "line", *COLUMNS), ops, numbers_from=2),
        ]
    )


def _numbers(found: OpStatistics) -> Sequence[str]:
    sectors = (str(found.sectors), str(found.ideal_sectors)) if found.sectors else ("", "")
    shared = (str(found.wavefronts), str(found.conflicts)) if found.wavefronts else ("", "")
    return (str(found.instructions), str(found.requests or ""), *sectors, *shared)
