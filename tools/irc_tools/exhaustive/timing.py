"""Times configs of a kernel, and keeps what was found of each beside the heuristic's.

The rows are those of a data set (`irc_tools/dataset/rows.py`), with more:

    group      the kernel's kind among `KERNELS`
    order      the config's place in the model's order, null where it is not in it
    ranked     configs that the model ranked
    beside     seconds of the heuristic's config, timed beside this one
    by_turns   whether both were timed by turns
    tuned      seconds for which a tuner searched that found it, where one did
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from irc.tuning.bench import TIMED, Fault
from irc.tuning.session import FINALISTS, LOSING, Settings
from irc.tuning.workers import Timing
from irc_tools.dataset.building import Result, measured, rows_of
from irc_tools.dataset.planning import Built, Candidate
from irc_tools.dataset.rows import COMPILED, Row
from irc_tools.exhaustive.compiling import FIRST, Listed

HALF = 8
"""Candidates of which the best is compared with care, too, as the best of the first `FIRST` is."""


@dataclass(frozen=True)
class Try:
    """A config that was tried. order: its place in the model's order. beside: seconds of the heuristic's, timed beside
    it."""

    config: str
    order: int | None
    outcome: str
    seconds: float | None = None
    beside: float | None = None
    by_turns: bool = False
    reason: str = ""

    @property
    def gain(self) -> float:
        """Over the heuristic's config; 0 where it was not timed."""
        return self.beside / self.seconds if self.seconds and self.beside else 0.0

    @staticmethod
    def of(row: Row) -> Try:
        names = ("config", "order", "outcome", "seconds", "beside", "by_turns", "reason")
        return Try(*(row[name] for name in names))


@dataclass
class Kernel:
    """A kernel under way. tuned: the config that a tuner found, and the seconds for which it searched. built: what is
    timed again."""

    listed: Listed
    tries: dict[str, Try] = field(default_factory=dict[str, Try])
    tuned: tuple[str, float] | None = None
    built: dict[str, tuple[Candidate, Built]] = field(default_factory=dict[str, tuple[Candidate, Built]])

    @property
    def heuristic(self) -> str:
        return self.listed.plan.candidates[0].config

    @cached_property
    def orders(self) -> Mapping[str, int | None]:
        return dict(zip((each.config for each in self.listed.plan.candidates), self.listed.orders, strict=True))

    def best(self, count: int, first: int | None = None) -> list[Try]:
        """Of those that were timed, or of the first in the model's order."""
        own = [each for each in self.tries.values() if each.outcome == TIMED]
        ranked = [each for each in own if first is None or (each.order is not None and each.order < first)]
        return sorted(ranked, key=lambda each: -each.gain)[:count]

    @property
    def finalists(self) -> list[str]:
        """What is timed by turns, the heuristic's config first."""
        found = [self.heuristic, *(each.config for each in self.best(FINALISTS))]
        found += [each.config for first in (HALF, FIRST) for each in self.best(1, first)]
        found += [self.tuned[0]] if self.tuned is not None else []
        return [each for each in dict.fromkeys(found) if each in self.built]

    def add(self, config: str, result: Result, beside: float | None, *, by_turns: bool = False) -> None:
        order = self.orders.get(config)
        self.tries[config] = Try(config, order, result.outcome, result.seconds, beside, by_turns, result.reason)


Attempts = Sequence[tuple[Candidate, Built | Fault]]


def visit(
    kernel: Kernel, attempts: Attempts, timing: Timing, settings: Settings, deadline: float, machine: Mapping[str, Any]
) -> list[Row]:
    """Times candidates that were compiled, and by turns those that are best so far; the rows of all of these. Losers
    are stopped early. Nothing is timed where the heuristic's own config cannot be."""
    kernel.built |= {each.config: (each, built) for each, built in attempts if isinstance(built, Built)}
    for candidate, built in attempts:
        if isinstance(built, Fault):
            kernel.add(candidate.config, Result.of(built), None)
    new = [each.config for each, built in attempts if isinstance(built, Built)]
    again: list[str] = []
    if (reference := _referred(kernel, timing, settings)) is not None:
        _measure(kernel, [each for each in new if each != kernel.heuristic], reference, timing, settings, deadline)
        again = _by_turns(kernel, timing, settings)
    builts: dict[str, tuple[Candidate, Built | Fault]] = {each.config: (each, built) for each, built in attempts}
    builts |= kernel.built
    shown = [each for each in dict.fromkeys([*builts, *again]) if each in kernel.tries]
    rows = _rows(kernel, [builts[each] for each in shown if each in builts], machine)
    kernel.built = {name: kernel.built[name] for name in kernel.finalists}
    return rows


def only_compiled(kernel: Kernel, attempts: Attempts) -> None:
    """Notes what became of candidates where nothing is timed."""
    for candidate, built in attempts:
        result = Result.of(built) if isinstance(built, Fault) else Result(COMPILED)
        kernel.add(candidate.config, result, None)
        if isinstance(built, Built) and candidate.config == kernel.heuristic:
            kernel.built[candidate.config] = candidate, built


def _referred(kernel: Kernel, timing: Timing, settings: Settings) -> float | None:
    """Seconds of the heuristic's config, with whose results others are compared."""
    if (own := kernel.built.get(kernel.heuristic)) is None:
        return None
    try:
        seconds = timing.refer(own[1].compiled, settings.run_timeout).seconds
    except Fault as fault:
        kernel.add(kernel.heuristic, Result.of(fault), None)
        return None
    if kernel.heuristic not in kernel.tries:
        kernel.add(kernel.heuristic, Result(TIMED, seconds=seconds), seconds)
    return seconds


def _measure(
    kernel: Kernel, configs: Sequence[str], reference: float, timing: Timing, settings: Settings, deadline: float
) -> None:
    for config in configs:
        if time.monotonic() > deadline:
            return
        limit = LOSING * reference / max(1.0, *(each.gain for each in kernel.best(1)))
        result = measured(timing, kernel.built[config][1].compiled, limit, settings)
        kernel.add(config, result, None if result.seconds is None else reference)


def _by_turns(kernel: Kernel, timing: Timing, settings: Settings) -> list[str]:
    """Compares the finalists with care; which were."""
    finalists = kernel.finalists
    jobs = [kernel.built[each][1].compiled for each in finalists]
    try:
        found = timing.rank(jobs, len(jobs) * settings.run_timeout)
    except Fault:
        return []
    if isinstance(beside := found[0], Fault):
        return []
    for config, seconds in zip(finalists, found, strict=True):
        if isinstance(seconds, Fault):
            kernel.add(config, Result.of(seconds), None)
        else:
            kernel.add(config, Result(TIMED, seconds=seconds), beside, by_turns=True)
    return finalists


def _rows(kernel: Kernel, attempts: Attempts, machine: Mapping[str, Any]) -> list[Row]:
    listed, tries = kernel.listed, [kernel.tries[each.config] for each, _ in attempts]
    plan = replace(listed.plan, candidates=tuple(each for each, _ in attempts))
    results = [Result(each.outcome, each.reason, each.seconds) for each in tries]
    rows = rows_of(plan, [built for _, built in attempts], results, machine)
    return [_row(kernel, row, each) for row, each in zip(rows, tries, strict=True)]


def _row(kernel: Kernel, row: Row, own: Try) -> Row:
    more = {"group": kernel.listed.group, "order": own.order, "ranked": kernel.listed.ranked, "beside": own.beside}
    tuned = {"tuned": kernel.tuned[1]} if kernel.tuned is not None and kernel.tuned[0] == own.config else {}
    return {**row, **more, "by_turns": own.by_turns, **tuned}
