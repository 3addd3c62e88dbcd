"""Memory of results: who has it, and when others get it."""

from __future__ import annotations

import gc
import threading
from typing import Any

import numpy as np
import pytest

import irc
from irc.runtime import kept_memory
from irc.runtime.kept_memory import LEAST, empty, is_fresh
from irc.support.pool_state import LINE

F32 = np.dtype(np.float32)
COUNT = LEAST  # elements of f32: four times the least bytes


@pytest.fixture(autouse=True)
def nothing_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    gc.collect()
    monkeypatch.setattr(kept_memory, "_kept", kept_memory._Kept())  # pyright: ignore[reportPrivateUsage]


def address(x: np.ndarray[Any, Any]) -> int:
    return x.ctypes.data


def test_memory_comes_again_when_the_last_array_in_it_goes() -> None:
    first = empty((COUNT,), F32)
    begin, view = address(first), first[10:].reshape(-1, 2)
    del first
    assert address(other := empty((COUNT,), F32)) != begin
    del view
    assert address(empty((COUNT // 4, 4), F32)) == begin
    assert address(empty((COUNT // 2,), F32)) != begin, "of another size"
    assert address(other) != begin


def test_memory_begins_at_a_line() -> None:
    arrays = [empty((COUNT + n,), F32) for n in range(5)]
    assert {address(x) % LINE for x in arrays} == {0}
    assert empty((3, 5), F32).base is None, "a small array is numpy's"
    assert all(x.flags.writeable and x.flags.c_contiguous and is_fresh(x) for x in arrays)
    assert not is_fresh(np.zeros(4)[1:]) and not is_fresh(np.broadcast_to(F32.type(1), (4,)))


def test_what_is_kept_has_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept_memory, "MOST", 10 * LEAST)
    arrays = [empty((COUNT,), F32) for _ in range(4)]
    begins = [address(x) for x in arrays]
    while arrays:
        del arrays[0]
    found = [empty((COUNT,), F32) for _ in range(2)]
    assert [address(x) for x in found] == begins[:1:-1], "what was given back last comes first, the others went"


def test_results_that_are_held_stay() -> None:
    executable = irc.compile("func f(x: f32[512, 512]) -> f32[512, 512] {\n    return x + 1.0\n}", target="cpu")
    held = [executable(np.full((512, 512), n, np.float32)) for n in range(5)]
    again = executable(held[4])
    for n, x in enumerate([*held, again]):
        np.testing.assert_array_equal(x, n + 1)


def test_threads_that_give_and_take() -> None:
    executable = irc.compile("func f(x: f32[256, 256]) -> f32[256, 256] {\n    return x * 2.0\n}", target="cpu")
    wrong: list[int] = []

    def call(number: int) -> None:
        x = np.full((256, 256), number, np.float32)
        kept: list[np.ndarray[Any, Any]] = []
        for _ in range(50):
            kept = [*kept[-2:], executable(x)]
            if any((each != 2 * number).any() for each in kept):
                wrong.append(number)

    threads = [threading.Thread(target=call, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
