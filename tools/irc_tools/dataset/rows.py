"""The file of a dataset: a JSON object in each line, for each config of a kernel that was tried.

    kernel, shapes   what the kernel is known by (`irc/support/tuned.py`)
    chip             the architecture
    text             the kernel by itself, without a config
    config           as a `#kernel.config` has it
    outcome, reason  what became of the config (`irc/tuning/bench.py`), or `compiled` where nothing was timed
    seconds          of a call, where it was timed
    estimate         seconds by the cost formula

Rows that `irc-tune dataset` built have more:

    program, kind    where the kernel is from, and its anchor
    parts            what the estimate is made of (`Estimator.parts`)
    resources        what the assembler reports: registers of a thread, bytes of shared memory of a block, and of spills
    machine          the GPU, its driver, the commit of irc and the version of the compiler, where they are known
"""

from __future__ import annotations

import gzip
import json
import os
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from irc.support import tuned
from irc.support.diagnostics import IrcError
from irc.support.files import cannot_write, read_bytes, read_text, write_text

COMPILED = "compiled"
"""What became of a config that was not timed."""

FIELDS = ("kernel", "shapes", "chip", "text", "config", "outcome", "reason", "seconds", "estimate")
"""Of every row."""

Row = Mapping[str, Any]


def identity(row: Row) -> tuple[str, ...]:
    """What tells rows apart; of equal ones the last counts."""
    return row["kernel"], row["shapes"], row["chip"], row["config"]


def read_rows(path: Path) -> list[Row]:
    """The rows of a file, which may be compressed (`.gz`), in order. A last line that is cut off is left out, as of a
    process that was killed. IrcError for other lines that are no rows."""
    found: dict[tuple[str, ...], Row] = {}
    lines = _text(path).split("\n")
    for number, line in enumerate(lines, 1):
        if not line or (row := _row(line, number == len(lines), f"{path}:{number}")) is None:
            continue
        found[identity(row)] = row
    return list(found.values())


def _text(path: Path) -> str:
    if path.suffix != ".gz":
        return read_text(path)
    try:
        return gzip.decompress(read_bytes(path)).decode()
    except (OSError, EOFError, zlib.error, UnicodeDecodeError) as error:
        raise IrcError(f"{path}: {error}", hint="gzip makes such files of rows") from error


def _row(line: str, is_last: bool, where: str) -> Row | None:
    try:
        row = json.loads(line)
    except ValueError as error:
        if is_last:
            return None
        raise IrcError(f"{where}: {error}", hint="irc-tune dataset writes such files") from error
    if not isinstance(row, dict) or not set(FIELDS) <= set(row):
        raise IrcError(f"{where}: expected an object with {', '.join(FIELDS)}")
    return row


def append_rows(path: Path, rows: Iterable[Row]) -> None:
    """Adds rows, all with one write. A line that was cut off before is removed. IrcError where that fails."""
    content = "".join(json.dumps(dict(row)) + "\n" for row in rows).encode()
    try:
        with path.open("ab+") as file:
            file.truncate(_whole(path))
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise cannot_write(path, error) from error


def _whole(path: Path) -> int:
    """Bytes of the lines that have an end."""
    return path.read_bytes().rfind(b"\n") + 1


def write_measurements(path: Path) -> int:
    """Writes all that the tuner's database has."""
    rows = tuned.dataset()
    write_text(path, "".join(json.dumps(_of_database(each)) + "\n" for each in rows))
    print(f"{len(rows)} rows of {len({(row.kernel, row.shapes) for row in rows})} kernels in {path}")
    return 0


def _of_database(row: tuned.DatasetRow) -> dict[str, Any]:
    values = asdict(row)
    measured = values.pop("measurement")
    return {**values, **measured}
