"""A report on a compilation: the program is compiled once more, and what each pass made of it is kept."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from pathlib import Path
from typing import Any, TypeVar

from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from irc.configs.space import KernelSpace
from irc.dialects import cuda, tile
from irc.dialects.kernel import FusedOp
from irc.driver.build import SEPARATE_ROUNDING
from irc.driver.compiler import Origin, artifact_options
from irc.driver.cpu import codes_of
from irc.driver.lowering import levels
from irc.driver.program import signature
from irc.driver.reports import Instruments, check_page, watch
from irc.driver.subjects import Options, Subject, subject_of
from irc.ir.discardable import STRICT
from irc.ir.functions import entry_of
from irc.ir.printer import print_ir
from irc.passes.kernel.choose_config import ChooseConfigPass
from irc.report.changes import Change, change
from irc.report.columns import Column, Line, ir_column, places_in, source_column
from irc.report.counts import Counts, counts
from irc.report.kernels import KernelReport, of_config, space_of, with_program, with_resources
from irc.report.machine import machine_code
from irc.report.page import page
from irc.report.program import ProgramReport
from irc.support.diagnostics import source_text
from irc.support.files import write_text

ResultT = TypeVar("ResultT")

LEVELS = {
    "cuda": ("nd", "kernel", "tile", "all"),
    "sim": ("nd", "kernel", "tile", "all"),
    "cpu": ("nd", "kernel", "cpu"),
}
"""Those that a target has; `interpret` runs nd as it was read."""

TITLES = {"all": "cuda", "cpu": "cpu"}


@dataclass
class _Recorder(Instruments):
    """Keeps what each pass did, and the configs that were chosen; what else watches the passes sees them too."""

    inner: Instruments
    changes: list[Change] = field(default_factory=list[Change])
    kernels: dict[str, KernelReport] = field(default_factory=dict[str, KernelReport])
    _spaces: dict[FusedOp, KernelSpace | None] = field(default_factory=dict[FusedOp, "KernelSpace | None"])
    _text: str = ""
    _seconds: float = 0.0

    def begin(self, module: ModuleOp) -> None:
        """The module, before its first pass."""
        self.verify_each = self.inner.verify_each
        self._text = print_ir(module)

    def before(self, entry: ModulePass, module: ModuleOp) -> None:
        self.inner.before(entry, module)
        if entry.name == ChooseConfigPass.name:
            self._spaces = {op: space_of(op) for op in module.walk() if isinstance(op, FusedOp)}

    def after(self, number: int, entry: ModulePass, module: ModuleOp) -> None:
        self.inner.after(number, entry, module)
        text = print_ir(module)
        self.changes.append(change(entry.name, self._seconds, self._text, text))
        self._text = text
        if entry.name == ChooseConfigPass.name:
            found = [of_config(op, space) for op, space in self._spaces.items()]
            self.kernels |= {each.name: each for each in found}

    def timed(self, step: str, run: Callable[[], ResultT]) -> ResultT:
        begin = time.perf_counter()
        try:
            return self.inner.timed(step, run)
        finally:
            self._seconds = time.perf_counter() - begin


def report_program(program: str | Path | ModuleOp, target: str, path: Path, **options: Any) -> None:
    """Writes the page of a program, compiled for a target with the options of `compile_artifact`."""
    check_page(path)
    write_report([Origin(subject_of(program), target, artifact_options(**options))], path)


def write_report(origins: Sequence[Origin], path: Path | None) -> str:
    """The page of some programs, which is written to a file where one is given."""
    if path is not None:
        check_page(path)
    text = page([report(origin) for origin in origins])
    if path is not None:
        write_text(path, text)
    return text


def report(origin: Origin) -> ProgramReport:
    """What a page shows of a program."""
    subject, file, text = _with_source(origin.subject.as_text())
    target, options = origin.target, origin.options
    module = subject.module(options)
    entry = entry_of(module)
    name = origin.title or entry.sym_name.data
    recorder = _Recorder(watch(module))
    recorder.begin(module)
    arguments, results = signature(entry)
    columns: list[Column] = []
    counted: Counts | None = None
    stops = LEVELS.get(target, ())
    for level, lowered in levels(module, stops, instruments=recorder, **options.of_passes):
        if level == "all":
            counted = counts(lowered, arguments, results, file)
        columns.append(ir_column(TITLES.get(level, level), lowered, file, None if counted is None else counted.marks()))
        for program in [op for op in lowered.ops if level == "tile" and isinstance(op, tile.ProgramOp)]:
            own = program.sym_name.data
            recorder.kernels[own] = with_program(recorder.kernels.get(own, KernelReport(own)), program)
    if not stops and not file.endswith(".mlir"):
        columns.append(ir_column("nd", module, file))
    columns += _code(module, target, options, file, recorder.kernels)
    shown = f"{target} {options.arch}" if options.arch not in ("", target) else target
    source = source_column(file, text, {} if counted is None else counted.line_marks())
    kernels = [*recorder.kernels.values()]
    return ProgramReport(name, shown, [source, *columns], recorder.changes, kernels, counted)


def _with_source(subject: Subject) -> tuple[Subject, str, str]:
    """The program, and the file that it is in with its text. Of a module that is the Python file that most ops come
    from, where it can be read; else its own text, and so are the places of its ops."""
    assert subject.text is not None
    files = Counter(place.rsplit(":", 2)[0] for place in subject.places)
    for file, _ in files.most_common():
        if not file.startswith("<") and (text := source_text(file)) is not None:  # `<string>` is many programs
            return subject, file, text
    return replace(subject, places=()), subject.name, subject.text


def _code(module: ModuleOp, target: str, options: Options, file: str, reports: dict[str, KernelReport]) -> list[Column]:
    """What is below the IR; what its kernels take goes to `reports`, in the order of the kernels."""
    if target in ("cuda", "sim"):
        kernels = [op for op in module.ops if isinstance(op, cuda.KernelOp)]
        separate = SEPARATE_ROUNDING if STRICT in module.attributes else ()
        code = machine_code(kernels, options.arch, separate, file)
        known = dict(reports)
        reports.clear()
        for kernel in kernels:
            name = kernel.sym_name.data
            reports[name] = with_resources(known.get(name, KernelReport(name)), kernel, code.resources.get(name))
        return [*code.columns]
    if target == "cpu":
        codes = codes_of(module)
        lines = [
            Line(line, () if location is None else places_in(file, [location]))
            for code in codes
            for line, location in zip_longest(code.text.splitlines(), code.locations)
        ]
        return [Column("llvm", "LLVM IR", lines)] if lines else []
    return []
