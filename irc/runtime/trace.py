"""What runs when, on the device's streams and on the host: recorded while `tracing` is entered, and written in the
trace event format that chrome://tracing and Perfetto show."""

from __future__ import annotations

import json
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from irc.runtime.dlpack import LEGACY_STREAM
from irc.support.files import written_aside

if TYPE_CHECKING:
    from irc.runtime.device import Device, Event, Stream

HOST = "host"
"""The track of what the host does."""

COLLECTIVE = "collective"
"""The kind of what ranks do together, which has a track of its own."""


@dataclass(frozen=True)
class Span:
    """Something that ran: on which track, when it began, in seconds since the trace began, and for how long. `about`
    has what else is known, such as the op and the line that a kernel comes from."""

    name: str
    kind: str
    track: str
    begin: float
    seconds: float
    about: Mapping[str, Any]

    @property
    def end(self) -> float:
        """In seconds since the trace began."""
        return self.begin + self.seconds


@dataclass(frozen=True)
class _Marks:
    name: str
    kind: str
    stream: Stream
    begin: Event
    end: Event
    about: Mapping[str, Any]


class Trace:
    """A recording. Work of a device is between two timed events, which cost the host a microsecond each and keep a
    kernel from starting while the one before it runs; times have a resolution of half a microsecond."""

    def __init__(self) -> None:
        self._host_start = time.perf_counter()
        self.began = time.time()
        """The time of day when it began."""
        self._starts: dict[int, tuple[Device, Event, float]] = {}
        """By device: an event that was reached, and when, in seconds since the trace began."""
        self._marks: dict[int, list[_Marks]] = {}
        self.spans: list[Span] = []
        """All of them, when the trace is closed."""

    @contextmanager
    def on_device(
        self, on: Device, stream: Stream, name: str, kind: str, about: Mapping[str, Any] | None = None
    ) -> Generator[None]:
        """Records what is enqueued on a stream in the block."""
        if on.ordinal not in self._starts:
            self._starts[on.ordinal] = self._started(on)
        begin, end = on.event(timed=True), on.event(timed=True)
        on.record(begin, stream)
        try:
            yield
        finally:
            on.record(end, stream)
            self._marks.setdefault(on.ordinal, []).append(_Marks(name, kind, stream, begin, end, about or {}))

    def _started(self, on: Device) -> tuple[Device, Event, float]:
        start = on.event(timed=True)
        on.record(start, LEGACY_STREAM)
        on.wait_here(start)
        return on, start, time.perf_counter() - self._host_start

    @contextmanager
    def on_host(self, name: str, kind: str, **about: Any) -> Generator[None]:
        """Records what the host does in the block."""
        begin = time.perf_counter()
        try:
            yield
        finally:
            self.add(name, kind, begin, time.perf_counter(), **about)

    def add(self, name: str, kind: str, begin: float, end: float, **about: Any) -> None:
        """Something that the host did, between two times of `time.perf_counter`."""
        self.spans.append(Span(name, kind, HOST, begin - self._host_start, end - begin, about))

    def close(self) -> None:
        """Waits for what was recorded, and fills in `spans`."""
        for ordinal, marks in self._marks.items():
            on, start, at = self._starts[ordinal]
            for mark in marks:
                on.wait_here(mark.end)
                begin = at + on.seconds_between(start, mark.begin)
                row = "collectives" if mark.kind == COLLECTIVE else f"stream {mark.stream}"
                track = f"device {ordinal} {row}"
                seconds = on.seconds_between(mark.begin, mark.end)
                self.spans.append(Span(mark.name, mark.kind, track, begin, seconds, mark.about))
        self._marks.clear()
        self.spans.sort(key=lambda span: span.begin)

    def to_json(self, process: int = 0, name: str | None = None, since: float | None = None) -> dict[str, Any]:
        """The trace event format: complete events, a thread for each track, times in microseconds. process, name: of
        the process that was traced. since: the time of day at which 0 is, by default when the trace began."""
        shift = 0.0 if since is None else self.began - since
        tracks = {track: number for number, track in enumerate(sorted({span.track for span in self.spans}))}
        names = [
            {"name": "thread_name", "ph": "M", "pid": process, "tid": number, "args": {"name": track}}
            for track, number in tracks.items()
        ]
        if name is not None:
            names.append({"name": "process_name", "ph": "M", "pid": process, "tid": 0, "args": {"name": name}})
        events = [
            {
                "name": span.name,
                "cat": span.kind,
                "ph": "X",
                "pid": process,
                "tid": tracks[span.track],
                "ts": round((span.begin + shift) * 1e6, 3),
                "dur": round(span.seconds * 1e6, 3),
                "args": dict(span.about),
            }
            for span in self.spans
        ]
        return {"traceEvents": [*names, *events], "displayTimeUnit": "ms"}

    def save(self, path: str | Path) -> None:
        """Writes the file. IrcError where that cannot be."""
        with written_aside(Path(path)) as file:
            file.write(json.dumps(self.to_json()).encode())


_active: Trace | None = None


def active() -> Trace | None:
    """The trace that is being recorded."""
    return _active


@contextmanager
def tracing() -> Generator[Trace]:
    """Records the kernels and copies of calls, of all threads, and of prefetched batches, while it is entered."""
    global _active
    before, trace = _active, Trace()
    _active = trace
    try:
        yield trace
    finally:
        _active = before
        trace.close()
