"""schedule-loops: every op of a loop that overlaps its iterations gets its place in the loop's schedule."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import ClassVar

from xdsl.dialects import scf
from xdsl.dialects.builtin import UnitAttr

from irc.analysis.configs import consumer_partitions
from irc.analysis.invariants import LAID_OUT
from irc.analysis.programs import ProgramPass
from irc.dialects import tile
from irc.scheduling.channels import is_in_step
from irc.scheduling.dependences import body_of
from irc.scheduling.loops import trips
from irc.scheduling.prefetching import operands_ahead, subtiles_ahead
from irc.scheduling.registers import (
    allowed_registers,
    check_registers,
    held_registers,
    registers_at_issue,
    registers_to_issue,
)
from irc.scheduling.schedules import Schedule, dots_of, eager, in_order, in_step, overlapped, rotated, sparing, together


@dataclass(frozen=True)
class ScheduleLoopsPass(ProgramPass):
    """A loop of wgmma dots: `scheduled = #tile.at<stage, order>` on its ops, and nothing else. A loop whose threads all
    fill and read a channel, as those of mma dots, a producer's that computes several operands, and one over subtiles of
    a consumer that takes turns: the same, and `clamped` on the loop.

    A dot that another dot feeds works an iteration behind it, so that what is computed between the two runs while
    products of both are in flight, where there are several stages and the threads have the registers. Elsewhere the
    order stays, but warp groups that take turns issue dots that feed each other as soon as they can be. Of two dots
    that begin anew, the first works an iteration ahead, and each is issued before something is computed of the other;
    where the trips are not known, and of more, all come before what is computed of the first. A stage that only a dot
    in flight reads is released an iteration later. Where threads are in step, the stages are filled ahead of the one
    that they read; elsewhere arrays are loaded ahead of what is computed from them. Where a step stores something and
    the threads would not have the registers, products that nothing of the step waits for come later. Loops that have
    places keep them, and others are left alone.
    """

    name: ClassVar[str] = "schedule-loops"
    requires = (LAID_OUT,)
    explain: bool = False
    """Print to stderr, for each loop, the schedules that were compared, and the registers that they hold."""

    def run(self, program: tile.ProgramOp) -> None:
        for loop in [each for each in program.walk() if isinstance(each, scf.ForOp)]:
            if not any(tile.place_of(each) for each in body_of(loop)):
                self._schedule(program, loop)

    def _schedule(self, program: tile.ProgramOp, loop: scf.ForOp) -> None:
        check_registers(loop)
        chosen = self._chosen(program, loop) if dots_of(loop) else None
        if chosen is None and (chosen := _clamped(program, loop)) is not None:
            loop.attributes[tile.CLAMPED] = UnitAttr()
        for op, place in (chosen or {}).items():
            op.attributes[tile.SCHEDULED] = place

    def _chosen(self, program: tile.ProgramOp, loop: scf.ForOp) -> Schedule:
        plain = eager(loop) if _has_turns(loop) else rotated(loop) if (trips(loop) or 0) > 1 else None
        plain = plain or together(loop) or self._in_order(program, loop)
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

    def _in_order(self, program: tile.ProgramOp, loop: scf.ForOp) -> Schedule:
        plain, late = in_order(loop), sparing(loop)
        if late is None:
            return plain
        need, allowed = registers_at_issue(loop, plain), registers_to_issue(loop)
        if self.explain:
            name, verdict = program.sym_name.data, "chosen" if need <= allowed else f"has {allowed}"
            print(f"{name}: in order: {need} registers where a product is issued, {verdict}", file=sys.stderr)
            print(f"{name}: sparing: {registers_at_issue(loop, late)} registers", file=sys.stderr)
        return plain if need <= allowed else late


def _clamped(program: tile.ProgramOp, loop: scf.ForOp) -> Schedule | None:
    """A schedule in which copies or loads work ahead, in a loop without wgmma dots."""
    acquires = [op for op in body_of(loop) if isinstance(op, tile.AcquireOp)]
    if acquires:
        return in_step(loop) if is_in_step(acquires[0].channel) else operands_ahead(loop)
    tiles = loop.parent_op()
    if consumer_partitions(program) == 1 or not isinstance(tiles, tile.ForTilesOp):
        return None
    turn = next((op for op in tiles.body.block.ops if any(isinstance(o, tile.WaitOp) for o in op.walk())), None)
    return subtiles_ahead(loop, turn) if turn is not None and turn.is_before_in_block(loop) else None


def _has_stages(loop: scf.ForOp) -> bool:
    """Whether what the loop waits for has several stages: a dot that holds the only one leaves none to fill."""
    channels = [op.channel.owner for op in body_of(loop) if isinstance(op, tile.WaitOp)]
    return all(isinstance(channel, tile.ChannelOp) and channel.stage_count > 1 for channel in channels)


def _has_turns(loop: scf.ForOp) -> bool:
    """Whether warp groups issue a product of the loop in turn: others find an order by themselves, one computes while
    another one's dot runs."""
    return any(isinstance(op, tile.TakeOp) for op in body_of(loop))


def _has_trips(loop: scf.ForOp) -> bool:
    """Whether a loop may run at least twice."""
    known = trips(loop)
    return known is None or known > 1
