"""What rows say of each kernel, of each kind and of all, and whether that is what it has to be."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import geometric_mean

from irc_tools.dataset.rows import Row
from irc_tools.exhaustive.compiling import FIRST
from irc_tools.exhaustive.timing import HALF, Try

HEURISTIC, TUNED, REACHED = 1.06, 1.02, 0.97
"""Bars: how much longer than the best the heuristic's configs may take, geometric mean, and a config that was tuned for
some seconds; the part of the best's speed that the best of the first `FIRST` has to reach, geometric mean."""

ALL = "all"


@dataclass(frozen=True)
class Found:
    """Of a kernel. best: the config that is fastest, and by how much it is faster than the heuristic's. order: its
    place in the model's order of `ranked`, None where that has not ranked it. first: what the best of the first 1, 8
    and 16 reach of its speed. tuned: what a config reaches that was tuned for some seconds, where one was."""

    name: str
    group: str
    configs: int
    ranked: int
    best: str
    gain: float
    order: int | None
    first: tuple[float, float, float]
    tuned: float | None


def findings(rows: Iterable[Row]) -> list[Found]:
    """Of each kernel with a config that was timed by turns with the heuristic's."""
    kernels: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        kernels.setdefault((row["kernel"], row["shapes"]), []).append(row)
    return [found for own in kernels.values() if (found := _finding(own)) is not None]


def _finding(rows: Sequence[Row]) -> Found | None:
    tries = [each for row in rows if (each := Try.of(row)).by_turns]
    if not tries:
        return None
    best = max(tries, key=lambda each: each.gain)
    first = [
        max((each.gain for each in tries if each.order is not None and each.order < n), default=0.0) / best.gain
        for n in (1, HALF, FIRST)
    ]
    tuned = [Try.of(row).gain / best.gain for row in rows if "tuned" in row]
    return Found(
        rows[0]["program"],
        rows[0]["group"],
        len(rows),
        rows[0]["ranked"],
        best.config,
        best.gain,
        best.order,
        (first[0], first[1], first[2]),
        max(tuned, default=None),
    )


def means(found: Sequence[Found]) -> dict[str, tuple[int, float, float, float]]:
    """Of all and of each group: how many there are, and geometric means of how much longer than the best the
    heuristic's take, and of what the best of the first 8 and 16 reach."""
    groups = {ALL: list(found)}
    for each in found:
        groups.setdefault(each.group, []).append(each)
    return {
        name: (
            len(own),
            geometric_mean([each.gain for each in own]),
            geometric_mean([each.first[1] for each in own]),
            geometric_mean([each.first[2] for each in own]),
        )
        for name, own in groups.items()
    }


def lines(rows: Iterable[Row]) -> list[str]:
    """A line for each kernel, for each group and for all, and the bars."""
    found = findings(rows)
    if not found:
        return ["no kernel was timed by turns with its heuristic's config"]
    shown = [f"{_kernel(each)}" for each in sorted(found, key=lambda each: -each.gain)]
    groups = means(found)
    for name, (count, gain, half, first) in groups.items():
        shown.append(
            f"{name}, {count} kernels: the heuristic's take {gain:.3f} times as long as the best, the best of the "
            f"first {HALF} and {FIRST} reach {half:.3f} and {first:.3f}"
        )
    _, gain, _, first = groups[ALL]
    shown.append(_bar(f"the heuristic's configs within {HEURISTIC} of the best", gain <= HEURISTIC, gain))
    shown.append(_bar(f"{FIRST} candidates reach {REACHED}", first >= REACHED, first))
    for each in found:
        if each.tuned is not None:
            shown.append(_bar(f"{each.name} tuned, within {TUNED}", 1 / each.tuned <= TUNED, 1 / each.tuned))
    return shown


def _kernel(found: Found) -> str:
    place = "not ranked" if found.order is None else f"number {found.order + 1} of {found.ranked}"
    return (
        f"{found.name}: {found.gain:.3f}, first {HALF} and {FIRST} {found.first[1]:.3f} {found.first[2]:.3f}, "
        f"{found.configs} configs, the best is {place}: {found.best}"
    )


def _bar(text: str, holds: bool, value: float) -> str:
    return f"{text}: {value:.3f} {'holds' if holds else 'MISSED'}"
