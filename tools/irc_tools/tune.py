"""irc-tune: searches for the configs of a program's kernels; ships them as a file."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from irc.support.diagnostics import IrcError
from irc_tools.arguments import ArgumentParser, add_variant
from irc_tools.definitions import parse_definitions, parse_time
from irc_tools.errors import guarded
from irc_tools.programs import open_program

if TYPE_CHECKING:
    from irc.driver.tuning import Tunable

COMMANDS = ("show", "export", "import", "measurements")


def main(argv: Sequence[str] | None = None) -> int:
    """The command; returns the exit status: 1 after a diagnostic, and where no kernel could be tuned."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    return guarded("irc-tune", lambda: _run(arguments), debug="--debug" in arguments)


def _run(arguments: list[str]) -> int:
    if arguments[:1] and arguments[0] in COMMANDS:
        return _of_database(arguments)
    if arguments[:1] == ["dataset"]:
        from irc_tools.dataset import command

        return command.run(arguments[1:])
    if arguments[:1] == ["exhaustive"]:
        from irc_tools.exhaustive import command

        return command.run(arguments[1:])
    return _tune(arguments)


def _of_database(arguments: list[str]) -> int:
    from irc_tools import tuned_files
    from irc_tools.dataset.rows import write_measurements

    parser = ArgumentParser(prog="irc-tune", description="What is done with configs that were found.")
    parser.add_argument("--debug", action="store_true", help="show the traceback of an error too")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("show", help="print the configs that compilations take")
    for name, text in (
        ("export", "write them to a .toml file"),
        ("import", "take those of such a file, in place of others of the same kernels"),
        ("measurements", "write all that was measured to a .jsonl file, a row for each config that was tried"),
    ):
        commands.add_parser(name, help=text).add_argument("file", metavar="FILE", help=text)
    args = parser.parse_args(arguments)
    if args.command == "show":
        return tuned_files.show()
    action = {"export": tuned_files.export, "import": tuned_files.take, "measurements": write_measurements}
    return action[args.command](Path(args.file))


def argument_parser() -> argparse.ArgumentParser:
    """The command line that tunes a program."""
    parser = ArgumentParser(
        prog="irc-tune",
        description="Searches for the config of each kernel of a program with which it is fastest, and keeps what it "
        "finds: every later compilation takes it. Ctrl-C ends the search with the best so far. `irc-tune show` prints "
        "what is kept, `irc-tune export FILE` and `irc-tune import FILE` ship it, `irc-tune measurements FILE` writes "
        "all that was measured, `irc-tune dataset FILE` measures configs of many programs, `irc-tune exhaustive FILE` "
        "says how far the heuristic is from the best.",
        allow_abbrev=False,
    )
    add_variant(parser)
    parser.add_argument(
        "--target",
        choices=("cuda", "cpu"),
        help="where kernels are timed (default: cuda where a GPU is present, else cpu, this CPU's machine code)",
    )
    parser.add_argument("--kernel", action="append", default=[], metavar="NAME", help="only kernels with such a name")
    parser.add_argument("--budget", default="10s", metavar="TIME", help="for each kernel: 10s, 5m, 1h (default: 10s)")
    parser.add_argument(
        "--search", default="auto", metavar="NAME", help="auto, ranked, pattern, evolution or random (default: auto)"
    )
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="of what the search draws (default: 0)")
    parser.add_argument(
        "--workers", type=int, metavar="N", help="processes that compile (default: the cores, up to 16)"
    )
    parser.add_argument("--again", action="store_true", help="also kernels that were tuned before")
    parser.add_argument("--list", action="store_true", help="print the kernels and exit")
    parser.add_argument("--debug", action="store_true", help="show the traceback of an error too")
    return parser


def _tune(arguments: list[str]) -> int:
    args = argument_parser().parse_args(arguments)
    from irc.driver.compiler import Options, resolve_arch
    from irc.driver.program import isolate
    from irc.driver.tuning import tunable_kernels, tune_kernels
    from irc.ir.targets import set_target, target_of
    from irc.ir.verification import verify
    from irc.runtime.driver import is_present
    from irc.support import tuned
    from irc.tuning.search import check_search
    from irc.tuning.session import Settings

    check_search(args.search)
    target = args.target or ("cuda" if is_present() else "cpu")
    settings = Settings(parse_time(args.budget), args.search, args.seed, _workers(args.workers))
    arch = "cpu" if target == "cpu" else resolve_arch(args.arch)
    options = Options(arch, strict_rounding=args.strict_rounding, any_order=args.any_order)
    module = isolate(open_program(args.file, parse_definitions(args.define)).module(), args.func)
    verify(module)
    set_target(module, arch)
    machine = target_of(module)
    tunables = _named(tunable_kernels(module, options), args.kernel)
    if args.list:
        for each in tunables:
            known = ", tuned" if tuned.has(each.key, machine.name) else ""
            print(f"{each.name}: {each.kernel.kind.value} of {each.key.shapes}{known}")
        return 0
    wanted = [each for each in tunables if args.again or not tuned.has(each.key, machine.name)]
    if len(wanted) < len(tunables):
        print(f"{len(tunables) - len(wanted)} kernels were tuned before (--again tunes them anew)", flush=True)
    found = tune_kernels(wanted, machine, target, options, settings, lambda line: print(line, flush=True))
    return 0 if found or not wanted else 1


def _named(tunables: list[Tunable], names: Sequence[str]) -> list[Tunable]:
    """Those that have one of the names; all where there are none. IrcError where a name is none's."""
    known = [each.name for each in tunables]
    if not tunables:
        raise IrcError(
            "nothing to tune: the program has no kernels that irc fuses",
            hint="@kernel(autotune=True) tunes one of Python's",
        )
    for name in names:
        if name not in known:
            raise IrcError(f"no kernel is named {name}", hint=f"kernels are {', '.join(known)}")
    return [each for each in tunables if not names or each.name in names]


def _workers(count: int | None) -> int | None:
    if count is not None and count < 1:
        raise IrcError(f"--workers {count}: expected a positive number")
    return count
