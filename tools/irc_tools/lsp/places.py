"""Where a diagnostic is in the text that is open."""

from __future__ import annotations

from irc.support.diagnostics import IrcError, labels, token_end
from irc_tools.lsp.model import Fault, Lines, Range


def fault(error: IrcError, name: str, lines: Lines, otherwise: Range | None = None) -> Fault:
    """An error with its place in the text of that name; where it has none there, what is given, or the first line."""
    span = next((label.span for label in labels(error.location) if label.span.file == name), None)
    if span is None:
        return Fault(error, otherwise or lines.clamped(1, 1))
    return Fault(error, lines.clamped(span.line, span.column, token_end(span)))
