"""Records of other programs than irc-bench (`benchmarks/*.py`, irc-bench-compile): facts and lists of rows, as they
are."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

from irc.support.diagnostics import IrcError
from irc.support.files import read_text
from irc_tools.bench.record import FORMAT
from irc_tools.tables import print_table

WIDTH = 2000
"""Of tables in files: no cell is folded there."""

Row = dict[str, Any]


def read_other_record(path: Path) -> dict[str, Any] | None:
    """What the file has where it is a record of another program; None where it says that it is irc-bench's. IrcError
    where it is none at all."""
    try:
        content: Any = json.loads(read_text(path))
    except json.JSONDecodeError as error:
        raise IrcError(f"{path} is not JSON: {error}") from error
    if isinstance(content, dict) and cast("dict[str, Any]", content).get("format") == FORMAT:
        return None
    if not isinstance(content, dict) or not any(map(_is_rows, cast("dict[str, Any]", content).values())):
        raise IrcError(
            f"{path} is no record of irc-bench, nor of another benchmark", hint="`irc-bench --json FILE` writes one"
        )
    return cast("dict[str, Any]", content)


def print_other_record(content: dict[str, Any]) -> None:
    """The facts, a line each, and a table of each list of rows."""
    for name, value in content.items():
        if not _is_rows(value):
            print(f"{name}: {_text(value)}")
    for name, value in content.items():
        if _is_rows(value):
            _print_rows(name, [_flat(row) for row in value])


def _is_rows(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(row, dict) for row in cast("list[Any]", value))


def _print_rows(name: str, rows: list[Row]) -> None:
    columns = list(dict.fromkeys(column for row in rows for column in row))
    texts = [column for column in columns if any(isinstance(row.get(column), str) for row in rows)]
    columns = [*texts, *(column for column in columns if column not in texts)]
    cells = [[_text(row[column]) if column in row else "" for column in columns] for row in rows]
    print_table(name, columns, cells, numbers_from=len(texts), width=WIDTH)


def _flat(row: Row) -> Row:
    """The row with `ms torch` for `{"ms": {"torch": ...}}`."""
    return dict(_flattened(row, ""))


def _flattened(row: Row, prefix: str) -> Iterator[tuple[str, Any]]:
    for name, value in row.items():
        if isinstance(value, dict):
            yield from _flattened(cast("Row", value), f"{prefix}{name} ")
        else:
            yield f"{prefix}{name}", value


def _text(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, dict):
        return ", ".join(f"{name} {_text(each)}" for name, each in cast("dict[str, Any]", value).items())
    if isinstance(value, list):
        return " ".join(map(_text, cast("list[Any]", value)))
    return str(value)
