"""Diagnostics: the one exception of bad input, and how it is shown.

A bad program, option, file or config raises `IrcError`. `render` turns it into what a user reads:

    gating.irc:5:9: error: cannot add bf16[4096, 4096] and bf16[512]
        h = x @ w1 + b1
            ^^^^^^^^^^^
    hint: ...

Places come as a `Span` (from text) or as a location attribute of xDSL (from IR). The quoted lines are read from the
file that the place names, or from `register_source` for text that is in no file.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from irc.support.frames import hide_frames, shown

if TYPE_CHECKING:
    from xdsl.dialects.builtin import FileLineColLoc
    from xdsl.ir import Attribute

LONGEST_LINE = 160
"""Characters of a source line that are shown; a longer one is cut around the caret."""

IN_PASS = "in pass "
"""Begins the note of an exception that says in which pass it was."""

RUNS_AGAIN = "reproducer: `irc-opt "
"""Begins the note of an exception that says what runs its reproducer."""

OF_PACKAGE = " of "
"""Behind the name of the pass in that note, before the package of a plug-in's pass."""

LONGEST_REASON = 300
"""Characters of an exception's message in a line."""

MAX_NOTES = 3
"""Further places shown after the first: callers of an inlined function, or the ops that were merged."""

MAX_SOURCES = 256
"""Registered texts that are kept; the oldest is dropped."""


@dataclass(frozen=True)
class Span:
    """Columns `column` to `end_column` of a line of a source: 1-based, the end exclusive.

    Without `end_column` it is the token (identifier, number or operator) at `column`.
    """

    file: str
    line: int
    column: int
    end_column: int | None = None

    def location(self) -> FileLineColLoc:
        """The location attribute of its start."""
        from xdsl.dialects.builtin import FileLineColLoc, IntAttr, StringAttr

        return FileLineColLoc(StringAttr(self.file), IntAttr(self.line), IntAttr(self.column))

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


@dataclass(frozen=True)
class Label:
    """A span and what it is to the error: empty for the place itself, else the text of a note."""

    span: Span
    role: str = ""


class IrcError(Exception):
    """Bad input: a message, the place it is about, and a hint of what would be accepted.

    `location` is a `Span`, an xDSL location attribute (an unknown one counts as none), or None.
    """

    __module__ = "irc"  # by which users know it

    def __init__(self, message: str, location: Span | Attribute | None = None, hint: str | None = None):
        super().__init__(message)
        self.message = message
        self.location = location
        self.hint = hint
        self._added: list[str] = []
        hide_frames(IrcError)

    def __str__(self) -> str:
        place = next(labels(self.location), None)
        return self.message if place is None else f"{place.span}: {self.message}"

    @property
    def __notes__(self) -> list[str]:  # pyright: ignore[reportIncompatibleVariableOverride]
        """What Python prints below the message where nobody catches the error (PEP 678): the quoted line, further
        places and the hint. It is made when it is asked for, as many errors are caught."""
        return [*_rest(self), *self._added]

    def add_note(self, note: str, /) -> None:
        self._added.append(note)

    def _render_traceback_(self, *_: object) -> list[str]:
        """What IPython shows where nobody catches the error."""
        return "".join(shown(self)).splitlines()


class InternalError(IrcError):
    """An error in irc that something behind it found: a verifier in what a pass left, a C++ compiler in what irc
    wrote."""


def reproducer_of(error: BaseException) -> list[str]:
    """The notes of an exception that say what runs its reproducer: one, or none."""
    return [note for note in getattr(error, "__notes__", ()) if note.startswith(RUNS_AGAIN)]


def one_line(error: BaseException) -> str:
    """An exception in a line: its type, unless it is a diagnostic, and its message."""
    text = error.message if isinstance(error, IrcError) else f"{type(error).__name__}: {error}"
    return " ".join(text.split())[:LONGEST_REASON]


_sources: OrderedDict[str, str] = OrderedDict()


def register_source(name: str, text: str) -> None:
    """Makes the lines of `text` quotable in diagnostics whose file is `name`; it goes before a file of that name."""
    _sources[name] = text
    _sources.move_to_end(name)
    while len(_sources) > MAX_SOURCES:
        _sources.popitem(last=False)


def source_line(file: str, line: int) -> str | None:
    """The text of a line (1-based) of a registered source or a readable file; None where there is none."""
    if (text := source_text(file)) is None:
        return None
    lines = text.split("\n")
    if not 1 <= line <= len(lines):
        return None
    return lines[line - 1].removesuffix("\r")


def source_text(file: str) -> str | None:
    """A registered source or a readable file; None where there is none."""
    return _sources[file] if file in _sources else _read(file)


def _read(file: str) -> str | None:
    try:
        path = Path(file)
        return path.read_text(encoding="utf-8", errors="replace") if path.is_file() else None
    except (OSError, ValueError):
        return None


def labels(location: Span | Attribute | None) -> Iterator[Label]:
    """The places of a location, the most specific first: for an inlined call the callee, then where it was called from;
    for a fused location all that were merged. A location that is unknown has none."""
    if location is None:
        return
    if isinstance(location, Span):
        yield Label(location)
        return
    yield from _attribute_labels(location, "")


def _attribute_labels(location: Attribute, role: str) -> Iterator[Label]:
    from xdsl.dialects.builtin import ArrayAttr, CallSiteLoc, FileLineColLoc, FusedLoc, NameLoc

    if isinstance(location, FileLineColLoc):
        yield Label(Span(location.filename.data, location.line.data, location.column.data), role)
    elif isinstance(location, NameLoc):
        yield from _attribute_labels(location.location, role)
    elif isinstance(location, CallSiteLoc):
        yield from _attribute_labels(location.callee, role)
        yield from _attribute_labels(location.caller, "called from here")
    elif isinstance(location, FusedLoc) and isinstance(location.locations, ArrayAttr):
        for index, part in enumerate(location.locations):  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
            yield from _attribute_labels(part, role if index == 0 else "merged with this")  # pyright: ignore[reportUnknownArgumentType]


def render(error: IrcError) -> str:
    """The text of a diagnostic, without a newline at the end: the place and the message, the quoted line with a caret
    under the span, further places as notes, the hint, notes that were added."""
    place = next(labels(error.location), None)
    first = f"error: {error.message}"
    return "\n".join([first if place is None else f"{place.span}: {first}", *error.__notes__])


def _rest(error: IrcError) -> list[str]:
    """The lines of a diagnostic below its message."""
    found = list(_distinct(labels(error.location)))
    lines = _quote(found[0].span) if found else []
    for place in found[1 : 1 + MAX_NOTES]:
        lines += [f"{place.span}: note: {place.role}", *_quote(place.span)]
    return lines if error.hint is None else [*lines, f"hint: {error.hint}"]


def _distinct(found: Iterator[Label]) -> Iterator[Label]:
    seen: set[Span] = set()
    for place in found:
        if place.span in seen:
            continue
        seen.add(place.span)
        yield place


_TOKEN = re.compile(r"[%@^!#]?[A-Za-z_][\w.$]*|%\d+|\d[\w.]*|\"[^\"]*\"|\*\*|//|<<|>>|->|[=!<>]=|\S")
"""A token of `.irc` or of MLIR text, near enough to underline it."""


def _quote(span: Span) -> list[str]:
    """The source line and a line of carets under the span; nothing where the source is not at hand."""
    text = source_line(span.file, span.line)
    if text is None:
        return []
    start = min(max(span.column - 1, 0), len(text))
    end = _end(span, text, start)
    text, start, end = _cut(text, start, end)
    margin = "".join("\t" if c == "\t" else " " for c in text[:start])
    return [text, margin + "^" * max(end - start, 1)]


def _end(span: Span, text: str, start: int) -> int:
    if span.end_column is not None:
        return min(max(span.end_column - 1, start), len(text))
    token = _TOKEN.match(text, start)
    return start if token is None else token.end()


def token_end(span: Span) -> int | None:
    """The column behind a span, where it says so or its line is at hand."""
    if span.end_column is not None or (text := source_line(span.file, span.line)) is None:
        return span.end_column
    return _end(span, text, min(max(span.column - 1, 0), len(text))) + 1


def _cut(text: str, start: int, end: int) -> tuple[str, int, int]:
    """A window of `LONGEST_LINE` characters around the span, and the span in it."""
    if len(text) <= LONGEST_LINE:
        return text, start, end
    first = max(0, min(start - LONGEST_LINE // 3, len(text) - LONGEST_LINE))
    last = min(len(text), first + LONGEST_LINE)
    before, after = ("..." if first > 0 else ""), ("..." if last < len(text) else "")
    shift = len(before) - first
    return f"{before}{text[first:last]}{after}", start + shift, min(end, last) + shift


def unknown_name(kind: str, name: str, known: Iterable[str], otherwise: str | None = None, of: str = "") -> IrcError:
    """A name of that kind which there is not, with names that are like it; where there are none, what is said
    `otherwise`, or all that are known."""
    from difflib import get_close_matches

    names = list(known)
    close = get_close_matches(name, names)
    hint = f"did you mean {' or '.join(map(repr, close))}?" if close else otherwise
    return IrcError(f"unknown {kind} '{name}'{of}", None, f"known: {', '.join(names)}" if hint is None else hint)
