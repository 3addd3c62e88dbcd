"""Where in the user's program an op was recorded: the innermost frame outside of this package, or what is said."""

from __future__ import annotations

import contextlib
import functools
import sys
from collections.abc import Generator
from contextvars import ContextVar
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from types import CodeType
from typing import TypeAlias

from irc.support.diagnostics import Span

PACKAGE = str(Path(__file__).parent)
"""The folder of this package."""

BETWEEN = (PACKAGE, contextlib.__file__, functools.__file__)
"""What stands between a user's line and irc."""


@dataclass(frozen=True, slots=True, eq=False)
class CallSite:
    """An instruction of a code object; its line and columns are looked up when somebody asks."""

    code: CodeType
    instruction: int

    def span(self) -> Span:
        """File, line and columns (1-based)."""
        positions = next(islice(self.code.co_positions(), self.instruction // 2, None), None)
        line, last_line, column, end = positions or (None, None, None, None)
        if line is None:
            return Span(self.code.co_filename, self.code.co_firstlineno, 1)
        end_column = end + 1 if end is not None and last_line == line else None
        return Span(self.code.co_filename, line, (column or 0) + 1, end_column)


@dataclass(frozen=True, slots=True, eq=False)
class Said:
    """A place that is known from elsewhere than the stack."""

    known: Span

    def span(self) -> Span:
        return self.known


Known: TypeAlias = CallSite | Said

_said: ContextVar[Said | None] = ContextVar("irc_place", default=None)


@contextlib.contextmanager
def recording(span: Span) -> Generator[None]:
    """Within the block, ops are recorded at this place."""
    token = _said.set(Said(span))
    try:
        yield
    finally:
        _said.reset(token)


def here() -> Known | None:
    """The place of the caller's caller that is not in this package."""
    if (said := _said.get()) is not None:
        return said
    frame = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
    while _is_between(frame.f_code):
        if frame.f_back is None:
            return None
        frame = frame.f_back
    return CallSite(frame.f_code, frame.f_lasti)


def _is_between(code: CodeType) -> bool:
    """Whether a user's line is further out: from what calls decorated functions, or what dataclasses make, too."""
    return code.co_filename.startswith(BETWEEN) or (code.co_filename, code.co_name) == ("<string>", "__init__")
