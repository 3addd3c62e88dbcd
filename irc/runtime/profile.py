"""Times of the kernels of a program, on the device's own clock."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from typing import TYPE_CHECKING, Any

from irc.artifact import Artifact
from irc.diagnostics import IrcError
from irc.executable import Executable
from irc.runtime.arrays import check_count, host_array
from irc.runtime.driver import DriverError, device
from irc.runtime.executor import Executor, Frame, ReadyLaunch
from irc.runtime.placement import placed
from irc.runtime.plan import Plan

if TYPE_CHECKING:
    from irc.runtime.device import Device, Event, Stream

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
    try:
        with placed(on, arrays, [spec.nbytes for spec in artifact.results], stream) as (inputs, results):
            runs = [executor.timed(inputs, results, stream) for _ in range(repetitions + 1)]
    finally:
        on.synchronise(stream)
        on.give_stream(stream)
    return {name: median(run[name] for run in runs[1:]) for name in runs[0]}


class TimedExecutor(Executor):
    """Runs a plan on one stream, with a timed event before and after every launch."""

    def __init__(self, artifact: Artifact, plan: Plan, on: Device):
        super().__init__(artifact, plan, on)
        self._timers: list[tuple[str, Event, Event]] = []

    def timed(self, arguments: Sequence[int], results: Sequence[int], stream: Stream) -> dict[str, float]:
        """One run; seconds by the kernel's name."""
        seconds: dict[str, float] = {}
        try:
            self.enqueue(arguments, results, stream)
            self._device.synchronise(stream)
            for name, begin, end in self._timers:
                seconds[name] = seconds.get(name, 0.0) + self._device.seconds_between(begin, end)
        finally:
            self._timers.clear()
        return seconds

    def _launch(self, step: ReadyLaunch, stream: Stream, *, captured: bool = False) -> None:
        begin, end = self._device.event(timed=True), self._device.event(timed=True)
        self._timers.append((step.kernel, begin, end))
        self._device.record(begin, stream)
        super()._launch(step, stream, captured=captured)
        self._device.record(end, stream)

    def _on_streams(self, frame: Frame, main: Stream) -> None:
        self._steps(frame, [main] * self._plan.streams)
