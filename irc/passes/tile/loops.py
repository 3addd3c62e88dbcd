"""Loops with other carried values."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import scf
from xdsl.ir import SSAValue
from xdsl.rewriter import InsertPoint, Rewriter


def with_carried(loop: scf.ForOp, starts: Sequence[SSAValue]) -> scf.ForOp:
    """A loop over the same range that takes over the body of `loop` and carries values that begin as `starts`, put
    before it. The caller has made the body's arguments and its yield fit, and erases `loop`."""
    new = scf.ForOp(loop.lb, loop.ub, loop.step, starts, loop.detach_region(loop.body))
    new.location = loop.location
    Rewriter.insert_op(new, InsertPoint.before(loop))
    return new
