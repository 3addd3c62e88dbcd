"""Elementwise work before a broadcast: `exp(broadcast(x))` is `broadcast(exp(x))`.

Canonical form: no elementwise op whose operands are all broadcasts from the same axes, or splats. It is computed on
the smaller operands and broadcast afterwards, which never costs more.
"""

from __future__ import annotations

from xdsl.ir import SSAValue

from irc.canonicalization.simplify import Table, defined_by, for_each, of_operands, rebuilt, reshaped_splat, splat_of
from irc.dialects import nd
from irc.dialects.nd.base import ints, shape_of
from irc.dialects.nd.elementwise import Elementwise
from irc.ir.rewriting import Inserter


@of_operands(nd.BroadcastOp)
def before_broadcast(op: Elementwise, at: Inserter) -> SSAValue | None:
    first = _common_source(op)
    if first is None:
        return None
    shape = shape_of(first.x)
    operands = [_smaller(operand, shape, at) for operand in op.operands]
    return at.value(nd.BroadcastOp(rebuilt(at, op, operands, shape), shape_of(op.results[0]), ints(first.dims)))


def _common_source(op: Elementwise) -> nd.BroadcastOp | None:
    """The first broadcast among the operands, where the others are broadcasts of its shape along its axes, or
    splats."""
    first: nd.BroadcastOp | None = None
    for operand in op.operands:
        if splat_of(operand) is not None:
            continue
        broadcast = defined_by(operand, nd.BroadcastOp)
        if broadcast is None:
            return None
        if first is None:
            first = broadcast
        elif ints(first.dims) != ints(broadcast.dims) or shape_of(first.x) != shape_of(broadcast.x):
            return None
    return first


def _smaller(operand: SSAValue, shape: tuple[int, ...], at: Inserter) -> SSAValue:
    """What was broadcast, or a splat of the smaller shape."""
    if (broadcast := defined_by(operand, nd.BroadcastOp)) is not None:
        return broadcast.x
    return reshaped_splat(at, operand, shape)


ELEMENTWISE = tuple(op for op in nd.Nd.operations if issubclass(op, Elementwise))

BROADCASTS: Table = for_each(ELEMENTWISE, before_broadcast)
