"""A report on a compilation: the program is compiled once more, and what each pass made of it is kept."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from irc.codegen.cpu.compiling import has_pairs
from irc.codegen.cpu.printer import print_kernel
from irc.configs.space import KernelSpace
from irc.dialects import cpu, cuda, tile
from irc.dialects.kernel import FusedOp
from irc.driver.build import SEPARATE_ROUNDING
from irc.driver.compiler import Options, Origin, artifact_options, subject_of
from irc.driver.lowering import levels
from irc.driver.program import signature
from irc.driver.reports import Instruments, watch
from irc.ir.discardable import STRICT
from irc.ir.functions import entry_of
from irc.ir.printer import print_ir
from irc.passes.kernel.choose_config import ChooseConfigPass
from irc.report.changes import Change, change
from irc.report.columns import Column, Line, ir_column, source_column
from irc.report.counts import Counts, counts
from irc.report.kernels import KernelReport, of_config, space_of, with_program, with_resources
from irc.report.machine import machine_code
from irc.report.page import page
from irc.report.program import ProgramReport
from irc.support.diagnostics import IrcError
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


def check_file(path: Path) -> None:
    """IrcError where a page cannot be written there: known before anything is compiled."""
    if path.is_dir():
        raise IrcError(f"cannot write the report to {path}: it is a folder", hint=f"a file, such as {path}/report.html")
    if not path.parent.is_dir():
        raise IrcError(f"cannot write the report to {path}: there is no folder {path.parent}", hint="make it first")


def report_program(program: str | Path, target: str, path: Path, **options: Any) -> None:
    """Writes the page of a program, compiled for a target with the options of `compile_artifact`."""
    check_file(path)
    write_report([Origin(subject_of(program), target, artifact_options(**options))], path)


def write_report(origins: Sequence[Origin], path: Path | None) -> str:
    """The page of some programs, which is written to a file where one is given."""
    if path is not None:
        check_file(path)
    text = page([report(origin) for origin in origins])
    if path is not None:
        write_text(path, text)
    return text


def report(origin: Origin) -> ProgramReport:
    """What a page shows of a program."""
    subject, target, options = origin.subject.as_text(), origin.target, origin.options
    assert subject.text is not None
    module, file = subject.module(options), subject.name
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
    source = source_column(file, subject.text, {} if counted is None else counted.line_marks())
    kernels = [*recorder.kernels.values()]
    return ProgramReport(name, shown, [source, *columns], recorder.changes, kernels, counted)


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
        codes = [print_kernel(op, has_pairs=has_pairs()) for op in module.ops if isinstance(op, cpu.KernelOp)]
        lines = [Line(line) for code in codes for line in code.text.splitlines()]
        return [Column("llvm", "LLVM IR", lines)] if lines else []
    return []
