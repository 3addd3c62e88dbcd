"""Calls have room for their frames, however deep who calls is."""

from __future__ import annotations

import sys

import pytest

from irc.support.stack import with_room

resource = pytest.importorskip("resource")

CALLS = 2000


def faults_of_calls() -> int:
    """The pages that are new to this process while calls are made from here."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(CALLS):
        leaf()
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before


def leaf() -> None:
    """Does nothing."""


def below(depth: int) -> int:
    """`faults_of_calls` of a function that is so deep."""
    return below(depth - 1) if depth else faults_of_calls()


def deep(depth: int) -> list[int]:
    """What is found from each of the depths of a whole chunk of frames on."""
    return [found for at in range(depth) for found in [with_room(below)(at), below_with_room(at)]]


def below_with_room(depth: int) -> int:
    return below_with_room(depth - 1) if depth else with_room(faults_of_calls)()


def test_no_call_maps_memory() -> None:
    """At no depth within the room, and wherever it begins. Without it a depth in 200 has a page or more for each call,
    as far as CPython keeps no chunk of its own."""
    assert max(deep(200)) < CALLS / 10


def test_room_is_for_the_recursion_that_python_allows() -> None:
    def down(depth: int) -> int:
        return 0 if depth == 0 else 1 + down(depth - 1)

    depth = sys.getrecursionlimit() - 200
    assert with_room(down)(depth) == depth


def test_what_is_called_is_called_as_it_is() -> None:
    """Arguments, results, exceptions and the name."""

    @with_room
    def divided(x: int, *, by: int) -> int:
        return x // by

    assert divided(7, by=2) == 3
    assert divided.__name__ == "divided"
    with pytest.raises(ZeroDivisionError):
        divided(7, by=0)
