"""In which order kernels have their configs compiled and timed: the first few of each kernel come first, then the rest
of what is listed, then neighbors of the best, until none of these is new or the time is up."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from irc.tuning.bench import Fault
from irc.tuning.search import BEST
from irc_tools.dataset.crew import Crew, arrivals
from irc_tools.dataset.planning import Built, Candidate
from irc_tools.dataset.rows import Row
from irc_tools.exhaustive.compiling import Listed, ListJob, NearJob
from irc_tools.exhaustive.timing import Kernel, Try

WAVES = (9, None)
"""Where waves of listed configs end, the heuristic's own counted in."""

NEAR = 12
"""Neighbors in a wave."""

Log = Callable[[str], None]
Attempt = tuple[Candidate, Built | Fault]


@dataclass
class _Entry:
    """A kernel's place. waiting: jobs of the wave that are not done. attempts: the others."""

    number: int
    job: ListJob
    kernel: Kernel | None = None
    wave: int = 0
    waiting: int = 0
    attempts: list[Attempt] = field(default_factory=list[Attempt])


class Rounds:
    """Has jobs done by a crew. known: rows of an earlier call. extra: a candidate, and the seconds of the search that
    found it, for a program by name."""

    def __init__(
        self,
        crew: Crew,
        jobs: Sequence[ListJob],
        known: Sequence[Row],
        extra: Mapping[str, tuple[Candidate, float]],
        log: Log,
    ):
        self._crew, self._known, self._extra, self._log = crew, known, extra, log
        self._ready: queue.SimpleQueue[_Entry | None] = queue.SimpleQueue()
        self._lock, self._left = threading.Lock(), len(jobs)
        """Kernels with more to try."""
        for number, job in enumerate(jobs):
            entry = _Entry(number, job)
            self._crew.put((0, number), job, partial(self._listed, entry))

    def waves(self, deadline: float) -> Iterator[tuple[Kernel, list[Attempt]]]:
        """What is to be timed next. The next wave of a kernel begins when this one was taken care of. Ends when nothing
        is left, or at the deadline."""
        for entry in arrivals(self._ready, deadline):
            assert entry.kernel is not None
            attempts, entry.attempts = entry.attempts, []
            yield entry.kernel, attempts
            self._go_on(entry, entry.kernel)

    def _listed(self, entry: _Entry, found: Listed | Fault) -> None:
        if isinstance(found, Fault):
            self._log(f"{entry.job.source.name}: {found.outcome}: {found.reason}")
            self._end()
            return
        entry.kernel = kernel = Kernel(found)
        identity = found.plan.key.kernel, found.plan.key.shapes, found.plan.chip
        own = [row for row in self._known if (row["kernel"], row["shapes"], row["chip"]) == identity]
        if any(row["order"] == 0 and row["config"] != kernel.heuristic for row in own):
            self._log(f"{entry.job.source.name}: its rows are beside another heuristic's config: a new file has room")
            self._end()
            return
        kernel.tries |= {row["config"]: Try.of(row) for row in own}
        kernel.tuned = next(((row["config"], row["tuned"]) for row in own if "tuned" in row), None)
        self._start(entry, kernel)

    def _start(self, entry: _Entry, kernel: Kernel) -> None:
        """Has the listed configs up to the end of the next wave compiled that were not tried."""
        while entry.wave < len(WAVES):
            listed = kernel.listed.plan.candidates[: WAVES[entry.wave]]
            entry.wave += 1
            wanted = [each for each in listed if each.config not in kernel.tries]
            if entry.wave == 1 and entry.job.source.name in self._extra:
                wanted += self._found(entry, kernel)
            if wanted:
                self._compile(entry, kernel, wanted)
                return
        self._look_around(entry, kernel)

    def _found(self, entry: _Entry, kernel: Kernel) -> list[Candidate]:
        candidate, seconds = self._extra[entry.job.source.name]
        kernel.tuned = candidate.config, seconds
        is_listed = any(each.config == candidate.config for each in kernel.listed.plan.candidates[: WAVES[0]])
        return [] if is_listed else [candidate]

    def _compile(self, entry: _Entry, kernel: Kernel, wanted: Sequence[Candidate]) -> None:
        """And the heuristic's, with which they are compared, and those that were best in an earlier call."""
        best = {each.config for each in kernel.best(BEST)}
        first, *others = kernel.listed.plan.candidates
        again = [first, *(each for each in others if each.config in best)]
        missing = [each for each in again if each.config not in kernel.built and each not in wanted]
        jobs = [*missing, *wanted]
        entry.waiting = len(jobs)
        for each in jobs:
            self._crew.put((entry.wave, entry.number), each.job, partial(self._compiled, entry, each))

    def _compiled(self, entry: _Entry, candidate: Candidate, found: Built | Fault) -> None:
        entry.attempts.append((candidate, found))
        entry.waiting -= 1
        if not entry.waiting:
            self._ready.put(entry)

    def _go_on(self, entry: _Entry, kernel: Kernel) -> None:
        if kernel.heuristic not in kernel.built:
            self._end()
        elif entry.wave < len(WAVES):
            self._start(entry, kernel)
        else:
            self._look_around(entry, kernel)

    def _look_around(self, entry: _Entry, kernel: Kernel) -> None:
        best = tuple(each.config for each in kernel.best(BEST))
        entry.wave += 1
        job = NearJob(entry.job, best, frozenset(kernel.tries), NEAR)
        self._crew.put((entry.wave, entry.number), job, partial(self._near, entry, kernel))

    def _near(self, entry: _Entry, kernel: Kernel, found: list[Candidate] | Fault) -> None:
        if isinstance(found, Fault) or not found:
            self._end()
        else:
            self._compile(entry, kernel, found)

    def _end(self) -> None:
        with self._lock:
            self._left -= 1
            if not self._left:
                self._ready.put(None)
