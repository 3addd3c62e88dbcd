"""`irc-bench before TREE`: rows that another tree of irc compiles to other machine code, and the times of both.

Each tree has a process of its own (`tree.py`), so that nothing of one is in the other. They take turns of a few blocks
of calls; which goes first moves on.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from base64 import b64decode
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from irc.driver.compiler import resolve_arch
from irc.support.diagnostics import IrcError
from irc_tools.bench.bars import BEFORE, Bar
from irc_tools.bench.record import RowRecord
from irc_tools.bench.rows import Row, Summary
from irc_tools.bench.statistics import IRC
from irc_tools.bench.suite import FOLDER
from irc_tools.bench.timing import Settings
from irc_tools.machine_code import ROOT, environment_of, text_of

BAR = Bar(1.0, BEFORE, of_time=False)
SUMMARY = Summary("", "geomean", BAR)
BLOCKS = 3
"""Of calls, in the turn of a tree."""


@dataclass(frozen=True)
class TreeRow:
    """A row of a suite, which has a name, or the path of its file."""

    suite: str
    row: Row

    @property
    def name(self) -> str:
        return f"{Path(self.suite).stem}: {self.row.name}"

    @property
    def given(self) -> dict[str, Any]:
        """What `tree.row_of` takes."""
        if self.row.program:
            names = ("name", "program", "dims", "inputs", "any_order")
            return {name: getattr(self.row, name) for name in names}
        path = self.suite if self.suite.endswith(".toml") else FOLDER / f"{self.suite}.toml"
        return {"suite": str(Path(path).resolve()), "name": self.row.name, "dims": self.row.dims}


class TreeProcess:
    """The process of a tree, by the folder of its checkout. IrcError where that is none, and where a request fails."""

    def __init__(self, root: Path):
        self._root = root
        if not (root / "tools" / "irc_tools" / "bench" / "case.py").is_file():
            raise IrcError(f"{root} is no checkout of irc", hint="git worktree add FOLDER COMMIT makes one")
        self._process = subprocess.Popen(
            [sys.executable, "-P", str(Path(__file__).with_name("tree.py"))],
            cwd=root,
            env=environment_of(root),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            encoding="utf-8",
        )

    def send(self, name: str, *arguments: Any) -> None:
        assert self._process.stdin is not None
        try:
            print(json.dumps([name, *arguments]), file=self._process.stdin, flush=True)
        except BrokenPipeError as error:
            raise IrcError(f"the process of {self._root} has ended") from error

    def answer(self) -> Any:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise IrcError(f"the process of {self._root} has ended")
        found = json.loads(line)
        if "error" in found:
            raise IrcError(f"{self._root}: {found['error']}")
        return found["value"]

    def ask(self, name: str, *arguments: Any) -> Any:
        self.send(name, *arguments)
        return self.answer()

    def close(self) -> None:
        self._process.kill()
        self._process.communicate()


def rows_of(suites: Mapping[str, Sequence[Row]]) -> list[TreeRow]:
    """The rows that trees can run: those that irc compiles without torch and that are timed on the device."""
    return [
        TreeRow(name, row) for name, rows in suites.items() for row in rows if row.is_compiled and row.clock == "device"
    ]


def compare_trees(
    root: Path,
    rows: Sequence[TreeRow],
    settings: Settings,
    done: Callable[[RowRecord], None],
    *,
    is_timed: bool = True,
) -> None:
    """Hands a record to `done` of each row whose machine code differs: irc's times, and those of the tree in `root` as
    `before`. Unless `is_timed` there are none, and no GPU is needed."""
    with ExitStack() as stack:
        trees = {IRC: TreeProcess(ROOT), BEFORE: TreeProcess(root.resolve())}
        for tree in trees.values():
            stack.callback(tree.close)
        processes = max(1, (os.cpu_count() or 1) // len(trees))
        for tree in trees.values():
            tree.send("compile", [each.given for each in rows], resolve_arch(None), processes)
        found = [tree.answer() for tree in trees.values()]
        differing = [
            (each, kernels)
            for each, *kernels in zip(rows, *found, strict=True)
            if any(isinstance(kernel, str) for kernel in kernels) or code_of(kernels[0]) != code_of(kernels[1])
        ]
        print(f"{len(differing)} of {len(rows)} rows have other machine code", file=sys.stderr, flush=True)
        for each, kernels in differing:
            errors = [f"{name}: {found}" for name, found in zip(trees, kernels, strict=True) if isinstance(found, str)]
            record = replace(RowRecord.of(each.row), name=each.name, bars=(BAR.text,), error="; ".join(errors))
            done(_timed(trees, each, record, settings) if is_timed and not errors else record)


def code_of(kernels: Sequence[dict[str, Any]]) -> list[Any]:
    """What runs: the instructions of each kernel and how it is launched. Names may differ."""
    return [(text_of(b64decode(kernel["cubin"])), kernel["launch"]) for kernel in kernels]


def _timed(trees: dict[str, TreeProcess], each: TreeRow, record: RowRecord, settings: Settings) -> RowRecord:
    """One tree after the other makes its arrays; then they take turns."""
    begin = time.perf_counter()
    times: dict[str, list[float]] = {name: [] for name in trees}
    try:
        for tree in trees.values():
            tree.ask("open", each.given, settings.seed, settings.block_seconds)
        for repetition in range(settings.repetitions):
            names = list(trees)[:: 1 if repetition % 2 else -1]
            for name in names:
                times[name] += trees[name].ask("time", BLOCKS)
    except IrcError as error:
        return replace(record, error=error.message)
    finally:
        for tree in trees.values():
            with suppress(IrcError):
                tree.ask("close")
    record = record.timed({name: tuple(round(each, 10) for each in values) for name, values in times.items()})
    return replace(record, took=round(time.perf_counter() - begin, 2))
