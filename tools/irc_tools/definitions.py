"""`-D NAME=INT`: dims that a command replaces, or gives a size."""

from __future__ import annotations

import re
from collections.abc import Iterable

from irc.support.diagnostics import IrcError

_DEFINITION = re.compile(r"([A-Za-z_]\w*)=([+-]?\d+)")


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
