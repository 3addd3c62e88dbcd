"""Tuned configs as a readable file to ship with a project."""

from __future__ import annotations

import json
import tomllib
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from xdsl.utils.exceptions import ParseError

from irc.configs.alone import parse_config
from irc.support import tuned
from irc.support.diagnostics import IrcError
from irc.support.files import read_text, write_text
from irc.support.tuned import TunedConfig

HEADER = """# Configs of kernels that irc-tune found. `irc-tune import FILE` takes them.
# kernel: a digest of what the kernel computes. shapes: of its arrays. seconds, heuristic: of a call with the config,
# and with the one that irc would choose.
"""

TYPES: dict[str, type] = {"seconds": float, "heuristic": float}
"""Of fields that are no text."""


def show() -> int:
    """Prints the configs."""
    for each in tuned.tuned_configs():
        print(f"{each.name} on {each.chip}, {each.heuristic / each.seconds:.3f}x, of {each.shapes}: {each.config}")
    return 0


def export(path: Path) -> int:
    """Writes all configs."""
    configs = tuned.tuned_configs()
    write_text(path, HEADER + "".join(map(_text, configs)))
    print(f"{len(configs)} configs in {path}")
    return 0


def _text(config: TunedConfig) -> str:
    lines = (f"{name} = {_value(value)}\n" for name, value in asdict(config).items())
    return f"\n[[config]]\n{''.join(lines)}"


def _value(value: str | float) -> str:
    if not isinstance(value, str):
        return repr(float(value))
    return json.dumps(value) if "'" in value or not value.isprintable() else f"'{value}'"


def take(path: Path) -> int:
    """Puts the configs of a file into the database."""
    configs = read_configs(path)
    tuned.keep(configs)
    print(f"{len(configs)} configs from {path}")
    return 0


def read_configs(path: Path) -> list[TunedConfig]:
    """What `export` wrote. IrcError where it is something else."""
    try:
        content = tomllib.loads(read_text(path))
    except tomllib.TOMLDecodeError as error:
        raise IrcError(f"{path}: {error}", hint="irc-tune export writes such files") from error
    entries = content.get("config", [])
    if not isinstance(entries, list) or set(content) - {"config"}:
        raise IrcError(f"{path}: expected tables [[config]]", hint="irc-tune export writes such files")
    return [_read(path, number, each) for number, each in enumerate(entries, 1)]  # pyright: ignore[reportUnknownArgumentType]


def _read(path: Path, number: int, entry: Any) -> TunedConfig:
    where, names = f"{path}: config {number}", [field.name for field in fields(TunedConfig)]
    if not isinstance(entry, dict) or set(entry) != set(names):  # pyright: ignore[reportUnknownArgumentType]
        raise IrcError(f"{where}: expected the fields {', '.join(names)}")
    for name in names:
        if not isinstance(entry[name], TYPES.get(name, str)):
            raise IrcError(f"{where}: {name} is not a {TYPES.get(name, str).__name__}, found {entry[name]!r}")
    try:
        parse_config(entry["config"])
    except ParseError as error:
        raise IrcError(f"{where}: no #kernel.config: {str(error).splitlines()[-1].strip()}") from error
    return TunedConfig(**entry)
