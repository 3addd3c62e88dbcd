"""What a page shows of one program."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from irc.report.changes import Change
from irc.report.columns import Column
from irc.report.counts import Counts
from irc.report.kernels import KernelReport


@dataclass(frozen=True)
class ProgramReport:
    """name: of the function. target: `cuda sm_90a`. columns: the program, then each level. changes: of each pass that
    ran, in their order. kernels: in the order of the program. counts: of
    the simulator, where it simulates the target's kernels."""

    name: str
    target: str
    columns: Sequence[Column]
    changes: Sequence[Change]
    kernels: Sequence[KernelReport]
    counts: Counts | None
