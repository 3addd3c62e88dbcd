"""Copies of host arrays to the device that no computation waits for: pinned buffers and a stream of their own."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import numpy as np

from irc.runtime.artifact import ELEMENT_NAMES
from irc.runtime.dlpack import LEGACY_STREAM, DeviceArray
from irc.runtime.trace import active
from irc.support.diagnostics import IrcError
from irc.support.integers import round_up

if TYPE_CHECKING:
    from irc.runtime.device import Device, Event, Pinned

COPY = "copy of a batch"
"""What a trace calls what is sent at once; `number` says how many were sent before it."""

_ALIGNMENT = 256
"""Bytes: where arrays start in a pinned buffer."""


class Feed:
    """Sends sets of arrays to a device. At most `depth` of them are on the way; `depth` pinned buffers take turns."""

    def __init__(self, on: Device, depth: int):
        self._device = on
        self._stream = on.take_stream()
        self._buffers: list[Pinned | None] = [None] * depth
        self._sent: list[Event] = [on.event() for _ in range(depth)]
        self._count = 0

    def send(self, arrays: Sequence[np.ndarray[Any, Any]]) -> tuple[list[DeviceArray], Event]:
        """Copies of the arrays on the device, and the event behind which they are there. It returns when the arrays are
        in pinned memory, and may be changed. IrcError for an element type that irc does not have."""
        number, self._count = self._count, self._count + 1
        turn = number % len(self._buffers)
        rows = [np.asarray(array, order="C") for array in arrays]
        buffer = self._buffer(turn, sum(_padded(row.nbytes) for row in rows))
        trace = active()
        about = {"number": number}
        with trace.on_device(self._device, self._stream, COPY, "copy", about) if trace else nullcontext():
            made = self._send_rows(rows, buffer)
        self._device.record(self._sent[turn], self._stream)
        return made, self._sent[turn]

    def _send_rows(self, rows: Sequence[np.ndarray[Any, Any]], buffer: Pinned) -> list[DeviceArray]:
        made: list[DeviceArray] = []
        offset = 0
        for row in rows:
            ctypes.memmove(buffer.address + offset, row.ctypes.data, row.nbytes)
            made.append(self._copied(row, buffer.address + offset))
            offset += _padded(row.nbytes)
        return made

    def _buffer(self, turn: int, size: int) -> Pinned:
        """The pinned buffer of this turn, when its last copy is done."""
        found = self._buffers[turn]
        if found is not None:
            self._device.wait_here(self._sent[turn])
        if found is None or found.size < size:
            found = self._buffers[turn] = self._device.pinned(size)
        return found

    def _copied(self, array: np.ndarray[Any, Any], source: int) -> DeviceArray:
        element = ELEMENT_NAMES.get(array.dtype)
        if element is None:
            raise IrcError(f"irc has no element type {array.dtype}", hint=f"it has {', '.join(ELEMENT_NAMES.values())}")
        device, memory = self._device, self._device.allocate(array.nbytes, self._stream)
        device.copy(memory.address, source, array.nbytes, self._stream)

        def release() -> None:
            device.use()
            memory.free(LEGACY_STREAM)

        return DeviceArray(memory.address, array.shape, element, device.ordinal, release)

    def arrived(self, event: Event, stream: int) -> None:
        """Orders later work of the stream behind the copies."""
        self._device.wait(event, stream)

    def close(self) -> None:
        """Waits for the copies that are on the way."""
        self._device.synchronize(self._stream)
        self._device.give_stream(self._stream)


def _padded(size: int) -> int:
    return round_up(size, _ALIGNMENT)
