"""What the command lines of irc-opt, irc-compile and irc-run have in common."""

from __future__ import annotations

import argparse
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from irc.support.diagnostics import IrcError, unknown_name

if TYPE_CHECKING:
    from irc.driver.reports import Reports


_FILE = "a .irc program, a .mlir file of nd functions, an .onnx file, or StableHLO in a .stablehlo.mlir file"

VALUES = {"true": True, "1": True, "false": False, "0": False}
"""Of a flag."""


class ArgumentParser(argparse.ArgumentParser):
    """Raises `IrcError` where argparse prints its usage and exits."""

    def error(self, message: str) -> NoReturn:
        raise IrcError(message, None, f"`{self.prog} --help` explains the command")

    def parse_args(self, args: Sequence[str], namespace: Any = None) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Flags may have a value, as LLVM's have: `--verify-each=false`."""
        return super().parse_args([flag for each in args for flag in self._flag(each)], namespace)

    def _flag(self, argument: str) -> list[str]:
        name, _, value = argument.partition("=")
        action = self._option_string_actions.get(name)
        if action is None or action.nargs != 0 or value not in VALUES:
            return [argument]
        if VALUES[value]:
            return [name]
        negative = f"--no-{name.removeprefix('--')}"
        return [negative] if negative in self._option_string_actions else []


def add_program(parser: argparse.ArgumentParser) -> None:
    """The program, what selects a variant of it, and reports."""
    add_variant(parser)
    add_reports(parser, verify_each=False)


def add_variant(parser: argparse.ArgumentParser) -> None:
    """The program and what selects a variant of it."""
    parser.add_argument(
        "file",
        metavar="FILE",
        help=_FILE,
    )
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
    for when in ("before", "after"):
        group.add_argument(
            f"--print-{when}",
            f"--mlir-print-ir-{when}",
            action="append",
            default=[],
            metavar="LIST",
            help=f"print the IR {when} these passes (comma-separated, or `all`)",
        )
        group.add_argument(
            f"--mlir-print-ir-{when}-all",
            action="append_const",
            const="all",
            dest=f"print_{when}",
            help=f"the same as --print-{when} all",
        )
    group.add_argument(
        "--print-changed",
        "--mlir-print-ir-after-change",
        action="store_true",
        help="print the IR only after passes that change it, of those of --print-after, or of all",
    )
    group.add_argument(
        "--dump-dir",
        "--mlir-print-ir-tree-dir",
        metavar="DIR",
        help="write the IR before the first pass and after each into DIR",
    )
    group.add_argument(
        "--time-passes", "--mlir-timing", action="store_true", help="print the seconds that each step took"
    )
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
    shown = (args.print_before, args.print_after, args.print_changed, args.dump_dir, args.time_passes)
    if not any((*shown, args.verify_each, args.reproducers)):
        return None
    from irc.driver.reports import Reports

    return Reports(
        dump_dir=args.dump_dir,
        time_passes=args.time_passes,
        verify_each=args.verify_each,
        print_before=_selected(args.print_before, running),
        print_after=_selected(args.print_after or ["all"] * args.print_changed, running),
        print_changed=args.print_changed,
        generic=generic,
        locations=locations,
        reproducers=args.reproducers,
    )


def _selected(lists: Sequence[str], running: Collection[str]) -> set[str]:
    """The passes that lists name, of those that run, and `all`."""
    from irc.driver.reports import ALL

    names = {name.strip() for text in lists for name in text.split(",")}
    for name in sorted(names - {*running, ALL}):
        raise unknown_name("pass", name, [*running, ALL], "passes that run can be named, and `all`", of=" to print")
    return names
