"""irc-reduce: makes IR smaller that a test finds interesting."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from irc.support.diagnostics import IrcError
from irc.support.files import write_text
from irc_tools.arguments import ArgumentParser
from irc_tools.definitions import parse_definitions, parse_time
from irc_tools.errors import guarded

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from irc_tools.reduction.testing import ReducedProgram, Test

EXAMPLES = """\
examples:
  irc-reduce guard-masks-5b0b5a1f2c.mlir --test 'irc-opt {} --run-reproducer 2>&1 | grep -q KeyError'
  irc-reduce dense.irc --test 'irc-opt {} -p kernel | grep -q "schedule = .persistent"'
  irc-reduce tile.mlir --test ./is_slow.sh --budget 1h -o small.mlir
"""


def main(argv: Sequence[str] | None = None) -> int:
    """The command; returns the exit status: 0, 1 after a diagnostic, 130 after Ctrl-C, which keeps the best so far."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    return guarded("irc-reduce", lambda: _run(arguments), debug="--debug" in arguments)


def argument_parser() -> argparse.ArgumentParser:
    """The command line of irc-reduce."""
    parser = ArgumentParser(
        prog="irc-reduce",
        description="Makes a program smaller while a command accepts it: erases functions and ops, puts other values "
        "in their place, takes ops out of regions, shrinks extents and constants, drops attributes. What the command "
        "sees is valid IR. FILE stays as it is; the smallest so far is always in the output file.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("file", metavar="FILE", help="a .irc program, .mlir of any level, or a reproducer")
    parser.add_argument(
        "--test",
        required=True,
        metavar="CMD",
        help="a command for the shell that exits with 0 where a candidate is interesting: the candidate's file stands "
        "in the place of {}, or at the end",
    )
    parser.add_argument("-o", "--output", metavar="FILE", help="(default: FILE's name and .reduced.mlir)")
    parser.add_argument("--budget", default="10m", metavar="TIME", help="of the search (default: 10m)")
    parser.add_argument("--timeout", default="1m", metavar="TIME", help="of one test, which fails then (default: 1m)")
    parser.add_argument(
        "-D", "--define", action="append", default=[], metavar="NAME=INT", help="replace a dim of a .irc program"
    )
    parser.add_argument("--debug", action="store_true", help="show the traceback of an error too")
    return parser


def _run(arguments: list[str]) -> int:
    args = argument_parser().parse_args(arguments)
    path = Path(args.file)
    output = Path(args.output) if args.output is not None else Path(f"{path.stem}.reduced.mlir")
    if output.exists() and path.exists() and output.samefile(path):
        raise IrcError("-o: expected another file than the input")
    seconds, timeout = parse_time(args.budget), parse_time(args.timeout, "--timeout")

    from irc_tools.reduction.testing import ReducedProgram, Test

    program = ReducedProgram.read(path, parse_definitions(args.define))
    with Test(args.test, timeout) as test:
        return _reduce(program, test, output, time.monotonic() + seconds)


def _reduce(program: ReducedProgram, test: Test, output: Path, deadline: float) -> int:
    from irc_tools.reduction.search import Search, cost_of

    begin, module = time.monotonic(), program.module
    program = program.accepted(test)
    write_text(output, program.text(module))

    def accepts(candidate: ModuleOp) -> bool:
        if not test.accepts(text := program.text(candidate)):
            return False
        write_text(output, text)
        return True

    search = Search(module, accepts, deadline)
    status, ending = 0, "nothing smaller is accepted"
    try:
        search.run()
        if search.is_over():
            ending = "the time is over"
    except KeyboardInterrupt:
        status, ending = 130, "interrupted"
    before, after = cost_of(module), cost_of(search.best)
    seconds = time.monotonic() - begin
    print(f"{output}: {after.ops} of {before.ops} ops, {after.characters} of {before.characters} characters")
    print(f"{search.tests} candidates tested in {seconds:.1f} s: {ending}")
    return status


if __name__ == "__main__":
    sys.exit(main())
