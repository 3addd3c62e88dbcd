"""Suites: what irc-bench runs, as TOML files in `benchmarks/suites`.

A row has `name`, `program` (`.irc` text) or `file` (of one, beside the suite), and may have `group`, `dims` (as by
`-D`), `small` (dims at which a CPU checks it), `torch` (the body of a Python function of the program's arguments, with
`torch` and `F`), `inputs` (how arguments are drawn, see `irc_tools.bench.draws`), `bars`, `peers`, `clock` and
`tolerance` (by element type, in place of irc-run's). A program is compiled for contiguous arrays: strided
views are written in it, and in the body.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from irc.diagnostics import IrcError
from irc.files import read_text
from irc_tools.bench.bars import PEERS, Bar, parse_bar

FOLDER = Path(__file__).parents[3] / "benchmarks" / "suites"
"""Where suites are found by name."""

CLOCKS = ("device", "calls")
"""What is timed: the work on the device, with the host ahead of it; or calls one after another, the host's part too."""

STATISTICS = ("median", "geomean", "least")


@dataclass(frozen=True)
class Row:
    """One program to time, and what it has to reach."""

    name: str
    program: str
    group: str = ""
    dims: Mapping[str, int] = field(default_factory=dict[str, int])
    small: Mapping[str, int] = field(default_factory=dict[str, int])
    torch: str = ""
    inputs: Mapping[str, str] = field(default_factory=dict[str, str])
    bars: tuple[Bar, ...] = ()
    peers: tuple[str, ...] = ()
    clock: str = "device"
    tolerance: Mapping[str, float] = field(default_factory=dict[str, float])


@dataclass(frozen=True)
class Summary:
    """A bar for a group of rows together: a statistic of their ratios."""

    group: str
    statistic: str
    bar: Bar


@dataclass(frozen=True)
class Suite:
    """Rows in the order in which they run. `show` says how a table writes speeds: as `bandwidth` or as `time`."""

    name: str
    title: str
    rows: tuple[Row, ...]
    summaries: tuple[Summary, ...] = ()
    show: str = "time"


def known_suites() -> list[str]:
    """The names of the suites that come with irc."""
    return sorted(path.stem for path in FOLDER.glob("*.toml"))


def load_suite(name: str, seed: int | None = None) -> Suite:
    """A suite by its name or its file; `seed` replaces that of rows that are drawn."""
    path = Path(name) if name.endswith(".toml") else FOLDER / f"{name}.toml"
    if not name.endswith(".toml") and not path.is_file():
        raise IrcError(f"unknown suite {name}", hint=f"suites are {', '.join(known_suites())}, or a .toml file")
    try:
        content = tomllib.loads(read_text(path))
    except tomllib.TOMLDecodeError as error:
        raise IrcError(f"{path} is not TOML: {error}") from error
    return _suite(content, path, seed)


def _suite(content: dict[str, Any], path: Path, seed: int | None) -> Suite:
    _only(content, ("title", "show", "peers", "rows", "random", "summaries"), f"{path}")
    peers = _peers(_listed(content.get("peers", []), f"{path}: peers"), str(path))
    rows = [_row(table, path, peers) for table in content.get("rows", [])]
    if "random" in content:
        from irc_tools.bench.random_programs import draw_rows

        rows += draw_rows(content["random"], seed, peers)
    _refuse_twins([row.name for row in rows], path)
    summaries = tuple(_summary(table, path) for table in content.get("summaries", []))
    show = _one_of(content.get("show", "time"), ("bandwidth", "time"), f"{path}: show")
    return Suite(path.stem, str(content.get("title", path.stem)), tuple(rows), summaries, show)


def _row(table: dict[str, Any], path: Path, peers: tuple[str, ...]) -> Row:
    name = str(table.get("name", ""))
    where = f"{path}: row {name!r}"
    _only(table, ("file", *Row.__dataclass_fields__), where)
    if not name or ("program" in table) == ("file" in table):
        raise IrcError(f"{where}: expected a name, and a program or a file")
    return Row(
        name=name,
        program=table["program"] if "program" in table else read_text(path.parent / table["file"]),
        group=str(table.get("group", "")),
        dims=_integers(table.get("dims", {}), f"{where}: dims"),
        small=_integers(table.get("small", {}), f"{where}: small"),
        torch=str(table.get("torch", "")),
        inputs={argument: str(text) for argument, text in table.get("inputs", {}).items()},
        bars=tuple(parse_bar(text) for text in _listed(table.get("bars", []), f"{where}: bars")),
        peers=_peers(_listed(table["peers"], f"{where}: peers"), where) if "peers" in table else peers,
        clock=_one_of(table.get("clock", "device"), CLOCKS, f"{where}: clock"),
        tolerance=dict(table.get("tolerance", {})),
    )


def _summary(table: dict[str, Any], path: Path) -> Summary:
    where = f"{path}: summary"
    _only(table, ("group", "statistic", "bar"), where)
    statistic = _one_of(table.get("statistic", "median"), STATISTICS, f"{where}: statistic")
    return Summary(str(table.get("group", "")), statistic, parse_bar(str(table.get("bar", ""))))


def _peers(names: Iterable[str], where: str) -> tuple[str, ...]:
    return tuple(_one_of(name, PEERS, f"{where}: peers") for name in names)


def _one_of(value: Any, known: tuple[str, ...], where: str) -> str:
    if value not in known:
        raise IrcError(f"{where}: unknown {value!r}", hint=f"expected {', '.join(known)}")
    return value


def _listed(value: Any, where: str) -> list[str]:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise IrcError(f"{where}: expected a list of strings")
    return value


def _integers(value: Any, where: str) -> dict[str, int]:
    if not isinstance(value, dict) or not all(type(number) is int for number in value.values()):
        raise IrcError(f"{where}: expected a table of integers")
    return value


def _only(table: dict[str, Any], known: Iterable[str], where: str) -> None:
    """IrcError for a key that means nothing: it would be a misspelt one."""
    known = list(known)
    for key in table:
        if key not in known:
            raise IrcError(f"{where}: unknown key {key!r}", hint=f"keys are {', '.join(known)}")


def _refuse_twins(names: list[str], path: Path) -> None:
    for name in names:
        if names.count(name) > 1:
            raise IrcError(f"{path}: two rows are named {name!r}")
