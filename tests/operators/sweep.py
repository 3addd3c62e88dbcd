"""All operators of PyTorch's own tests through torch.compile, in several processes, and the table of what was found.

    python tests/operators/sweep.py                       # every sample: an hour or two on two cores
    python tests/operators/sweep.py --samples 4 --only add --only 'linalg.*'
    python tests/operators/sweep.py --resume              # go on where one was stopped, or had the first samples alone

Operators with few samples come first, so that a run that was stopped has most of them.

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
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

import samples
import windows
from checking import check
from outcomes import Outcome
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from table import rows, summary, table, wholly_compiled

from irc_tools.machine import describe

Task = tuple[int, str]
"""The number of an operator in `samples.operators()`, and an element type."""


@dataclass(frozen=True)
class Settings:
    """limit: samples of an operator, None for all. seconds: for one operator with one element type."""

    backend: str
    limit: int | None
    seconds: float


def main(argv: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(argv)
    settings = Settings(options.backend, options.samples, options.seconds)
    operators = samples.operators()
    known = _read(options.records) if options.resume else []
    done = {(outcome.name, outcome.dtype) for outcome in known if outcome.limit in (None, options.samples)}
    tasks = [
        (number, element)
        for number, op in enumerate(operators)
        for element in options.dtype or samples.USUAL
        if samples.has(op, element)
        and _is_wanted(samples.name_of(op), options.only)
        and (not options.windows or _is_wanted(samples.name_of(op), windows.PATTERNS))
        and (samples.name_of(op), element) not in done
    ]
    tasks.sort(key=lambda task: samples.count(operators[task[0]], samples.DTYPES[task[1]], options.samples))
    options.records.parent.mkdir(parents=True, exist_ok=True)
    doing = {(samples.name_of(operators[number]), element) for number, element in tasks}
    outcomes = [outcome for outcome in known if (outcome.name, outcome.dtype) not in doing]
    with options.records.open("a" if options.resume else "w") as records:
        for outcome in _shown(_outcomes(tasks, settings, options.processes), len(tasks)):
            outcomes.append(outcome)
            records.write(json.dumps(outcome.record()) + "\n")
            records.flush()
    if options.table:
        options.table.write_text(table(outcomes))
    if options.json:
        options.json.write_text(json.dumps({"machine": describe(), "operators": rows(outcomes)}, indent=1) + "\n")
    print(summary(outcomes))
    return _status(outcomes, options.at_least)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--backend", default="irc")
    parser.add_argument("--samples", type=int, help="the first samples of an operator alone")
    parser.add_argument("--only", action="append", help="operators whose name matches (a shell pattern)")
    parser.add_argument("--windows", action="store_true", help="the operators of windows and norms alone")
    parser.add_argument("--dtype", action="append", choices=list(samples.DTYPES))
    parser.add_argument("--seconds", type=float, default=900, help="limit for one operator with one element type")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--records", type=Path, default=Path("build/operators.jsonl"))
    parser.add_argument("--resume", action="store_true", help="keep the records and do what they lack")
    parser.add_argument("--table", type=Path, help="where to write the table, in Markdown")
    parser.add_argument("--json", type=Path, help="where to write a record: counts of each operator and element type")
    parser.add_argument("--at-least", type=int, default=0, help="operators that have to leave nothing to torch")
    return parser


def _is_wanted(name: str, patterns: Sequence[str] | None) -> bool:
    return patterns is None or any(fnmatch(name, pattern) for pattern in patterns)


def _read(path: Path) -> list[Outcome]:
    """The last that was found of each operator with each element type."""
    if not path.exists():
        return []
    found = [Outcome.of_record(json.loads(line)) for line in path.read_text().splitlines()]
    return list({(outcome.name, outcome.dtype): outcome for outcome in found}.values())


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
        number, element = task
        started = time.monotonic()
        outcome = check(operators[number], element, settings.limit, settings.backend)
        outcome.seconds = round(time.monotonic() - started, 2)
        connection.send(outcome)


def _without_measuring(*_: Any) -> float:
    """In place of torch's measurement of guards, which flushes caches for each compilation."""
    return 0.0


def _outcomes(tasks: Sequence[Task], settings: Settings, processes: int) -> Iterator[Outcome]:
    """Those of all tasks, as they come."""
    remaining = list(reversed(tasks))
    workers = [_Worker(settings) for _ in range(min(processes, len(tasks)))]
    try:
        while remaining or any(worker.task for worker in workers):
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
            except EOFError:
                outcome = _ended(worker, "the process ended")
            yield outcome
        elif worker.is_late:
            yield _ended(worker, f"not done after {worker.settings.seconds:g} s")


def _ended(worker: _Worker, why: str) -> Outcome:
    assert worker.task is not None
    number, element = worker.task
    worker.replace()
    op = samples.operators()[number]
    outcome = Outcome(op.name, op.variant_test_name, element)
    outcome.forward.failed.append(why)
    return outcome


if __name__ == "__main__":
    sys.exit(main())
