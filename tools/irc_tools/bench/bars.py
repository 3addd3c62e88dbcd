"""Bars: what a row has to reach against another variant of the same run."""

from __future__ import annotations

import re
from dataclasses import dataclass

from irc.support.diagnostics import IrcError

LIMITS = ("copy", "read")
"""What the chip itself allows: a device-to-device copy of as many bytes, reading the inputs once."""

HOST = ("launches", "bound")
"""Of the clock `host`: the driver's launches alone, and a call whose arrays are bound."""

TRITON = "triton"

COMPILERS = ("compile", "max-autotune", "reduce-overhead")
"""Modes of torch's own compiler."""

PEERS = ("eager", *COMPILERS, TRITON)
"""Ways in which torch runs the same work, and a kernel of Triton that does, in the order of tables."""

RIVAL = "rival"
"""A second irc program of the row."""

BEFORE = "before"
"""The row's program as another tree of irc compiles it."""

BEST = "best"
"""The fastest of the peers that were measured."""

AGAINST = (*LIMITS, *HOST, *PEERS, RIVAL, BEFORE, BEST)

SLACK = 0.01
"""A bar holds when what is reached is at it or within this part of it."""

_BAR = re.compile(r"(?:(<=\s*)?(\d+(?:\.\d+)?)\s+of|<=\s*(\d+(?:\.\d+)?)\s+us\s+(beyond|for))\s+([a-z-]+)")


@dataclass(frozen=True)
class Bar:
    """`0.95 of copy`: at least 0.95 of the copy's speed. `<= 0.97 of best`: at most 0.97 of the best peer's time.
    `<= 12 us beyond launches`: at most so much longer than it. `<= 5 us for bound`: it takes at most so long itself."""

    value: float
    against: str
    of_time: bool
    relation: str = "of"
    """`of`, a ratio; `beyond` or `for`, microseconds."""

    @property
    def limit(self) -> str:
        """`0.95`, `<= 0.97`, `<= 12.00 us`."""
        return f"{'<= ' if self.of_time else ''}{self.value:.2f}{'' if self.relation == 'of' else ' us'}"

    @property
    def text(self) -> str:
        return f"{self.limit} {self.relation} {self.against}"

    def holds(self, reached: float) -> bool:
        """Whether a ratio of times (if `of_time`) or of speeds, or a time, is at the bar, or within 1 % of it."""
        if self.of_time:
            return reached <= self.value * (1 + SLACK)
        return reached >= self.value * (1 - SLACK)


def parse_bar(text: str) -> Bar:
    """The bar of a text; IrcError where it does not read so."""
    match = _BAR.fullmatch(text.strip())
    against = match[5] if match else ""
    if match is None or against not in AGAINST:
        known = ", ".join(AGAINST)
        raise IrcError(f"bar {text!r}: expected '0.95 of copy' or '<= 0.97 of best'", hint=f"it is of {known}")
    if match[3] is not None:
        return Bar(float(match[3]), against, True, match[4])
    return Bar(float(match[2]), against, match[1] is not None)
