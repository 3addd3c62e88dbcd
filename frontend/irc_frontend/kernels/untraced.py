"""What Python itself refuses of a kernel's tiles, as a diagnostic at the user's line."""

from __future__ import annotations

import re
from collections.abc import Generator
from contextlib import contextmanager
from difflib import get_close_matches
from types import ModuleType, TracebackType
from typing import Any

from irc.support.diagnostics import IrcError
from irc.support.frames import is_irc, is_library
from irc_frontend.kernels.indices import Index, LoopTile
from irc_frontend.place import CallSite
from irc_frontend.tensor import Tensor

PACKAGE = "irc_frontend"

TILES = re.compile(rf"\b({Index.__name__}|{LoopTile.__name__}|{Tensor.__name__})\b")
"""In what Python says of types."""

NUMBER = "cannot be interpreted as an integer"
"""Python's words on an argument of `range`."""


@contextmanager
def at_users_line() -> Generator[None]:
    """Within the block, what takes no tiles, and an attribute that they lack, are IrcErrors. An error that has nothing
    to do with tiles, or comes from within irc, stays as it is."""
    try:
        yield
    except (AttributeError, TypeError) as error:
        hint, place = _instead(error), _place(error.__traceback__)
        if hint is None or place is None:
            raise
        raise IrcError(f"a kernel cannot be traced: {error}", place.span(), hint) from error


def _instead(error: AttributeError | TypeError) -> str | None:
    """What to write; None where the error is not of tiles."""
    if isinstance(error, AttributeError):
        return _like(error.obj, str(error.name))
    text = str(error)
    if not TILES.search(text):
        return None
    if NUMBER in text:
        return "for n in tiles(N, begin=a, end=b) goes to a position, m.end, or to where data says, lengths[b]"
    if LoopTile.__name__ in text:
        return "m.index has the positions of its elements, m.begin that of its first one: they take arithmetic"
    return "tiles have numpy's operators, and irc's functions and methods: exp(t), t.sum(axis=1)"


def _like(owner: Any, name: str) -> str | None:
    """What there is in the place of an attribute; None for those of objects that are not irc's."""
    is_module = isinstance(owner, ModuleType) and owner.__name__ == PACKAGE
    if not is_module and not isinstance(owner, Tensor | Index | LoopTile):
        return None
    close = get_close_matches(name, [each for each in dir(owner) if not each.startswith("_")])
    return f"did you mean {' or '.join(close)}?" if close else "docs/api.md lists irc's functions and methods"


def _place(at: TracebackType | None) -> CallSite | None:
    """The user's line; None where it called irc, which raised the error."""
    found: CallSite | None = None
    while at is not None:
        if is_irc(at.tb_frame):
            found = None
        elif not is_library(at.tb_frame):
            found = CallSite(at.tb_frame.f_code, at.tb_lasti)
        at = at.tb_next
    return found
