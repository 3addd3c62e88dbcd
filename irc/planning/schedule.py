"""Which stream each step of a plan runs on, and which waits that needs.

Steps are numbered in a topological order. A step goes on a stream whose last step it depends on anyway, so that a chain
stays on one stream; independent steps that are too small for the device get streams of their own, up to a limit. A
wait is added only for a dependency that neither the streams nor earlier waits already order.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

MAX_STREAMS = 8
"""More do not help: the kernels of a program fill the device with far fewer."""


_APART = -1
"""The stream of steps that are apart, until it has its number."""


@dataclass
class Schedule:
    """stream: of each step. waits: for each step the steps on other streams that it waits for. before: for each step
    the set (as bits) of the steps that are complete when it starts. final_waits: what stream 0 waits for at the end."""

    stream: list[int] = field(default_factory=list[int])
    waits: list[list[int]] = field(default_factory=list[list[int]])
    before: list[int] = field(default_factory=list[int])
    final_waits: list[int] = field(default_factory=list[int])

    @property
    def streams(self) -> int:
        """How many streams are used; stream 0 always counts."""
        return max(self.stream, default=0) + 1

    @property
    def order(self) -> list[int]:
        """The steps as they are enqueued: by how many have to come before, so that no stream waits for the host to
        enqueue all of another."""
        depths: list[int] = []
        last: dict[int, tuple[int, ...]] = {}
        for step, (stream, waits) in enumerate(zip(self.stream, self.waits, strict=True)):
            depths.append(1 + max((depths[each] for each in (*waits, *last.get(stream, ()))), default=0))
            last[stream] = (step,)
        return sorted(range(len(depths)), key=lambda step: depths[step])

    @property
    def recorded(self) -> list[int]:
        """The steps that something waits for, in order: each needs an event."""
        return sorted({step for steps in self.waits for step in steps} | set(self.final_waits))


def schedule(
    dependencies: Sequence[Sequence[int]],
    max_streams: int = MAX_STREAMS,
    filling: Collection[int] = (),
    apart: Collection[int] = (),
) -> Schedule:
    """Schedules steps, given for each the earlier steps that it depends on. `filling` are those that fill the device by
    themselves: beside others they gain nothing, so that they follow what they need on its stream, without a wait.
    `apart` are those that run on one further stream of their own, in their order."""
    made = Schedule()
    lasts: list[int] = []
    last_apart: int | None = None
    ancestors = _ancestors(dependencies)
    for step, needs in enumerate(dependencies):
        if step in apart:
            stream, before = _APART, 0 if last_apart is None else _through(made, last_apart)
            last_apart = step
        else:
            most = min(max_streams, max(1, len(lasts))) if step in filling else max_streams
            stream = _choose_stream(needs, ancestors[step], lasts, most)
            beside = [need for need in needs if need not in apart]
            if step in filling and beside and stream < len(lasts) and lasts[stream] not in needs:
                stream = made.stream[max(beside)]
            before = _through(made, lasts[stream]) if stream < len(lasts) else 0
            lasts[stream:] = [step, *lasts[stream + 1 :]]
        waits: list[int] = []
        for need in sorted(set(needs), reverse=True):
            if not before >> need & 1:
                waits.append(need)
                before |= _through(made, need)
        made.stream.append(stream)
        made.waits.append(waits)
        made.before.append(before)
    made.stream = [max(1, len(lasts)) if stream == _APART else stream for stream in made.stream]
    _join(made, lasts, [] if last_apart is None else [last_apart])
    return made


def _ancestors(dependencies: Sequence[Sequence[int]]) -> list[int]:
    """For each step the set (as bits) of all steps that it depends on, directly or not."""
    ancestors: list[int] = []
    for needs in dependencies:
        every = 0
        for need in needs:
            every |= ancestors[need] | 1 << need
        ancestors.append(every)
    return ancestors


def _choose_stream(needs: Sequence[int], ancestors: int, lasts: Sequence[int], most: int) -> int:
    """A stream that ends in a direct dependency, the latest one; else one that ends in an indirect one; else a new one;
    else, at the limit, the one whose last step was enqueued first. `len(lasts)` stands for a new one."""
    direct = [stream for stream, last in enumerate(lasts) if last in needs]
    if direct:
        return max(direct, key=lambda stream: lasts[stream])
    indirect = [stream for stream, last in enumerate(lasts) if ancestors >> last & 1]
    if indirect:
        return max(indirect, key=lambda stream: lasts[stream])
    if len(lasts) < most:
        return len(lasts)
    return min(range(len(lasts)), key=lambda stream: lasts[stream])


def _through(made: Schedule, step: int) -> int:
    """What is complete when the step is."""
    return made.before[step] | 1 << step


def _join(made: Schedule, lasts: Sequence[int], apart: Sequence[int]) -> None:
    """Orders the last step of every stream before the end of stream 0."""
    done = _through(made, lasts[0]) if lasts else 0
    for last in sorted((*lasts[1:], *apart), reverse=True):
        if not done >> last & 1:
            made.final_waits.append(last)
            done |= _through(made, last)
