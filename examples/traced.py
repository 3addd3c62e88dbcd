"""A trace of some steps of a training loop, and whether the device waited for the copies of their batches."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from irc.runtime.dlpack import LEGACY_STREAM
from irc.runtime.driver import device
from irc.runtime.feed import COPY
from irc.runtime.trace import HOST, Span, tracing
from irc.support.diagnostics import IrcError

WARM_UP = 50
"""Steps before those that are traced."""

STEPS = 50
"""Steps that are traced: it slows them, since kernels do not overlap then."""

STEP = "step"


@dataclass(frozen=True)
class Copies:
    """Copies of batches: how many, how many were hidden, and the seconds that the device waited for the others."""

    count: int
    hidden: int
    waited: float

    def __str__(self) -> str:
        if self.count == 0:
            return "trace: no batch was copied"
        return (
            f"trace: {self.count} copies of batches, {self.hidden} done before the step that reads them could start; "
            f"the device waited {self.waited * 1e6:.3g} us for copies"
        )


def copies_in(spans: Sequence[Span]) -> Copies:
    """The copies in a trace of `traced`, in which they and the steps that read them have the number of the batch.

    A copy is hidden where it ended no later than the last kernel of the step before the one that reads it, which could
    not start earlier; what it took beyond that, the device waited. A copy is left out where the step before it is not
    in the trace.
    """
    steps = {span.about["number"]: span for span in spans if span.kind == STEP}
    copies = {span.about["number"]: span for span in spans if span.name == COPY}
    kernels = [span for span in spans if span.track != HOST and span.kind != STEP and span.name != COPY]
    waits = [
        max(0.0, copy.end - _end_of_kernels(steps[number - 1], kernels))
        for number, copy in copies.items()
        if number - 1 in steps
    ]
    return Copies(len(waits), waits.count(0.0), sum(waits))


def _end_of_kernels(step: Span, kernels: Sequence[Span]) -> float:
    """When the last kernel of a step ended: those that began in its span, which the stream reached before the first."""
    return max((kernel.end for kernel in kernels if step.begin <= kernel.begin < step.end), default=step.begin)


def traced(batches: Iterable[Any], count: int, path: Path) -> Generator[Any]:
    """The `count` batches. What the device does from one batch to the next is a step; `STEPS` of them are traced into
    the file, and what became of the copies is printed. IrcError where there are too few."""
    if count < WARM_UP + STEPS:
        raise IrcError(f"a trace takes {WARM_UP + STEPS} steps, there are {count} to do", hint="--steps N")
    return _traced(batches, path)


def _traced(batches: Iterable[Any], path: Path) -> Generator[Any]:
    numbered = enumerate(batches)
    yield from (batch for _, batch in islice(numbered, WARM_UP))
    with tracing() as trace:
        for number, batch in islice(numbered, STEPS):
            with trace.on_device(device(), LEGACY_STREAM, f"step {number}", STEP, {"number": number}):
                yield batch
    trace.save(path)
    print(copies_in(trace.spans))
    yield from (batch for _, batch in numbered)
