"""Checks of indices that always hold.

Canonical form: no check of positions along an axis (`iota`, moved or cast) that are all inside.
"""

from __future__ import annotations

from xdsl.ir import SSAValue

from irc.canonicalization.simplify import Table
from irc.dialects import nd
from irc.dialects.nd.base import element_of, integer, shape_of
from irc.ir.rewriting import Inserter


def held(op: nd.CheckIndicesOp, at: Inserter) -> SSAValue | None:
    """The indices, where all are known to be inside."""
    most = _most(op.x)
    return op.x if most is not None and integer(op.low) <= 0 and most < integer(op.high) else None


def _most(value: SSAValue) -> int | None:
    """The greatest of positions that are not negative; None of anything else."""
    match value.owner:
        case nd.IotaOp() as iota:
            most = shape_of(value)[integer(iota.axis)] - 1
        case nd.CheckIndicesOp() as check if integer(check.low) >= 0:
            most = integer(check.high) - 1
        case nd.BroadcastOp() | nd.ReshapeOp() | nd.PermuteOp() | nd.SliceOp() | nd.CastOp() as moved:
            found = _most(moved.x)
            if found is None:
                return None
            most = found
        case _:
            return None
    element = element_of(value)
    return most if element.is_integer and most <= element.limits()[1] else None


INDICES: Table = {nd.CheckIndicesOp: [held]}
