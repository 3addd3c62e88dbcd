"""Strands: sets of lanes that run the same code, and the scheduler that lets them wait for each other.

All lanes of a batch of blocks start as one strand. A branch in which threads can wait, on both sides, forks it into two
that run as coroutines until the branch ends; any other branch runs one side after the other under a mask.

Lanes of one strand leave a branch together, so a strand can wait for something that its own other lanes would do
later. Real warps would go on: where all strands are stuck, `Kernel` runs the batch again with one strand for each warp
before it calls that a deadlock.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias

import numpy as np
from xdsl.ir import Operation

from irc.interpreters.sim.errors import Kind, SimulationError
from irc.interpreters.sim.memory import Array
from irc.ir.locations import describe

if TYPE_CHECKING:
    from irc.interpreters.sim.code import Body
    from irc.interpreters.sim.frame import Frame

Routine: TypeAlias = Generator[Any, Any, Any]

WARP = 32


class Strand:
    """Lanes of a frame that run together.

    env: the values, by slot. mask: which lanes are active, None for all. Both are those of the place that the strand
    is at.
    """

    __slots__ = ("_lanes", "_mask", "_warps", "env", "frame")

    def __init__(self, frame: Frame, env: list[Any], mask: Array | None):
        self.frame = frame
        self.env = env
        self._mask = mask
        self._lanes: Array | None = None
        self._warps: int | None = None

    @property
    def mask(self) -> Array | None:
        return self._mask

    @mask.setter
    def mask(self, mask: Array | None) -> None:
        if mask is not self._mask:
            self._mask, self._lanes, self._warps = mask, None, None

    @property
    def lanes(self) -> Array | None:
        """The numbers of the active lanes in the frame; None for all."""
        if self._mask is None:
            return None
        if self._lanes is None:
            self._lanes = np.flatnonzero(self._mask)
        return self._lanes

    @property
    def numbers(self) -> Array:
        """The numbers of the active lanes, also where that is all."""
        lanes = self.lanes
        return self.frame.all_lanes if lanes is None else lanes

    @property
    def count(self) -> int:
        """How many lanes are active."""
        lanes = self.lanes
        return self.frame.lane_count if lanes is None else len(lanes)

    @property
    def warps(self) -> int:
        """How many warps have an active lane."""
        if self._warps is None:
            mask = self._mask
            self._warps = (
                self.frame.lane_count // WARP if mask is None else int(mask.reshape(-1, WARP).any(axis=1).sum())
            )
        return self._warps

    def spread(self, value: Any) -> Array:
        """A value's elements for the active lanes alone: (lanes,)."""
        if np.ndim(value) == 0:
            return np.full(self.count, value)
        lanes = self.lanes
        return value if lanes is None else value[lanes]

    def uniform(self, op: Operation, what: str, value: Any) -> int:
        """The integer that all active lanes have; an error where they differ."""
        if not isinstance(value, np.ndarray) or value.ndim == 0:
            return int(value)
        found = self.spread(value)
        if (found != found[0]).any():
            self.fail("unsupported", op, f"{what} differs between threads", found != found[0])
        return int(found[0])

    def fail(
        self, kind: Kind, op: Operation, message: str, wrong: Array | None = None, *, hint: str | None = None
    ) -> NoReturn:
        """Raise the error of the active lanes for which `wrong` holds, of all of them without it."""
        lanes = self.numbers if wrong is None else self.numbers[wrong]
        text = f"{message} ({self.frame.threads_text(lanes)})"
        raise SimulationError(kind, text, op.location, self.frame.kernel_name, hint=hint)

    def require_whole_warps(self, op: Operation) -> None:
        """An error where a warp takes part with some of its lanes only."""
        if self._mask is None:
            return
        rows = self._mask.reshape(-1, WARP)
        partial = rows.any(axis=1) & ~(rows == self.frame.exists.reshape(-1, WARP)).all(axis=1)
        if partial.any():
            self.fail(
                "divergence",
                op,
                f"{op.name} needs all lanes of a warp, some are in another branch",
                np.repeat(partial, WARP)[self.numbers],
            )

    def run(self, body: Body) -> list[Any]:
        """Run a body that cannot wait; gives what its end yields."""
        if self.frame.counters is not None:
            self.frame.counters.enter(body.block, self.warps)
        for step, _ in body.steps:
            step(self)
        env = self.env
        return [env[slot] for slot in body.yields]

    def run_waiting(self, body: Body) -> Routine:
        """Run a body that can wait."""
        if self.frame.counters is not None:
            self.frame.counters.enter(body.block, self.warps)
        for step, waiting in body.steps:
            if waiting:
                yield from step(self)
            else:
                step(self)
        env = self.env
        return [env[slot] for slot in body.yields]

    def split(self, mask: Array) -> Strand:
        """A strand of some of the lanes with values of its own, to run beside others."""
        return Strand(self.frame, list(self.env), mask)


@dataclass
class Waiting:
    """What a rule yields to wait: `ready` says when to go on; `what` ends "waits for ..."."""

    strand: Strand
    op: Operation
    what: str
    ready: Callable[[], bool]

    def reason(self) -> str:
        """What the strand waits for, and where, for the report of a deadlock."""
        return f"{self.what} at {describe(self.op.location)}"


@dataclass
class Fork:
    """What a branch yields to run several strands side by side; it is resumed with what they give."""

    routines: Sequence[Routine]


class StuckError(Exception):
    """All strands wait."""

    def __init__(self, waits: Sequence[Waiting]):
        super().__init__("deadlock")
        self.waits = waits


class _Task:
    """A routine in the scheduler. `parent` goes on when all its children have ended."""

    def __init__(self, routine: Routine, parent: _Task | None = None, place: int = 0):
        self.routine = routine
        self.parent = parent
        self.place = place
        self.wait: Waiting | None = None
        self.results: list[Any] = []
        self.running = 0


def run_all(routines: Sequence[Routine], progress: Callable[[], bool]) -> None:
    """Run routines to their ends, one until it waits, then the next. Where none can go on `progress` says whether
    something else has happened; StuckError where nothing has."""
    ready = [(_Task(routine), None) for routine in routines]
    blocked: list[_Task] = []
    while ready or blocked:
        if not ready:
            ready = [(task, None) for task in blocked if task.wait is not None and task.wait.ready()]
            if not ready and progress():
                continue
            if not ready:
                raise StuckError([task.wait for task in blocked if task.wait is not None])
            woken = {id(task) for task, _ in ready}
            blocked = [task for task in blocked if id(task) not in woken]
        task, value = ready.pop(0)
        _advance(task, value, ready, blocked)


def _advance(task: _Task, value: Any, ready: list[tuple[_Task, Any]], blocked: list[_Task]) -> None:
    """Run a task until it waits, forks or ends."""
    task.wait = None
    try:
        found = task.routine.send(value)
    except StopIteration as end:
        parent = task.parent
        if parent is not None:
            parent.results[task.place] = end.value
            parent.running -= 1
            if parent.running == 0:
                ready.append((parent, parent.results))
        return
    if isinstance(found, Fork):
        task.results = [None] * len(found.routines)
        task.running = len(found.routines)
        ready.extend((_Task(routine, task, place), None) for place, routine in enumerate(found.routines))
        return
    assert isinstance(found, Waiting)
    task.wait = found
    blocked.append(task)
