"""irc-run: runs a program or a saved executable on drawn or given arrays, checks the results, shows kernels, sizes and
times."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from irc.driver.pipelines import PASSES
from irc.runtime.saved import SUFFIX
from irc.support.diagnostics import IrcError
from irc_tools.arguments import ArgumentParser, add_program, parse_reports
from irc_tools.definitions import parse_definitions
from irc_tools.errors import guarded
from irc_tools.programs import GivenProgram, open_program

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp


def main(argv: Sequence[str] | None = None) -> int:
    """The command; returns the exit status: 0, or 1 after a diagnostic or a failed check."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    return guarded("irc-run", lambda: _run(arguments), debug="--debug" in arguments)


def argument_parser() -> argparse.ArgumentParser:
    """The command line of irc-run."""
    parser = ArgumentParser(
        prog="irc-run",
        description="Compiles and runs a tensor program, or runs a saved executable (FILE.irx). Arguments that are not "
        "given are drawn: floats standard normal, integers uniform in 0..9, bools even. numpy files hold bf16 and "
        "f8 as f32.",
        allow_abbrev=False,
    )
    add_program(parser)
    parser.add_argument(
        "--target",
        choices=("cpu", "cuda", "interpret", "sim"),
        help="where to run (default: cuda where a GPU is present, else cpu, or what IRC_TARGET says); sim simulates "
        "the kernels of cuda, interpret runs numpy op by op",
    )
    parser.add_argument(
        "--size",
        action="append",
        default=[],
        metavar="NAME=INT",
        help="of a dim that is known when the program is called: of the drawn arguments (-D compiles for one size)",
    )
    parser.add_argument("--input", action="append", default=[], metavar="NAME=FILE.npy", help="an argument from a file")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="of the drawn arguments (default: 0)")
    parser.add_argument("--output", metavar="DIR", help="write the results to DIR/0.npy, DIR/1.npy, ...")
    parser.add_argument(
        "--check", action="store_true", help="compare with an evaluation in float64; exit 1 where it differs"
    )
    parser.add_argument(
        "--stats",
        action="store_true",
        help="with --target sim: count instructions, sectors of global memory and bank conflicts of shared memory",
    )
    parser.add_argument(
        "--profile",
        nargs="?",
        const="",
        metavar="TRACE.json",
        help="show where the time goes, by kernel (targets cuda, cpu) or op (interpret), against what the chip could "
        "do; with a file, write a trace of the streams for chrome://tracing or Perfetto",
    )
    return parser


@dataclass(frozen=True)
class Measured:
    """The results of a run and its times in seconds: of compiling, of one call, of each kernel where a GPU ran it."""

    results: list[Any]
    compiling: float
    calling: float
    kernels: dict[str, float] | None


def _run(arguments: list[str]) -> int:
    from irc_tools.inputs import make_arguments, parse_inputs

    args = argument_parser().parse_args(arguments)
    dims, files = parse_definitions(args.define), parse_inputs(args.input)
    if args.seed < 0:
        raise IrcError(f"--seed {args.seed}: expected a number that is not negative")
    begin = time.perf_counter()
    is_saved = args.file.endswith(SUFFIX)
    program = GivenProgram(Path(args.file), dims) if is_saved else open_program(args.file, dims)
    executable = _loaded(args, dims) if is_saved else _compiled(args, program)
    if args.stats and executable.target != "sim":
        raise IrcError(f"--stats: the target {executable.target} counts nothing", hint="give --target sim, too")
    compiling = time.perf_counter() - begin
    sizes = parse_definitions(args.size, "--size")
    executable = executable.at(**sizes)
    arrays = make_arguments(executable.arguments, files, args.seed, program.arrays)
    measured = _measure(executable, arrays, compiling)
    _print_run(executable, measured, "loaded" if is_saved else "compiled")
    if args.profile is not None:
        _profile(executable, arrays, args.profile)
    if args.stats:
        _print_statistics(executable, arrays)
    if args.output is not None:
        _write(measured.results, Path(args.output))
    if not args.check:
        return 0
    sized = replace(program, dims={**program.dims, **sizes})
    return _check(sized.module(), args.func, executable, arrays, measured.results)


def _compiled(args: argparse.Namespace, program: GivenProgram) -> Any:
    from irc.driver.compiler import compile as compile_program

    with parse_reports(args, PASSES) or nullcontext():
        return compile_program(
            program.source,
            args.target,
            arch=args.arch,
            dims=program.dims,
            func=args.func,
            strict_rounding=args.strict_rounding,
            any_order=args.any_order,
        )


def _loaded(args: argparse.Namespace, dims: dict[str, int]) -> Any:
    """A saved executable; IrcError where an option asks for what it has no more."""
    from irc.runtime.saved import load

    asked = {
        "-D": dims,
        "--func": args.func,
        "--arch": args.arch,
        "--strict-rounding": args.strict_rounding,
        "--any-order": args.any_order,
        "--check": args.check,
        "--stats": args.stats,
    }
    if given := [name for name, value in asked.items() if value]:
        raise IrcError(f"{args.file} is compiled: {given[0]} is for a program", hint="run its .irc file")
    if parse_reports(args, PASSES) is not None:
        raise IrcError(f"{args.file} is compiled: there are no passes to report on", hint="run its .irc file")
    executable = load(args.file)
    if args.target not in (None, executable.target):
        raise IrcError(f"{args.file} is for the target {executable.target}, found --target {args.target}")
    return executable


def _measure(executable: Any, arrays: list[Any], compiling: float) -> Measured:
    """Runs the program: once on the cpu; on a GPU again after the first call, which loads the kernels."""
    import numpy as np

    if executable.target == "cuda":
        executable(*arrays)
    begin = time.perf_counter()
    with np.errstate(all="ignore"):
        found = executable(*arrays)
    calling = time.perf_counter() - begin
    results = list(found) if isinstance(found, tuple) else [found]
    return Measured(results, compiling, calling, _kernel_times(executable, arrays))


def _kernel_times(executable: Any, arrays: list[Any]) -> dict[str, float] | None:
    """Seconds of each kernel, where the target measures them."""
    if executable.target != "cuda":
        return None

    return executable.kernel_times(*arrays)


def _print_run(executable: Any, measured: Measured, made: str) -> None:
    from irc_tools.tables import array_text, duration, kernel_columns, kernel_row, print_table, size

    if executable.kernels:
        rows = [kernel_row(kernel, measured.kernels) for kernel in executable.kernels]
        print_table("kernels", kernel_columns(measured.kernels), rows, numbers_from=3)
    rows = [["argument", array_text(spec), size(spec.nbytes)] for spec in executable.arguments]
    rows += [["result", array_text(spec), size(spec.nbytes)] for spec in executable.results]
    times = f"{made} in {duration(measured.compiling)}, ran in {duration(measured.calling)}"
    title = f"{executable.name} on {executable.target}: {times}"
    print_table(title, ["", "array", "size"], rows, numbers_from=2)


def _profile(executable: Any, arrays: list[Any], path: str) -> None:
    from irc_tools.tables import part_row, print_table

    found = executable.profile(*arrays)
    total = sum(part.seconds for part in found.parts)
    columns = ["", "launches", "time", "share", "moved", "rate", "work", "rate", "of limit", "ops", "line"]
    rows = [part_row(part, total) for part in found.parts]
    print_table("profile", columns, rows, numbers_from=1)
    if path:
        found.save(path)


def _print_statistics(executable: Any, arrays: list[Any]) -> None:
    from irc_tools.statistics import print_statistics

    print_statistics(executable.statistics(*arrays))


def _write(results: list[Any], folder: Path) -> None:
    import numpy as np

    from irc.support.files import make_directory, written_aside
    from irc_tools.inputs import storable

    make_directory(folder)
    for index, result in enumerate(results):
        with written_aside(folder / f"{index}.npy") as file:
            np.save(file, storable(result), allow_pickle=False)


def _check(module: ModuleOp, func: str | None, executable: Any, arrays: list[Any], results: list[Any]) -> int:
    """Compares with the reference evaluation; returns the exit status."""
    from irc.runtime.compare import Comparison, compare
    from irc_tools.tables import print_table

    references, of_f8 = _reference(module, func, arrays)
    comparisons: list[Comparison] = []
    rows: list[list[str]] = []
    for spec, result, reference in zip(executable.results, results, references, strict=True):
        comparison = compare(result, reference, spec.element, of_f8=of_f8)
        comparisons.append(comparison)
        verdict = "ok" if comparison.passed else comparison.reason
        rows.append(
            [spec.name, spec.type, f"{comparison.error:.2e}", f"{comparison.tolerance:g}", verdict, comparison.note]
        )
    print_table("check against float64", ["result", "type", "error", "allowed", "", ""], rows, numbers_from=9)
    failed = [
        spec.name for spec, comparison in zip(executable.results, comparisons, strict=True) if not comparison.passed
    ]
    if not failed:
        return 0
    print(f"error: check failed for result{'s' if len(failed) > 1 else ''} {', '.join(failed)}", file=sys.stderr)
    return 1


def _reference(module: ModuleOp, func: str | None, arrays: list[Any]) -> tuple[list[Any], bool]:
    """The results in float64, rounded where the program rounds; and whether it multiplies f8 matrices."""
    from irc.driver.program import isolate
    from irc.interpreters.nd.interpreter import evaluate
    from irc.runtime.compare import multiplies_f8

    module = isolate(module, func)
    if (launch := next((op for op in module.walk() if op.name == "kernel.launch"), None)) is not None:
        hint = "check the IR before tile-kernels"
        raise IrcError("--check needs arrays: tiles are not evaluated in float64", launch.location, hint)
    return list(evaluate(module, arrays, precision="float64")), multiplies_f8(module)


if __name__ == "__main__":
    sys.exit(main())
