"""How many cases long tests take, and which.

Tests of many cases take some of them, always the same, in `make test`, and all of them with IRC_TESTS=all (`make
test-all`); of families that take minutes some there, too, and all with IRC_SWEEP=all (`make test-sweep`). Property
tests draw theirs. Without IRC_FUZZ they are the same ones at every run, so that a change is judged by what it changed.
IRC_FUZZ=N draws N times as many, others at every run; IRC_FUZZ_SEED, which pytest's header shows, gives the same ones
again.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from random import Random
from time import time_ns
from typing import TypeVar

import pytest
from hypothesis import settings

T = TypeVar("T")

FUZZ = int(os.environ.get("IRC_FUZZ", "0"))
# The environment hands the seed on to the processes of pytest-xdist.
SEED = int(os.environ.setdefault("IRC_FUZZ_SEED", str(time_ns() // 1000 % 10**9)) if FUZZ else "0")
MORE = max(1, FUZZ)


ALL = bool(FUZZ) or os.environ.get("IRC_TESTS") == "all"
"""Every case of long tests."""
SWEEP = os.environ.get("IRC_SWEEP") == "all"
"""Every case of those that take an hour."""


def some(cases: Sequence[T], one_in: int) -> list[T]:
    """One in so many of the cases, at least one, drawn by a seed, in their order; none of them for 0."""
    if not one_in:
        return []
    chosen = Random(13).sample(range(len(cases)), -(-len(cases) // one_in))
    return [cases[number] for number in sorted(chosen)]


def long(one_in: int, of_all: int = 1) -> pytest.MarkDecorator:
    """A test of many cases, of which `make test` takes one in so many, and `make test-all` one in `of_all`. All are
    taken by a sweep, and where a test is named on the command line (`FILE::TEST`)."""
    return pytest.mark.long(1 if SWEEP or FUZZ else of_all if ALL else one_in)


slow = pytest.mark.long(1 if ALL or SWEEP else 0)
"""A test that takes seconds and rarely fails alone: others of its kind are in `make test`, and it is in `make
test-all`, or named on the command line."""


def examples(count: int, one_in: int = 1) -> settings:
    """Of a property test, where the profile's number does not suit it; of a long one, one in so many."""
    return settings(max_examples=count * MORE if ALL else -(-count // one_in))


def seeds(count: int, first: int = 0) -> range:
    """Of a test that draws by itself, one for each case; `first` keeps tests apart."""
    begin = first + SEED * 1_000_000
    return range(begin, begin + count * MORE)
