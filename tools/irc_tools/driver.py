"""The driver of irc-opt: xDSL's, with `.irc` input, diagnostics, and reports that stay out of the output."""

from __future__ import annotations

import argparse
import dataclasses
import sys
from dataclasses import dataclass
from io import StringIO
from pathlib import Path

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.targets.mlir import MLIRTarget
from xdsl.utils.exceptions import ShrinkException
from xdsl.xdsl_opt_main import xDSLOptMain

from irc.driver.manager import PassManager, is_lowered
from irc.driver.reports import VERIFY, Reports
from irc.driver.reproducers import parse_reproducer, reproducing
from irc.ir.parser import parse_ir
from irc.ir.printer import print_ir
from irc.ir.targets import set_target
from irc.ir.verification import verify
from irc.support.diagnostics import IrcError, register_source, render
from irc.support.files import read_text, write_text
from irc_tools.arguments import parse_reports
from irc_tools.expected import Expectations
from irc_tools.pipeline_spec import parse_passes, parse_target
from irc_tools.programs import foreign, open_program

SEPARATORS = {"mlir": "// -----", "irc": "# -----", "stablehlo": "// -----"}
"""Lines between the pieces of a file under `--split-input-file`."""


def _take_reproducer(args: argparse.Namespace) -> None:
    """Runs what the reproducer says, as it says."""
    if args.input_file in (None, "-"):
        raise IrcError("--run-reproducer: expected FILE")
    if args.passes or args.pipeline:
        raise IrcError("--run-reproducer runs the passes of the reproducer", None, "leave -p and --pipeline out")
    found = parse_reproducer(read_text(Path(args.input_file)))
    args.passes, args.target = found.passes, found.target
    args.disable_verify = not found.verified


@dataclass(frozen=True)
class Piece:
    """A part of the input: its text, and the number of lines of the file before it."""

    text: str
    line_offset: int


class OptMain(xDSLOptMain):
    """irc-opt. `args` comes from `irc_tools.opt.argument_parser`."""

    def __init__(self, args: argparse.Namespace):
        self.args = args
        self.available_frontends = {}
        self.available_passes = {}
        self.available_targets = {}
        self.ctx = Context(allow_unregistered=args.allow_unregistered_dialect)
        self._register()
        if args.run_reproducer:
            _take_reproducer(args)
        self.target = parse_target(args.target, self.available_targets)
        names = args.passes if args.pipeline is None else f"{args.pipeline},{args.passes}".rstrip(",")
        self.passes = parse_passes(names, self.available_passes)
        args.verify_each &= not args.disable_verify
        names = {step.entry.name for step in self.passes}
        asked = parse_reports(args, names, generic=args.print_op_generic, locations=args.print_debuginfo)
        self.reports = Reports() if asked is None else asked

    def _register(self) -> None:
        """Dialects, passes and targets of xDSL and every plug-in; irc's own too where irc is no installed plug-in."""
        from xdsl.universe import Universe

        universes = [Universe.get_multiverse()]
        if "nd" not in universes[0].all_dialects:
            from irc.driver.universe import IRC_UNIVERSE

            universes.append(IRC_UNIVERSE)
        for universe in universes:
            for name, dialect in universe.all_dialects.items():
                self.ctx.register_dialect(name, dialect)
            self.available_passes.update(universe.all_passes)
            self.available_targets.update(universe.all_targets)

    def execute(self) -> int:
        """Reads, runs the passes, prints; returns the exit status."""
        with self.reports:
            return self._execute()

    def _execute(self) -> int:
        name, frontend, text = self._read()
        register_source(name, text)
        expectations = None
        if self.args.verify_diagnostics or self.args.parsing_diagnostics:
            expectations = Expectations(text)
        outputs: list[str] = []
        failed = False
        for piece in self._pieces(text, frontend):
            error = self.process(piece, name, frontend, outputs)
            if expectations is not None:
                expectations.saw(error, piece.line_offset, piece.text)
            elif error is not None:
                print(render(error), file=sys.stderr)
                failed = True
        if expectations is not None:
            print(expectations.shown(), end="")
            failed = expectations.report(sys.stderr, name)
        if failed:
            return 1
        self._write(f"{SEPARATORS['mlir']}\n".join(outputs))
        if self.args.shrink:
            print("Failure, can't shrink")
            return 1
        return 0

    def _read(self) -> tuple[str, str, str]:
        """The name, the frontend and the text of the input."""
        path = self.args.input_file
        if path is None or path == "-":
            frontend = self.args.frontend or "mlir"
            try:
                return "<stdin>", frontend, sys.stdin.buffer.read().decode("utf-8")
            except UnicodeDecodeError as error:
                raise IrcError(f"cannot read standard input: not UTF-8 text (byte {error.start})") from error
        frontend = self.args.frontend or foreign(path) or Path(path).suffix.removeprefix(".")
        if frontend == "onnx":
            return path, frontend, ""
        if frontend not in SEPARATORS:
            raise IrcError(
                f"cannot tell what {path} is by its extension", None, "give --frontend irc, mlir, onnx or stablehlo"
            )
        return path, frontend, read_text(Path(path))

    def _pieces(self, text: str, frontend: str) -> list[Piece]:
        if not self.args.split_input_file or frontend not in SEPARATORS:
            return [Piece(text, 0)]
        pieces: list[Piece] = []
        offset = 0
        for part in text.split(SEPARATORS[frontend]):
            pieces.append(Piece(part, offset))
            offset += part.count("\n")
        return pieces

    def process(self, piece: Piece, name: str, frontend: str, outputs: list[str]) -> IrcError | None:
        """Takes one piece through everything; its output goes to `outputs`, its diagnostic is returned."""
        try:
            module = self.reports.timed("parse", lambda: self._parse(piece, name, frontend))
            self._apply(module)
            outputs.append(self.reports.timed("print", lambda: self._printed(module)))
        except IrcError as error:
            return error
        except RecursionError:
            return IrcError("the input is nested too deeply")
        except MemoryError:
            return IrcError("the input takes more memory than there is")
        except ShrinkException:
            if not self.args.shrink:
                raise
            print("Success, can shrink")
            raise SystemExit(0) from None
        return None

    def _parse(self, piece: Piece, name: str, frontend: str) -> ModuleOp:
        if frontend == "mlir":
            return parse_ir(
                self.ctx,
                piece.text,
                name,
                implicit_module=not self.args.no_implicit_module,
                line_offset=piece.line_offset,
                register=False,
            )
        from irc_tools.definitions import parse_definitions

        dims = parse_definitions(self.args.define)
        if frontend == "onnx":
            return open_program(name, dims).module()
        if frontend == "stablehlo":
            from irc_frontend.stablehlo import load

            return load("\n" * piece.line_offset + piece.text, name).module
        from irc.language import parse

        return parse("\n" * piece.line_offset + piece.text, name, dims=dims)

    def _apply(self, module: ModuleOp) -> None:
        """Runs the passes, verifying before the first and after each."""
        if self.args.arch is not None:
            set_target(module, self.args.arch)
        if not self.args.disable_verify:
            self.reports.timed(VERIFY, lambda: verify(module))
        again = self.args.run_reproducer
        given = is_lowered(module) and not again
        manager = PassManager(self.ctx, self.reports.watch(module), given=given, reproduces=not again)
        manager.run(module, self.passes)

    def _printed(self, module: ModuleOp) -> str:
        if self.args.run_reproducer:
            return self.output_resulting_program(module)
        with reproducing(module, self.args.target):
            return self.output_resulting_program(module)

    def output_resulting_program(self, prog: ModuleOp) -> str:
        """The text of the target."""
        target = self.target
        if not isinstance(target, MLIRTarget):
            output = StringIO()
            target.emit(self.ctx, prog, output)
            return output.getvalue()
        if self.args.print_no_properties or self.args.syntax_highlight:
            return self._emit_mlir(target, prog)
        return print_ir(prog, generic=self.args.print_op_generic, locations=self.args.print_debuginfo)

    def _emit_mlir(self, target: MLIRTarget, prog: ModuleOp) -> str:
        """xDSL's own printing (without aliases), for the options that only it has."""
        output = StringIO()
        dataclasses.replace(
            target,
            print_generic_format=self.args.print_op_generic,
            print_properties_as_attributes=self.args.print_no_properties,
            print_debuginfo=self.args.print_debuginfo,
            syntax_highlight=self.args.syntax_highlight,
        ).emit(self.ctx, prog, output)
        return output.getvalue()

    def _write(self, text: str) -> None:
        if self.args.output_file is None:
            sys.stdout.write(text)
            sys.stdout.flush()
            return
        write_text(Path(self.args.output_file), text)
