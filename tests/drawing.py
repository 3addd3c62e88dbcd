"""How many cases property tests draw, and which.

Without IRC_FUZZ they are the same ones at every run, so that a change is judged by what it changed. IRC_FUZZ=N draws N
times as many, others at every run; IRC_FUZZ_SEED, which pytest's header shows, gives the same ones again.
"""

from __future__ import annotations

import os
from time import time_ns

from hypothesis import settings

FUZZ = int(os.environ.get("IRC_FUZZ", "0"))
# The environment hands the seed on to the processes of pytest-xdist.
SEED = int(os.environ.setdefault("IRC_FUZZ_SEED", str(time_ns() // 1000 % 10**9)) if FUZZ else "0")
MORE = max(1, FUZZ)


def examples(count: int) -> settings:
    """Of a property test, where the profile's number does not suit it."""
    return settings(max_examples=count * MORE)


def seeds(count: int, first: int = 0, step: int = 1) -> range:
    """Of a test that draws by itself, one for each case: every `step`-th of `count`; `first` keeps tests apart."""
    begin = first + SEED * 1_000_000
    return range(begin, begin + count * MORE, step)
