"""Asynchronous units: what copies and products that run beside the threads do, and when.

The clocks know a unit as an agent. It starts something for a thread, after what that thread knows, and ends it at an
unknown time: only threads that learned of the end, by a wait, are ordered after it. That alone finds what touches
memory too early, whenever a copy lands. Data moves at one of two times (`lazy`): when the op is issued, or as late as
it can, when a wait asks for it or no thread can go on; a right kernel gives the same in either.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, Any

import numpy as np
from xdsl.ir import Operation

from irc.interpreters.sim.memory import Array

if TYPE_CHECKING:
    from irc.interpreters.sim.frame import Frame
    from irc.interpreters.sim.strands import Strand

Finish = Callable[[], None]


class Units:
    """The asynchronous agents of a frame, and what they have not done yet."""

    def __init__(self, frame: Frame, *, lazy: bool = False):
        self.frame = frame
        self.lazy = lazy
        self._agents: dict[Hashable, int] = {}
        self._names: dict[int, str] = {}
        self._families: list[tuple[int, str]] = []
        self._pending: list[Finish] = []
        self._endings: list[Finish] = []

    def agent(self, key: Hashable, name: str) -> int:
        """The agent of a unit, the same in every cluster of the frame; `name` is for messages."""
        if (found := self._agents.get(key)) is None:
            found = self._agents[key] = self.frame.clocks.new_agents(1)
            self._names[found] = name
        return found

    def of_threads(self, name: str) -> Array:
        """For each lane the agent of a unit of its own, whose writes go through the generic proxy."""
        agents = self.frame.clocks.new_units()
        self._families.append((int(agents[0]), name))
        return agents

    def describe(self, agent: int) -> str:
        """The unit, for a message."""
        for first, name in self._families:
            if first <= agent < first + self.frame.clocks.domain:
                return f"{name} of {self.frame.agent_text(agent - first)}"
        return self._names[agent]

    def start(self, finish: Finish) -> None:
        """Something that nothing but the end of the world waits for by name: it ends now, or when all threads wait."""
        if self.lazy:
            self._pending.append(finish)
        else:
            finish()

    def progress(self) -> bool:
        """Called where no thread can go on: whether something ended that was pending, the newest first, as nothing
        orders what is pending."""
        if not self._pending:
            return False
        self._pending.pop()()
        return True

    def at_end(self, check: Finish) -> None:
        """Have `check` called when all threads of the frame have ended."""
        self._endings.append(check)

    def end(self) -> None:
        """The threads have ended: what is pending ends, and what should have been waited for is an error."""
        while self.progress():
            pass
        for check in self._endings:
            check()


class Groups:
    """Commit groups: an issuer's operations since its last commit are a group, and it waits for all but its latest
    groups. `count` issuers: lanes, or warps."""

    def __init__(self, count: int):
        self.committed: Array = np.zeros(count, np.int64)
        self.complete: Array = np.zeros(count, np.int64)
        """The groups below it are complete."""
        self.latest: Array = np.full(count, -1, np.int64)
        """The last group that is not empty."""
        self._pending: list[tuple[int, int, Finish]] = []

    def issue(self, issuer: int, finish: Finish, *, lazy: bool) -> None:
        """An operation of the group that the next commit makes."""
        self.note(np.array([issuer]))
        if lazy:
            self._pending.append((issuer, int(self.committed[issuer]), finish))
        else:
            finish()

    def note(self, issuers: Array) -> None:
        """These issuers have an operation in the group that their next commit makes."""
        self.latest[issuers] = self.committed[issuers]

    def commit(self, issuers: Array) -> None:
        self.committed[issuers] += 1

    def wait(self, issuers: Array, pending: int) -> Array:
        """All groups of each issuer but the latest `pending` end; the number of its groups that are complete."""
        self.complete[issuers] = np.maximum(self.complete[issuers], self.committed[issuers] - pending)
        chosen = set(issuers.tolist())
        left: list[tuple[int, int, Finish]] = []
        for issuer, group, finish in self._pending:
            if issuer in chosen and group < self.complete[issuer]:
                finish()
            else:
                left.append((issuer, group, finish))
        self._pending = left
        return self.complete[issuers]

    def unfinished(self) -> Array:
        """The issuers that have not waited for all that they issued."""
        return np.flatnonzero(self.complete <= self.latest)


def kept(s: Strand, name: str, make: Callable[[], Any]) -> Any:
    """What the rules of a family keep for a frame, made where it is first needed."""
    if (found := s.frame.state.get(name)) is None:
        found = s.frame.state[name] = make()
    return found


def fail_at_end(frame: Frame, op: Operation, lanes: Array, message: str) -> None:
    """An error that is seen when threads have ended: `op` is what they left unfinished."""
    from irc.interpreters.sim.strands import Strand

    mask = np.zeros(frame.lane_count, np.bool_)
    mask[lanes] = True
    Strand(frame, [], mask).fail("protocol", op, message)
