"""The record of a run: plain data in a JSON file, enough to judge and to draw it again without a GPU."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from irc.support.diagnostics import IrcError
from irc.support.files import read_text, write_text
from irc_tools.bench.bars import BEFORE, BEST, HOST, LIMITS, PEERS, RIVAL, Bar, parse_bar
from irc_tools.bench.rows import Row, Suite, Summary
from irc_tools.bench.statistics import IRC, Spread, reached, spread, summarize

FORMAT = 1


@dataclass(frozen=True)
class RowRecord:
    """A row as it ran.

    times: seconds of a call by variant, one number a repetition. bytes: read once and written once; flops: of the
    kernels, which `kernels` describes. checks: of each result; eager_errors: torch's own, against the same reference.
    lines: of the source of a kernel in Python, 0 of other programs. ratios: irc's speed over that of each peer, and of
    the fastest of them, `best`. notes: peers that failed. took: seconds of the whole row. error: why there are no
    times, or empty.
    """

    name: str
    group: str
    program: str
    dims: dict[str, int]
    torch: str
    bars: tuple[str, ...]
    clock: str = "device"
    bytes: int = 0
    flops: int = 0
    kernels: tuple[dict[str, Any], ...] = ()
    checks: tuple[dict[str, Any], ...] = ()
    eager_errors: tuple[float, ...] = ()
    times: dict[str, tuple[float, ...]] = field(default_factory=dict[str, "tuple[float, ...]"])
    notes: tuple[str, ...] = ()
    took: float = 0.0
    error: str = ""
    lines: int = 0
    ratios: dict[str, float] = field(default_factory=dict[str, float])

    @staticmethod
    def of(row: Row) -> RowRecord:
        """The record of a row that did not run yet."""
        bars = tuple(bar.text for bar in row.bars)
        program = row.program if row.kernel is None else row.kernel.text(row.dims)
        return RowRecord(row.name, row.group, program, dict(row.dims), row.torch, bars, row.clock)

    def timed(self, times: dict[str, tuple[float, ...]]) -> RowRecord:
        """With these times, and the ratios that follow from them."""
        bars = {name: Bar(1.0, name, of_time=False) for name in (*PEERS, BEST)}
        found = {name: reached(bar, times) for name, bar in bars.items()}
        ratios = {name: round(spread.median, 4) for name, spread in found.items() if spread is not None}
        return replace(self, times=times, ratios=ratios)

    def spread(self, variant: str) -> Spread | None:
        """Seconds of a call."""
        return spread(self.times[variant]) if self.times.get(variant) else None

    def verdicts(self) -> list[tuple[Bar, Spread | None]]:
        """Each bar with what was reached, None where it could not be judged."""
        return [(bar, reached(bar, self.times)) for bar in map(parse_bar, self.bars)]


@dataclass(frozen=True)
class Record:
    """A run of a suite: what machine and versions, how it was measured, the rows, and the bars of groups."""

    suite: str
    title: str
    show: str
    machine: dict[str, Any]
    settings: dict[str, Any]
    rows: tuple[RowRecord, ...]
    summaries: tuple[dict[str, str], ...] = ()

    @staticmethod
    def of(suite: Suite, machine: dict[str, Any], settings: dict[str, Any], rows: Sequence[RowRecord]) -> Record:
        summaries = tuple({"group": s.group, "statistic": s.statistic, "bar": s.bar.text} for s in suite.summaries)
        return Record(suite.name, suite.title, suite.show, machine, settings, tuple(rows), summaries)

    def variants(self) -> list[str]:
        """All that were timed: irc, its rival, another tree, what the clock `host` adds, the limits, the peers."""
        return [
            name for name in (IRC, RIVAL, BEFORE, *HOST, *LIMITS, *PEERS) if any(name in row.times for row in self.rows)
        ]

    def group_verdicts(self) -> list[tuple[Summary, float | None, int]]:
        """Each bar of a group with the statistic of its rows' ratios and their number."""
        found: list[tuple[Summary, float | None, int]] = []
        for each in self.summaries:
            summary = Summary(each["group"], each["statistic"], parse_bar(each["bar"]))
            rows = [row for row in self.rows if summary.group in ("", row.group)]
            spreads = [reached(summary.bar, row.times) for row in rows]
            values = [spread.median for spread in spreads if spread is not None]
            value = summarize(summary.statistic, values, of_time=summary.bar.of_time) if values else None
            found.append((summary, value, len(values)))
        return found


def write_record(path: Path, record: Record) -> None:
    """Writes the JSON file, a row of the record on a line of its own; times are in seconds."""
    rows = ",\n".join(json.dumps(asdict(row)) for row in record.rows)
    content: dict[str, Any] = {"format": FORMAT, **asdict(replace(record, rows=()))}
    del content["rows"]
    write_text(path, f'{json.dumps(content, indent=1)[:-2]},\n "rows": [\n{rows}\n ]\n}}\n')


def read_record(path: Path) -> Record:
    """A record from its file; IrcError where it is none."""
    try:
        content: Any = json.loads(read_text(path))
    except json.JSONDecodeError as error:
        raise IrcError(f"{path} is not JSON: {error}") from error
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise IrcError(f"{path} is no record of irc-bench", hint="`irc-bench --json FILE` writes one")
    try:
        return _record(content)
    except (TypeError, KeyError, AttributeError) as error:
        raise IrcError(f"{path} is no whole record of irc-bench: {type(error).__name__}: {error}") from error


def joined(parts: Mapping[Path, Record]) -> Record:
    """One record of those of a suite's parts. IrcError where they are of different suites, machines or settings, or
    have a row in common."""
    (_, whole), *others = parts.items()
    rows = {row.name: row for row in whole.rows}
    for path, part in others:
        if different := [name for name, mine in _what_ran(whole).items() if _what_ran(part)[name] != mine]:
            raise IrcError(f"{path} has another {different[0]} than {next(iter(parts))}", hint=_JOINABLE)
        for row in part.rows:
            if row.name in rows:
                raise IrcError(f"{path}: row {row.name!r} is in a file before it too", hint=_JOINABLE)
            rows[row.name] = row
    return replace(whole, rows=tuple(rows.values()))


_JOINABLE = "parts are rows of one suite by --filter, each once, on one kind of machine"


def _what_ran(record: Record) -> dict[str, Any]:
    """All but the rows, and when they ran."""
    content = {"suite": record.suite, "setting": record.settings, "summary": record.summaries}
    return {**content, **{name: record.machine.get(name) for name in ("commit", "gpu", "driver", "cores", "packages")}}


def _record(content: dict[str, Any]) -> Record:
    whole = {key: value for key, value in content.items() if key != "format"}
    whole["rows"] = tuple(_row(row) for row in content["rows"])
    whole["summaries"] = tuple(content["summaries"])
    return Record(**whole)


def _row(content: dict[str, Any]) -> RowRecord:
    whole: dict[str, Any] = dict(content)
    for key in ("bars", "kernels", "checks", "eager_errors", "notes"):
        whole[key] = tuple(content.get(key, ()))
    whole["times"] = {name: tuple(values) for name, values in content.get("times", {}).items()}
    return RowRecord(**whole)
