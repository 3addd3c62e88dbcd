"""What was found of an operator."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

FORWARD = "forward"
GRADIENT = "gradient"


@dataclass
class Verdict:
    """What was found in one direction. right: calls with right results; compiled: those with nothing left to torch;
    views: those where there was nothing to compute either. left: the ops that were left, and how often. refused:
    errors of torch.compile whatever the backend."""

    right: int = 0
    compiled: int = 0
    views: int = 0
    left: dict[str, int] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)

    def count(self, left: Sequence[str], is_view: bool) -> None:
        """Counts a right call with what was left of it, and whether there was nothing to compute."""
        self.right += 1
        self.left = dict(Counter(self.left) + Counter(left))
        self.compiled += not left
        self.views += is_view and not left

    @property
    def word(self) -> str:
        """One of those that `table.HEAD` explains, or empty without any call."""
        if self.wrong:
            return "wrong"
        if self.failed:
            return "failed"
        if self.refused:
            return "refused"
        if not self.right:
            return ""
        if self.views == self.right:
            return "views"
        if self.compiled == self.right:
            return "irc"
        return "partly" if self.compiled else "torch"


@dataclass
class Outcome:
    """What was found of an operator with one element type. limit: how many of its samples were called, None for all."""

    operator: str
    variant: str
    dtype: str
    calls: int = 0
    seconds: float = 0.0
    limit: int | None = None
    forward: Verdict = field(default_factory=Verdict)
    gradient: Verdict = field(default_factory=Verdict)

    @property
    def name(self) -> str:
        return f"{self.operator}.{self.variant}" if self.variant else self.operator

    def record(self) -> dict[str, Any]:
        return asdict(self)

    @staticmethod
    def of_record(record: dict[str, Any]) -> Outcome:
        verdicts: dict[str, Any] = {name: Verdict(**record[name]) for name in (FORWARD, GRADIENT)}
        return Outcome(**(record | verdicts))
