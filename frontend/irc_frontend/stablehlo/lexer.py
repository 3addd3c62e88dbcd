"""Tokens of StableHLO's text."""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass

from irc.support.diagnostics import IrcError, Span

_TOKEN = re.compile(
    r"""(?P<space>\s+|//[^\n]*)
    |(?P<string>"(?:[^"\\]|\\.)*")
    |(?P<type>tensor<[^>]*>)
    |(?P<literal>(?:dense|array|dense_resource)<[^>]*>)
    |(?P<attribute>\#[\w.]+(?:<(?:[^>]|(?<=-)>)*>)?)
    |(?P<value>%[\w$.-]+(?:[:\#]\d+)?)
    |(?P<symbol>@(?:[\w$.-]+|"[^"]*"))
    |(?P<block>\^\w+)
    |(?P<number>0x[0-9A-Fa-f]+|-?\d+(?:\.\d*)?(?:[eE][-+]?\d+)?)
    |(?P<word>[A-Za-z_][\w$.]*)
    |(?P<sign>->|[][(){}<>,:=*])""",
    re.VERBOSE,
)


@dataclass(frozen=True)
class Token:
    """A piece of text: its kind, the text, and where it begins."""

    kind: str
    text: str
    start: int


class Tokens:
    """The tokens of a text, one after another. `peek` is the next one; at the end its text is empty."""

    def __init__(self, text: str, name: str):
        self._name = name
        self._starts = [0, *(found.end() for found in re.finditer(r"\n", text))]
        self._tokens: list[Token] = []
        self._next = 0
        place = 0
        while place < len(text):
            found = _TOKEN.match(text, place)
            if found is None:
                raise IrcError(f"unexpected character {text[place]!r}", self.span(Token("", text[place], place)))
            kind = found.lastgroup or ""
            if kind != "space":
                self._tokens.append(Token(kind, found[0], place))
            place = found.end()
        self._end = Token("end", "", len(text))

    @property
    def peek(self) -> Token:
        return self._tokens[self._next] if self._next < len(self._tokens) else self._end

    @property
    def after(self) -> Token:
        """The one behind the next."""
        return self._tokens[self._next + 1] if self._next + 1 < len(self._tokens) else self._end

    def take(self, text: str = "", kind: str = "") -> Token:
        """The next token, which has this text or is of this kind."""
        found = self.peek
        if found is self._end or (text and found.text != text) or (kind and found.kind != kind):
            raise IrcError(f"expected {text or kind or 'more'}, found {found.text or 'the end'}", self.span(found))
        self._next += 1
        return found

    def optional(self, text: str) -> bool:
        """Takes the next token if it has this text."""
        if self.peek.text != text:
            return False
        self._next += 1
        return True

    def span(self, token: Token) -> Span:
        line = bisect_right(self._starts, token.start)
        column = token.start - self._starts[line - 1] + 1
        return Span(self._name, line, column, column + max(1, len(token.text)))
