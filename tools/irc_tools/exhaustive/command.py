"""irc-tune exhaustive: the heuristic's configs beside the best of all that is tried."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from irc.support.diagnostics import IrcError
from irc_tools.arguments import ArgumentParser
from irc_tools.definitions import parse_time

if TYPE_CHECKING:
    from irc.tuning.session import Settings
    from irc_tools.dataset.planning import Candidate


def argument_parser() -> ArgumentParser:
    parser = ArgumentParser(
        prog="irc-tune exhaustive",
        description="Times the heuristic's config of 60 kernels of all kinds by turns with the best of many others, "
        "and says how far it is from that, and how soon the cost model's order reaches it. Rows are added to a "
        "file, which goes on where it ended. Every kernel has its first candidates timed before any has the rest.",
        allow_abbrev=False,
    )
    parser.add_argument("file", metavar="FILE", type=Path, help="the .jsonl file; --show takes .jsonl.gz, too")
    parser.add_argument("--only", action="append", default=[], metavar="PATTERN", help="kernels of such names: gemm/*")
    parser.add_argument("--budget", default="6m", metavar="TIME", help="of all: 10s, 5m, 1h (default: 6m)")
    parser.add_argument(
        "--candidates",
        type=int,
        default=40,
        metavar="N",
        help="configs of a kernel, before neighbors of the best (default: 40)",
    )
    parser.add_argument(
        "--product", default="10s", metavar="TIME", help="tune the product for so long first (default: 10s)"
    )
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="of what is drawn (default: 0)")
    parser.add_argument("--arch", metavar="ARCH", help="of --compile-only (default: the GPU's, else sm_90a)")
    parser.add_argument(
        "--compile-only",
        action="store_true",
        help="compile candidates into the cache ($IRC_CACHE_DIR), where a later call finds them; needs no GPU",
    )
    parser.add_argument("--show", action="store_true", help="say what the file has, and time nothing")
    parser.add_argument(
        "--workers", type=int, metavar="N", help="processes that compile (default: the cores, up to 16)"
    )
    parser.add_argument("--debug", action="store_true", help="show the traceback of an error too")
    return parser


def run(arguments: Sequence[str]) -> int:
    """The command; returns the exit status."""
    args = argument_parser().parse_args(arguments)
    for option, least, value in (("--candidates", 1, args.candidates), ("--workers", 1, args.workers)):
        if value is not None and value < least:
            raise IrcError(f"{option} {value}: expected a number of at least {least}")
    deadline = time.monotonic() + parse_time(args.budget)
    parse_time(args.product)
    if args.show:
        return _show(args.file)
    from irc.runtime.driver import is_present

    if not args.compile_only and not is_present():
        raise IrcError("no GPU is here to time configs", hint="--compile-only compiles them, --show needs none")
    _search(args, deadline)
    return 0 if args.compile_only else _show(args.file)


def _show(file: Path) -> int:
    from irc_tools.dataset.rows import read_rows
    from irc_tools.exhaustive.summary import lines

    for line in lines(read_rows(file)):
        _say(line)
    return 0


def _search(args: Any, deadline: float) -> None:
    from irc.driver.compiler import resolve_arch
    from irc.tuning.session import Settings
    from irc.tuning.workers import Timing
    from irc_tools.dataset import building
    from irc_tools.dataset.command import machine_here
    from irc_tools.dataset.crew import Crew
    from irc_tools.dataset.rows import append_rows, read_rows
    from irc_tools.exhaustive import compiling
    from irc_tools.exhaustive.kernels import selected
    from irc_tools.exhaustive.rounds import Rounds
    from irc_tools.exhaustive.timing import only_compiled, visit

    known = read_rows(args.file) if args.file.exists() else []
    settings, machine, arch = Settings(workers=args.workers), machine_here(), resolve_arch(args.arch)
    others = {row["machine"].get("gpu") for row in known} - {machine.get("gpu")}
    if others and not args.compile_only:
        raise IrcError(f"{args.file} has rows of another GPU, {', '.join(map(str, others))}", hint="name a new file")
    jobs = [compiling.ListJob(*each, arch, args.candidates, args.seed) for each in selected(args.only)]
    if not args.compile_only:
        append_rows(args.file, [])
    _say(f"{len(known)} rows in {args.file}; {len(jobs)} kernels, {settings.worker_count} processes")
    extra = {} if args.compile_only else _tuned_product(jobs, known, settings, parse_time(args.product))
    timing = None if args.compile_only else Timing(building.TIMING)
    crew = Crew(compiling.COMPILING, settings.worker_count, settings.compile_timeout)
    begin, count = time.monotonic(), 0
    try:
        for kernel, attempts in Rounds(crew, jobs, known, extra, _say).waves(deadline):
            count += len(attempts)
            if timing is None:
                only_compiled(kernel, attempts)
            else:
                append_rows(args.file, visit(kernel, attempts, timing, settings, deadline, machine))
            best = f", the best {kernel.best(1)[0].gain:.3f}x" if kernel.best(1) else ""
            _say(f"[{time.monotonic() - begin:.1f}s] {kernel.listed.plan.program}: {len(attempts)} configs{best}")
    except KeyboardInterrupt:
        _say("interrupted")
    finally:
        crew.close()
        if timing is not None:
            timing.close()
    _say(f"{count} configs in {time.monotonic() - begin:.1f} s")


def _tuned_product(
    jobs: Sequence[Any], known: Sequence[Any], settings: Settings, budget: float
) -> dict[str, tuple[Candidate, float]]:
    """The config that a tuner finds for the product within the budget; nothing where the product is not asked for, or
    was tuned in an earlier call."""
    from dataclasses import replace

    from irc.driver.tuning import tuner
    from irc_tools.dataset.planning import candidate_of
    from irc_tools.exhaustive.compiling import main_subject
    from irc_tools.exhaustive.kernels import PRODUCT

    job = next((each for each in jobs if each.source.name == PRODUCT), None)
    if job is None or any(row["program"] == PRODUCT and "tuned" in row for row in known):
        return {}
    _, subject = main_subject(job.source, job.arch)
    at_work = tuner("cuda", replace(settings, budget=budget), _say)
    try:
        outcome = at_work.tune(subject)
    except IrcError as error:
        _say(error.message)
        return {}
    finally:
        at_work.close()
    return {PRODUCT: (candidate_of(subject, outcome.config), budget)}


def _say(line: str) -> None:
    print(line, flush=True)
