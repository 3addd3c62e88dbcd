"""Values of options: `-D NAME=INT`, dims that a command replaces or gives a size; times."""

from __future__ import annotations

import re
from collections.abc import Iterable

from irc.support.diagnostics import IrcError

_DEFINITION = re.compile(r"([A-Za-z_]\w*)=([+-]?\d+)")


UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0}


def parse_definitions(definitions: Iterable[str], option: str = "-D") -> dict[str, int]:
    """The dims of `-D NAME=INT` options; an `IrcError` for one that does not read so."""
    dims: dict[str, int] = {}
    for text in definitions:
        match = _DEFINITION.fullmatch(text.strip())
        if match is None:
            raise IrcError(f"{option} {text}: expected NAME=INT", None, f"for example {option} M=256")
        if len(match[2]) > 20:
            raise IrcError(f"{option} {match[1]}: {match[2][:20]}... does not fit 64 bits")
        dims[match[1]] = int(match[2])
    return dims


def parse_time(text: str, option: str = "--budget") -> float:
    """Seconds of `10s`, `5m`, `1h`, or a number of seconds. IrcError for anything else."""
    match = re.fullmatch(r"(\d+(?:\.\d*)?)([smh]?)", text.strip())
    if match is None or float(match[1]) <= 0:
        raise IrcError(f"{option} {text}: expected a time", hint="10s, 5m, 1h")
    return float(match[1]) * UNITS[match[2] or "s"]
