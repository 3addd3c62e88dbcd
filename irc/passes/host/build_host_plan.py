"""`build-host-plan`: the host function becomes one static `host.plan`."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.rewriter import Rewriter

from irc.analysis.invariants import CHANNELS_LOWERED, DOTS_LOWERED, ORDERED, PLANNED, SCRATCH_ALLOCATED, THREADS
from irc.ir.passes import Pass
from irc.ir.targets import target_of
from irc.planning.emission import PlanEmitter
from irc.planning.group_launches import MAX_SETS
from irc.planning.schedule import MAX_STREAMS, schedule
from irc.planning.steps import Steps
from irc.support.diagnostics import IrcError


@dataclass(frozen=True)
class BuildHostPlanPass(Pass):
    """Turn each host function of launches into a static plan: arena offsets, streams, events.

    Intermediate arrays get ranges of one arena, and share bytes when their lifetimes do not meet. Launches that do not
    depend on each other and are too small for the device run side by side: those of one kernel as one launch of up to
    `sets` sets of operands, others on different streams, at most `streams` of them; a wait stands only where nothing
    else orders two steps. A result that belongs to a donated argument (`irc.donated`) is written to its memory behind
    everything that reads it, by the kernel itself where that may work in place, by a copy otherwise. Arrays that a
    kernel adds to are set to zero before it: those that nobody reads, its counters, all at once when the plan begins.
    What ranks do together (`nd.all_reduce`) runs on one further stream, in its order, beside the launches. A function
    with an op that has no kernel is an error at that op.

    Sizes that follow from run-time extents are those of the numbers that stand for these: the arena of a call follows
    from which buffers lie before which.
    """

    name = "build-host-plan"
    requires = (THREADS, DOTS_LOWERED, CHANNELS_LOWERED, SCRATCH_ALLOCATED, ORDERED)
    establishes = (PLANNED,)

    streams: int = MAX_STREAMS
    """The most streams that a plan uses."""

    sets: int = MAX_SETS
    """The most sets of operands of a launch; 1 leaves each launch alone."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for name in ("streams", "sets"):
            if (count := getattr(self, name)) < 1:
                raise IrcError(f"build-host-plan: expected one of {name} or more, found {name}={count}")
        for function in [f for f in op.ops if isinstance(f, FuncOp) and not f.is_declaration]:
            steps = Steps(op, function, self.sets, target_of(op).sms)
            made = schedule([step.needs for step in steps.steps], self.streams, steps.filling, steps.collectives)
            plan = PlanEmitter(function, steps, made).emit()
            Rewriter.replace_op(function, plan)
