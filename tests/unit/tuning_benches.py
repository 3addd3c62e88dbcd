"""A bench of the tuner whose candidates take seconds that a formula says, and hang, die or go wrong where one says so."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Sequence
from math import log2
from typing import Any

from irc.configs.alone import parse_config
from irc.configs.space import Axes, ConfigSpace
from irc.dialects.kernel import ConfigAttr, TileSizes
from irc.support.diagnostics import IrcError
from irc.tuning.bench import WRONG, Fault, Measured

HANGS, DIES, EATS, LIES, DIES_LATE, HANGS_LATE, EATS_LATE, IS_KILLED = 1, 2, 3, 5, 6, 10, 11, 12
"""Stages of candidates that do so: while they are compiled, or (late) timed."""

BEST = ConfigAttr.of(tile=TileSizes(m=256, n=32), stages=4, warps=8)


def seconds(config: ConfigAttr) -> float:
    """The further from the best, the more."""
    tile, best = config.tile or {}, BEST.tile or {}
    away = sum(abs(log2(tile[name]) - log2(best[name])) for name in best)
    return 1e-4 * (1 + away / 4 + abs((config.stages or 1) - 4) / 8 + abs(log2((config.warps or 1) / 8)) / 5)


class FakeSpace(ConfigSpace):
    """All configs are legal. The cost model knows little. Without stages there are no neighbors."""

    def __init__(self, stages: Sequence[int] = (4, 7, 8, 9), others: Sequence[ConfigAttr] = ()):
        self.seeds = [ConfigAttr.of(tile=TileSizes(m=16, n=512), stages=9, warps=1), *others]
        self._stages = stages

    def axes(self, config: ConfigAttr) -> Axes:
        if not self._stages:
            return {}
        sizes = [1 << n for n in range(3, 11)]
        return {"tile.m": sizes, "tile.n": sizes, "stages": self._stages, "warps": (1, 2, 4, 8, 16)}

    def settled(self, config: ConfigAttr) -> ConfigAttr | None:
        return config

    def estimate(self, config: ConfigAttr) -> float:
        return 1e-4 / (config.warps or 1)


class FakeBench:
    """Jobs are texts of configs."""

    def __init__(self, slow: float = 0.0):
        self._slow = slow

    def compile(self, job: str) -> str:
        time.sleep(self._slow)
        stages = parse_config(job).stages
        if stages == HANGS:
            time.sleep(600)
        if stages == DIES:
            os._exit(3)
        if stages == EATS:
            bytearray(1 << 40)
        if stages == IS_KILLED:
            os.kill(os.getpid(), signal.SIGKILL)
        return job

    def refer(self, compiled: str) -> Measured:
        return Measured(seconds(parse_config(compiled)))

    def measure(self, compiled: str, limit: float) -> Measured:
        config = parse_config(compiled)
        if config.stages == LIES:
            raise Fault(WRONG, "result 0 is not the heuristic's: 3 of 4 elements differ")
        if config.stages == DIES_LATE:
            os.abort()
        if config.stages == HANGS_LATE:
            time.sleep(600)
        if config.stages == EATS_LATE:
            raise IrcError("out of memory: 3 GiB were asked for")
        print("candidates may print")
        return Measured(seconds(config), seconds(config) > limit)

    def rank(self, compiled: Sequence[str]) -> list[Any]:
        return [seconds(parse_config(each)) for each in compiled]
