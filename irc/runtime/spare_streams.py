"""Streams of a device that nobody uses at present, shared by threads."""

from __future__ import annotations

import threading
from collections.abc import Callable


class SpareStreams:
    """Streams that are taken, and given back for whoever takes one next. What a thread gives back while it captures is
    for that thread until the capture ends: until then all work of such a stream, whoever enqueues it, is captured."""

    def __init__(self, make: Callable[[], int]):
        """make: a new stream."""
        self._make = make
        # Append and pop are atomic: threads share the list without a lock.
        self._spare: list[int] = []
        self._thread = threading.local()

    def take(self) -> int:
        """A spare stream, or a new one."""
        for streams in (self._captured(), self._spare):
            try:
                return streams.pop()
            except IndexError:
                continue
        return self._make()

    def give(self, stream: int) -> None:
        captured = getattr(self._thread, "captured", None)
        (self._spare if captured is None else captured).append(stream)

    def begin_capture(self) -> None:
        """This thread captures from now on."""
        self._thread.captured = []

    def end_capture(self) -> None:
        """The capture of this thread is done, or was given up before."""
        captured, self._thread.captured = self._captured(), None
        self._spare += captured

    def _captured(self) -> list[int]:
        return getattr(self._thread, "captured", None) or []
