"""irc-tune dataset: measured configs of the kernels of many programs; and what `irc-tune exhaustive` has in common."""

from __future__ import annotations

import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from irc.support.diagnostics import IrcError
from irc_tools.arguments import ArgumentParser
from irc_tools.definitions import parse_time

if TYPE_CHECKING:
    from irc.tuning.session import Settings
    from irc.tuning.workers import Setup, Timing
    from irc_tools.dataset.crew import Crew


def argument_parser() -> ArgumentParser:
    parser = ArgumentParser(
        prog="irc-tune dataset",
        description="Compiles and times configs of the kernels of programs, and adds a JSON object for each to a file, "
        "which goes on where it ended: the rows that are there are not made again. Ctrl-C ends it with what is there.",
        allow_abbrev=False,
    )
    parser.add_argument("file", metavar="FILE", type=Path, help="the .jsonl file")
    parser.add_argument(
        "programs", metavar="PROGRAM", type=Path, nargs="*", help=".irc files (default: all suites and the examples)"
    )
    add_measuring(
        parser,
        of="programs",
        budget="1h",
        candidates=24,
        beside=" beside its own",
        compile_only="write rows without seconds: needs no GPU",
    )
    return parser


def run(arguments: Sequence[str]) -> int:
    """The command; returns the exit status."""
    args = argument_parser().parse_args(arguments)
    return _build(args, deadline_of(args, least=0))


def _build(args: Any, deadline: float) -> int:
    from irc.driver.compiler import resolve_arch
    from irc.tuning.session import Settings
    from irc_tools.dataset import building
    from irc_tools.dataset.rows import COMPILED, append_rows, identity, read_rows
    from irc_tools.dataset.sources import sources

    known = read_rows(args.file) if args.file.exists() else []
    done = {identity(row) for row in known if args.compile_only or row["outcome"] != COMPILED}
    settings, machine = Settings(workers=args.workers), machine_here()
    wanted = building.Wanted(resolve_arch(args.arch), args.candidates, args.seed, done)
    programs = sources(args.programs, args.only, args.seed)
    say(f"{len(known)} rows in {args.file}; {len(programs)} programs, {settings.worker_count} processes")
    append_rows(args.file, [])
    begin, kernels, written = time.monotonic(), 0, 0
    with processes(building.COMPILING, settings, compile_only=args.compile_only) as (crew, timing):
        for plan, built in building.Pipeline(crew, programs, wanted, say).kernels(deadline):
            if timing is None:
                found = building.not_timed(built)
            else:
                found = building.timed(timing, built, settings, deadline)
            rows = building.rows_of(plan, built, found, machine)
            append_rows(args.file, rows)
            kernels, written = kernels + 1, written + len(rows)
            say(f"[{time.monotonic() - begin:.1f}s] {_line(rows)}")
    say(f"{written} rows of {kernels} kernels were added to {args.file}")
    return 0


def _line(rows: Sequence[Any]) -> str:
    """What was found of a kernel."""
    outcomes = [row["outcome"] for row in rows]
    counts = " ".join(f"{name}={outcomes.count(name)}" for name in sorted(set(outcomes)))
    seconds = [row["seconds"] for row in rows if row["seconds"] is not None]
    gain = f", the best {seconds[0] / min(seconds):.3f}x" if seconds and rows[0]["seconds"] else ""
    return f"{rows[0]['program']}: {rows[0]['kind']} of {rows[0]['shapes']}: {counts}{gain}" if rows else "nothing"


def add_measuring(
    parser: ArgumentParser, *, of: str, budget: str, candidates: int, beside: str, compile_only: str
) -> None:
    """of: what is selected by name. beside: of which configs the candidates are."""
    parser.add_argument("--only", action="append", default=[], metavar="PATTERN", help=f"{of} of such names: gemm/*")
    parser.add_argument("--budget", default=budget, metavar="TIME", help=f"of all: 10s, 5m, 1h (default: {budget})")
    configs = f"configs of a kernel{beside} (default: {candidates})"
    parser.add_argument("--candidates", type=int, default=candidates, metavar="N", help=configs)
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="of what is drawn (default: 0)")
    parser.add_argument("--arch", metavar="ARCH", help="of --compile-only (default: the GPU's, else sm_90a)")
    parser.add_argument("--compile-only", action="store_true", help=compile_only)
    parser.add_argument(
        "--workers", type=int, metavar="N", help="processes that compile (default: the cores, up to 16)"
    )
    parser.add_argument("--debug", action="store_true", help="show the traceback of an error too")


def deadline_of(args: Any, least: int) -> float:
    """When the budget is spent. IrcError where that is no time, there are fewer candidates than at least, or no worker,
    or no GPU to time them."""
    from irc.runtime.driver import is_present

    for option, lowest, value in (("--candidates", least, args.candidates), ("--workers", 1, args.workers)):
        if value is not None and value < lowest:
            raise IrcError(f"{option} {value}: expected a number of at least {lowest}")
    deadline = time.monotonic() + parse_time(args.budget)
    if not args.compile_only and not is_present():
        raise IrcError("no GPU is here to time configs", hint="--compile-only needs none")
    return deadline


@contextmanager
def processes(setup: Setup, settings: Settings, *, compile_only: bool) -> Generator[tuple[Crew, Timing | None]]:
    """A crew that compiles, and a process that times; they end with the block, which Ctrl-C ends."""
    from irc.tuning.workers import Timing
    from irc_tools.dataset import building
    from irc_tools.dataset.crew import Crew

    timing = None if compile_only else Timing(building.TIMING)
    crew = Crew(setup, settings.worker_count, settings.compile_timeout)
    try:
        yield crew, timing
    except KeyboardInterrupt:
        say("interrupted")
    finally:
        crew.close()
        if timing is not None:
            timing.close()


def machine_here() -> dict[str, Any]:
    """Of `irc_tools.machine`, what times depend on."""
    from irc_tools.machine import describe

    found = describe()
    packages: Any = found["packages"]
    kept = {name: found[name] for name in ("commit", "gpu", "driver") if name in found}
    return {**kept, "compiler": packages.get("nvidia-cuda-nvrtc", "")}


def say(line: str) -> None:
    print(line, flush=True)
