"""Medians, spreads and ratios of interleaved repetitions.

Absolute times drift with the chip's power limit, so what counts is the ratio of two variants in the same repetition,
and its median over the repetitions.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import exp, log

from irc_tools.bench.bars import BEST, PEERS, Bar

IRC = "irc"


@dataclass(frozen=True)
class Spread:
    """The median, and the quartiles around it (the interquartile range)."""

    median: float
    low: float
    high: float


def spread(values: Sequence[float]) -> Spread:
    """Of at least one value."""
    middle = statistics.median(values)
    if len(values) < 2:
        return Spread(middle, middle, middle)
    low, _, high = statistics.quantiles(values, n=4, method="inclusive")
    return Spread(middle, low, high)


def opponent(against: str, times: Mapping[str, Sequence[float]]) -> str | None:
    """The variant that a bar is against: `best` is the peer with the least median. None where it was not measured."""
    if against != BEST:
        return against if against in times else None
    peers = [name for name in PEERS if name in times]
    return min(peers, key=lambda name: statistics.median(times[name]), default=None)


def reached(bar: Bar, times: Mapping[str, Sequence[float]]) -> Spread | None:
    """The spread of what the bar judges, repetition by repetition: irc's time over the other's, or irc's speed over the
    other's; or microseconds, of irc beyond the other or of the other. None where either was not measured."""
    other = opponent(bar.against, times)
    if other is None or IRC not in times:
        return None
    pairs = zip(times[IRC], times[other], strict=True)
    if bar.relation != "of":
        return spread([1e6 * (mine - theirs if bar.relation == "beyond" else theirs) for mine, theirs in pairs])
    return spread([mine / theirs if bar.of_time else theirs / mine for mine, theirs in pairs])


def summarize(statistic: str, values: Sequence[float], *, of_time: bool) -> float:
    """The median, the geometric mean, or the least good of some ratios."""
    if statistic == "median":
        return statistics.median(values)
    if statistic == "geomean":
        return exp(sum(map(log, values)) / len(values))
    return max(values) if of_time else min(values)
