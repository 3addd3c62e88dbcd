"""Builds a dataset: processes plan programs and compile candidates, one more times each kernel's when all are compiled.

Kernels come one after another: what an earlier program needs goes first, so that little is under way when the time is
up. Rows of a kernel are written together when it is timed.
"""

from __future__ import annotations

import queue
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import Any

from irc.driver.measuring import CompiledJob
from irc.driver.tuning import COMPILE_MEMORY
from irc.tuning.bench import STOPPED, TIMED, Fault
from irc.tuning.session import Settings
from irc.tuning.workers import Setup, Timing
from irc_tools.dataset.crew import Crew, arrivals
from irc_tools.dataset.planning import Built, Plan, PlanJob
from irc_tools.dataset.rows import COMPILED, Row
from irc_tools.dataset.sources import Source

COMPILING = Setup("irc_tools.dataset.planning:DatasetCompiler", memory=COMPILE_MEMORY)
TIMING = Setup("irc.driver.measuring:CudaBench")

SLOW = 3.0
"""How much longer than the heuristic's config a candidate may take before timing stops."""

AHEAD = 16
"""Programs that are planned before the candidates of the first of them are compiled."""

Log = Callable[[str], None]
Key = tuple[str, str]


@dataclass(frozen=True)
class Wanted:
    """What is built. count: of configs of each kernel, without the heuristic's. done: identities of rows
    (`irc_tools.dataset.rows`) that there are."""

    arch: str
    count: int
    seed: int
    done: Collection[tuple[str, ...]] = ()

    def is_done(self, plan: Plan, config: str) -> bool:
        return (plan.key.kernel, plan.key.shapes, plan.chip, config) in self.done


@dataclass
class _Kernel:
    """A kernel under way. compiled: or a `Fault`, by candidate."""

    plan: Plan
    compiled: dict[int, Any] = field(default_factory=dict[int, Any])


class Pipeline:
    """Has the candidates of programs' kernels compiled by a crew."""

    def __init__(self, crew: Crew, sources: Sequence[Source], wanted: Wanted, log: Log):
        self._crew, self._wanted, self._log = crew, wanted, log
        self._ready: queue.SimpleQueue[_Kernel | None] = queue.SimpleQueue()
        self._known: set[Key] = set()
        self._left = len(sources)
        """Jobs that are not done."""
        for number, source in enumerate(sources):
            job = PlanJob(source, wanted.arch, wanted.count, wanted.seed)
            self._crew.put((number - AHEAD,), job, partial(self._planned, source, number))

    def kernels(self, deadline: float) -> Iterator[tuple[Plan, list[Built | Fault]]]:
        """Kernels whose candidates are compiled, and what became of each. Ends with the programs, or at the
        deadline."""
        for kernel in arrivals(self._ready, deadline):
            yield kernel.plan, [kernel.compiled[number] for number in range(len(kernel.plan.candidates))]

    def _planned(self, source: Source, order: int, found: Any) -> None:
        if isinstance(found, Fault):
            self._log(f"{source.name}: {found.outcome}: {found.reason}")
        else:
            for plan in found:
                self._start(plan, order)
        self._done()

    def _compiled(self, kernel: _Kernel, number: int, found: Any) -> None:
        kernel.compiled[number] = found
        if len(kernel.compiled) == len(kernel.plan.candidates):
            self._ready.put(kernel)
        self._done()

    def _done(self) -> None:
        self._left -= 1
        if self._left == 0:
            self._ready.put(None)

    def _start(self, plan: Plan, order: int) -> None:
        """Compiles what is not done of a kernel, and its heuristic's config; nothing where that is all or is known."""
        first, *others = plan.candidates
        left = [each for each in others if not self._wanted.is_done(plan, each.config)]
        key = plan.key.kernel, plan.key.shapes
        if key in self._known or not (left or not self._wanted.is_done(plan, first.config)):
            return
        self._known.add(key)
        kernel = _Kernel(replace(plan, candidates=(first, *left)))
        self._left += len(kernel.plan.candidates)
        for number, candidate in enumerate(kernel.plan.candidates):
            self._crew.put((order,), candidate.job, partial(self._compiled, kernel, number))


@dataclass(frozen=True)
class Result:
    """What became of a candidate. seconds: of a call, where it was timed."""

    outcome: str
    reason: str = ""
    seconds: float | None = None

    @staticmethod
    def of(fault: Fault) -> Result:
        return Result(fault.outcome, fault.reason)


Builts = Sequence[Built | Fault]


def not_timed(built: Builts) -> list[Result | None]:
    """What is known of candidates where nothing is timed."""
    return [Result.of(each) if isinstance(each, Fault) else Result(COMPILED) for each in built]


def timed(timing: Timing, built: Builts, settings: Settings, deadline: float) -> list[Result | None]:
    """Results of candidates; None of those that there is no time for. The first is what others are compared with: where
    it cannot be timed, none is. Those that are not much slower are timed again at the end, by turns."""
    found = [Result.of(each) if isinstance(each, Fault) else None for each in built]
    jobs = {number: each.compiled for number, each in enumerate(built) if isinstance(each, Built)}
    if 0 not in jobs:
        return found
    try:
        reference = timing.refer(jobs[0], settings.run_timeout).seconds
    except Fault as fault:
        return [Result.of(fault), *found[1:]]
    found[0] = Result(TIMED, seconds=reference)
    for number in list(jobs)[1:]:
        if time.monotonic() > deadline:
            break
        found[number] = measured(timing, jobs[number], SLOW * reference, settings)
    timed_ones = [n for n in jobs if (result := found[n]) is not None and result.outcome == TIMED]
    for number, again in zip(timed_ones, _by_turns(timing, [jobs[n] for n in timed_ones], settings), strict=False):
        found[number] = again
    return found


def measured(timing: Timing, job: CompiledJob, limit: float, settings: Settings) -> Result:
    """What becomes of a candidate, which is stopped where it takes longer than the limit."""
    try:
        found = timing.measure(job, limit, settings.run_timeout)
    except Fault as fault:
        return Result.of(fault)
    return Result(STOPPED if found.is_stopped else TIMED, seconds=found.seconds)


def _by_turns(timing: Timing, jobs: Sequence[CompiledJob], settings: Settings) -> list[Result]:
    """Results of a comparison with care; none where that cannot be made."""
    try:
        found = timing.rank(jobs, len(jobs) * settings.run_timeout)
    except Fault:
        return []
    return [Result.of(each) if isinstance(each, Fault) else Result(TIMED, seconds=each) for each in found]


def rows_of(plan: Plan, built: Builts, results: Sequence[Result | None], machine: Mapping[str, Any]) -> list[Row]:
    """The rows of a kernel's candidates that there are results of."""
    found: list[Row] = []
    for candidate, each, result in zip(plan.candidates, built, results, strict=True):
        if result is None:
            continue
        found.append(
            {
                "program": plan.program,
                "kind": plan.kind,
                "kernel": plan.key.kernel,
                "shapes": plan.key.shapes,
                "chip": plan.chip,
                "config": candidate.config,
                **asdict(result),
                "estimate": candidate.estimate,
                "parts": {name: float(f"{value:.6g}") for name, value in candidate.parts.items()},
                "resources": {} if isinstance(each, Fault) else each.resources,
                "machine": machine,
                "text": plan.key.text,
            }
        )
    return found
