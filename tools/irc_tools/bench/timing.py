"""How variants of a row are timed: in turns, block by block."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from irc.runtime.workbench import Variant, Workbench

SETTLING = 0.5
"""Seconds of calls before the host's time of them is taken: its clock rises, and Python learns their types."""


@dataclass(frozen=True)
class Settings:
    """How to measure: repetitions of all variants in turn, seconds of a block, the seed of inputs, which peers of those
    that rows name, whether to check results first, and the seconds that the process of a first call may take."""

    repetitions: int = 21
    block_seconds: float = 10e-3
    seed: int = 0
    peers: tuple[str, ...] = ()
    check: bool = True
    limit_seconds: float = 300


def time_variants(
    bench: Workbench, clock: str, variants: Sequence[Variant], repetitions: int
) -> dict[str, tuple[float, ...]]:
    """Seconds of every variant in every repetition. Which variant goes first moves on from one repetition to the
    next."""
    for variant in variants:
        bench.prepare(variant)
    block = {"device": bench.block, "host": bench.enqueue_block}.get(clock, bench.host_block)
    begin = time.perf_counter()
    while clock == "host" and time.perf_counter() - begin < SETTLING:
        for variant in variants:
            block(variant)
    times: dict[str, list[float]] = {variant.name: [] for variant in variants}
    for repetition in range(repetitions):
        shift = repetition % len(variants)
        for variant in (*variants[shift:], *variants[:shift]):
            times[variant.name].append(round(block(variant), 10))
    return {name: tuple(values) for name, values in times.items()}
