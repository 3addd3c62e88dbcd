"""Orders of warp groups: a named barrier for each group, at which it meets the group before it.

A group that takes its turn waits at its own barrier; the one before it arrives there when it passes its turn on, and
does not wait (PTX ISA, 9.7.13.1 bar.sync, bar.arrive; Shah et al., FlashAttention-3, 2024, section 3.1). The last group
arrives at the first one's barrier to begin with, and the first group meets the last turn that is passed on at the end.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.ir import SSAValue

from irc.analysis.resources import named_barriers
from irc.dialects import cuda, tile
from irc.layout.instructions import WARP_GROUP
from irc.lowering.values import Code

THREADS = 2 * WARP_GROUP
"""That meet at a barrier: the group whose turn it is, and the one before it."""


@dataclass(frozen=True)
class Order:
    """The numbers of the barriers of a thread's own warp group and of the next one, and whether its own is first."""

    own: SSAValue
    following: SSAValue
    is_first: SSAValue


def enter(code: Code, op: tile.OrderOp) -> None:
    e, groups = code.e, op.groups
    partitions = op.parent_op()
    assert isinstance(partitions, tile.PartitionsOp)
    first = named_barriers(partitions)[op.order]
    group = e.value(cuda.WarpUniformOp(e.index(e.div(code.group.thread, WARP_GROUP))))
    is_last = e.compare("eq", group, groups - 1)
    own, following = e.add(group, first), e.select(is_last, first, e.add(group, first + 1))
    code.orders[op.order] = Order(e.i32(own), e.i32(following), e.compare("eq", group, 0))
    with e.when(is_last):
        e.insert(cuda.NamedArriveOp(e.i32(first), THREADS))


def leave(code: Code, op: tile.OrderOp) -> None:
    """No barrier is left with some of its threads."""
    order = code.orders[op.order]
    with code.e.when(order.is_first):
        code.e.insert(cuda.NamedSyncOp(order.own, THREADS))


def lower_take(code: Code, op: tile.TakeOp) -> None:
    code.e.insert(cuda.NamedSyncOp(code.orders[op.order].own, THREADS))


def lower_pass(code: Code, op: tile.PassOp) -> None:
    code.e.insert(cuda.NamedArriveOp(code.orders[tile.order_of(op.token)].following, THREADS))
