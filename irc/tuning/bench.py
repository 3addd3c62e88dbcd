"""What compiles and times candidates, in a process of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

FAILED, WRONG, HUNG, CRASHED, MEMORY = "failed", "wrong", "hung", "crashed", "memory"
"""What becomes of candidates that are not timed: an error, other results than the heuristic's, no answer in time, the
end of the process, no memory left."""

TIMED, STOPPED = "timed", "stopped"
"""And of others; one that is clearly slower than the best so far is not timed to the end."""


class NotTimed(UserWarning):
    """There is nothing that could time configs: the heuristic chooses, or the first of several is taken."""


class Fault(Exception):
    """Why a candidate is not timed. outcome: as above. is_fatal: whether the process cannot go on."""

    def __init__(self, outcome: str, reason: str, *, is_fatal: bool = False):
        super().__init__(outcome, reason)
        self.outcome, self.reason, self.is_fatal = outcome, reason, is_fatal

    def __reduce__(self) -> tuple[Any, ...]:
        return _fault, (self.outcome, self.reason, self.is_fatal)


def _fault(outcome: str, reason: str, is_fatal: bool) -> Fault:
    return Fault(outcome, reason, is_fatal=is_fatal)


@dataclass(frozen=True)
class Measured:
    """Seconds of a call, and whether timing was stopped early."""

    seconds: float
    is_stopped: bool = False


class Bench(Protocol):
    """Made in each process. What a method raises becomes of the candidate; see `Fault`. Jobs and what is compiled go
    from process to process."""

    def compile(self, job: Any) -> Any:
        """What `measure` takes."""
        ...

    def refer(self, compiled: Any) -> Measured:
        """Measures the candidate whose results are right, and keeps these."""
        ...

    def measure(self, compiled: Any, limit: float) -> Measured:
        """Runs a candidate and compares its results; a `Fault` where they differ. Stops where a call takes more than
        `limit` seconds."""
        ...

    def rank(self, compiled: Sequence[Any]) -> list[float | Fault]:
        """Seconds of each, by turns. The whole results of the fastest are compared, a `Fault` where they differ, until
        they are right."""
        ...
