"""Batches that are copied ahead: which copies are made when, on a device that notes them, and none on the cpu."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest
from noting_device import NotingDevice

import irc_frontend as ir
from irc.support.diagnostics import IrcError
from irc_frontend import data


class Host:
    """Memory of the host, as `Pinned`."""

    def __init__(self, size: int) -> None:
        self.size = size
        self._memory = ctypes.create_string_buffer(max(1, size))
        self.address = ctypes.addressof(self._memory)


class Copying(NotingDevice):
    """Keeps what was copied from the host."""

    def __init__(self) -> None:
        super().__init__()
        self.contents: dict[int, bytes] = {}

    def pinned(self, size: int) -> Host:
        self.calls.append(("pinned", size))
        return Host(size)

    def copy(self, destination: int, source: int, size: int, stream: int) -> None:
        self.calls.append(("copy", destination, stream))
        self.contents[destination] = ctypes.string_at(source, size)


@pytest.fixture
def device(monkeypatch: pytest.MonkeyPatch) -> Copying:
    noting = Copying()
    monkeypatch.setattr(data, "device", lambda: noting)
    monkeypatch.setenv("IRC_TARGET", "cuda")
    return noting


def batches(count: int) -> list[dict[str, Any]]:
    return [{"x": np.full((2, 3), n, np.float32), "y": [np.full(4, n, np.int32).T]} for n in range(count)]


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_batches_come_in_order_and_are_copied_ahead(device: Copying, depth: int) -> None:
    copying, given = 100, 0
    for number, batch in enumerate(data.prefetch(batches(5), depth)):
        given += 1
        copies = [call for call in device.calls if call[0] == "copy"]
        assert len(copies) == 2 * min(5, number + depth)
        assert {stream for *_, stream in copies} == {copying}
        assert [call[2] for call in device.calls if call[0] == "wait"] == [1] * (number + 1)
        for array, wanted in ((batch["x"], batches(5)[number]["x"]), (batch["y"][0], batches(5)[number]["y"][0])):
            assert (array.shape, array.dtype) == (wanted.shape, wanted.dtype)
            assert device.contents[array.address] == wanted.tobytes()
    assert given == 5
    assert len([call for call in device.calls if call[0] == "pinned"]) == depth
    assert len([call for call in device.calls if call[0] == "wait_here"]) == 5 - depth
    assert device.spare == [copying]


def test_memory_of_a_batch_is_freed_when_nobody_has_it(device: Copying) -> None:
    addresses = [batch["x"].address for batch in data.prefetch(batches(2))]
    assert [call[1] for call in device.calls if call[0] == "free" and call[1] in addresses]


def test_larger_batches_get_larger_buffers(device: Copying) -> None:
    sizes = [4, 1, 5, 2]
    assert len(list(data.prefetch([np.zeros(256 * size, np.int8) for size in sizes], 1))) == 4
    assert [call[1] for call in device.calls if call[0] == "pinned"] == [1024, 1280]


def test_a_stream_waits_for_the_copies(device: Copying) -> None:
    next(data.prefetch(batches(1), stream=7))
    assert [call[2] for call in device.calls if call[0] == "wait"] == [7]


def test_errors_are_clear(device: Copying) -> None:
    with pytest.raises(IrcError, match="expected a depth of one or more, found 0"):
        next(data.prefetch(batches(1), 0))
    with pytest.raises(IrcError, match="irc has no element type complex64"):
        next(data.prefetch([np.zeros(3, np.complex64)]))
    assert device.spare == [100]


def test_on_the_cpu_batches_are_given_as_they_are() -> None:
    made = batches(3)
    with ir.target("cpu"):
        assert all(a is b for a, b in zip(ir.data.prefetch(made), made, strict=True))


def test_numbers_stay_without_axes(device: Copying) -> None:
    ((number, transposed),) = data.prefetch([(np.int64(3), np.arange(6, dtype=np.int32).reshape(2, 3).T)])
    assert (number.shape, device.contents[number.address]) == ((), np.int64(3).tobytes())
    assert device.contents[transposed.address] == np.array([0, 3, 1, 4, 2, 5], np.int32).tobytes()
