"""irc-opt: runs passes over a program in `.irc` or IR in `.mlir`, and prints what comes out.

This module parses the command line and explains it; xDSL is loaded by `irc_tools/driver.py` once there is work to do.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from irc.driver.pipelines import PIPELINE_HELP, PIPELINES, TARGETS
from irc_tools.arguments import ArgumentParser, add_reports

EXAMPLES = """\
examples:
  irc-opt examples/gating.irc -p 'decompose-nd,fuse-kernels'     read the fused kernels
  irc-opt examples/gating.irc -p all -t cuda                     print the CUDA C++
  irc-opt examples/gating.irc -p cuda --arch sm_80               a named pipeline, for another architecture
  irc-opt kernel.mlir -p tile-kernels --dump-dir dumps           IR after each pass, in files
"""


class _ArgumentParser(ArgumentParser):
    """Explains the passes in its help."""

    def format_help(self) -> str:
        from irc_tools.pass_help import explain_passes

        width = max(len(name) for name in PIPELINES)
        pipelines = "\n".join(f"  {name:<{width}}  {text}" for name, text in PIPELINE_HELP.items())
        return (
            f"{super().format_help()}\n"
            f"named pipelines (each continues the one before; used like a pass):\n{pipelines}\n\n"
            f"passes, in the order of the pipelines (options as {{name=value other=value}} after the name):\n"
            f"{explain_passes()}\n\n"
            f"All passes, dialects and targets of xDSL work too; --list-passes names them.\n\n{EXAMPLES}"
        )


def argument_parser() -> argparse.ArgumentParser:
    """The command line of irc-opt: xDSL's options, and irc's."""
    parser = _ArgumentParser(
        prog="irc-opt",
        description="Runs passes over a tensor program (.irc) or IR (.mlir) and prints the result.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    _add_input(parser)
    _add_passes(parser)
    _add_output(parser)
    add_reports(parser, verify_each=True)
    _add_outcome(parser)
    return parser


def _add_input(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("input")
    group.add_argument(
        "input_file", nargs="?", metavar="FILE", help="a .irc or .mlir file; standard input if left out or -"
    )
    frontends = ("irc", "mlir", "onnx", "stablehlo")
    group.add_argument("-f", "--frontend", choices=frontends, help="how to read FILE (default: by its extension)")
    group.add_argument(
        "-D", "--define", action="append", default=[], metavar="NAME=INT", help="replace a dim of a .irc program"
    )
    group.add_argument(
        "--split-input-file",
        action="store_true",
        help="process the pieces between lines `// -----` (.irc: `# -----`) one by one",
    )
    group.add_argument("--allow-unregistered-dialect", action="store_true", help="accept ops of unknown dialects")
    group.add_argument("--no-implicit-module", action="store_true", help="the input must hold one builtin.module")
    group.add_argument("--disable-verify", action="store_true", help="do not verify before the first pass or after any")


def _add_passes(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("passes")
    group.add_argument(
        "-p",
        "--passes",
        "--pass-pipeline",
        default="",
        metavar="LIST",
        help="passes and named pipelines, e.g. 'nd,fuse-kernels{explain=true}', also as 'builtin.module(...)'",
    )
    group.add_argument("--pipeline", choices=tuple(PIPELINES), help="a named pipeline, run before the passes of -p")
    group.add_argument(
        "--arch",
        metavar="NAME",
        help="the architecture that the module is for (default: its own, or sm_90a)",
    )
    group.add_argument(
        "--run-reproducer",
        action="store_true",
        help="FILE is the reproducer of an internal error: run the passes that it names, which fails as it did",
    )
    group.add_argument(
        "--list-passes", action="store_true", help="print all passes with what they require and establish, and exit"
    )


def _add_output(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("output")
    group.add_argument("-o", "--output-file", metavar="FILE", help="write FILE instead of standard output")
    group.add_argument(
        "-t", "--target", default="mlir", help=f"what to print: mlir (IR, the default), {', '.join(TARGETS)}"
    )
    group.add_argument(
        "--print-op-generic", "--mlir-print-op-generic", action="store_true", help="print every op in its generic form"
    )
    group.add_argument("--print-no-properties", action="store_true", help="print properties among the attributes")
    group.add_argument(
        "--print-debuginfo", "--mlir-print-debuginfo", action="store_true", help="print the location of every op"
    )
    group.add_argument("--syntax-highlight", action="store_true", help="color the IR")


def _add_outcome(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("what counts as success")
    group.add_argument(
        "--verify-diagnostics",
        action="store_true",
        help="print the diagnostics on standard output and exit 0 where the input gives the expected ones: those of "
        "the comments `// expected-error {{text}}` (`@+1`, `@-1`: of a line nearby), or without any, one in each piece",
    )
    group.add_argument(
        "--parsing-diagnostics", action="store_true", help="the same as --verify-diagnostics (a name that xDSL knows)"
    )
    group.add_argument("--shrink", action="store_true", help="exit 0 where a pass raises ShrinkException, else 1")
    parser.add_argument("-v", "--version", action="store_true", help="print the versions of irc and xDSL and exit")


def main(argv: Sequence[str] | None = None) -> int:
    """The command; returns the exit status: 0, or 1 after a diagnostic on standard error."""
    from irc_tools.errors import guarded

    arguments = list(sys.argv[1:] if argv is None else argv)
    return guarded("irc-opt", lambda: _run(arguments), debug="--debug" in arguments)


def _run(arguments: list[str]) -> int:
    parser = argument_parser()
    args = parser.parse_args(arguments)
    if args.version:
        print(_versions())
        return 0
    from irc_tools.driver import OptMain

    driver = OptMain(args)
    if args.list_passes:
        from irc_tools.pass_help import list_passes

        print(list_passes(driver.available_passes))
        return 0
    return driver.execute()


def _versions() -> str:
    from importlib.metadata import version

    from irc import __version__

    return f"irc-opt {__version__} on xDSL {version('xdsl')}"


if __name__ == "__main__":
    sys.exit(main())
