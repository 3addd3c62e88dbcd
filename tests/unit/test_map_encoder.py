"""Tensor maps for other addresses, by a driver that keeps the address in one word of the map, or does not."""

from __future__ import annotations

import ctypes
from typing import Any

import pytest

from irc.runtime import calls
from irc.runtime.calls import MapEncoder
from irc.runtime.driver import DriverError
from irc.runtime.plan import Buffer, TensorMap

MAP = TensorMap(Buffer("argument", 0, 0, 32768), "bf16", (64, 256), (256, 1), (64, 64), 128)


class Driver:
    """Encodes as `words` says: the words of the map of an address."""

    def __init__(self, words: Any) -> None:
        self._words, self.encoded = words, 0
        self.refuses = False

    def cuTensorMapEncodeTiled(self, cell: int, element: int, rank: int, address: int, *rest: Any) -> int:
        if self.refuses:
            return 1
        self.encoded += 1
        for place, word in enumerate(self._words(address)):
            (ctypes.c_uint64 * 16).from_address(cell)[place] = word
        return 0

    def cuGetErrorName(self, status: int, found: Any) -> int:
        return 0

    cuGetErrorString = cuGetErrorName


def written(driver: Driver, address: int, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    monkeypatch.setattr(calls, "library", lambda: driver)
    memory = ctypes.create_string_buffer(192)
    cell = -(-ctypes.addressof(memory) // 64) * 64
    encoder = MapEncoder(MAP)
    words, place = (ctypes.c_uint64 * 16).from_address(cell), encoder.prepare(cell)
    driver.encoded = 0
    if place is None:
        encoder.write(cell, address)
    else:
        words[place] = address
    return list(words)


def test_the_word_of_the_address_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    driver = Driver(lambda address: [address, *range(1, 16)])
    assert written(driver, 0x7F00_1234_0010, monkeypatch) == [0x7F00_1234_0010, *range(1, 16)]
    assert driver.encoded == 0


@pytest.mark.parametrize(
    "words",
    [
        lambda address: [address >> 4, *range(1, 16)],
        lambda address: [address, address & 0xFFFF, *range(2, 16)],
        lambda address: [0] * 16,
    ],
)
def test_other_maps_are_encoded(words: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    driver = Driver(words)
    assert written(driver, 0x7F00_1234_0010, monkeypatch) == words(0x7F00_1234_0010)
    assert driver.encoded == 1


def test_a_map_that_the_driver_refuses_is_an_error_when_it_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    driver = Driver(lambda address: [0] * 16)
    driver.refuses = True
    with pytest.raises(DriverError, match="cuTensorMapEncodeTiled"):
        written(driver, 0x10, monkeypatch)


WINDOW = TensorMap(
    Buffer("argument", 0, 0, 1 << 20),
    "bf16",
    (2, 9, 8, 64),
    (4608, 512, 64, 1),
    (128, 64),
    128,
    (-1, -2),
    (-1, 0),
    (1, 2),
)


def test_the_map_of_a_window(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lists are in the driver's order, channels first."""
    calls_made: list[tuple[Any, ...]] = []

    class Windows(Driver):
        def cuTensorMapEncodeIm2col(self, *arguments: Any) -> int:
            calls_made.append(tuple(list(a) if isinstance(a, ctypes.Array) else a for a in arguments))
            return 0

    monkeypatch.setattr(calls, "library", lambda: Windows(lambda address: [0] * 16))
    MapEncoder(WINDOW).write(4096, 1 << 20)
    (arguments,) = calls_made
    assert arguments[:4] == (4096, 9, 4, 1 << 20)
    assert arguments[4:6] == ([64, 8, 9, 2], [128, 1024, 9216])
    assert arguments[6:11] == ([-2, -1], [0, -1], 64, 128, [1, 2, 1, 1])
    assert arguments[11:] == (0, 3, calls.L2_PROMOTION, 0)
