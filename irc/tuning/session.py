"""Tuning kernels: generations of candidates are compiled and timed until the time is up or there is nothing to try."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from irc.configs.alone import config_text
from irc.configs.space import ConfigSpace
from irc.dialects.kernel import ConfigAttr
from irc.support import tuned
from irc.support.diagnostics import IrcError
from irc.support.tuned import KernelKey, Measurement, TunedConfig
from irc.tuning.bench import FAILED, STOPPED, TIMED, Fault
from irc.tuning.search import Trial, best_of, search_named
from irc.tuning.workers import Compilers, Setup, Timing

BUDGET = 10.0
"""Seconds that a kernel is tuned where nobody says."""

MAX_WORKERS = 16

LOSING = 1.2
"""How much longer than the best a call may take before timing stops."""

FINALISTS = 5
"""The best, which are timed again by turns."""

WORTH = 0.01
"""The gain over the heuristic's config from which on another is kept: less is noise."""

PATIENCE = 3
"""How many times as long as the heuristic's a candidate may take to compile and to be timed, its process started."""

SHARE = 4
"""A candidate may take this part of the budget, too: so some are timed beside one that hangs."""

COMPILING = 0.75
"""Of the time that is left, what a generation may be compiled for where it is timed afterwards."""

SHOWN_REASONS = 3
"""Of faults in the summary."""


@dataclass(frozen=True)
class Settings:
    """budget: seconds for each kernel, without the first measurement and the last. search: a name of `SEARCHES`. seed:
    of what is drawn. workers: processes that compile; as many as there are cores where it is None.
    compile_timeout, run_timeout: seconds that a candidate may take at most to compile, and to be timed; fewer where the
    heuristic's took far fewer, and the budget is small."""

    budget: float = BUDGET
    search: str = "auto"
    seed: int = 0
    workers: int | None = None
    compile_timeout: float = 60.0
    run_timeout: float = 20.0

    @property
    def worker_count(self) -> int:
        return self.workers or min(os.cpu_count() or 1, MAX_WORKERS)

    def patience(self, longest: float, base: float) -> float:
        """Seconds until a candidate counts as hung, where the heuristic's took `base`."""
        return min(longest, max(self.budget / SHARE, PATIENCE * base))


@dataclass(frozen=True)
class Subject:
    """A kernel that is tuned. job: what the bench compiles for a config. chip: the architecture that is timed."""

    name: str
    key: KernelKey
    chip: str
    space: ConfigSpace
    job: Callable[[ConfigAttr], Any]


@dataclass(frozen=True)
class Outcome:
    """What was found. seconds, heuristic: of a call with the config, and with the heuristic's. is_interrupted: by
    Ctrl-C."""

    config: ConfigAttr
    seconds: float
    heuristic: float
    trials: tuple[Trial, ...]
    took: float
    is_interrupted: bool = False

    @property
    def gain(self) -> float:
        return self.heuristic / self.seconds


Log = Callable[[str], None]


class Tuner:
    """Tunes kernels one after another, with processes that stay. overlaps: whether candidates are timed while others
    are compiled, as on a GPU; on a CPU that would disturb the times."""

    def __init__(self, compiling: Setup, timing: Setup, settings: Settings, log: Log, *, overlaps: bool):
        self._settings, self._log, self._overlaps = settings, log, overlaps
        self._compilers = Compilers(compiling, settings.worker_count)
        self._timing = Timing(timing)

    def close(self) -> None:
        """Ends the processes."""
        self._compilers.close()
        self._timing.close()

    def tune(self, subject: Subject) -> Outcome:
        """Searches for the subject's config, and keeps it and all measurements in the database. Ctrl-C ends the search,
        and the best so far is taken. IrcError where the heuristic's own config cannot be compiled or timed."""
        session = _Session(self._compilers, self._timing, self._settings, self._log, subject, self._overlaps)
        try:
            found = session.run()
        except IrcError:
            _keep(session.trials, subject)
            raise
        config = TunedConfig(
            subject.key.kernel,
            subject.key.shapes,
            subject.chip,
            subject.name,
            config_text(found.config),
            found.seconds,
            found.heuristic,
        )
        tuned.keep([config])
        _keep(found.trials, subject)
        for line in _summary(subject, found):
            self._log(line)
        return found


def _keep(trials: Iterable[Trial], subject: Subject) -> None:
    tuned.keep_measurements(subject.key, subject.chip, [_measurement(each, subject) for each in trials])


def _measurement(trial: Trial, subject: Subject) -> Measurement:
    estimate = subject.space.estimate(trial.config)
    return Measurement(config_text(trial.config), trial.outcome, trial.reason, trial.seconds, estimate)


class _Session:
    """The tuning of one kernel."""

    def __init__(
        self, compilers: Compilers, timing: Timing, settings: Settings, log: Log, subject: Subject, overlaps: bool
    ):
        self._compilers, self._timing, self._settings = compilers, timing, settings
        self._log, self._subject, self._overlaps = log, subject, overlaps
        self._trials: dict[ConfigAttr, Trial] = {}
        self._begin = self._deadline = time.monotonic()
        self._compile_timeout, self._run_timeout = settings.compile_timeout, settings.run_timeout

    @property
    def trials(self) -> tuple[Trial, ...]:
        """Without what was compiled of them."""
        return tuple(replace(each, compiled=None) for each in self._trials.values())

    def run(self) -> Outcome:
        begin = time.monotonic()
        base = self._measured_base()
        self._begin = time.monotonic()
        self._deadline = self._begin + self._settings.budget
        is_interrupted = False
        try:
            self._search()
        except KeyboardInterrupt:
            is_interrupted = True
            self._log(f"{self._subject.name}: interrupted, the best so far is taken")
        config, seconds, heuristic = self._final(base, careful=not is_interrupted)
        took = time.monotonic() - begin
        return Outcome(config, seconds, heuristic, self.trials, took, is_interrupted)

    def _measured_base(self) -> Trial:
        """The heuristic's config, the reference of others."""
        config, name = self._subject.space.seeds[0], self._subject.name
        begin = time.monotonic()
        compiled = self._compilers.first(
            self._subject.job(config), timeout=self._compile_timeout, waits=not self._overlaps
        )
        done = time.monotonic()
        try:
            if isinstance(compiled, Fault):
                raise compiled
            seconds = self._timing.refer(compiled, self._run_timeout).seconds
        except Fault as fault:
            self._trials[config] = Trial(config, fault.outcome, fault.reason)
            raise IrcError(f"{name} cannot be tuned, its own config {fault.outcome}: {fault.reason}") from fault
        self._compile_timeout = self._settings.patience(self._compile_timeout, done - begin)
        self._run_timeout = self._settings.patience(self._run_timeout, time.monotonic() - done)
        trial = Trial(config, TIMED, seconds=seconds, compiled=compiled)
        self._trials[config] = trial
        self._log(f"{name}: the heuristic's takes {_time(seconds)}, {config_text(config)}")
        return trial

    def _search(self) -> None:
        search = search_named(self._settings.search, self._subject.space, self._settings.seed)
        number = 0
        while self._left() > 0 and (configs := search.following(self._trials)):
            number += 1
            found = [self._trial(config, compiled) for config, compiled in self._compiled(configs)]
            if found:
                self._log(self._line(number, found))

    def _left(self) -> float:
        return self._deadline - time.monotonic()

    def _compiled(self, configs: Sequence[ConfigAttr]) -> Iterable[tuple[ConfigAttr, Any]]:
        """What becomes of each config, up to the deadline. What is not compiled by then can be tried again."""
        jobs = {config: self._job(config) for config in configs}
        possible = [config for config, job in jobs.items() if not isinstance(job, Fault)]
        yield from ((config, job) for config, job in jobs.items() if isinstance(job, Fault))
        deadline = self._deadline - (0 if self._overlaps else (1 - COMPILING) * self._left())
        done = self._compilers.compile([jobs[c] for c in possible], timeout=self._compile_timeout, deadline=deadline)
        for number, compiled in done if self._overlaps else list(done):
            if self._left() > 0:
                yield possible[number], compiled

    def _job(self, config: ConfigAttr) -> Any:
        """What is compiled, or a `Fault` where that cannot be written down."""
        try:
            return self._subject.job(config)
        except IrcError as error:
            return Fault(FAILED, error.message)

    def _trial(self, config: ConfigAttr, compiled: Any) -> Trial:
        try:
            if isinstance(compiled, Fault):
                raise compiled
            limit = LOSING * (best_of(self._trials, 1)[0].seconds or 0.0)
            found = self._timing.measure(compiled, limit, self._run_timeout)
            outcome = STOPPED if found.is_stopped else TIMED
            trial = Trial(config, outcome, seconds=found.seconds, compiled=compiled)
        except Fault as fault:
            trial = Trial(config, fault.outcome, fault.reason)
        self._trials[config] = trial
        return trial

    def _line(self, number: int, found: Sequence[Trial]) -> str:
        """Of a generation, as Helion has it: what became of its configs, and the best so far."""
        counts: dict[str, int] = {}
        for each in found:
            counts[each.outcome] = counts.get(each.outcome, 0) + 1
        best = best_of(self._trials, 1)[0]
        outcomes = " ".join(f"{outcome}={count}" for outcome, count in sorted(counts.items()))
        timed = sorted(each.seconds for each in found if each.seconds is not None)
        spread = f"min={_time(timed[0])} mid={_time(timed[len(timed) // 2])} max={_time(timed[-1])} " if timed else ""
        elapsed = time.monotonic() - self._begin
        result = f"best={_time(best.seconds or 0.0)} {config_text(best.config)}"
        return f"[{elapsed:.1f}s] generation {number}: {outcomes} {spread}{result}"

    def _final(self, base: Trial, *, careful: bool) -> tuple[ConfigAttr, float, float]:
        """The best of a comparison by turns, its seconds and those of the heuristic's config, which stays where nothing
        is better. Candidates that turn out to be wrong are recorded."""
        timed = {config: each for config, each in self._trials.items() if each.outcome == TIMED}
        finalists = [each for each in best_of(timed, FINALISTS) if each.config != base.config]
        seconds = {each.config: each.seconds or 0.0 for each in (base, *finalists)}
        if careful and finalists:
            seconds = self._ranked([base, *finalists]) or seconds
        heuristic = seconds[base.config]
        best = min(seconds, key=lambda config: seconds[config])
        if seconds[best] > heuristic * (1 - WORTH):
            best = base.config
        return best, seconds[best], heuristic

    def _ranked(self, finalists: Sequence[Trial]) -> dict[ConfigAttr, float] | None:
        """Seconds of each that is right; None where they could not be compared."""
        try:
            timeout = len(finalists) * self._settings.run_timeout
            found = self._timing.rank([each.compiled for each in finalists], timeout)
        except Fault as fault:
            self._log(f"{self._subject.name}: the best were not compared again: {fault.reason}")
            return None
        seconds: dict[ConfigAttr, float] = {}
        for trial, result in zip(finalists, found, strict=True):
            if isinstance(result, Fault):
                self._trials[trial.config] = Trial(trial.config, result.outcome, result.reason)
            else:
                seconds[trial.config] = result
                self._trials[trial.config] = replace(trial, outcome=TIMED, seconds=result)
        return seconds if finalists[0].config in seconds else None


def _summary(subject: Subject, found: Outcome) -> list[str]:
    """What was tried, what was wrong with it, and the config to paste."""
    faults = [each for each in found.trials if each.seconds is None]
    reasons = list(dict.fromkeys(f"{each.outcome}: {each.reason}" for each in faults))
    lines = [f"{subject.name}: skipped {reason}" for reason in reasons[:SHOWN_REASONS]]
    if len(reasons) > SHOWN_REASONS:
        lines.append(f"{subject.name}: skipped for {len(reasons) - SHOWN_REASONS} more reasons")
    speed = f"{_time(found.heuristic)} -> {_time(found.seconds)}, {found.gain:.3f}x"
    lines.append(f"{subject.name}: {speed}, {len(found.trials)} configs in {found.took:.1f} s")
    lines.append(f"    config<{config_text(found.config)}>")
    lines.append(f"    config={python_config(found.config)}")
    return lines


def python_config(config: ConfigAttr) -> str:
    """As `@kernel` takes it."""
    from irc.dialects.kernel.config import checks

    values = {name: getattr(config.data, name) for name in checks()}
    plain = {name: dict(v) if name == "tile" else v for name, v in values.items() if v is not None}
    return repr(plain)


def _time(seconds: float) -> str:
    """In the unit that suits it."""
    for unit, scale in (("s", 1.0), ("ms", 1e3), ("us", 1e6)):
        if seconds * scale >= 1:
            return f"{seconds * scale:.4g} {unit}"
    return f"{seconds * 1e6:.3g} us"
