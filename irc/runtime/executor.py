"""Enqueuing a plan: launches, copies, records and waits, on the caller's stream and its side streams."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from irc.runtime.artifact import Artifact, KernelBinary
from irc.runtime.dlpack import LEGACY_STREAM
from irc.runtime.driver import DriverError
from irc.runtime.launches import Addresses, Cells, Slots
from irc.runtime.plan import Buffer, Collective, Copy, Launch, Memset, Plan, Record, Wait
from irc.runtime.trace import COLLECTIVE, active
from irc.support.communicator import device_communicator
from irc.support.diagnostics import IrcError, Span

if TYPE_CHECKING:
    from irc.runtime.calls import KernelCall
    from irc.runtime.device import Device, Graph, Memory, Stream


KEPT_ARENA = 16 << 20
"""Bytes of the largest arena that is kept from one run to the next."""


class Executor:
    """A plan with its kernels loaded on one device. Threads may share it.

    With `IRC_SYNC=1` in the environment when it is made, every launch is waited for, so that a fault is reported at the
    kernel that made it.
    """

    def __init__(self, artifact: Artifact, plan: Plan, device: Device, like: Executor | None = None):
        """like: an executor on the device whose kernels and constants are those of the artifact."""
        self._device = device
        self._plan = plan
        self.arena_bytes = plan.arena
        self._slots = Slots(len(artifact.arguments), len(artifact.results))
        entries = artifact.manifest.get("kernels", ())
        self._about = {entry["name"]: {key: entry[key] for key in ("ops", "location")} for entry in entries}
        self._locations = {kernel.name: kernel.location for kernel in artifact.kernels}
        self._names = list(dict.fromkeys(step.kernel for step in plan.steps if isinstance(step, Launch)))
        shared = {step.kernel: step.shared for step in plan.steps if isinstance(step, Launch)}
        self._kernels = {
            kernel.name: self._load(kernel, shared[kernel.name])
            for kernel in (artifact.kernels if like is None else ())
            if kernel.name in shared
        }
        self._constants = [self._constant(content) for content in (plan.constants if like is None else ())]
        if like is not None:
            self._kernels, self._constants = like._kernels, like._constants
        self._constant_addresses = tuple(memory.address for memory in self._constants)
        self._frames: list[Frame] = []
        self._sync = os.environ.get("IRC_SYNC") == "1"
        self._is_chain = plan.streams == 1 and not self._sync and all(isinstance(step, Launch) for step in plan.steps)

    def _load(self, kernel: KernelBinary, shared: int) -> Any:
        name = kernel.name
        if shared > self._device.largest_shared:
            raise IrcError(
                f"kernel {name} needs {shared} bytes of shared memory, the device has {self._device.largest_shared}",
                self._span(name),
            )
        try:
            return self._device.load(kernel.cubin, kernel.symbol, shared)
        except DriverError as error:
            raise IrcError(f"cannot load kernel {name}: {error}", self._span(name)) from error

    def _constant(self, content: bytes) -> Memory:
        stream = self._device.take_stream()
        memory = self._device.allocate(len(content), stream)
        self._device.copy(memory.address, _address_of_bytes(content), len(content), stream)
        self._device.synchronize(stream)
        self._device.give_stream(stream)
        return memory

    def enqueue(
        self, arguments: Sequence[int], results: Sequence[int], stream: Stream, arena: int | None = None
    ) -> None:
        """Enqueues one run on the addresses. All of it is ordered before what comes later on the stream. The arena is
        one of its own unless its address is given."""
        try:
            frame = self._frames.pop()
        except IndexError:
            frame = self.frame()
        try:
            if self._plan.arena == 0 or arena is not None:
                frame.place(arguments, results, arena or 0)
                self.run(frame, stream)
            elif self._plan.arena <= KEPT_ARENA and (stream == LEGACY_STREAM or not self._device.is_capturing(stream)):
                self._run_in_kept_arena(frame, arguments, results, stream)
            else:
                self._run_in_new_arena(frame, arguments, results, stream)
        finally:
            self._frames.append(frame)

    def _run_in_kept_arena(
        self, frame: Frame, arguments: Sequence[int], results: Sequence[int], stream: Stream
    ) -> None:
        """A run behind the last one of the frame, in its arena. A small arena stays with its frame, since memory of the
        pool costs more of the host's time than several launches. Runs on the default stream, which nobody destroys,
        need no events between them."""
        if frame.arena is None:
            frame.arena = self.lasting(self._plan.arena)
        elif not stream == frame.last_stream == LEGACY_STREAM:
            if frame.last_stream == LEGACY_STREAM:
                self._device.record(frame.done, LEGACY_STREAM)
            self._device.wait(frame.done, stream)
        frame.last_stream = stream
        try:
            frame.place(arguments, results, frame.arena.address)
            self.run(frame, stream)
        finally:
            if stream != LEGACY_STREAM:
                self._device.record(frame.done, stream)

    def _run_in_new_arena(self, frame: Frame, arguments: Sequence[int], results: Sequence[int], stream: Stream) -> None:
        """A run in memory of the pool: a large arena, or a run that a caller captures."""
        arena = self._device.allocate(self._plan.arena, stream)
        try:
            frame.place(arguments, results, arena.address)
            self.run(frame, stream)
        finally:
            arena.free(stream)

    def frame(self) -> Frame:
        """A new frame."""
        return Frame(self._plan, self._slots, self._kernels, self._constant_addresses, self._device)

    def lasting(self, size: int) -> Memory:
        """Memory that is usable on every stream, and freed when it dies."""
        stream = self._device.take_stream()
        memory = self._device.allocate(size, stream)
        self._device.synchronize(stream)
        self._device.give_stream(stream)
        return memory

    def run(self, frame: Frame, stream: Stream) -> None:
        """Enqueues the steps of a frame with the addresses that it has."""
        if (trace := active()) is not None and frame.launched is None:
            with trace.on_host(f"enqueue {self._plan.name}", "call"):
                self._run_steps(frame, stream)
        elif self._is_chain and frame.launched is None:
            self._launch_all(frame.launches, stream)
        else:
            self._run_steps(frame, stream)

    def _run_steps(self, frame: Frame, stream: Stream) -> None:
        if self._plan.streams == 1:
            self._steps(frame, [stream])
        else:
            self._on_streams(frame, stream)

    def capture(self, frame: Frame, copies: Sequence[tuple[int, int, int]]) -> tuple[Graph, list[int], list[int]]:
        """The steps of a frame as a graph, behind copies (of a destination, a source and bytes), with the nodes of the
        copies and of the launches."""
        device, copied, launched = self._device, list[int](), list[int]()
        stream = device.take_stream()
        device.begin_capture(stream)
        try:
            for destination, source, size in copies:
                device.copy(destination, source, size, stream)
                copied.append(device.captured_node(stream))
            frame.launched = lambda on: launched.append(device.captured_node(on))
            self.run(frame, stream)
            graph = device.end_capture(stream)
        except BaseException:
            device.drop_capture(stream)
            raise
        finally:
            frame.launched = None
            device.give_stream(stream)
        return graph, copied, launched

    def failure(self, error: DriverError) -> IrcError:
        """The diagnostic of an error that showed after the launches: which kernel made it is known if there is one."""
        if len(self._names) == 1:
            return IrcError(f"kernel {self._names[0]} failed: {error}", self._span(self._names[0]))
        return IrcError(f"one of the kernels {', '.join(self._names)} failed: {error}", None, "IRC_SYNC=1 shows which")

    def _on_streams(self, frame: Frame, main: Stream) -> None:
        """The steps on the plan's streams; the others start after what is on the main one. The plan itself joins them.

        After a failure they are drained, so that no work is left that uses memory about to be freed."""
        device, start = self._device, frame.start
        assert start is not None
        side = [device.take_stream() for _ in range(self._plan.streams - 1)]
        try:
            device.record(start, main)
            for stream in side:
                device.wait(start, stream)
            self._steps(frame, [main, *side])
        except BaseException:
            for stream in side:
                try:
                    device.synchronize(stream)
                except DriverError:
                    break
            raise
        finally:
            for stream in side:
                device.give_stream(stream)

    def _steps(self, frame: Frame, streams: Sequence[Stream]) -> None:
        trace = active() if frame.launched is None else None
        for step in frame.steps:
            stream = streams[step.stream]
            if trace is None or isinstance(step, Record | Wait):
                self._step(frame, step, stream)
                continue
            with trace.on_device(self._device, stream, *self._named(step)):
                self._step(frame, step, stream)

    def _step(self, frame: Frame, step: ReadyStep, stream: Stream) -> None:
        device = self._device
        match step:
            case ReadyLaunch():
                self._launch(step, stream, captured=frame.launched is not None)
                if frame.launched is not None:
                    frame.launched(stream)
            case Collective():
                sources, destinations = (list(map(frame.address, of)) for of in (step.sources, step.destinations))
                device_communicator().enqueue(step, sources, destinations, stream)
            case Copy(source, destination):
                device.copy(frame.address(destination), frame.address(source), source.size, stream)
            case Memset(buffer, value):
                device.fill(frame.address(buffer), value, buffer.size, stream)
            case Record(event):
                device.record(frame.events[event], stream)
            case Wait(event):
                device.wait(frame.events[event], stream)

    def _named(self, step: ReadyStep) -> tuple[str, str, dict[str, Any]]:
        """What a trace says of a step: its name, its kind, and what else is known."""
        if isinstance(step, ReadyLaunch):
            return step.kernel, "kernel", self._about[step.kernel]
        if isinstance(step, Collective):
            moved = sum(buffer.size for buffer in step.sources)
            return f"{step.does} {','.join(step.over)}", COLLECTIVE, {"bytes": moved, "arrays": len(step.sources)}
        return type(step).__name__.lower(), "copy", {}

    def _launch_all(self, launches: Sequence[ReadyLaunch], stream: Stream) -> None:
        for step in launches:
            try:
                step.call.enqueue(stream)
            except DriverError as error:
                raise self._failed(step, error) from error

    def _launch(self, step: ReadyLaunch, stream: Stream, *, captured: bool = False) -> None:
        try:
            step.call.enqueue(stream)
            if self._sync and not captured:
                self._device.synchronize(stream)
        except DriverError as error:
            raise self._failed(step, error) from error

    def _failed(self, step: ReadyLaunch, error: DriverError) -> IrcError:
        return IrcError(f"kernel {step.kernel} failed: {error}", self._span(step.kernel))

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
    """A launch in the driver's form."""

    kernel: str
    stream: int
    call: KernelCall


ReadyStep: TypeAlias = ReadyLaunch | Collective | Copy | Memset | Record | Wait


class Frame:
    """What one call at a time uses of a plan: the parameters of its launches, its events, and the one after which side
    streams start.

    Events serve for the time of enqueuing alone: a wait keeps what it waits for, so they can be recorded again at once.
    """

    def __init__(self, plan: Plan, slots: Slots, kernels: Mapping[str, Any], constants: Addresses, device: Device):
        self._slots, self._constants = slots, constants
        launches = [step for step in plan.steps if isinstance(step, Launch)]
        count = slots.arguments + slots.results + 1 + len(constants)
        self.cells = Cells(launches, slots, device.map_encoder, count)
        parameters = iter(self.cells.parameters)
        self.steps = [
            ReadyLaunch(step.kernel, step.stream, device.kernel_call(step, kernels[step.kernel], next(parameters)))
            if isinstance(step, Launch)
            else step
            for step in plan.steps
        ]
        self.launches = [step for step in self.steps if isinstance(step, ReadyLaunch)]
        self.events = [device.event() for _ in range(plan.events)]
        self.start = device.event() if plan.streams > 1 else None
        self.arena: Memory | None = None
        self.done = device.event()
        """Recorded behind the last run in the kept arena, unless that was on the default stream."""
        self.last_stream: Stream = LEGACY_STREAM
        """Of the last run in the kept arena."""
        self.launched: Callable[[Stream], None] | None = None
        """Told of every launch and its stream."""

    def place(self, arguments: Sequence[int], results: Sequence[int], arena: int) -> None:
        """Takes the addresses of a call."""
        self.cells.place([*arguments, *results, arena, *self._constants])

    def slot(self, buffer: Buffer) -> int:
        """Which address a buffer is at."""
        return self._slots.of(buffer)

    def address(self, buffer: Buffer) -> int:
        """Where a buffer is in this call."""
        return self.cells.addresses[self._slots.of(buffer)] + buffer.offset


def _address_of_bytes(content: bytes) -> int:
    import numpy as np

    return int(np.frombuffer(content, np.uint8).ctypes.data)
