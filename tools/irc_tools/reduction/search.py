"""The search for smaller IR that a test accepts: greedy, by delta debugging.

For each strategy, edits are made in large groups first, then in smaller ones, down to one by one; what is accepted is
where the search goes on. It ends where no edit is accepted, or the time is over.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field

from xdsl.dialects.builtin import ModuleOp

from irc.driver.program import new_context
from irc.ir.parser import parse_ir
from irc.ir.printer import print_ir
from irc.ir.verification import verify
from irc_tools.reduction.edits import Strategy, erase_ops, inline_regions, replace_results
from irc_tools.reduction.numbers import drop_attributes, drop_names, shrink_extents, simplify_constants
from irc_tools.reduction.signatures import cut_values, drop_arguments, drop_carried, drop_returns

STRATEGIES: tuple[Strategy, ...] = (
    erase_ops,
    drop_returns,
    cut_values,
    replace_results,
    inline_regions,
    drop_carried,
    drop_arguments,
    shrink_extents,
    simplify_constants,
    drop_attributes,
    drop_names,
)

_NUMBER = re.compile(r"(?<![\w.%#])\d+|(?<=\dx)\d+")


@dataclass(order=True)
class Cost:
    """What gets smaller."""

    ops: int
    numbers: int
    """The sum of all in the text."""
    characters: int


def cost_of(module: ModuleOp) -> Cost:
    text = print_ir(module)
    return Cost(sum(1 for _ in module.walk()), sum(map(int, _NUMBER.findall(text))), len(text))


@dataclass
class Search:
    """best: the module, then the smallest that is accepted. accepts: the test. deadline: by time.monotonic."""

    best: ModuleOp
    accepts: Callable[[ModuleOp], bool]
    deadline: float
    tests: int = 0
    _seen: set[str] = field(default_factory=set[str])

    def run(self) -> None:
        """Searches until the time is over, or no edit is accepted."""
        before = None
        while before is not self.best and not self.is_over():
            before = self.best
            for strategy in STRATEGIES:
                self._reduce(strategy)

    def is_over(self) -> bool:
        return time.monotonic() >= self.deadline

    def _reduce(self, strategy: Strategy) -> None:
        """With groups of edits of all sizes, each half of the one before."""
        size = len(strategy(self.best.clone()))
        while size:
            first = 0
            while not self.is_over() and (copy := self._edited(strategy, first, size)) is not None:
                if self._is_better(copy):
                    self.best = copy
                else:
                    first += size
            size //= 2

    def _edited(self, strategy: Strategy, first: int, size: int) -> ModuleOp | None:
        """A copy after some edits; None where there are none any more."""
        copy = self.best.clone()
        edits = strategy(copy)[first : first + size]
        with suppress(Exception):  # one that does not fit; what it leaves is verified
            for edit in edits:
                edit()
        return copy if edits else None

    def _is_better(self, copy: ModuleOp) -> bool:
        """Whether a candidate is smaller, valid and accepted."""
        try:
            text = print_ir(copy)
            if text in self._seen or cost_of(copy) >= cost_of(self.best):
                return False
            self._seen.add(text)
            verify(parse_ir(new_context(), text, "<candidate>"))
        except Exception:  # what cannot even be printed, too
            return False
        self.tests += 1
        return self.accepts(copy)
