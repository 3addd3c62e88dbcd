"""`make test-tiles`: many drawn tile programs on the simulator, and the table of what they are.

    PYTHONPATH=tests python -m numerics.sweep_tiles --first 0 --count 2000        # hours on two cores
    PYTHONPATH=tests python -m numerics.sweep_tiles --values --count 500          # bounds of loops depend on the tile

Programs that the records have are not drawn again, but for those that were wrong, failed or took too long. The exit
status is 1 where there is one of these.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from types import FrameType
from typing import Any

from numerics.drawn_tiles import draw_program
from numerics.judged_tiles import Judged, judge

from irc_tools.bench.other_records import print_other_record

VERDICTS = ("right", "refused", "wrong", "failed", "late")
PER_PROCESS = 25
"""Programs that a process has before another takes its place, as compilations stay in memory."""

Found = dict[str, Any]
"""Of a program: `seed`, `values`, `verdict`, `reason`."""


def main(argv: Sequence[str] | None = None) -> int:
    args = _parser().parse_args(argv)
    known = _read(args.records)
    seeds = range(args.first, args.first + args.count)
    drawn = [seed for seed in seeds if not _is_good(known.get((args.values, seed)))]
    args.records.parent.mkdir(parents=True, exist_ok=True)
    with args.records.open("a") as records:
        for found in _judged(drawn, values=args.values, seconds=args.seconds, processes=args.processes):
            known[found["values"], found["seed"]] = found
            records.write(json.dumps(found) + "\n")
            records.flush()
            if not _is_good(found):
                print(f"{found['seed']}: {found['verdict']}: {found['reason']}", flush=True)
    content = table(list(known.values()))
    if args.json is not None:
        args.json.write_text(json.dumps(content, indent=1) + "\n")
    print_other_record(content)
    return int(not all(map(_is_good, known.values())))


def table(found: Sequence[Found]) -> dict[str, Any]:
    """Numbers of programs by verdict, by form, and by what was said; as a record that `irc-bench show` prints."""
    verdicts = Counter(each["verdict"] for each in found)
    by_form: dict[str, Counter[str]] = {}
    by_message: dict[tuple[str, str], list[int]] = {}
    for each in found:
        fields = dict(re.findall(r'(\w+) = "?(\w+)', draw_program(each["seed"], values=each["values"]).config))
        form = f"{fields['instruction']}, {fields['schedule']}, {fields['stages']} stages"
        by_form.setdefault(form + ", bounds by tile" * each["values"], Counter())[each["verdict"]] += 1
        if each["verdict"] != "right":
            by_message.setdefault((each["verdict"], _general(each["reason"])), []).append(each["seed"])
    commit = subprocess.run(["git", "rev-parse", "--short=12", "HEAD"], check=False, capture_output=True, text=True)
    return {
        "what": "drawn tile programs on the simulator (tests/numerics/sweep_tiles.py)",
        "commit": commit.stdout.strip(),
        "programs": len(found),
        **{word: verdicts[word] for word in VERDICTS},
        "forms": [{"form": form, **{w: counts[w] for w in VERDICTS}} for form, counts in sorted(by_form.items())],
        "messages": [
            {"verdict": verdict, "message": message, "programs": len(seeds), "seed": seeds[0]}
            for (verdict, message), seeds in sorted(by_message.items(), key=lambda item: -len(item[1]))
        ],
    }


def _general(reason: str) -> str:
    """Without the place and the numbers of one program."""
    return re.sub(r"\d+", "N", re.sub(r"\S*drawn\.mlir:\d+:\d+: ", "", reason.split("\n")[0]))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--count", type=int, default=2000, help="seeds")
    parser.add_argument("--values", action="store_true", help="bounds of loops that depend on the tile")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--seconds", type=float, default=300, help="CPU time of a program, at most")
    parser.add_argument("--records", type=Path, default=Path("build/tiles.jsonl"), help="a line for each program")
    parser.add_argument("--json", type=Path, help="where to write the table of all records")
    return parser


def _read(path: Path) -> dict[tuple[bool, int], Found]:
    """The last that was found of each program."""
    if not path.exists():
        return {}
    found: list[Found] = [json.loads(line) for line in path.read_text().splitlines()]
    return {(each["values"], each["seed"]): each for each in found}


def _is_good(found: Found | None) -> bool:
    return found is not None and Judged(found["verdict"]).is_good


def _judged(seeds: Sequence[int], *, values: bool, seconds: float, processes: int) -> Iterator[Found]:
    if not seeds:
        return
    with get_context("spawn").Pool(processes, maxtasksperchild=PER_PROCESS) as pool:
        yield from pool.imap_unordered(partial(_judge, values=values, seconds=seconds), seeds)


class _LateError(BaseException):
    """Nothing in irc takes this for an error of its own."""


def _judge(seed: int, *, values: bool, seconds: float) -> Found:
    signal.signal(signal.SIGVTALRM, _end)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        judged = judge(seed, values=values)
    except _LateError:
        judged = Judged("late", f"more than {seconds:g} s")
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    return {"seed": seed, "values": values, "verdict": judged.verdict, "reason": judged.reason}


def _end(number: int, frame: FrameType | None) -> None:
    raise _LateError


if __name__ == "__main__":
    sys.exit(main())
