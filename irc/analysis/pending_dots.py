"""How many dots were issued behind one that is waited for (PTX ISA, 9.7.15.7.1 wgmma.wait_group: groups complete in the
order in which they were issued)."""

from __future__ import annotations

from xdsl.dialects import scf
from xdsl.ir import Block, Operation, SSAValue

from irc.analysis.matrix_instructions import is_asynchronous
from irc.dialects import tile
from irc.ir.blocks import end_of

COMPLETE = 1 << 30
"""More than can be in flight: there is nothing to wait for."""


def issued_since(dot: SSAValue, op: Operation) -> int:
    """The least number of dots, over all paths, that were issued between the one that gives a value and an op."""
    return _since(dot, op, set())


def is_awaited(dot: SSAValue, op: Operation) -> bool:
    """Whether a wait before an op, in its block, was for this dot or one that was issued behind it."""
    at = op.prev_op
    while at is not None and at is not dot.owner:
        if isinstance(at, tile.DotWaitOp | tile.AwaitOp) and issued_since(at.operands[0], at) <= issued_since(dot, at):
            return True
        at = at.prev_op
    return False


def _since(dot: SSAValue, op: Operation, seen: set[tuple[SSAValue, Operation]]) -> int:
    if (dot, op) in seen or isinstance(dot.owner, tile.AsPendingOp):
        return COMPLETE
    seen.add((dot, op))
    count, at = 0, op
    while (before := at.prev_op) is not None:
        if before is dot.owner:
            return count + (_through(dot, before, seen) if isinstance(before, scf.ForOp) else 0)
        count += _least_issued(before)
        at = before
    block, parent = op.parent, op.parent_op()
    if block is None or parent is None:
        return COMPLETE
    if dot.owner is not block:
        return count + _since(dot, parent, seen)
    assert isinstance(parent, scf.ForOp)
    return count + _through(dot, parent, seen)


def _through(dot: SSAValue, loop: scf.ForOp, seen: set[tuple[SSAValue, Operation]]) -> int:
    """What a loop carries: from before the loop, or from the end of an iteration."""
    end = end_of(loop.body.block)
    start, ended = tile.carried_from(dot)
    return min(_since(start, loop, seen), _since(ended, end, seen))


def _least_issued(op: Operation) -> int:
    match op:
        case tile.DotOp():
            return int(is_asynchronous(op))
        case scf.IfOp():
            sides = (sum(map(_least_issued, side.block.ops)) if side.blocks else 0 for side in op.regions)
            return min(sides)
        case _:
            return 0


def leaves_in_flight(block: Block) -> bool:
    """Whether dots of a loop's iteration stay in flight at its end."""
    last = block.last_op
    return last is not None and any(isinstance(value.type, tile.PendingType) for value in last.operands)
