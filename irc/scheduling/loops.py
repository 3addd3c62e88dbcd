"""Loops: their trips, and the same loop with other carried values."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from irc.support.integers import ceil_div


def with_carried(loop: scf.ForOp, starts: Sequence[SSAValue]) -> scf.ForOp:
    """A loop over the same range that takes over the body of `loop` and carries values that begin as `starts`, put
    before it. The caller has made the body's arguments and its yield fit, and erases `loop`."""
    new = scf.ForOp(loop.lb, loop.ub, loop.step, starts, loop.detach_region(loop.body))
    new.location = loop.location
    Rewriter.insert_op(new, InsertPoint.before(loop))
    return new


def trips(loop: scf.ForOp) -> int:
    """How often a loop with constant bounds runs."""
    low, high, step = (_constant(v) for v in (loop.lb, loop.ub, loop.step))
    return max(0, ceil_div(high - low, step))


def _constant(value: SSAValue) -> int:
    assert isinstance(value.owner, arith.ConstantOp) and isinstance(value.owner.value, IntegerAttr)
    return value.owner.value.value.data
