"""What the command lines of irc-compile and irc-run have in common."""

from __future__ import annotations

import argparse
from typing import NoReturn

from irc.support.diagnostics import IrcError


class ArgumentParser(argparse.ArgumentParser):
    """Raises `IrcError` where argparse prints its usage and exits."""

    def error(self, message: str) -> NoReturn:
        raise IrcError(message, None, f"`{self.prog} --help` explains the command")


def add_program(parser: argparse.ArgumentParser) -> None:
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
    parser.add_argument("--debug", action="store_true", help="show the traceback of an error too")
