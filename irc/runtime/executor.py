"""Enqueuing a plan: launches, copies, records and waits, on the caller's stream and its side streams."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from irc.artifact import Artifact
from irc.diagnostics import IrcError, Span
from irc.runtime.driver import DriverError
from irc.runtime.launches import Addresses, Arguments, Slots
from irc.runtime.plan import Copy, Launch, Memset, Plan, Record, Step, Wait

if TYPE_CHECKING:
    from irc.runtime.device import Device, Memory, Stream


class Executor:
    """A plan with its kernels loaded on one device. Threads may share it.

    With `IRC_SYNC=1` in the environment when it is made, every launch is waited for, so that a fault is reported at the
    kernel that made it.
    """

    def __init__(self, artifact: Artifact, plan: Plan, device: Device):
        self._device = device
        self._plan = plan
        self._slots = Slots(len(artifact.arguments), len(artifact.results))
        self._locations = {kernel.name: kernel.location for kernel in artifact.kernels}
        self._names = [step.kernel for step in plan.steps if isinstance(step, Launch)]
        shared = {step.kernel: step.shared for step in plan.steps if isinstance(step, Launch)}
        self._kernels = {
            kernel.name: self._load(kernel.name, kernel.cubin, shared[kernel.name])
            for kernel in artifact.kernels
            if kernel.name in shared
        }
        self._constants = [self._constant(content) for content in plan.constants]
        self._constant_addresses = tuple(memory.address for memory in self._constants)
        self._frames: list[Frame] = []
        self._sync = os.environ.get("IRC_SYNC") == "1"

    def _load(self, name: str, cubin: bytes, shared: int) -> Any:
        if shared > self._device.largest_shared:
            raise IrcError(
                f"kernel {name} needs {shared} bytes of shared memory, the device has {self._device.largest_shared}",
                self._span(name),
            )
        try:
            return self._device.load(cubin, name, shared)
        except DriverError as error:
            raise IrcError(f"cannot load kernel {name}: {error}", self._span(name)) from error

    def _constant(self, content: bytes) -> Memory:
        stream = self._device.take_stream()
        memory = self._device.allocate(len(content), stream)
        self._device.copy(memory.address, _address_of_bytes(content), len(content), stream)
        self._device.synchronise(stream)
        self._device.give_stream(stream)
        return memory

    def enqueue(self, arguments: Sequence[int], results: Sequence[int], stream: Stream) -> None:
        """Enqueues one run on the addresses. All of it is ordered before what comes later on the stream."""
        arena = self._device.allocate(self._plan.arena, stream)
        addresses = (*arguments, *results, arena.address, *self._constant_addresses)
        try:
            frame = self._frames.pop()
        except IndexError:
            frame = Frame(self._plan, self._slots, self._device)
        try:
            if self._plan.streams == 1:
                self._steps(frame, addresses, [stream])
            else:
                self._on_streams(frame, addresses, stream)
        finally:
            self._frames.append(frame)
            arena.free(stream)

    def failure(self, error: DriverError) -> IrcError:
        """The diagnostic of an error that showed after the launches: which kernel made it is known if there is one."""
        if len(self._names) == 1:
            return IrcError(f"kernel {self._names[0]} failed: {error}", self._span(self._names[0]))
        return IrcError(f"one of the kernels {', '.join(self._names)} failed: {error}", None, "IRC_SYNC=1 shows which")

    def _on_streams(self, frame: Frame, addresses: Addresses, main: Stream) -> None:
        """The steps on the plan's streams; the others start after what is on the main one. The plan itself joins them.

        After a failure they are drained, so that no work is left that uses memory about to be freed."""
        device, start = self._device, frame.start
        assert start is not None
        side = [device.take_stream() for _ in range(self._plan.streams - 1)]
        try:
            device.record(start, main)
            for stream in side:
                device.wait(start, stream)
            self._steps(frame, addresses, [main, *side])
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

    def _steps(self, frame: Frame, addresses: Addresses, streams: Sequence[Stream]) -> None:
        device = self._device
        for step in frame.steps:
            stream = streams[step.stream]
            match step:
                case ReadyLaunch():
                    self._launch(step, addresses, stream)
                case Copy(source, destination):
                    target, origin = self._slots.place(destination), self._slots.place(source)
                    device.copy(target(addresses), origin(addresses), source.size, stream)
                case Memset(buffer, value):
                    device.fill(self._slots.place(buffer)(addresses), value, buffer.size, stream)
                case Record(event):
                    device.record(frame.events[event], stream)
                case Wait(event):
                    device.wait(frame.events[event], stream)

    def _launch(self, step: ReadyLaunch, addresses: Addresses, stream: Stream) -> None:
        try:
            self._device.launch(stream, step.config, self._kernels[step.kernel], step.arguments.values(addresses))
            if self._sync:
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


@dataclass(frozen=True, slots=True)
class ReadyLaunch:
    """A launch with its arguments laid out and its configuration in the driver's form."""

    kernel: str
    stream: int
    arguments: Arguments
    config: Any


class Frame:
    """What one call at a time uses of a plan: its steps, its events, and the one after which side streams start.

    Events serve for the time of enqueuing alone: a wait keeps what it waits for, so they can be recorded again at once.
    """

    def __init__(self, plan: Plan, slots: Slots, device: Device):
        self.steps = [_ready(step, slots, device) for step in plan.steps]
        self.events = [device.event() for _ in range(plan.events)]
        self.start = device.event() if plan.streams > 1 else None


def _ready(step: Step, slots: Slots, device: Device) -> ReadyLaunch | Copy | Memset | Record | Wait:
    if not isinstance(step, Launch):
        return step
    arguments = Arguments(step, slots, device.tensor_map)
    return ReadyLaunch(step.kernel, step.stream, arguments, device.launch_config(step))


def _address_of_bytes(content: bytes) -> int:
    import numpy as np

    return int(np.frombuffer(content, np.uint8).ctypes.data)
