"""What is reported while passes run: the IR around them, dumps in a directory, seconds; and whether the IR is verified
behind each. It is the same for every command and for Python.

Nothing of xDSL is imported here: `irc.compile` asks for the reports before it knows whether there is work to do.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Collection
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self, TypeVar

from irc.support.diagnostics import IrcError
from irc.support.files import make_directory, write_text
from irc.support.progress import note_step

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp
    from xdsl.passes import ModulePass

    from irc.driver.compiler import Origin

ResultT = TypeVar("ResultT")

ALL = "all"
"""Stands for every pass in `print_before` and `print_after`."""

VERIFY = "verify"
"""The step of all verifications, which are summed up."""


class Instruments:
    """What watches the passes run on one module. This one sees nothing."""

    verify_each: bool = False
    """Verify the module behind each pass, and look whether what the pass establishes holds."""

    def before(self, entry: ModulePass, module: ModuleOp) -> None:
        """The pass is about to run."""

    def after(self, number: int, entry: ModulePass, module: ModuleOp) -> None:
        """The pass has run, as number `number` of those that the module has."""

    def timed(self, step: str, run: Callable[[], ResultT]) -> ResultT:
        """Runs a step."""
        return run()


class Reports:
    """Reports on every program that is compiled while it is entered; those that were compiled before are compiled
    again, and none comes from a cache:

        with irc.Reports(dump_dir="dumps", time_passes=True) as reports:
            exe = irc.compile(program, target="sim")

    dump_dir: a folder for the IR before the first pass, `00-input.mlir`, and behind each, `01-canonicalize-nd.mlir` and
    so on; files of a second program begin with `module1-`. time_passes: print the seconds of every step on leaving;
    `seconds` has them. verify_each: verify the IR behind each pass, and look whether what it establishes holds.
    print_before, print_after: names of passes, or `all`, around which the IR is printed. print_changed: after those
    alone that change it, beside what is noted of passes on the module. Texts go to standard error.
    generic, locations: how IR is printed, see `print_ir`. reproducers: the folder for reproducers of errors in irc,
    `off` for none, instead of what `IRC_REPRODUCERS` says. report: a file for a page of what
    `irc.compile` compiled, written on leaving (docs/report.md).
    """

    def __init__(
        self,
        *,
        dump_dir: str | Path | None = None,
        time_passes: bool = False,
        verify_each: bool = False,
        print_before: Collection[str] = (),
        print_after: Collection[str] = (),
        print_changed: bool = False,
        generic: bool = False,
        locations: bool = False,
        reproducers: str | Path | None = None,
        report: str | Path | None = None,
    ):
        self._page = None if report is None else check_page(Path(report))
        self._directory = None if dump_dir is None else make_directory(Path(dump_dir))
        self._prints_times = time_passes
        self._names = {"before": print_before, "after": print_after}
        self._only_changed, self._content_before = print_changed, ""
        self._generic, self._locations = generic, locations
        self._modules = 0
        self._outer: Reports | None = None
        self.verify_each = verify_each
        self.reproducers = reproducers
        self.seconds: list[tuple[str, float]] = []
        """Each step that ran, a pass by its name, and how long it took."""
        self.programs: list[Origin] = []
        """What was compiled."""

    def __enter__(self) -> Self:
        global _entered
        self._outer, _entered = _entered, self
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        global _entered
        _entered = self._outer
        if self._prints_times:
            print(self.times(), file=sys.stderr)
        if self._page is not None and error is None:
            self._write(self._page)

    def _write(self, page: Path) -> None:
        from irc.driver.reporting import write_report

        if not self.programs:
            raise IrcError(
                f"no program was compiled for the report {page}", hint="what is compiled already is not again"
            )
        write_report(self.programs, page)

    def watch(self, module: ModuleOp) -> Instruments:
        """What watches a module that was read and has had no pass yet."""
        prefix = f"module{self._modules}-" if self._modules else ""
        self._modules += 1
        self.dump(f"{prefix}00-input", module)
        return _Watch(self, prefix)

    def timed(self, step: str, run: Callable[[], ResultT]) -> ResultT:
        """Runs a step, and notes how long it took."""
        begin = time.perf_counter()
        try:
            return run()
        finally:
            self.seconds.append((step, time.perf_counter() - begin))

    def times(self) -> str:
        """The seconds that were noted: a line for each step in their order, verifications summed up."""
        rows = [(step, seconds) for step, seconds in self.seconds if step != VERIFY]
        rows.append((VERIFY, sum(seconds for step, seconds in self.seconds if step == VERIFY)))
        rows.append(("total", sum(seconds for _, seconds in self.seconds)))
        width = max(len(step) for step, _ in rows)
        return "\n".join(f"{step:<{width}}  {seconds:9.4f} s" for step, seconds in rows)

    def dump(self, name: str, module: ModuleOp) -> None:
        """Writes a file of the folder, where there is one."""
        if self._directory is not None:
            write_text(self._directory / f"{name}.mlir", self._text(module))

    def print_before(self, entry: ModulePass, module: ModuleOp) -> None:
        """Prints the module before a pass, where that is asked for."""
        if self._only_changed and self._is_named("after", entry):
            self._content_before = self._content(module)
        if self._is_named("before", entry):
            self._print("before", entry, self._text(module))

    def print_after(self, entry: ModulePass, module: ModuleOp) -> None:
        """The same after it."""
        if not self._is_named("after", entry):
            return
        if not self._only_changed or self._content(module) != self._content_before:
            self._print("after", entry, self._text(module))

    def _is_named(self, when: str, entry: ModulePass) -> bool:
        return entry.name in self._names[when] or ALL in self._names[when]

    def _print(self, when: str, entry: ModulePass, text: str) -> None:
        print(f"// ----- IR {when} {entry.name} -----\n{text}", file=sys.stderr)

    def _content(self, module: ModuleOp) -> str:
        """The text without what the pass manager notes on the module."""
        from irc.ir.discardable import AFTER
        from irc.ir.targets import TARGET

        kept = module.attributes
        module.attributes = {name: value for name, value in kept.items() if name not in (AFTER, TARGET)}
        try:
            return self._text(module)
        finally:
            module.attributes = kept

    def _text(self, module: ModuleOp) -> str:
        from irc.ir.printer import print_ir

        return print_ir(module, generic=self._generic, locations=self._locations)


class _Watch(Instruments):
    """The reports on one module, whose files begin with a prefix."""

    def __init__(self, reports: Reports, prefix: str):
        self._reports, self._prefix = reports, prefix
        self.verify_each = reports.verify_each

    def before(self, entry: ModulePass, module: ModuleOp) -> None:
        self._reports.print_before(entry, module)

    def after(self, number: int, entry: ModulePass, module: ModuleOp) -> None:
        self._reports.print_after(entry, module)
        self._reports.dump(f"{self._prefix}{number:02}-{entry.name}", module)

    def timed(self, step: str, run: Callable[[], ResultT]) -> ResultT:
        return self._reports.timed(step, run)


def check_page(path: Path) -> Path:
    """IrcError where a page cannot be written there: known before anything is compiled."""
    if path.is_dir():
        raise IrcError(f"cannot write the report to {path}: it is a folder", hint=f"a file, such as {path}/report.html")
    if not path.parent.is_dir():
        raise IrcError(f"cannot write the report to {path}: there is no folder {path.parent}", hint="make it first")
    return path


_entered: Reports | None = None
"""The innermost one."""


def is_reporting() -> bool:
    """Whether somebody wants to see the passes run, so that nothing may come from a cache."""
    return _entered is not None


def reproducer_folder() -> str | Path | None:
    """Where reproducers go by whoever watches; None where nobody says."""
    return None if _entered is None else _entered.reproducers


def note_program(origin: Origin) -> None:
    """A program was compiled."""
    if _entered is not None:
        _entered.programs.append(origin)


def watch(module: ModuleOp) -> Instruments:
    """What watches the passes of a module that has been read."""
    return Instruments() if _entered is None else _entered.watch(module)


def timed(step: str, run: Callable[[], ResultT]) -> ResultT:
    """Runs a step of a compilation that is no pass."""
    note_step(step)
    return run() if _entered is None else _entered.timed(step, run)
