"""irc-lsp: a language server for `.irc` programs and IR in `.mlir`, over standard input and output."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from irc.support.diagnostics import IrcError
from irc_tools.arguments import ArgumentParser
from irc_tools.errors import guarded


def main(argv: Sequence[str] | None = None) -> int:
    """The command; returns the exit status: 0 when the editor ends it, 1 after a diagnostic."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    return guarded("irc-lsp", lambda: _run(arguments))


def argument_parser() -> argparse.ArgumentParser:
    """The command line of irc-lsp."""
    parser = ArgumentParser(
        prog="irc-lsp",
        description="A language server for .irc programs and IR in .mlir of any level: diagnostics while you type, "
        "types and origins where the mouse is, definitions, an outline. An editor starts it, and speaks to it over "
        "standard input and output.",
        allow_abbrev=False,
    )
    parser.add_argument("--stdio", action="store_true", help="what editors give; it speaks no other way")
    return parser


def _run(arguments: list[str]) -> int:
    argument_parser().parse_args(arguments)
    try:
        from irc_tools.lsp.server import make_server
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("pygls", "lsprotocol"):
            raise
        raise IrcError("irc-lsp needs pygls", None, "pip install 'irc-compiler[lsp]'") from error
    make_server().start_io()
    return 0


if __name__ == "__main__":
    sys.exit(main())
