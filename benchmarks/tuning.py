"""What tuning gains over the heuristic: kernels of the suites, of all kinds, each tuned for a few seconds.

`python benchmarks/tuning.py FILE.json [--count 60] [--budget 5s] [--target cpu]` tunes kernels with a database of
its own, and prints for each how much longer the heuristic's config takes than the best that was found, and how much
longer the best of the first 16 that were tried; then the geometric means, by kind and of all. A product is tuned twice,
for `--product 10s` and for six times as long. How the cost formula ranks what was timed stands beside it. All that was
measured goes to FILE.jsonl, as `irc-tune measurements` writes it.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import zip_longest
from math import exp, log
from pathlib import Path
from statistics import mean
from typing import Any

from scipy.stats import spearmanr

from irc.configs.alone import config_text
from irc.driver.compiler import Options, resolve_arch
from irc.driver.program import isolate, parse
from irc.driver.tuning import Tunable, say, subject_of, tunable_kernels, tuner
from irc.ir.targets import set_target, target
from irc.support.diagnostics import IrcError
from irc.tuning.session import Outcome, Settings, Subject, Tuner
from irc_tools.bench.suite import Row, load_suite
from irc_tools.dataset.rows import write_measurements
from irc_tools.dataset.sources import spread
from irc_tools.definitions import parse_time
from irc_tools.machine import describe

SUITES = ("memory", "gemm", "operands", "gemm-rows", "convolution", "windows", "attention", "random")

PRODUCT = "func product(x: bf16[4096, 4096], w: bf16[4096, 4096]) -> bf16[4096, 4096] { return x @ w }"
SMALL_PRODUCT = "func product(x: f32[512, 384], w: f32[384, 512]) -> f32[512, 512] { return x @ w }"
"""For a CPU."""

FIRST = 16
"""Candidates that should be nearly enough."""

LONGER = 6

REGRETS = (1, 8, 16)
"""Candidates that the cost formula puts first."""


def kernels_of(rows: Iterable[Row], options: Options, *, small: bool) -> list[Tunable]:
    """The different kernels of rows; rows that this target does not compile are left out."""
    found: dict[Any, Tunable] = {}
    for row in rows:
        try:
            module = isolate(parse(row.program, row.name, dims={**row.dims, **(row.small if small else {})}))
            set_target(module, options.arch)
            for each in tunable_kernels(module, options):
                found.setdefault(each.key, replace(each, name=f"{row.name}: {each.name}"))
        except IrcError as error:
            say(f"{row.name}: {error.message}")
    return list(found.values())


def selected(kernels: Sequence[Tunable], count: int) -> list[Tunable]:
    """As many of each kind, as far as there are, at equal distances in the suites."""
    kinds: dict[str, list[Tunable]] = {}
    for each in kernels:
        kinds.setdefault(each.kernel.kind.value, []).append(each)
    turns = zip_longest(*(spread(each) for each in kinds.values()))
    return [each for turn in turns for each in turn if each is not None][:count]


def record_of(tunable: Tunable, subject: Subject, outcome: Outcome) -> dict[str, Any]:
    timed = [each.seconds for each in outcome.trials[: FIRST + 1] if each.seconds is not None]
    outcomes = [each.outcome for each in outcome.trials]
    return {
        "name": tunable.name,
        "kind": tunable.kernel.kind.value,
        "shapes": tunable.key.shapes,
        "heuristic": outcome.heuristic,
        "tuned": outcome.seconds,
        "first": max(min(timed), outcome.seconds),
        "config": config_text(outcome.config),
        "outcomes": {name: outcomes.count(name) for name in sorted(set(outcomes))},
        "took": outcome.took,
        "model": model_of(subject, outcome),
    }


def model_of(subject: Subject, outcome: Outcome) -> dict[str, float]:
    """How the cost formula ranks what was timed: Spearman's correlation, 0 where it ranks nothing, and how much longer
    than the best the best of its first 1, 8 and 16 takes."""
    timed = [(subject.space.estimate(t.config), t.seconds) for t in outcome.trials if t.seconds is not None]
    estimates, seconds = zip(*sorted(timed), strict=True)
    ranks = len(set(estimates)) > 1 and len(set(seconds)) > 1
    statistic: Any = spearmanr(estimates, seconds)[0] if ranks else 0.0
    found = {"correlation": float(statistic)}
    return found | {f"regret {n}": min(seconds[:n]) / min(seconds) for n in REGRETS}


def geomean(ratios: Sequence[float]) -> float:
    return exp(sum(map(log, ratios)) / len(ratios))


def summary(records: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Geometric means of the heuristic's time, and of the best of the first, over the best."""
    kinds = sorted({each["kind"] for each in records})
    groups = {"all": list(records)} | {kind: [each for each in records if each["kind"] == kind] for kind in kinds}
    return {
        name: {
            "kernels": len(group),
            "heuristic": geomean([each["heuristic"] / each["tuned"] for each in group]),
            "first": geomean([each["first"] / each["tuned"] for each in group]),
            "worst": max(each["heuristic"] / each["tuned"] for each in group),
            "correlation": mean([each["model"]["correlation"] for each in group]),
            **{f"regret {n}": geomean([each["model"][f"regret {n}"] for each in group]) for n in REGRETS},
        }
        for name, group in groups.items()
    }


def tuned_product(at: str, settings: Settings, options: Options) -> dict[str, Any]:
    """How much longer a product takes by the heuristic, and after a short search, than after one of `LONGER` times the
    budget: each by its gain over the heuristic, which was timed beside it."""
    module = parse(SMALL_PRODUCT if at == "cpu" else PRODUCT, "product")
    set_target(module, options.arch)
    (kernel,) = tunable_kernels(module, options)
    found = [
        tuned_one(tuner(at, replace(settings, budget=times * settings.budget), say), kernel, options)
        for times in (1, LONGER)
    ]
    short, long = [each for each in found if each is not None]
    best = max(short.gain, long.gain)
    return {
        "budget": settings.budget,
        "heuristic": best,
        "short": best / short.gain,
        "seconds": short.seconds,
        "took": short.took,
        "configs": len(short.trials),
        "config": config_text(short.config),
    }


def tuned_one(at_work: Tuner, kernel: Tunable, options: Options) -> Outcome | None:
    try:
        return at_work.tune(subject_of(kernel, target(options.arch), options))
    except IrcError as error:
        say(error.message)
        return None
    finally:
        at_work.close()


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path, help="where the record goes, after every kernel")
    parser.add_argument("--count", type=int, default=60, help="kernels (default: 60)")
    parser.add_argument("--budget", default="5s", help="for each kernel (default: 5s)")
    parser.add_argument("--product", default="10s", help="for the product (default: 10s)")
    parser.add_argument("--target", default="cuda", choices=("cuda", "cpu"))
    parser.add_argument("--suite", action="append", choices=SUITES, help="only these (default: all)")
    return parser.parse_args()


def main() -> int:
    args = arguments()
    options = Options("cpu" if args.target == "cpu" else resolve_arch(None))
    settings = Settings(budget=parse_time(args.budget))
    with tempfile.TemporaryDirectory() as folder:
        os.environ["IRC_CACHE_DIR"] = folder
        names = args.suite or SUITES
        most = 2 * args.count // len(names) + 1
        rows = [row for name in names for row in spread([r for r in load_suite(name).rows if r.program])[:most]]
        kernels = selected(kernels_of(rows, options, small=args.target == "cpu"), args.count)
        say(f"{len(kernels)} kernels of {len(rows)} rows")
        content: dict[str, Any] = {**describe(), "budget": settings.budget, "kernels": []}
        at_work = tuner(args.target, settings, say)
        try:
            for kernel in kernels:
                subject = subject_of(kernel, target(options.arch), options)
                try:
                    outcome = at_work.tune(subject)
                except IrcError as error:
                    say(error.message)
                    continue
                content["kernels"].append(record_of(kernel, subject, outcome))
                content["summary"] = summary(content["kernels"])
                args.file.write_text(json.dumps(content, indent=1) + "\n")
                if outcome.is_interrupted:
                    break
        finally:
            at_work.close()
        content["product"] = tuned_product(args.target, replace(settings, budget=parse_time(args.product)), options)
        args.file.write_text(json.dumps(content, indent=1) + "\n")
        write_measurements(args.file.with_suffix(".jsonl"))
    for name, each in content["summary"].items():
        print(f"{name}: heuristic {each['heuristic']:.3f}, first {FIRST} {each['first']:.3f} of the best, {each}")
    print(f"product: {content['product']}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
