"""`--verify-diagnostics`: comparing the diagnostics of an input with those that its comments expect.

`// expected-error {{text}}` expects an error whose message contains `text` on its own line; `@+2` and `@-1` after
`expected-error` move to another line, `@below` and `@above` to the next and the one before. A file without such
comments expects one diagnostic in each of its pieces.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import IO

from irc.support.diagnostics import IrcError, labels, render

_COMMENT = re.compile(r"(?://|#).*?expected-error\s*(@[+-]?\d+|@above|@below)?\s*\{\{(.*?)\}\}")


@dataclass(frozen=True)
class Expected:
    """A diagnostic that a comment asks for: its line in the file, and a part of its message."""

    line: int
    text: str


@dataclass
class Expectations:
    """What the text of a file expects, and what happened."""

    source: str
    wanted: list[Expected] = field(init=False)
    seen: list[IrcError] = field(default_factory=list[IrcError], init=False)
    faults: list[str] = field(default_factory=list[str], init=False)

    def __post_init__(self) -> None:
        self.wanted = [
            Expected(_line(number, match[1]), match[2])
            for number, line in enumerate(self.source.split("\n"), start=1)
            for match in _COMMENT.finditer(line)
        ]
        self._annotated = bool(self.wanted)

    def saw(self, error: IrcError | None, line_offset: int, text: str) -> None:
        """Notes the diagnostic of a piece of the file, or that it gave none."""
        if error is not None:
            self.seen.append(error)
        if self._annotated:
            self._match(error)
        elif error is None and text.strip():
            self.faults.append(
                f"expected a diagnostic in the piece that follows line {line_offset}, but there was none"
            )

    def _match(self, error: IrcError | None) -> None:
        if error is None:
            return
        first = next(labels(error.location), None)
        line = None if first is None else first.span.line
        for expected in self.wanted:
            if (line is None or expected.line == line) and expected.text in error.message:
                self.wanted.remove(expected)
                return
        self.faults.append(f"unexpected diagnostic\n{render(error)}")

    def shown(self) -> str:
        """The diagnostics, for standard output."""
        return "".join(f"{render(error)}\n" for error in self.seen)

    def report(self, stream: IO[str], name: str) -> bool:
        """Prints what was not as expected; returns whether there was anything."""
        faults = list(self.faults)
        if self._annotated:
            faults += [f"expected error {e.text!r} on line {e.line}, but there was none" for e in self.wanted]
        for fault in faults:
            print(f"{name}: error: {fault}", file=stream)
        return bool(faults)


def _line(number: int, relative: str | None) -> int:
    if relative is None:
        return number
    if relative in ("@above", "@below"):
        return number + (1 if relative == "@below" else -1)
    offset = relative[1:]
    return number + int(offset) if offset[0] in "+-" else int(offset)
