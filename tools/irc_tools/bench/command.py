"""The command irc-bench: runs suites, shows a record, compares two records, or two trees."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING

from irc.support.diagnostics import IrcError
from irc_tools.arguments import ArgumentParser
from irc_tools.bench.bars import PEERS
from irc_tools.bench.other_records import print_other_record, read_other_record
from irc_tools.bench.record import Record, RowRecord, joined, read_record, write_record
from irc_tools.bench.report import print_comparison, print_record, progress
from irc_tools.bench.rows import Row, Suite
from irc_tools.bench.suite import known_suites, load_suite
from irc_tools.errors import guarded

if TYPE_CHECKING:
    from irc_tools.bench.timing import Settings


def main(argv: Sequence[str] | None = None) -> int:
    """The command; returns the exit status: 1 after a diagnostic, and where a row failed."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    return guarded("irc-bench", lambda: _run(arguments), debug="--debug" in arguments)


def _run(arguments: list[str]) -> int:
    if arguments[:1] == ["show"]:
        return _show(arguments[1:])
    if arguments[:1] == ["compare"]:
        return _compare(arguments[1:])
    if arguments[:1] == ["join"]:
        return _join(arguments[1:])
    if arguments[:1] == ["before"]:
        return _before(arguments[1:])
    return _bench(arguments)


def _show(arguments: list[str]) -> int:
    parser = ArgumentParser(prog="irc-bench show", description="Prints the table of a record.")
    parser.add_argument(
        "file", metavar="FILE", help="a file that --json wrote, or another record of benchmarks/results"
    )
    parser.add_argument("--plot", metavar="FILE", help="draw it, too: a .svg or .png file (needs matplotlib)")
    parser.add_argument("--debug", action="store_true", help="show the traceback of an error too")
    args = parser.parse_args(arguments)
    if (other := read_other_record(Path(args.file))) is not None:
        print_other_record(other)
        if args.plot is not None:
            raise IrcError(f"{args.file} is no record of irc-bench, which alone is drawn")
        return 0
    record = read_record(Path(args.file))
    print_record(record)
    _plot(args.plot, record)
    return 0


def _compare(arguments: list[str]) -> int:
    parser = ArgumentParser(prog="irc-bench compare", description="Compares the rows that two records share.")
    parser.add_argument("old", metavar="OLD", help="a file that --json wrote")
    parser.add_argument("new", metavar="NEW", help="a later one")
    parser.add_argument("--debug", action="store_true", help="show the traceback of an error too")
    args = parser.parse_args(arguments)
    print_comparison(read_record(Path(args.old)), read_record(Path(args.new)))
    return 0


def _join(arguments: list[str]) -> int:
    parser = ArgumentParser(
        prog="irc-bench join",
        description="Makes one record of those of a suite's parts, which --filter ran one by one, and prints it.",
    )
    parser.add_argument("files", metavar="FILE", nargs="+", help="files that --json wrote, in the order of their rows")
    parser.add_argument("--json", metavar="FILE", required=True, help="where the whole record is written")
    parser.add_argument("--debug", action="store_true", help="show the traceback of an error too")
    args = parser.parse_args(arguments)
    record = joined({path: read_record(path) for path in map(Path, args.files)})
    write_record(Path(args.json), record)
    print_record(record)
    return 0


def _before(arguments: list[str]) -> int:
    args = _before_arguments().parse_args(arguments)
    _refuse_numbers(args)
    from irc_tools.bench.before import SUMMARY, compare_trees, rows_of
    from irc_tools.bench.timing import Settings

    if not args.list:
        _refuse_without_gpu("--list names the rows that differ, and needs none")
    named = {name: _named(load_suite(name, args.seed).rows, args.filter) for name in args.suite or known_suites()}
    rows = rows_of(named)
    if not rows:
        raise IrcError(f"no row that irc compiles has {' or '.join(args.filter)} in its name")
    settings = Settings(repetitions=args.repetitions or 5, block_seconds=5e-3, seed=args.seed or 0, check=False)
    suite = Suite("before", f"this tree beside {args.tree}", (), (SUMMARY,))
    return _recorded(
        suite, settings, args, lambda done: compare_trees(Path(args.tree), rows, settings, done, is_timed=not args.list)
    )


def _before_arguments() -> argparse.ArgumentParser:
    parser = ArgumentParser(
        prog="irc-bench before",
        description="Compiles the rows of suites by this tree of irc and by another one, and times both in turns where "
        "their machine code differs. Rows of torch's models, and those whose calls are timed, are left out.",
        allow_abbrev=False,
    )
    parser.add_argument("tree", metavar="TREE", help="the folder of the other checkout")
    _add_common(parser, suites="all", repetitions="5, of 3 blocks each", lists="say which rows differ, time none")
    return parser


def _arguments() -> argparse.ArgumentParser:
    parser = ArgumentParser(
        prog="irc-bench",
        description="Times generated kernels on the GPU that is present, side by side with torch and with a copy of as "
        "many bytes, after checking their results; or how long compilers take for models of torch. `irc-bench show "
        "FILE` prints a recorded run, `irc-bench compare OLD NEW` two of them, `irc-bench join FILE... --json WHOLE` "
        "makes one of runs of a suite's parts; these, compile times and --list need no GPU.",
        allow_abbrev=False,
    )
    _add_common(
        parser,
        suites="memory; --json takes one",
        repetitions="21; of first calls 1",
        lists="print the rows with their bars and exit",
    )
    parser.add_argument(
        "--peers",
        default="none",
        metavar="LIST",
        help=f"which of the peers that rows name to run: all, none, or some of {', '.join(PEERS)} (default: none; "
        "without any, torch is not imported, and results are checked with the interpreter, which takes longer)",
    )
    parser.add_argument("--quick", action="store_true", help="few and short repetitions, and no max-autotune")
    parser.add_argument(
        "--limit", type=float, metavar="SECONDS", help="that the process of a first call may take (default: 300)"
    )
    parser.add_argument("--no-check", action="store_true", help="do not check results before timing")
    return parser


def _add_common(parser: argparse.ArgumentParser, *, suites: str, repetitions: str, lists: str) -> None:
    """What rows are run, how often, and what becomes of their record; and the defaults of these."""
    parser.add_argument(
        "--suite",
        action="append",
        metavar="NAME|FILE",
        help=f"what to run: {', '.join(known_suites())}, or a .toml file (default: {suites})",
    )
    parser.add_argument(
        "--filter",
        action="append",
        default=[],
        metavar="TEXT",
        help="only the row of this name, or those with this in their name or group",
    )
    parser.add_argument(
        "--repetitions", type=int, metavar="N", help=f"of all variants in turn (default: {repetitions})"
    )
    parser.add_argument("--seed", type=int, metavar="N", help="of inputs (default: 0) and of a suite's drawn rows")
    parser.add_argument("--json", metavar="FILE", help="write the record to FILE, after every row")
    parser.add_argument("--plot", metavar="FILE", help="draw the record: a .svg or .png file (needs matplotlib)")
    parser.add_argument("--list", action="store_true", help=lists)
    parser.add_argument("--debug", action="store_true", help="show the traceback of an error too")


def _bench(arguments: list[str]) -> int:
    args = _arguments().parse_args(arguments)
    _refuse_numbers(args)
    if args.limit is not None and not args.limit > 0:
        raise IrcError(f"--limit {args.limit:g}: expected a positive number of seconds")
    suites = [_filtered(load_suite(name, args.seed), args.filter) for name in args.suite or ["memory"]]
    if len(suites) > 1 and (args.json or args.plot):
        raise IrcError("--json and --plot take one suite at a time")
    if args.list:
        for suite in suites:
            _list(suite)
        return 0
    if args.plot:
        from irc_tools.bench.plot import check_plot

        check_plot(Path(args.plot))
    statuses = [_run_suite(suite, args) for suite in suites]
    return max(statuses)


def _refuse_numbers(args: argparse.Namespace) -> None:
    if args.repetitions is not None and args.repetitions < 1:
        raise IrcError(f"--repetitions {args.repetitions}: expected a positive number")
    if args.seed is not None and args.seed < 0:
        raise IrcError(f"--seed {args.seed}: expected a number that is not negative")


def _named(rows: Sequence[Row], texts: Sequence[str]) -> list[Row]:
    """The rows that a text names, of each that is no name those with it in their name or group; all without texts."""
    names = {row.name for row in rows}
    return [
        row
        for row in rows
        if not texts
        or any(text == row.name or (text not in names and text in f"{row.group} {row.name}") for text in texts)
    ]


def _filtered(suite: Suite, texts: list[str]) -> Suite:
    rows = tuple(_named(suite.rows, texts))
    if not rows:
        raise IrcError(f"no row of {suite.name} has {' or '.join(texts)} in its name", hint="--list names them")
    return Suite(suite.name, suite.title, rows, suite.summaries, suite.show)


def _list(suite: Suite) -> None:
    from irc_tools.tables import print_table

    cells = [[row.name, row.group, "; ".join(bar.text for bar in row.bars), " ".join(row.peers)] for row in suite.rows]
    print_table(f"{suite.name}: {suite.title}", ["row", "group", "bars", "peers"], cells, numbers_from=9)


def _peers(text: str, *, quick: bool) -> tuple[str, ...]:
    names = {"all": list(PEERS), "none": []}.get(text, text.split(","))
    for name in names:
        if name not in PEERS:
            raise IrcError(f"--peers: unknown {name!r}", hint=f"all, none, or some of {', '.join(PEERS)}")
    return tuple(name for name in names if not (quick and name == "max-autotune"))


def _run_suite(suite: Suite, args: argparse.Namespace) -> int:
    peers = _peers(args.peers, quick=args.quick)
    if not suite.times_first_calls:
        _refuse_without_gpu("compile times, --list, show and compare need none")
    from irc_tools.bench.compile_times import measure_compile_times
    from irc_tools.bench.measure import measure_rows

    settings = replace(_settings(suite, args), peers=peers)
    measure = measure_compile_times if suite.times_first_calls else measure_rows
    return _recorded(suite, settings, args, lambda done: measure(suite.rows, settings, done))


def _refuse_without_gpu(hint: str) -> None:
    from irc.runtime.driver import is_present

    if not is_present():
        raise IrcError("no CUDA GPU is present", hint=hint)


def _recorded(
    suite: Suite, settings: Settings, args: argparse.Namespace, measure: Callable[[Callable[[RowRecord], None]], None]
) -> int:
    """Measures rows, and writes, prints and draws their record; the exit status."""
    from irc_tools.machine import describe

    machine, rows = describe(), list[RowRecord]()

    def record() -> Record:
        return Record.of(suite, machine, asdict(settings), rows)

    def done(row: RowRecord) -> None:
        rows.append(row)
        print(progress(row), file=sys.stderr, flush=True)
        if args.json:
            write_record(Path(args.json), record())

    try:
        measure(done)
    finally:
        if rows:
            print_record(record())
            _plot(args.plot, record())
    return 1 if any(row.error for row in rows) else 0


def _settings(suite: Suite, args: argparse.Namespace) -> Settings:
    from irc_tools.bench.timing import Settings

    base = Settings(repetitions=5, block_seconds=2e-3) if args.quick else Settings()
    if suite.times_first_calls:
        base = replace(base, repetitions=1)
    repetitions = base.repetitions if args.repetitions is None else args.repetitions
    limit = base.limit_seconds if args.limit is None else args.limit
    return replace(base, repetitions=repetitions, seed=args.seed or 0, check=not args.no_check, limit_seconds=limit)


def _plot(path: str | None, record: Record) -> None:
    if path is None:
        return
    from irc_tools.bench.plot import write_plot

    write_plot(Path(path), record)
