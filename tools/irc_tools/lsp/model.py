"""What is known of a text, whatever its language. Lines and columns are 1-based, ends exclusive, columns in
characters."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass, field

from irc.support.diagnostics import IrcError


@dataclass(frozen=True)
class Range:
    line: int
    column: int
    end_line: int
    end_column: int

    def has(self, line: int, column: int) -> bool:
        """Whether a cursor is in it, or directly behind it."""
        return (self.line, self.column) <= (line, column) <= (self.end_line, self.end_column)

    @property
    def length(self) -> tuple[int, int]:
        return self.end_line - self.line, self.end_column - self.column


@dataclass(frozen=True)
class Target:
    """Where a definition is. file: another one than that of the use."""

    range: Range
    file: str | None = None


@dataclass(frozen=True)
class Use:
    """A name in the text. hover: Markdown, made when it is asked for."""

    range: Range
    hover: Callable[[], str]
    target: Target | None = None


@dataclass(frozen=True)
class Symbol:
    """A line of the outline. kind: `function`, `constant` or `variable`. range: of all of it."""

    name: str
    kind: str
    range: Range
    name_range: Range
    detail: str = ""
    children: tuple[Symbol, ...] = ()


@dataclass(frozen=True)
class Fault:
    """An error, and where it is in the text."""

    error: IrcError
    range: Range


@dataclass
class Analysis:
    faults: list[Fault] = field(default_factory=list[Fault])
    uses: list[Use] = field(default_factory=list[Use])
    symbols: list[Symbol] = field(default_factory=list[Symbol])

    def at(self, line: int, column: int) -> Use | None:
        """The name under a cursor: the shortest, where there are several."""
        found = [use for use in self.uses if use.range.has(line, column)]
        return min(found, key=lambda use: (use.range.length, -use.range.column), default=None)

    def add(self, other: Analysis) -> None:
        self.faults += other.faults
        self.uses += other.uses
        self.symbols += other.symbols


class Lines:
    """Places in a text."""

    def __init__(self, text: str):
        self._starts = [0, *(index + 1 for index, c in enumerate(text) if c == "\n")]
        self._lines = text.split("\n")

    def range(self, start: int, end: int) -> Range:
        """Of characters of the text."""
        return Range(*self._place(start), *self._place(end))

    def _place(self, position: int) -> tuple[int, int]:
        line = bisect_right(self._starts, position)
        return line, position - self._starts[line - 1] + 1

    def clamped(self, line: int, column: int, end_column: int | None = None) -> Range:
        """A part of a line that the text has, of one character or more where the line has any."""
        line = min(max(line, 1), len(self._lines))
        length = len(self._lines[line - 1].removesuffix("\r"))
        start = min(max(column, 1), length + 1)
        end = min(max(start + 1, end_column or 0), length + 1)
        return Range(line, start, line, end)


def code(language: str, text: str) -> str:
    """Markdown of a piece of code."""
    return f"```{language}\n{text}\n```"
