"""What passes did: the lines that each took away and put in."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

CONTEXT = 2
"""Lines around a change that are shown."""

MOST_SHOWN = 400
"""Lines of a pass that are shown: beyond, one reads the levels."""

_NOISE = re.compile(r'%\d+|(?:, )?irc\.after = "[^"]*"')
"""The numbers of values, and the note of the pass that a module had."""


@dataclass(frozen=True)
class Change:
    """A pass that ran. lines: its diff, each with `+`, `-`, ` ` or `@` in front; `@` says how many lines are left out.
    added, removed: lines in all."""

    name: str
    seconds: float
    lines: Sequence[str]
    added: int
    removed: int


def change(name: str, seconds: float, before: str, after: str) -> Change:
    """Of a pass between two texts. Lines that differ by the numbers of values alone are the same: a pass that puts in
    one op moves all numbers behind it."""
    old, new = before.splitlines(), after.splitlines()
    bare_old, bare_new = ([_NOISE.sub("", line) for line in text] for text in (old, new))
    if bare_old == bare_new:
        return Change(name, seconds, (), 0, 0)
    matcher = SequenceMatcher(None, bare_old, bare_new)
    blocks = matcher.get_opcodes()
    removed = sum(end - begin for kind, begin, end, _, _ in blocks if kind != "equal")
    added = sum(end - begin for kind, _, _, begin, end in blocks if kind != "equal")
    lines = list(_shown(blocks, old, new))
    if len(lines) > MOST_SHOWN:
        lines = [*lines[:MOST_SHOWN], f"@ {len(lines) - MOST_SHOWN} more lines: see the levels"]
    return Change(name, seconds, lines, added, removed)


def _shown(blocks: Sequence[tuple[str, int, int, int, int]], old: Sequence[str], new: Sequence[str]) -> Iterator[str]:
    """Changes with some lines around them."""
    for number, (kind, first, last, begin, end) in enumerate(blocks):
        if kind != "equal":
            yield from (f"-{line}" for line in old[first:last])
            yield from (f"+{line}" for line in new[begin:end])
            continue
        head = 0 if number == 0 else CONTEXT
        tail = 0 if number == len(blocks) - 1 else CONTEXT
        hidden = end - begin - head - tail
        if hidden <= 1:
            yield from (f" {line}" for line in new[begin:end])
            continue
        yield from (f" {line}" for line in new[begin : begin + head])
        yield f"@ {hidden} lines"
        yield from (f" {line}" for line in new[end - tail : end])
