"""Meanings of collectives, by the current communicator."""

from __future__ import annotations

from collections.abc import Sequence

from irc.dialects.nd import AllGatherOp, AllReduceOp, ReduceScatterOp
from irc.dialects.nd.base import shape_of
from irc.interpreters.nd.base import Array, Precision, meaning
from irc.support.communicator import communicator


@meaning(AllReduceOp)
def all_reduce(op: AllReduceOp, args: Sequence[Array], precision: Precision) -> tuple[Array, ...]:
    return tuple(communicator().all_reduce(args, op.monoid.data, op.mesh_axes))


@meaning(AllGatherOp)
def all_gather(op: AllGatherOp, args: Sequence[Array], precision: Precision) -> Array:
    found = communicator().all_gather(args[0], op.mesh_axes)
    assert found.shape == shape_of(op.result), "a group of another size than the program is for"
    return found


@meaning(ReduceScatterOp)
def reduce_scatter(op: ReduceScatterOp, args: Sequence[Array], precision: Precision) -> Array:
    return communicator().reduce_scatter(args[0], op.monoid.data, op.mesh_axes)
