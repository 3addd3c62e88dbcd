"""Tables of records, and of two records beside each other."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from statistics import median
from typing import Any

from irc_tools.bench.bars import SLACK, Bar, parse_bar
from irc_tools.bench.record import Record, RowRecord
from irc_tools.bench.statistics import IRC, Spread, reached, summarize
from irc_tools.tables import duration, print_table

WIDTH = 180

ERRORS = "float64, relative to the greatest magnitude"
MODEL_ERRORS = "the model in float32, mean differences by the standard deviation"
"""What errors of programs are, and those of models."""
"""Characters of a table in a file."""


def print_record(record: Record) -> None:
    """The table of a record: every variant's median, every bar with what was reached and the quartiles around it; and
    the errors of results beside torch's."""
    variants = record.variants()
    lines = ["lines"] if has_lines(record) else []
    columns = ["row", *lines, *variants, "against", "bar", "reached", "quartiles", ""]
    print_table(_title(record), columns, [_cells(record, row, variants) for row in record.rows], width=WIDTH)
    groups = [_group_cells(*verdict) for verdict in record.group_verdicts()]
    if groups:
        print_table("groups of rows", ["group", "rows", "statistic", "bar", "reached", ""], groups)
    errors = [cells for row in record.rows for cells in _error_cells(row)]
    if errors:
        is_of_models = not any(row.program for row in record.rows)
        title = f"errors against {MODEL_ERRORS if is_of_models else ERRORS}"
        print_table(title, ["result", "irc", "eager", "tolerance"], errors)
    for row in record.rows:
        for note in (row.error, *row.notes):
            if note:
                print(f"{row.name}: {note}")
    print(_verdict(record))


def has_lines(record: Record) -> bool:
    """Whether lines of source are known of a row."""
    return any(row.lines for row in record.rows)


def _title(record: Record) -> str:
    machine = record.machine
    unit = "GB/s, bytes read once and written once" if record.show == "bandwidth" else "times"
    packages: dict[str, str] = machine.get("packages", {})
    versions = ", ".join(f"{name} {packages[name]}" for name in ("torch", "triton") if name in packages)
    parts = [machine.get("gpu", "no GPU"), f"driver {machine.get('driver', '?')}", versions, machine.get("date", "")]
    parts.append(f"commit {str(machine.get('commit', '?'))[:12]}")
    where = ", ".join(part for part in parts if part)
    return f"{record.title}\n{where}\nmedians of {record.settings.get('repetitions', '?')} repetitions; {unit}"


def _cells(record: Record, row: RowRecord, variants: list[str]) -> list[str]:
    speeds = [speed(record, row, variant) for variant in variants]
    verdicts = row.verdicts()
    return [
        row.name,
        *([str(row.lines or "-")] if has_lines(record) else []),
        *speeds,
        "\n".join(bar.against for bar, _ in verdicts),
        "\n".join(bar.limit for bar, _ in verdicts),
        "\n".join("-" if found is None else f"{found.median:.3f}" for _, found in verdicts),
        "\n".join("-" if found is None else f"{found.low:.3f} {found.high:.3f}" for _, found in verdicts),
        "error" if row.error else "\n".join(verdict(bar, found) for bar, found in verdicts),
    ]


def _error_cells(row: RowRecord) -> Iterator[list[str]]:
    """irc's error of each result beside torch's, where that is known and they are not both exact."""
    for number, (check, eager) in enumerate(zip(row.checks, row.eager_errors, strict=False)):
        if check["error"] or eager:
            name = row.name if len(row.checks) == 1 else f"{row.name}, result {number}"
            yield [name, f"{check['error']:.1e}", f"{eager:.1e}", f"{check['tolerance']:g}"]


def speed(record: Record, row: RowRecord, variant: str) -> str:
    """The median of a variant, as the suite shows speeds."""
    found = row.spread(variant)
    if found is None:
        return "-"
    if record.show == "bandwidth":
        return f"{row.bytes / found.median / 1e9:.0f}"
    return duration(found.median)


def verdict(bar: Bar, found: Spread | None) -> str:
    """`ok`, `miss`, or `-` where the bar could not be judged."""
    if found is None:
        return "-"
    return "ok" if bar.holds(found.median) else "miss"


def _group_cells(summary: Any, reached: float | None, count: int) -> list[str]:
    shown = "-" if reached is None else f"{reached:.3f}"
    word = "-" if reached is None else "ok" if summary.bar.holds(reached) else "miss"
    return [summary.group or "all", str(count), summary.statistic, summary.bar.text, shown, word]


def _verdict(record: Record) -> str:
    words = [verdict(bar, found) for row in record.rows for bar, found in row.verdicts()]
    failed = sum(bool(row.error) for row in record.rows)
    parts = [f"{words.count('ok')} bars hold", f"{words.count('miss')} are missed", f"{words.count('-')} not judged"]
    return ", ".join([*parts, f"{failed} rows failed"] if failed else parts)


def print_comparison(old: Record, new: Record) -> None:
    """Both records' ratios for the rows that they share, by bar, and what they changed by: above 1 where irc stands
    better against the other than before, the least first; and how irc's own time changed.

    Ratios compare across runs; times drift with the chip and do not quite."""
    changes = sorted(_changes(old, new), key=lambda change: (change.factor is None, change.factor or 0.0))
    print_table(
        f"{_when(old)} to {_when(new)}",
        ["row", "irc before", "irc after", "speed-up", "bar", "before", "after", "change", ""],
        [change.cells for change in changes],
        width=WIDTH,
    )
    factors = [change.factor for change in changes if change.factor is not None]
    if factors:
        below = sum(factor < 1 - SLACK for factor in factors)
        mean = summarize("geomean", factors, of_time=False)
        print(f"{len(factors)} ratios, {below} below {1 - SLACK}: least {factors[0]:.3f}, geometric mean {mean:.3f}")
    names = [{row.name for row in record.rows} for record in (old, new)]
    for which, alone in (("old", names[0] - names[1]), ("new", names[1] - names[0])):
        if alone:
            print(f"in the {which} record alone: {', '.join(sorted(alone))}")


@dataclass(frozen=True)
class _Change:
    """A line of a comparison: its cells, and by what factor irc stands better, None where that is not known."""

    cells: list[str]
    factor: float | None


def _when(record: Record) -> str:
    return ", ".join(str(record.machine.get(key, "?")) for key in ("date", "gpu"))


def _changes(old: Record, new: Record) -> Iterator[_Change]:
    """By the new record's bars of rows and of their groups; `best` is that of the peers that both have."""
    before = {row.name: row for row in old.rows}
    of_groups = {summary["group"]: summary["bar"] for summary in new.summaries}
    for row in new.rows:
        if (then := before.get(row.name)) is None:
            continue
        then_times, times = (
            {name: each.times[name] for name in then.times if name in row.times} for each in (then, row)
        )
        own = _times_of(then, row)
        bars = row.bars or tuple(of_groups[row.group] for _ in range(row.group in of_groups))
        for bar in map(parse_bar, bars):
            was, found = reached(bar, then_times), reached(bar, times)
            factor = _factor(bar, was, found)
            shown = "-" if factor is None else f"{factor:.3f}"
            yield _Change([*own, bar.text, _median(was), _median(found), shown, verdict(bar, found)], factor)
        if not bars:
            yield _Change([*own, "", "", "", "", ""], None)


def _factor(bar: Bar, was: Spread | None, found: Spread | None) -> float | None:
    if was is None or found is None or bar.relation != "of":
        return None
    return was.median / found.median if bar.of_time else found.median / was.median


def _times_of(then: RowRecord, now: RowRecord) -> list[str]:
    mine, theirs = then.times.get(IRC), now.times.get(IRC)
    if not mine or not theirs:
        return [
            now.name,
            "-" if not mine else duration(median(mine)),
            "-" if not theirs else duration(median(theirs)),
            "-",
        ]
    ratio = median(mine) / median(theirs)
    return [now.name, duration(median(mine)), duration(median(theirs)), f"{ratio:.2f}"]


def _median(found: Spread | None) -> str:
    return "-" if found is None else f"{found.median:.3f}"


def progress(row: RowRecord) -> str:
    """One line on a row that has just run."""
    if row.error:
        return f"    error: {row.error}"
    found = row.spread(IRC)
    verdicts = [
        f"{reached.median:.3f} (bar {bar.text}, {verdict(bar, reached)})"
        for bar, reached in row.verdicts()
        if reached is not None
    ]
    shown = "not timed" if found is None else duration(found.median)
    return f"    {shown} {'; '.join(verdicts)} in {row.took:.1f} s"
