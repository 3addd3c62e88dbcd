"""irc-tune exhaustive: the heuristic's configs beside the best of all that is tried."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from irc.support.diagnostics import IrcError
from irc_tools.arguments import ArgumentParser
from irc_tools.dataset.command import add_measuring, deadline_of, machine_here, processes, say
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
    parser.add_argument(
        "--product", default="10s", metavar="TIME", help="tune the product for so long first (default: 10s)"
    )
    parser.add_argument("--show", action="store_true", help="say what the file has, and time nothing")
    add_measuring(
        parser,
        of="kernels",
        budget="6m",
        candidates=40,
        beside=", before neighbors of the best",
        compile_only="compile candidates into the cache ($IRC_CACHE_DIR), where a later call finds them; needs no GPU",
    )
    return parser


def run(arguments: Sequence[str]) -> int:
    """The command; returns the exit status."""
    args = argument_parser().parse_args(arguments)
    if args.show:
        return _show(args.file)
    _search(args, deadline_of(args, least=1), parse_time(args.product, "--product"))
    return 0 if args.compile_only else _show(args.file)


def _show(file: Path) -> int:
    from irc_tools.dataset.rows import read_rows
    from irc_tools.exhaustive.summary import lines

    for line in lines(read_rows(file)):
        say(line)
    return 0


def _search(args: Any, deadline: float, product: float) -> None:
    from irc.driver.compiler import resolve_arch
    from irc.tuning.session import Settings
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
    say(f"{len(known)} rows in {args.file}; {len(jobs)} kernels, {settings.worker_count} processes")
    extra = {} if args.compile_only else _tuned_product(jobs, known, settings, product)
    begin, count = time.monotonic(), 0
    with processes(compiling.COMPILING, settings, compile_only=args.compile_only) as (crew, timing):
        for kernel, attempts in Rounds(crew, jobs, known, extra, say).waves(deadline):
            count += len(attempts)
            if timing is None:
                only_compiled(kernel, attempts)
            else:
                append_rows(args.file, visit(kernel, attempts, timing, settings, deadline, machine))
            best = f", the best {kernel.best(1)[0].gain:.3f}x" if kernel.best(1) else ""
            say(f"[{time.monotonic() - begin:.1f}s] {kernel.listed.plan.program}: {len(attempts)} configs{best}")
    say(f"{count} configs in {time.monotonic() - begin:.1f} s")


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
    at_work = tuner("cuda", replace(settings, budget=budget), say)
    try:
        outcome = at_work.tune(subject)
    except IrcError as error:
        say(error.message)
        return {}
    finally:
        at_work.close()
    return {PRODUCT: (candidate_of(subject, outcome.config), budget)}
