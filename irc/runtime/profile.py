"""Where the time of a program goes: by kernel, against what the chip could do, and as a trace of its streams."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from irc.runtime.arrays import check_count, host_array
from irc.runtime.artifact import Artifact
from irc.runtime.driver import DriverError, device
from irc.runtime.executor import Executor
from irc.runtime.placement import placed
from irc.runtime.plan import Collective, Copy, Launch, Memset, Plan
from irc.runtime.trace import Trace, tracing
from irc.support.diagnostics import IrcError

if TYPE_CHECKING:
    from irc.runtime.cpu import CpuProgram
    from irc.runtime.interpreted import InterpretedProgram


@dataclass(frozen=True)
class ProfileEntry:
    """A kernel, or on the target `interpret` the ops of one kind at one line: `seconds` is the median time of all its
    `launches` in a run. `ops` names the nd ops, `location` is the line of the program. `bytes` and `flops` are of all
    launches, `bandwidth` and `rate` the limits of the chip in bytes/s and operations/s, or None where they are not
    known."""

    name: str
    ops: tuple[str, ...]
    location: str
    launches: int
    seconds: float
    bytes: int
    flops: int
    bandwidth: float | None = None
    rate: float | None = None

    @property
    def bytes_per_second(self) -> float:
        return self.bytes / self.seconds if self.seconds else 0.0

    @property
    def flops_per_second(self) -> float:
        return self.flops / self.seconds if self.seconds else 0.0

    @property
    def share(self) -> float | None:
        """The least time that the chip needs for the bytes and the operations, of the time that was taken."""
        if self.bandwidth is None or self.rate is None or not self.seconds:
            return None
        return max(self.bytes / self.bandwidth, self.flops / self.rate) / self.seconds


@dataclass(frozen=True)
class Profile:
    """parts: with the one that takes longest first. trace: of one run, its kernels and copies on their streams."""

    parts: tuple[ProfileEntry, ...]
    trace: Trace

    def save(self, path: str | Path) -> None:
        """Writes the trace, for chrome://tracing or Perfetto."""
        self.trace.save(path)


def profile_cuda(artifact: Artifact, arrays: Sequence[Any], repetitions: int) -> Profile:
    """Runs a program with host arrays: for the times its launches one after another, for the trace as planned."""
    from irc.ir.targets import target

    limits = target(artifact.arch)
    runs, trace = _traces(artifact, arrays, repetitions)
    seconds = _by_name(runs)
    parts = [
        ProfileEntry(
            kernel["name"],
            tuple(kernel["ops"]),
            kernel["location"],
            kernel["launches"],
            seconds.get(kernel["name"], 0.0),
            (kernel["bytes_read"] + kernel["bytes_written"]) * kernel["sets"],
            kernel["flops"] * kernel["sets"],
            limits.bandwidth,
            limits.flops.get(kernel["element"], limits.flops["f32"]),
        )
        for kernel in artifact.manifest["kernels"]
    ]
    return Profile(tuple(sorted(parts, key=lambda part: -part.seconds)), trace)


def _traces(artifact: Artifact, arrays: Sequence[Any], repetitions: int) -> tuple[list[Trace], Trace]:
    """Traces of runs on one stream, and one of a run on the plan's streams."""
    check_count(artifact.arguments, arrays)
    inputs = [host_array(spec, array) for spec, array in zip(artifact.arguments, arrays, strict=True)]
    plan, on = Plan.from_json(artifact.plan), device()
    on.use()
    stream = on.take_stream()
    try:
        serial, planned = Executor(artifact, in_sequence(plan), on), Executor(artifact, plan, on)
        with placed(on, inputs, [spec.nbytes for spec in artifact.results], stream) as (arguments, results):
            traces: list[Trace] = []
            for executor in (*[serial] * (repetitions + 1), planned, planned):
                with tracing() as trace:
                    executor.enqueue(arguments, results, stream)
                traces.append(trace)
        return traces[1:-2], traces[-1]
    except DriverError as error:
        raise IrcError(f"the CUDA driver failed: {error}") from error
    finally:
        on.synchronize(stream)
        on.give_stream(stream)


def in_sequence(plan: Plan) -> Plan:
    """The plan with all its work on one stream."""
    steps = tuple(
        replace(step, stream=0) for step in plan.steps if isinstance(step, Launch | Collective | Copy | Memset)
    )
    return replace(plan, streams=1, events=0, steps=steps)


def _by_name(traces: Sequence[Trace]) -> dict[str, float]:
    """The median seconds of all kernels of a name in a run."""
    runs: list[dict[str, float]] = []
    for trace in traces:
        seconds: dict[str, float] = {}
        for span in trace.spans:
            if span.kind == "kernel":
                seconds[span.name] = seconds.get(span.name, 0.0) + span.seconds
        runs.append(seconds)
    return {name: median(run.get(name, 0.0) for run in runs) for name in runs[0]}


def kernel_times(artifact: Artifact, arrays: Sequence[Any], repetitions: int) -> dict[str, float]:
    """Seconds of each kernel, by name: the median over runs of the whole plan, its launches one after another."""
    return _by_name(_traces(artifact, arrays, repetitions)[0])


def profile_host(program: CpuProgram | InterpretedProgram, arrays: Sequence[Any], repetitions: int) -> Profile:
    """Runs a program on the host, op by op."""
    runs: list[dict[tuple[str, str], float]] = []
    work: dict[tuple[str, str], tuple[int, int, int]] = {}
    trace = Trace()
    for _ in range(repetitions + 1):
        seconds: dict[tuple[str, str], float] = {}
        work.clear()
        trace = Trace()
        begin = time.perf_counter()
        for op, location, flops, nbytes, end in program.timed(arrays):
            key = op, location
            count, all_flops, all_bytes = work.get(key, (0, 0, 0))
            work[key] = count + 1, all_flops + flops, all_bytes + nbytes
            seconds[key] = seconds.get(key, 0.0) + end - begin
            trace.add(op, "op", begin, end, location=location)
            begin = time.perf_counter()
        runs.append(seconds)
    parts = [
        ProfileEntry(op, (op,), location, count, median(run[op, location] for run in runs[1:]), nbytes, flops)
        for (op, location), (count, flops, nbytes) in work.items()
    ]
    return Profile(tuple(sorted(parts, key=lambda part: -part.seconds)), trace)
