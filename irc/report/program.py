"""What a page shows of one program."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from irc.report.changes import Change
from irc.report.columns import Column


@dataclass(frozen=True)
class ProgramReport:
    """name: of the function. target: `cuda sm_90a`. columns: the program, then each level. changes: of each pass that
    ran, in their order."""

    name: str
    target: str
    columns: Sequence[Column]
    changes: Sequence[Change]
