"""`-D NAME=INT`: dims that a command replaces."""

from __future__ import annotations

import re
from collections.abc import Iterable

from irc.support.diagnostics import IrcError

_DEFINITION = re.compile(r"([A-Za-z_]\w*)=([+-]?\d+)")


def parse_definitions(definitions: Iterable[str]) -> dict[str, int]:
    """The dims that `-D NAME=INT` options replace; an `IrcError` for one that does not read so."""
    dims: dict[str, int] = {}
    for text in definitions:
        match = _DEFINITION.fullmatch(text.strip())
        if match is None:
            raise IrcError(f"-D {text}: expected NAME=INT", None, "for example -D M=256")
        if len(match[2]) > 20:
            raise IrcError(f"-D {match[1]}: {match[2][:20]}... does not fit 64 bits")
        dims[match[1]] = int(match[2])
    return dims
