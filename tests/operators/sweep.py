"""All operators of PyTorch's own tests through torch.compile, in several processes, and the table of what was found.

    python tests/operators/sweep.py                       # every sample: an hour or two on two cores
    python tests/operators/sweep.py --samples 4 --only add --only 'linalg.*'
    python tests/operators/sweep.py --resume              # go on where one was stopped, or had the first samples alone
    python tests/operators/sweep.py --resume --minutes 30 --json build/operators.json
    python tests/operators/sweep.py --after build/operators.json   # what that record lacks, on another machine too

The operators take turns, each with its next samples, those with few samples first: a run that was stopped has some of
all. It says which samples lack.

The exit status is 1 where a result was wrong, a call failed, or fewer operators than --at-least left nothing to torch.
"""

from __future__ import annotations

import argparse
import json
import logging
import multiprocessing
import os
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

import samples
import windows
from checking import check
from outcomes import Outcome, joined
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from table import rows, summary, table, wholly_compiled

from irc_tools.machine import describe

TURNS = (2, 8, 32)
"""The samples of an operator that are done after each of its first turns; those after take as many as the last has."""


@dataclass(frozen=True)
class Task:
    """Some samples of an operator, which has a number in `samples.operators()`, with an element type: the first `limit`
    (None for all, which are `count`) without the first `start`."""

    number: int
    element: str
    turn: int
    start: int
    limit: int | None
    count: int

    @property
    def name(self) -> str:
        return samples.name_of(samples.operators()[self.number])

    @property
    def end(self) -> int:
        return self.count if self.limit is None else self.limit


@dataclass(frozen=True)
class Settings:
    """seconds: for one task. minutes: after which none is begun. device: that has the arrays."""

    backend: str
    device: str
    seconds: float
    minutes: float


def main(argv: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(argv)
    settings = Settings(options.backend, options.device, options.seconds, options.minutes)
    earlier = json.loads(options.after.read_text()) if options.after else None
    parts = outcomes_of_record(earlier) if earlier else []
    parts += _read(options.records) if options.resume else []
    wanted = [
        task
        for number, op in enumerate(samples.operators())
        for element in options.dtype or samples.USUAL
        if samples.has(op, element, options.device)
        and _is_wanted(samples.name_of(op), options.only)
        and (not options.windows or _is_wanted(samples.name_of(op), windows.PATTERNS))
        for task in tasks_of(number, element, options.samples, options.device)
    ]
    tasks = lacking(wanted, parts)
    tasks.sort(key=lambda task: (task.turn, task.count))
    options.records.parent.mkdir(parents=True, exist_ok=True)
    with options.records.open("a" if options.resume else "w") as records:
        for outcome in _shown(outcomes_of(tasks, settings, options.processes), len(tasks)):
            parts.append(outcome)
            records.write(json.dumps(outcome.record()) + "\n")
            records.flush()
    outcomes = joined(parts)
    lacks = described(lacking(wanted, parts))
    if options.table:
        options.table.write_text(table(outcomes))
    if options.json:
        found = {"machine": describe(), "device": options.device, "lacking": lacks, "operators": rows(outcomes)}
        if earlier:
            found["earlier"] = [*earlier.get("earlier", []), earlier["machine"]]
        options.json.write_text(json.dumps(found, indent=1) + "\n")
    print(summary(outcomes))
    if lacks:
        shown = ", ".join([*lacks[:6], *(["..."] if len(lacks) > 6 else [])])
        print(f"{len(lacks)} pairs of operator and element type lack samples, which --resume calls: {shown}")
    return _status(outcomes, options.at_least)


def tasks_of(number: int, element: str, limit: int | None, device: str = "cpu") -> Iterator[Task]:
    """The samples of an operator, the first `limit` alone, in the parts that it takes by turns."""
    count = samples.count(samples.operators()[number], samples.DTYPES[element], limit, device)
    start = turn = 0
    while start < count or not turn:
        end = TURNS[turn] if turn < len(TURNS) else start + TURNS[-1]
        last = count if count == limit else None
        yield Task(number, element, turn, start, end if end < count else last, count)
        start, turn = end, turn + 1


def lacking(tasks: Sequence[Task], parts: Sequence[Outcome]) -> list[Task]:
    """The tasks whose samples were not called."""
    whole = {(outcome.name, outcome.dtype): outcome for outcome in joined(parts)}
    done = {(part.name, part.dtype, part.start, part.limit) for part in parts}
    return [
        task
        for task in tasks
        if (task.name, task.element, task.start, task.limit) not in done
        and not ((found := whole.get((task.name, task.element))) and found.reaches(task.end))
    ]


def described(tasks: Sequence[Task]) -> list[str]:
    """Each operator and element type with the number of its samples that were not called."""
    missing: Counter[tuple[str, str, int]] = Counter()
    for task in tasks:
        missing[task.name, task.element, task.count] += task.end - task.start
    return [f"{name} {element}: {number} of {count}" for (name, element, count), number in missing.items()]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--backend", default="irc")
    parser.add_argument("--device", default="cpu", choices=["cpu", "cuda"], help="the device that has the arrays")
    parser.add_argument("--samples", type=int, help="the first samples of an operator alone")
    parser.add_argument("--only", action="append", help="operators whose name matches (a shell pattern)")
    parser.add_argument("--windows", action="store_true", help="the operators of windows and norms alone")
    parser.add_argument("--dtype", action="append", choices=list(samples.DTYPES))
    parser.add_argument(
        "--seconds", type=float, default=900, help="limit for one turn of an operator, at most 32 samples"
    )
    parser.add_argument("--minutes", type=float, default=float("inf"), help="after which no turn is begun")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--records", type=Path, default=Path("build/operators.jsonl"))
    parser.add_argument("--after", type=Path, help="a record of --json: what it has is not called, and counts")
    parser.add_argument("--resume", action="store_true", help="keep the records and do what they lack")
    parser.add_argument("--table", type=Path, help="where to write the table, in Markdown")
    parser.add_argument("--json", type=Path, help="where to write a record: counts of each operator and element type")
    parser.add_argument("--at-least", type=int, default=0, help="operators that have to leave nothing to torch")
    return parser


def _is_wanted(name: str, patterns: Sequence[str] | None) -> bool:
    return patterns is None or any(fnmatch(name, pattern) for pattern in patterns)


def _read(path: Path) -> list[Outcome]:
    """What was found in earlier runs."""
    if not path.exists():
        return []
    return [Outcome.of_record(json.loads(line)) for line in path.read_text().splitlines()]


def outcomes_of_record(record: Mapping[str, Any]) -> list[Outcome]:
    """What was found in the run that wrote a record of --json."""
    by_name = {samples.name_of(op): op for op in samples.operators()}
    return [
        Outcome.of_row(row, op.name, op.variant_test_name)
        for row in record["operators"]
        if (op := by_name.get(row["name"]))
    ]


def _shown(outcomes: Iterable[Outcome], count: int) -> Iterator[Outcome]:
    """Passes the outcomes on, with a progress bar and a line for each that is wrong or failed."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True)) as progress:
        shown = progress.add_task("operators", total=count)
        for outcome in outcomes:
            for verdict in (outcome.forward, outcome.gradient):
                for problem in [*verdict.wrong[:1], *verdict.failed[:1]]:
                    text = f"{outcome.name} {outcome.dtype}: {verdict.word}: {problem[:600]}"
                    progress.console.print(text, markup=False, highlight=False)
            progress.advance(shown)
            yield outcome


def _status(outcomes: Sequence[Outcome], at_least: int) -> int:
    verdicts = [verdict for outcome in outcomes for verdict in (outcome.forward, outcome.gradient)]
    if any(verdict.wrong or verdict.failed for verdict in verdicts):
        return 1
    return int(len(wholly_compiled(outcomes)) < at_least)


class _Worker:
    """A process that checks one operator after another; it is replaced when one takes too long or ends it."""

    def __init__(self, settings: Settings):
        self.settings = settings
        self.task: Task | None = None
        self.started = 0.0
        self._start()

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self.connection, other = context.Pipe()
        self.process = context.Process(target=_work, args=(other, self.settings), daemon=True)
        self.process.start()
        other.close()

    def give(self, task: Task) -> None:
        self.task, self.started = task, time.monotonic()
        self.connection.send(task)

    @property
    def is_late(self) -> bool:
        return self.task is not None and time.monotonic() - self.started > self.settings.seconds

    def replace(self) -> None:
        self.process.kill()
        self.process.join()
        self.connection.close()
        self.task = None
        self._start()

    def end(self) -> None:
        """Lets a process that waits return; kills one that works."""
        if self.task is None:
            self.connection.send(None)
        else:
            self.process.kill()
        self.process.join()


def _work(connection: Connection, settings: Settings) -> None:
    """In a worker: answers a task with its outcome."""
    import torch
    from torch._dynamo import guards

    torch.set_num_threads(1)
    logging.getLogger("torch").setLevel(logging.ERROR)
    torch._dynamo.config.recompile_limit = 1000
    guards.profile_guard_manager = _without_measuring  # pyright: ignore[reportPrivateImportUsage]
    operators = samples.operators()
    while (task := connection.recv()) is not None:
        started = time.monotonic()
        with torch.backends.cudnn.flags(enabled=True, deterministic=True, allow_tf32=False):
            outcome = check(
                operators[task.number], task.element, task.limit, settings.backend, task.start, settings.device
            )
        outcome.seconds = round(time.monotonic() - started, 2)
        connection.send(outcome)


def _without_measuring(*_: Any) -> float:
    """In place of torch's measurement of guards, which flushes caches for each compilation."""
    return 0.0


def outcomes_of(tasks: Sequence[Task], settings: Settings, processes: int) -> Iterator[Outcome]:
    """Those of all tasks, as they come."""
    remaining = list(reversed(tasks))
    last = time.monotonic() + 60 * settings.minutes
    workers = [_Worker(settings) for _ in range(min(processes, len(tasks)))]
    try:
        while remaining or any(worker.task for worker in workers):
            if time.monotonic() > last:
                remaining = []
            for worker in workers:
                if worker.task is None and remaining:
                    worker.give(remaining.pop())
            yield from _answers(workers)
    finally:
        for worker in workers:
            worker.end()


def _answers(workers: Sequence[_Worker]) -> Iterator[Outcome]:
    """What the workers that are done, dead or late have to say."""
    ready = wait([worker.connection for worker in workers if worker.task], timeout=1)
    for worker in workers:
        if worker.task is None:
            continue
        if worker.connection in ready:
            try:
                outcome = worker.connection.recv()
                worker.task = None
            except (EOFError, ConnectionResetError):
                outcome = _ended(worker, "the process ended")
            yield outcome
        elif worker.is_late:
            yield _ended(worker, f"not done after {worker.settings.seconds:g} s")


def _ended(worker: _Worker, why: str) -> Outcome:
    assert worker.task is not None
    task = worker.task
    worker.replace()
    op = samples.operators()[task.number]
    outcome = Outcome(op.name, op.variant_test_name, task.element, start=task.start, limit=task.limit)
    outcome.forward.failed.append(why)
    return outcome


if __name__ == "__main__":
    sys.exit(main())
