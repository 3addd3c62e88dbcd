"""What the command lines of irc-opt, irc-compile and irc-run have in common."""

from __future__ import annotations

import argparse
from collections.abc import Collection
from typing import TYPE_CHECKING, NoReturn

from irc.support.diagnostics import IrcError, unknown_name

if TYPE_CHECKING:
    from irc.driver.reports import Reports


class ArgumentParser(argparse.ArgumentParser):
    """Raises `IrcError` where argparse prints its usage and exits."""

    def error(self, message: str) -> NoReturn:
        raise IrcError(message, None, f"`{self.prog} --help` explains the command")


def add_program(parser: argparse.ArgumentParser) -> None:
    """The program, what selects a variant of it, and reports."""
    add_variant(parser)
    add_reports(parser, verify_each=False)


def add_variant(parser: argparse.ArgumentParser) -> None:
    """The program and what selects a variant of it."""
    parser.add_argument("file", metavar="FILE", help="a .irc program, or a .mlir file of nd functions")
    parser.add_argument(
        "-D", "--define", action="append", default=[], metavar="NAME=INT", help="replace a dim of the program"
    )
    parser.add_argument("--func", metavar="NAME", help="the function (default: the last)")
    parser.add_argument(
        "--arch", metavar="ARCH", help="sm_80, sm_89, sm_90a or sm_100a (default: the GPU's, else sm_90a)"
    )
    parser.add_argument(
        "--strict-rounding", action="store_true", help="round after every operation, as eager frameworks do"
    )
    parser.add_argument(
        "--any-order",
        action="store_true",
        help="add up sums in any order where that is faster: results differ in their last bits from run to run",
    )


def add_reports(parser: argparse.ArgumentParser, *, verify_each: bool) -> None:
    """What is reported while passes run. verify_each: the default of that option."""
    group = parser.add_argument_group("reports, on standard error")
    group.add_argument(
        "--print-before", metavar="LIST", help="print the IR before these passes (comma-separated, or `all`)"
    )
    group.add_argument(
        "--print-after", metavar="LIST", help="print the IR after these passes (comma-separated, or `all`)"
    )
    group.add_argument("--dump-dir", metavar="DIR", help="write the IR before the first pass and after each into DIR")
    group.add_argument("--time-passes", action="store_true", help="print the seconds that each step took")
    group.add_argument(
        "--verify-each",
        action=argparse.BooleanOptionalAction,
        default=verify_each,
        help=f"verify the IR and what the pass establishes after each pass (default: {'yes' if verify_each else 'no'})",
    )
    group.add_argument(
        "--reproducers",
        metavar="DIR",
        help="write the reproducer of an error in irc into DIR; `off` writes none (default: $IRC_REPRODUCERS, else a "
        "folder of irc's cache)",
    )
    group.add_argument("--debug", action="store_true", help="show the traceback of an error too")


def parse_reports(
    args: argparse.Namespace, running: Collection[str], *, generic: bool = False, locations: bool = False
) -> Reports | None:
    """The reports that the arguments of `add_reports` ask for, of the passes that run; None where they ask for none.
    `generic` and `locations` say how IR is printed."""
    asked = (args.print_before, args.print_after, args.dump_dir, args.time_passes, args.verify_each, args.reproducers)
    if not any(asked):
        return None
    from irc.driver.reports import Reports

    return Reports(
        dump_dir=args.dump_dir,
        time_passes=args.time_passes,
        verify_each=args.verify_each,
        print_before=_selected(args.print_before, running),
        print_after=_selected(args.print_after, running),
        generic=generic,
        locations=locations,
        reproducers=args.reproducers,
    )


def _selected(text: str | None, running: Collection[str]) -> set[str]:
    """The passes that a list names, of those that run, and `all`."""
    from irc.driver.reports import ALL

    names = set[str]() if text is None else {name.strip() for name in text.split(",")}
    for name in sorted(names - {*running, ALL}):
        raise unknown_name("pass", name, [*running, ALL], "passes that run can be named, and `all`", of=" to print")
    return names
