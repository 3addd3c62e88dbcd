"""Times of the kernels of a program, on the device's own clock."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from statistics import median
from typing import Any

from irc.artifact import Artifact
from irc.diagnostics import IrcError
from irc.executable import Executable
from irc.runtime.arrays import check_count, host_array
from irc.runtime.driver import Device, DriverError, device
from irc.runtime.executor import Executor
from irc.runtime.launches import Bases
from irc.runtime.plan import Launch, Plan

REPETITIONS = 11
"""Runs of the whole plan that are timed, after one that is not."""


def kernel_times(executable: Executable, arrays: Sequence[Any], repetitions: int = REPETITIONS) -> dict[str, float]:
    """Seconds of each kernel, by name: the median over runs of the whole plan, its launches one after another.

    A kernel that is launched several times counts all of them. `arrays` are numpy arrays, as for a call.
    """
    if executable.artifact is None:
        raise IrcError(f"{executable.name} has no kernels: it is compiled for the target {executable.target}")
    check_count(executable.arguments, arrays)
    on = device()
    on.use()
    try:
        return _profile(
            executable.artifact,
            [host_array(s, a) for s, a in zip(executable.arguments, arrays, strict=True)],
            on,
            repetitions,
        )
    except DriverError as error:
        raise IrcError(f"the CUDA driver failed: {error}") from error


def _profile(artifact: Artifact, arrays: Sequence[Any], on: Device, repetitions: int) -> dict[str, float]:
    executor = TimedExecutor(artifact, Plan.from_json(artifact.plan), on)
    stream = on.take_stream()
    addresses: list[int] = []
    try:
        for array in arrays:
            addresses.append(on.allocate(array.nbytes, stream))
            on.copy_in(addresses[-1], int(array.ctypes.data), array.nbytes, stream)
        results = [on.allocate(spec.nbytes, stream) for spec in artifact.results]
        inputs, addresses = addresses, addresses + results
        runs = [executor.timed(inputs, results, stream) for _ in range(repetitions + 1)]
    finally:
        for address in addresses:
            on.free(address, stream)
        on.synchronise(stream)
        on.give_stream(stream)
    return {name: median(run[name] for run in runs[1:]) for name in runs[0]}


class TimedExecutor(Executor):
    """Runs a plan on one stream, with a timing event before and after every launch."""

    def __init__(self, artifact: Artifact, plan: Plan, on: Device):
        super().__init__(artifact, plan, on)
        self._timers: list[tuple[str, int, int]] = []

    def timed(self, arguments: list[int], results: list[int], stream: int) -> dict[str, float]:
        """One run; seconds by the kernel's name."""
        seconds: dict[str, float] = {}
        try:
            self.enqueue(arguments, results, stream)
            self._device.synchronise(stream)
            for name, begin, end in self._timers:
                seconds[name] = seconds.get(name, 0.0) + self._device.seconds_between(begin, end)
        finally:
            for _, begin, end in self._timers:
                self._device.destroy_event(begin)
                self._device.destroy_event(end)
            self._timers.clear()
        return seconds

    def _launch(self, step: Launch, frame: Any, index: int, bases: Bases, stream: int, sync: bool) -> None:
        begin, end = self._device.timing_event(), self._device.timing_event()
        self._timers.append((step.kernel, begin, end))
        self._device.record(begin, stream)
        super()._launch(step, frame, index, bases, stream, sync)
        self._device.record(end, stream)

    @contextmanager
    def _side_streams(self, main: int) -> Generator[list[int]]:
        yield [main] * self._plan.streams
