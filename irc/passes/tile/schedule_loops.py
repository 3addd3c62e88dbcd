"""schedule-loops: every op of a loop of wgmma dots gets its place in the loop's schedule."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import ModuleOp

from irc.analysis.invariants import LAID_OUT
from irc.dialects import tile
from irc.ir.passes import Pass
from irc.scheduling.dependences import body_of
from irc.scheduling.loops import trips
from irc.scheduling.registers import allowed_registers, held_registers
from irc.scheduling.schedules import Schedule, dots_of, in_order, overlapped


@dataclass(frozen=True)
class ScheduleLoopsPass(Pass):
    """A loop of wgmma dots: `scheduled = #tile.at<stage, order>` on its ops, and nothing else.

    A dot that another dot feeds works an iteration behind it, so that what is computed between the two runs while
    products of both are in flight, where there are several stages and the threads have the registers. Elsewhere the
    order stays; a stage that only a dot in flight reads is released an iteration later. Loops that have places keep
    them, and loops without wgmma dots are left alone.
    """

    name: ClassVar[str] = "schedule-loops"
    requires = (LAID_OUT,)
    explain: bool = False
    """Print to stderr, for each loop, the schedules that were compared, and the registers that they hold."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for program in op.body.block.ops:
            if isinstance(program, tile.ProgramOp):
                for loop in [each for each in program.walk() if isinstance(each, scf.ForOp)]:
                    if dots_of(loop) and not any(tile.place_of(each) for each in body_of(loop)):
                        self._schedule(program, loop)

    def _schedule(self, program: tile.ProgramOp, loop: scf.ForOp) -> None:
        chosen = self._chosen(program, loop)
        for op, place in chosen.items():
            op.attributes[tile.SCHEDULED] = place

    def _chosen(self, program: tile.ProgramOp, loop: scf.ForOp) -> Schedule:
        plain = in_order(loop)
        found = overlapped(loop) if _has_trips(loop) and _has_stages(loop) else None
        if found is None:
            return plain
        allowed = allowed_registers(loop)
        need = held_registers(loop, found)
        if self.explain:
            name = program.sym_name.data
            print(f"{name}: in order: {held_registers(loop, plain)} registers", file=sys.stderr)
            verdict = "chosen" if need <= allowed else f"has {allowed}"
            print(f"{name}: overlapped: {need} registers, {verdict}", file=sys.stderr)
        return found if need <= allowed else plain


def _has_stages(loop: scf.ForOp) -> bool:
    """Whether what the loop waits for has several stages: a dot that holds the only one leaves none to fill."""
    channels = [op.channel.owner for op in body_of(loop) if isinstance(op, tile.WaitOp)]
    return all(isinstance(channel, tile.ChannelOp) and channel.stage_count > 1 for channel in channels)


def _has_trips(loop: scf.ForOp) -> bool:
    """Whether a loop is known to run at least twice."""
    bounds = (loop.lb, loop.ub, loop.step)
    return all(isinstance(value.owner, arith.ConstantOp) for value in bounds) and trips(loop) > 1
