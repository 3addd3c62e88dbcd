"""Captures of irc's own: on a stream and in memory that nobody else has, and replayed where they were made."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from noting_device import NotingDevice

from irc.runtime.driver import DriverError
from irc.support.diagnostics import IrcError
from irc_frontend.torch import captures
from irc_frontend.torch.captures import UnnoticedGraph, captured_unnoticed


class Fake:
    """torch's device 0, on which irc's notes what is asked of it."""

    def __init__(self, patch: Callable[..., None]):
        self.device = NotingDevice()
        self.stream, self.current, self.pools = 7, 0, list[str]()
        patch(captures, "device_of", lambda ordinal: self.device)
        patch(captures, "library_of", lambda array: SimpleNamespace(current_stream=lambda ordinal: self.stream))
        patch(torch.cuda, "current_device", lambda: self.current)
        patch(torch.cuda, "MemPool", lambda: "pool")
        patch(torch.cuda, "ExternalStream", lambda stream, device: stream)
        patch(torch.cuda, "stream", self.on)
        patch(torch.cuda, "use_mem_pool", self.using)

    @contextmanager
    def on(self, stream: int) -> Generator[None]:
        before, self.stream = self.stream, stream
        try:
            yield
        finally:
            self.stream = before

    @contextmanager
    def using(self, pool: str) -> Generator[None]:
        self.pools.append(pool)
        try:
            yield
        finally:
            self.pools.pop()


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Fake:
    return Fake(monkeypatch.setattr)


def names(fake: Fake) -> list[str]:
    return [call[0] for call in fake.device.calls]


def test_work_is_captured_on_a_stream_and_in_a_pool_of_its_own(fake: Fake) -> None:
    seen: list[Any] = []

    def work() -> list[Any]:
        seen.append((fake.stream, list(fake.pools), names(fake)))
        return ["result"]

    graph, results = captured_unnoticed(work)
    side = fake.device.spare[0]
    assert results == ["result"] and seen == [(side, ["pool"], ["begin_capture"])]
    assert fake.stream == 7 and not fake.pools and side != 7
    graph.replay()
    replay, _, stream = fake.device.calls[-1]
    assert (replay, stream) == ("replay", 7)


def test_a_graph_is_replayable_on_its_stream_and_device(fake: Fake) -> None:
    graph = UnnoticedGraph(list)
    assert graph.is_replayable()
    with fake.on(8):
        assert not graph.is_replayable()
    fake.current = 1
    assert not graph.is_replayable()


def test_a_capture_that_fails_is_dropped(fake: Fake) -> None:
    def work() -> list[Any]:
        raise RuntimeError("out of memory")

    with pytest.raises(RuntimeError, match="out of memory"):
        UnnoticedGraph(work)
    assert names(fake) == ["begin_capture", "drop_capture"]
    assert fake.device.spare and fake.stream == 7 and not fake.pools


def test_a_replay_that_the_driver_refuses_is_a_diagnostic(fake: Fake, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = UnnoticedGraph(list)

    def refuse(stream: int) -> None:
        raise DriverError("CUDA_ERROR_LAUNCH_FAILED")

    monkeypatch.setattr(graph._graph, "enqueue", refuse)
    with pytest.raises(IrcError, match="CUDA_ERROR_LAUNCH_FAILED"):
        graph.replay()
