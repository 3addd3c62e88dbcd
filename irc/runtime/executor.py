"""Enqueuing a plan: launches, copies, records and waits, on the caller's stream and its side streams."""

from __future__ import annotations

import os
import threading
from collections.abc import Generator
from contextlib import contextmanager

from irc.artifact import Artifact
from irc.diagnostics import IrcError, Span
from irc.runtime.driver import Device, DriverError, LaunchConfig
from irc.runtime.launches import Arguments, Bases, address_of
from irc.runtime.plan import Copy, Launch, Memset, Plan, Record, Wait


class Executor:
    """A plan with its kernels loaded on one device. Threads may share it.

    With `IRC_SYNC=1` in the environment every launch is waited for, so that a fault is reported at the kernel that made
    it.
    """

    def __init__(self, artifact: Artifact, plan: Plan, device: Device):
        self._device = device
        self._plan = plan
        self._locations = {kernel.name: kernel.location for kernel in artifact.kernels}
        self._names = [step.kernel for step in plan.steps if isinstance(step, Launch)]
        shared = {step.kernel: step.shared for step in plan.steps if isinstance(step, Launch)}
        self._kernels = {
            kernel.name: self._load(kernel.name, kernel.cubin, shared[kernel.name])
            for kernel in artifact.kernels
            if kernel.name in shared
        }
        self._constants = [self._constant(content) for content in plan.constants]
        self._lock = threading.Lock()
        self._frames: list[_Frame] = []

    def _load(self, name: str, cubin: bytes, shared: int):
        if shared > self._device.largest_shared:
            raise IrcError(
                f"kernel {name} needs {shared} bytes of shared memory, the device has {self._device.largest_shared}",
                self._span(name),
            )
        try:
            return self._device.load(cubin, name, shared)
        except DriverError as error:
            raise IrcError(f"cannot load kernel {name}: {error}", self._span(name)) from error

    def _constant(self, content: bytes) -> int:
        stream = self._device.take_stream()
        address = self._device.allocate(len(content), stream)
        self._device.copy_in(address, _address_of_bytes(content), len(content), stream)
        self._device.synchronise(stream)
        self._device.give_stream(stream)
        return address

    def enqueue(self, arguments: list[int], results: list[int], stream: int) -> None:
        """Enqueues one run. All of it is ordered before what comes later on the stream."""
        arena = self._device.allocate(self._plan.arena, stream)
        bases: Bases = {"argument": arguments, "result": results, "arena": [arena], "constant": self._constants}
        try:
            with self._frame() as frame, self._side_streams(stream) as streams:
                self._steps(frame, bases, streams)
        finally:
            self._device.free(arena, stream)

    def failure(self, error: DriverError) -> IrcError:
        """The diagnostic of an error that showed after the launches: which kernel made it is known if there is one."""
        if len(self._names) == 1:
            return IrcError(f"kernel {self._names[0]} failed: {error}", self._span(self._names[0]))
        return IrcError(f"one of the kernels {', '.join(self._names)} failed: {error}", None, "IRC_SYNC=1 shows which")

    def _steps(self, frame: _Frame, bases: Bases, streams: list[int]) -> None:
        device = self._device
        sync = os.environ.get("IRC_SYNC") == "1"
        with _events(device, self._plan.events) as events:
            for index, step in enumerate(self._plan.steps):
                stream = streams[step.stream]
                match step:
                    case Launch():
                        self._launch(step, frame, index, bases, stream, sync)
                    case Copy(source, destination):
                        device.copy(address_of(destination, bases), address_of(source, bases), source.size, stream)
                    case Memset(buffer, value):
                        device.fill(address_of(buffer, bases), value, buffer.size, stream)
                    case Record(event):
                        device.record(events[event], stream)
                    case Wait(event):
                        device.wait(events[event], stream)

    def _launch(self, step: Launch, frame: _Frame, index: int, bases: Bases, stream: int, sync: bool) -> None:
        try:
            arguments = frame.arguments[index]
            arguments.fill(bases)
            frame.configs[index].launch(self._kernels[step.kernel], arguments.pointers, stream)
            if sync:
                self._device.synchronise(stream)
        except DriverError as error:
            raise IrcError(f"kernel {step.kernel} failed: {error}", self._span(step.kernel)) from error

    def _span(self, kernel: str) -> Span | None:
        """The place in the program that a kernel comes from."""
        file, _, rest = self._locations.get(kernel, "?").partition(":")
        parts = self._locations.get(kernel, "?").rsplit(":", 2)
        if not rest or len(parts) != 3:
            return None
        file, line, column = parts
        return Span(file, int(line), int(column))

    @contextmanager
    def _frame(self) -> Generator[_Frame]:
        with self._lock:
            frame = self._frames.pop() if self._frames else None
        frame = frame or _Frame(self._plan)
        yield frame
        with self._lock:
            self._frames.append(frame)

    @contextmanager
    def _side_streams(self, main: int) -> Generator[list[int]]:
        """The streams of the plan; the others start after what is on the main one. The plan itself joins them.

        After a failure they are drained, so that no work is left that uses memory about to be freed."""
        if self._plan.streams == 1:
            yield [main]
            return
        device = self._device
        side = [device.take_stream() for _ in range(self._plan.streams - 1)]
        with _events(device, 1) as (start,):
            device.record(start, main)
            for stream in side:
                device.wait(start, stream)
        try:
            yield [main, *side]
        except BaseException:
            for stream in side:
                try:
                    device.synchronise(stream)
                except DriverError:
                    break
            raise
        finally:
            for stream in side:
                device.give_stream(stream)


class _Frame:
    """The arguments and the configuration of each launch, by the number of the step."""

    def __init__(self, plan: Plan):
        launches = {index: step for index, step in enumerate(plan.steps) if isinstance(step, Launch)}
        self.arguments = {index: Arguments(step) for index, step in launches.items()}
        self.configs = {
            index: LaunchConfig(step.grid, step.block, step.cluster, step.shared) for index, step in launches.items()
        }


@contextmanager
def _events(device: Device, count: int) -> Generator[list[int]]:
    """Events for the time of enqueuing: a wait keeps what it waits for, so they can be recorded again at once."""
    events = [device.take_event() for _ in range(count)]
    try:
        yield events
    finally:
        for event in events:
            device.give_event(event)


def _address_of_bytes(content: bytes) -> int:
    import numpy as np

    return int(np.frombuffer(content, np.uint8).ctypes.data)
