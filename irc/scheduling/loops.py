"""Loops: their trips, and the same loop with other carried values."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import scf
from xdsl.ir import SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from irc.ir.properties import constant_of
from irc.support.integers import ceil_div


def with_carried(loop: scf.ForOp, starts: Sequence[SSAValue]) -> scf.ForOp:
    """A loop over the same range that takes over the body of `loop` and carries values that begin as `starts`, put
    before it. The caller has made the body's arguments and its yield fit, and erases `loop`."""
    new = scf.ForOp(loop.lb, loop.ub, loop.step, starts, loop.detach_region(loop.body))
    new.location = loop.location
    Rewriter.insert_op(new, InsertPoint.before(loop))
    return new


def trips(loop: scf.ForOp) -> int | None:
    """How often a loop runs; None where its bounds are no constants."""
    low, high, step = (constant_of(v) for v in (loop.lb, loop.ub, loop.step))
    return None if low is None or high is None or not step else max(0, ceil_div(high - low, step))
