"""expand-schedule: loops run as their schedules say."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xdsl.dialects import scf

from irc.analysis.invariants import LAID_OUT
from irc.analysis.programs import ProgramPass
from irc.dialects import tile
from irc.scheduling.dependences import body_of
from irc.scheduling.expansion import expand
from irc.support.diagnostics import IrcError


@dataclass(frozen=True)
class ExpandSchedulePass(ProgramPass):
    """A loop whose ops have places (`#tile.at`) -> the loop that runs so, and what stands before and behind it where
    ops of several iterations run side by side. The ops of an iteration come in their order, later stages work on
    earlier iterations, and what is used later is carried. Where bounds are values, all of it is in a branch that runs
    where the loop has the iterations that come before it. A schedule that would run an op before what it uses is an
    error. Loops without places are left alone.
    """

    name: ClassVar[str] = "expand-schedule"
    requires = (LAID_OUT,)

    def run(self, program: tile.ProgramOp) -> None:
        while (loop := _scheduled(program)) is not None:
            _expand(loop)


def _scheduled(program: tile.ProgramOp) -> scf.ForOp | None:
    """The first loop with a schedule, outer ones before those inside of them: these are copied with their own."""
    loops = (each for each in program.walk() if isinstance(each, scf.ForOp))
    return next((loop for loop in loops if any(tile.place_of(op) is not None for op in body_of(loop))), None)


def _expand(loop: scf.ForOp) -> None:
    ops = body_of(loop)
    places = {op: place for op in ops if (place := tile.place_of(op)) is not None}
    for op in ops:
        if op not in places:
            raise IrcError(
                f"{op.name} has no place in its loop's schedule", op.location, "scheduled = #tile.at<...> on it"
            )
    expand(loop, places)
