"""How irc-bench times, on a device that only notes what is asked of it."""

from __future__ import annotations

import time
from typing import Any, cast

import numpy as np
import pytest

from irc.runtime.device import Device
from irc.runtime.workbench import MAX_STALLS, STALL_BYTES, Variant, Workbench
from irc_tools.bench.limits import PAGE, Buffers, copying
from irc_tools.bench.timing import time_variants


class Event:
    """Reached early as often as the device was told."""

    def __init__(self, device: Noting):
        self._device = device

    @property
    def is_done(self) -> bool:
        self._device.early -= 1
        return self._device.early >= 0


class Memory:
    def __init__(self, address: int):
        self.address = address

    def free(self, stream: Any) -> None:
        pass


class Noting:
    """A device whose blocks take `seconds`, and which starts `early` of them before the host is done."""

    l2_bytes = 60 << 20

    def __init__(self, *, early: int = 0, seconds: float = 1e-3, free: int = 100 << 30):
        self.early = early
        self.copies: list[tuple[int, int, int]] = []
        self.sleep = 0.0
        self._seconds, self._free, self._next = seconds, free, PAGE

    def take_stream(self) -> Any:
        return None

    def free_memory(self) -> int:
        return self._free

    def allocate(self, size: int, stream: Any) -> Memory:
        address, self._next = self._next, self._next + size
        return Memory(address)

    def fill(self, address: int, value: int, size: int, stream: Any) -> None:
        pass

    def copy(self, destination: int, source: int, size: int, stream: Any) -> None:
        self.copies.append((destination, source, size))

    def event(self, *, timed: bool) -> Event:
        return Event(self)

    def record(self, event: Event, stream: Any) -> None:
        pass

    def synchronize(self, stream: Any) -> None:
        time.sleep(self.sleep)

    def seconds_between(self, begin: Event, end: Event) -> float:
        return self._seconds


def _bench(device: Noting) -> Workbench:
    return Workbench(cast(Device, device), block_seconds=10e-3)


def test_a_block_behind_which_the_host_fell_is_timed_again_behind_a_longer_stall() -> None:
    device = Noting(early=2)
    variant = Variant("irc", lambda number: None, calls=4)
    assert _bench(device).block(variant) == pytest.approx(0.25e-3)
    assert variant.stalls == 4
    assert [size for _, _, size in device.copies] == [STALL_BYTES // 2] * (1 + 2 + 4)


def test_a_host_that_is_never_ahead_is_timed_as_it_is() -> None:
    variant = Variant("irc", lambda number: None)
    _bench(Noting(early=1000)).block(variant)
    assert variant.stalls == MAX_STALLS


@pytest.mark.parametrize(("seconds", "calls"), [(40e-3, 1), (2e-3, 10), (1e-6, 64)])
def test_calls_of_a_block_fill_its_time(seconds: float, calls: int) -> None:
    variant = Variant("irc", lambda number: None)
    _bench(Noting(seconds=seconds)).prepare(variant)
    assert variant.calls == calls


@pytest.mark.parametrize(
    ("nbytes", "free", "sets"),
    [(1 << 30, 100 << 30, 2), (60 << 20, 100 << 30, 16), (8, 100 << 30, 256), (1 << 30, 4 << 30, 1)],
)
def test_sets_exceed_the_l2_and_fit_memory(nbytes: int, free: int, sets: int) -> None:
    assert _bench(Noting(free=free)).sets(nbytes) == sets


def test_the_first_variant_changes_from_one_repetition_to_the_next() -> None:
    order: list[str] = []
    variants = [Variant(name, lambda number, name=name: order.append(name)) for name in "abc"]
    times = time_variants(_bench(Noting(seconds=20e-3)), "device", variants, 4)
    assert {name: len(values) for name, values in times.items()} == {"a": 4, "b": 4, "c": 4}
    assert "".join(order[-12:]) == "abcbcacababc"


def test_the_hosts_part_of_calls_leaves_out_what_is_waited_for() -> None:
    device = Noting()
    bench, variant = _bench(device), Variant("irc", lambda number: None, calls=4)
    device.sleep = 0.4
    assert bench.enqueue_block(variant) < 0.1
    assert bench.host_block(variant) >= 0.1


def test_a_copy_moves_the_bytes_between_pages_and_rotates() -> None:
    device = Noting()
    bench = _bench(device)
    buffers = Buffers(bench, 3 * PAGE + 2)
    enqueue = copying(bench, buffers)
    device.copies.clear()
    for number in range(buffers.count + 1):
        enqueue(number)
    assert len({source for _, source, _ in device.copies}) == buffers.count
    assert device.copies[0] == device.copies[-1]
    assert 2 * buffers.count * buffers.half >= 16 * device.l2_bytes * 0.7
    for destination, source, size in device.copies:
        assert destination % PAGE == source % PAGE == 0
        assert source + size <= destination
        assert 2 * size - (3 * PAGE + 2) in range(64)


def test_fill_repeats_a_block() -> None:
    device = Noting()
    block = np.zeros(100, np.uint8)
    bench = _bench(device)
    bench.fill(1000, 250, block)
    assert device.copies == [(1000, int(block.ctypes.data), 100), (1100, 1000, 100), (1200, 1000, 50)]
