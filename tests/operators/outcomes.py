"""What was found of an operator."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
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

    def plus(self, other: Verdict) -> Verdict:
        """What was found in the calls of both."""
        return Verdict(
            self.right + other.right,
            self.compiled + other.compiled,
            self.views + other.views,
            dict(Counter(self.left) + Counter(other.left)),
            self.wrong + other.wrong,
            self.failed + other.failed,
            self.refused + other.refused,
        )

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
    """What was found of an operator with one element type. limit: how many of its samples were called, None for all;
    start: how many of those belong to another outcome."""

    operator: str
    variant: str
    dtype: str
    calls: int = 0
    seconds: float = 0.0
    start: int = 0
    limit: int | None = None
    forward: Verdict = field(default_factory=Verdict)
    gradient: Verdict = field(default_factory=Verdict)

    @property
    def name(self) -> str:
        return f"{self.operator}.{self.variant}" if self.variant else self.operator

    def reaches(self, number: int) -> bool:
        """Whether the samples before `number` that it starts with were called."""
        return self.limit is None or self.limit >= number

    def plus(self, later: Outcome) -> Outcome:
        """What was found with the samples of both; those of `later` follow."""
        return Outcome(
            self.operator,
            self.variant,
            self.dtype,
            self.calls + later.calls,
            round(self.seconds + later.seconds, 2),
            self.start,
            later.limit,
            self.forward.plus(later.forward),
            self.gradient.plus(later.gradient),
        )

    def record(self) -> dict[str, Any]:
        return asdict(self)

    @staticmethod
    def of_row(row: dict[str, Any], operator: str, variant: str) -> Outcome:
        """That of `table.rows`, which counts calls and names what was left, of an operator's first samples."""
        limit = None if row["samples"] == "all" else int(row["samples"].rsplit(" ", 1)[1])
        outcome = Outcome(operator, variant, row["dtype"], row["calls"], row["seconds"], limit=limit)
        for name in (FORWARD, GRADIENT):
            counts, verdict = row[name], getattr(outcome, name)
            verdict.right, verdict.compiled = counts["right"] + counts["left"], counts["right"]
            verdict.left = dict.fromkeys(row["left"], 1) if counts["left"] else {}
            verdict.wrong = ["in an earlier record"] * counts["wrong"]
        return outcome

    @staticmethod
    def of_record(record: dict[str, Any]) -> Outcome:
        verdicts: dict[str, Any] = {name: Verdict(**record[name]) for name in (FORWARD, GRADIENT)}
        return Outcome(**(record | verdicts))


def joined(parts: Iterable[Outcome]) -> list[Outcome]:
    """One outcome for each operator and element type, of its first samples as far as the parts reach without a gap. The
    last of parts with the same start counts."""
    by_operator: dict[tuple[str, str], dict[int, Outcome]] = {}
    for part in parts:
        by_operator.setdefault((part.name, part.dtype), {})[part.start] = part
    found = []
    for by_start in by_operator.values():
        whole = by_start.pop(0, None)
        while whole is not None and whole.limit is not None and whole.limit in by_start:
            whole = whole.plus(by_start.pop(whole.limit))
        if whole is not None:
            found.append(whole)
    return found
