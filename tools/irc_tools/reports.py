"""What irc-opt reports beside its output: the IR around passes, dumps in a directory, timings."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TypeVar

from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from irc.driver.manager import Instruments
from irc.ir.printer import print_ir
from irc.support.files import make_directory, write_text
from irc_tools.pipeline_spec import parse_selection

ResultT = TypeVar("ResultT")


class Reports(Instruments):
    """The reports that the arguments ask for, on standard error or in a directory."""

    def __init__(self, args: argparse.Namespace, passes: Iterable[ModulePass]):
        self._before = parse_selection(args.print_before, passes)
        self._after = parse_selection("all" if args.print_between_passes else args.print_after, passes)
        self._directory = None if args.dump_dir is None else make_directory(Path(args.dump_dir))
        self._timings: list[tuple[str, float]] | None = [] if args.time_passes else None
        self._generic: bool = args.print_op_generic
        self._locations: bool = args.print_debuginfo
        self._pieces = -1

    def start(self, module: ModuleOp) -> None:
        """A piece of the input has been parsed."""
        self._pieces += 1
        self._dump("00-input", module)

    def before(self, index: int, entry: ModulePass, module: ModuleOp) -> None:
        """The pass at `index` is about to run."""
        if entry.name in self._before:
            self._print(f"IR before {entry.name}", module)

    def after(self, index: int, entry: ModulePass, module: ModuleOp) -> None:
        """The pass at `index` has run."""
        if entry.name in self._after:
            self._print(f"IR after {entry.name}", module)
        self._dump(f"{index + 1:02}-{entry.name}", module)

    def timed(self, step: str, run: Callable[[], ResultT]) -> ResultT:
        """Runs a step, and notes how long it took."""
        if self._timings is None:
            return run()
        begin = time.perf_counter()
        try:
            return run()
        finally:
            self._timings.append((step, time.perf_counter() - begin))

    def finish(self) -> None:
        """Prints the timings: a line a step in the order of first use, verification summed up."""
        if self._timings is None:
            return
        rows: list[tuple[str, float]] = []
        verifying = 0.0
        for step, seconds in self._timings:
            if step == "verify":
                verifying += seconds
            else:
                rows.append((step, seconds))
        rows += [("verify", verifying), ("total", sum(seconds for _, seconds in self._timings))]
        width = max(len(step) for step, _ in rows)
        for step, seconds in rows:
            print(f"{step:<{width}}  {seconds:9.4f} s", file=sys.stderr)

    def _print(self, title: str, module: ModuleOp) -> None:
        print(f"// ----- {title} -----\n{self._text(module)}", file=sys.stderr)

    def _dump(self, name: str, module: ModuleOp) -> None:
        if self._directory is None:
            return
        prefix = f"piece{self._pieces}-" if self._pieces else ""
        write_text(self._directory / f"{prefix}{name}.mlir", self._text(module))

    def _text(self, module: ModuleOp) -> str:
        return print_ir(module, generic=self._generic, locations=self._locations)
