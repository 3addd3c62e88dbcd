"""Streams that threads share, and that are of one thread while it captures."""

from __future__ import annotations

from itertools import count
from threading import Thread
from typing import Any

import pytest

from irc.runtime.spare_streams import SpareStreams


def elsewhere(streams: SpareStreams) -> int:
    """What another thread takes."""
    found: list[int] = []
    thread = Thread(target=lambda: found.append(streams.take()))
    thread.start()
    thread.join()
    return found[0]


def test_what_was_given_back_is_taken_next() -> None:
    streams = SpareStreams(iter(count(100)).__next__)
    assert [streams.take(), streams.take()] == [100, 101]
    streams.give(100)
    assert elsewhere(streams) == 100
    assert streams.take() == 102


def test_streams_of_a_capture_are_of_its_thread_until_it_ends() -> None:
    streams = SpareStreams(iter(count(100)).__next__)
    streams.begin_capture()
    side = streams.take()
    streams.give(side)
    assert elsewhere(streams) != side, "its work would be captured"
    assert streams.take() == side, "the next program of the capture forks to it again"
    streams.give(side)
    streams.end_capture()
    streams.end_capture()
    assert elsewhere(streams) == side


@pytest.mark.parametrize("end", ["end_capture", "drop_capture"])
def test_a_device_keeps_streams_while_it_captures(monkeypatch: pytest.MonkeyPatch, end: str) -> None:
    wrapper = pytest.importorskip("irc.runtime.device")
    monkeypatch.setattr(wrapper, "_call", lambda function, *_: 0)
    monkeypatch.setattr(wrapper, "Graph", lambda graph: graph)
    monkeypatch.setattr(wrapper.driver, "cuStreamEndCapture", lambda stream: (0, 0), raising=False)
    device: Any = wrapper.Device.__new__(wrapper.Device)
    device._spare_streams = SpareStreams(iter(count(100)).__next__)
    device.begin_capture(7)
    side = device.take_stream()
    device.give_stream(side)
    assert elsewhere(device._spare_streams) != side
    getattr(device, end)(7)
    assert elsewhere(device._spare_streams) == side
