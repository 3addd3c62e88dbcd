"""irc-compile: a program to every level's IR, CUDA C++ and machine code, in a folder, or to a saved executable.

It needs no GPU.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from irc.driver.pipelines import PASSES
from irc.driver.reports import timed
from irc.runtime.saved import SUFFIX
from irc.support.diagnostics import IrcError
from irc.support.files import make_directory, write_bytes, write_text
from irc_tools.arguments import ArgumentParser, add_program, parse_reports
from irc_tools.definitions import parse_definitions
from irc_tools.errors import guarded
from irc_tools.programs import GivenProgram, open_program

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from irc.runtime.artifact import Artifact, KernelBinary

    Source = Path | ModuleOp

IR_LEVELS = ("nd", "kernel", "tile", "cuda")
EMITTED = ("irc", *IR_LEVELS, "source", "ptx", "sass")
SUFFIXES = ("cu", "cubin", "sass")
"""Of the files that each kernel has."""


def main(argv: Sequence[str] | None = None) -> int:
    """The command; returns the exit status: 0, or 1 after a diagnostic on standard error."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    return guarded("irc-compile", lambda: _run(arguments), debug="--debug" in arguments)


def argument_parser() -> argparse.ArgumentParser:
    """The command line of irc-compile."""
    parser = ArgumentParser(
        prog="irc-compile",
        description="Compiles a tensor program to GPU machine code. Without --emit it writes the IR of every level, "
        "each kernel's .cu, .cubin and .sass, and manifest.json into a folder, and prints a table of the kernels; "
        "with -o FILE.irx one file that irc-run and irc.load run without the compiler. It needs no GPU.",
        allow_abbrev=False,
    )
    add_program(parser)
    parser.add_argument(
        "-o",
        "--output",
        metavar="DIR",
        help="the folder (default: FILE's name and .out), or a saved executable, FILE.irx; a file with --emit",
    )
    parser.add_argument(
        "--target",
        choices=("cuda", "cpu"),
        help="of a saved executable: the GPU of --arch, or this CPU (default: cuda)",
    )
    parser.add_argument(
        "--weights",
        metavar="FILE.safetensors",
        help="values of arguments, by name, that a saved executable takes with it",
    )
    instead = parser.add_mutually_exclusive_group()
    instead.add_argument("--emit", choices=EMITTED, help="print one level instead (-o FILE writes it)")
    instead.add_argument(
        "--report",
        metavar="FILE.html",
        help="write one page instead: all levels side by side, linked by their places in the program, and what each "
        "pass did (docs/report.md)",
    )
    return parser


def _run(arguments: list[str]) -> int:
    args = argument_parser().parse_args(arguments)
    program = open_program(args.file, parse_definitions(args.define))
    options: dict[str, Any] = {
        "arch": args.arch,
        "dims": program.dims,
        "func": args.func,
        "strict_rounding": args.strict_rounding,
        "any_order": args.any_order,
    }
    if args.report is not None and args.output is not None:
        raise IrcError("--report writes a page, and no folder for -o", hint="leave one of them out")
    is_saved = args.output is not None and args.output.endswith(SUFFIX) and args.emit is None
    if not is_saved and (args.target or args.weights):
        raise IrcError("--target and --weights are of a saved executable", hint="write one: -o FILE.irx")
    with parse_reports(args, PASSES) or nullcontext():
        if is_saved:
            _save(program, options, args)
        elif args.report is not None:
            _report(program.source, options, Path(args.report))
        elif args.emit is not None:
            _emit(args.emit, program.source, options, args.output)
        else:
            _compile(program.source, options, Path(args.output or f"{Path(args.file).stem}.out"))
    return 0


def _compile(source: Source, options: dict[str, Any], folder: Path) -> None:
    from irc.driver.compiler import compile_artifact

    artifact = compile_artifact(source, **options)
    write_artifact(artifact, folder)
    _print(artifact, folder)


def _save(program: GivenProgram, options: dict[str, Any], args: argparse.Namespace) -> None:
    from irc.driver.compiler import compile_artifact
    from irc.runtime.saved import save
    from irc.runtime.tensors import read_arrays
    from irc_tools.tables import size

    if args.target == "cpu":
        options |= {"arch": None, "target": "cpu"}
    weights = {} if args.weights is None else read_arrays(Path(args.weights))
    artifact, file = compile_artifact(program.source, **options), Path(args.output)
    save(artifact, file, {**program.arrays, **weights})
    print(f"wrote {file} for {artifact.arch}: {size(file.stat().st_size)}")


def _report(source: Source, options: dict[str, Any], file: Path) -> None:
    from irc.driver.reporting import report_program

    report_program(source, "cuda", file, **options)
    print(f"wrote {file}")


def _emit(level: str, source: Source, options: dict[str, Any], output: str | None) -> None:
    text = _text(level, source, options)
    if output is None:
        sys.stdout.write(text)
        sys.stdout.flush()
        return
    write_text(Path(output), text)


def _text(level: str, source: Source, options: dict[str, Any]) -> str:
    from irc.driver.compiler import compile_artifact, lower_program

    if level == "irc":
        from irc.language import print_module

        return print_module(lower_program(source, None, **options))
    if level in IR_LEVELS:
        from irc.ir.printer import print_ir

        module = lower_program(source, "all" if level == "cuda" else level, **options)
        return timed("print", lambda: print_ir(module))
    artifact = compile_artifact(source, **options)
    if level == "source":
        return "\n".join(kernel.source for kernel in artifact.kernels)
    if level == "ptx":
        return "\n".join(kernel.ptx for kernel in artifact.kernels)
    from irc.codegen.sass import disassemble

    return "\n".join(disassemble(kernel.cubin) for kernel in artifact.kernels)


def write_artifact(artifact: Artifact, folder: Path) -> None:
    """Writes everything that was compiled; each file is whole or not there. Kernels of an earlier compilation into the
    same folder that are no more are removed."""
    make_directory(folder)
    earlier = _kernels_in(folder)
    for level, text in artifact.levels.items():
        write_text(folder / f"{level}.mlir", text)
    opcodes: dict[str, dict[str, int] | None] = {}
    for kernel in artifact.kernels:
        write_text(folder / f"{kernel.name}.cu", kernel.source)
        write_bytes(folder / f"{kernel.name}.cubin", kernel.cubin)
        opcodes[kernel.name] = _write_sass(kernel, folder)
    kernels = [entry | {"opcodes": opcodes[entry["name"]]} for entry in artifact.manifest["kernels"]]
    manifest = artifact.manifest | {"kernels": kernels}
    write_text(folder / "manifest.json", json.dumps(manifest, indent=2) + "\n")
    for name in earlier - {kernel.name for kernel in artifact.kernels}:
        for suffix in SUFFIXES:
            (folder / f"{name}.{suffix}").unlink(missing_ok=True)


def _write_sass(kernel: KernelBinary, folder: Path) -> dict[str, int] | None:
    """Writes the kernel's machine code as text; how often each opcode is in it, None where there is no disassembler."""
    from irc.codegen.sass import disassemble, families, opcodes_of

    try:
        sass = disassemble(kernel.cubin)
    except IrcError:
        return None
    write_text(folder / f"{kernel.name}.sass", sass)
    return families(opcodes_of(sass))


def _kernels_in(folder: Path) -> set[str]:
    """The kernels that the folder's manifest names; none where there is no manifest that can be read."""
    try:
        kernels = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))["kernels"]
        return {name for kernel in kernels if Path(name := kernel["name"]).name == name}
    except (OSError, ValueError, KeyError, TypeError):
        return set()


def _print(artifact: Artifact, folder: Path) -> None:
    from irc_tools.tables import kernel_columns, kernel_row, print_table

    count = len(artifact.kernels)
    title = f"{count} kernel{'' if count == 1 else 's'} for {artifact.arch}, in {folder}"
    print_table(
        title, kernel_columns(), [kernel_row(kernel) for kernel in artifact.manifest["kernels"]], numbers_from=3
    )


if __name__ == "__main__":
    sys.exit(main())
