"""Checks of indices.

Canonical form: no check of positions along an axis (`iota`, moved or cast) that are all inside, and none that is of an
extent. One that is known is a number; of one that is known in a call, what is left of it is checked, which is of no
index beyond it less than 0.
"""

from __future__ import annotations

from xdsl.ir import SSAValue

from irc.canonicalization.simplify import Table
from irc.dialects import nd
from irc.dialects.nd.base import element_of, integer, shape_of
from irc.dialects.nd.terms import Term
from irc.ir.dtypes import element_named
from irc.ir.extents import dims_of
from irc.ir.rewriting import Inserter
from irc.support.extents import varying


def held(op: nd.CheckIndicesOp, at: Inserter) -> SSAValue | None:
    """The indices, where all are known to be inside."""
    most = None if op.extent is not None else _most(op.x)
    return op.x if most is not None and integer(op.low) <= 0 and most < integer(op.high) else None


def of_extent(op: nd.CheckIndicesOp, at: Inserter) -> SSAValue | None:
    """A check of numbers alone."""
    if op.extent is None:
        return None
    low, high, extent = integer(op.low), integer(op.high), op.extent.value.data
    if not varying(extent, dims_of(op)):
        return at.value(nd.CheckIndicesOp(op.x, low, op.end))
    x, i64 = Term(op.x, at), element_named("i64")
    x = Term(at.value(nd.CheckIndicesOp(x.value, low, int(x.element.limits()[1]))), at).cast(i64)
    last = Term(at.value(nd.ExtentOp(extent, x.shape)), at) + (high - 1)
    room = at.value(nd.CheckIndicesOp((last - x).value, 0, int(i64.limits()[1])))
    return (last - Term(room, at)).cast(element_of(op.x)).value


def _most(value: SSAValue) -> int | None:
    """The greatest of positions that are not negative; None of anything else."""
    match value.owner:
        case nd.IotaOp() as iota:
            most = shape_of(value)[integer(iota.axis)] - 1
        case nd.CheckIndicesOp() as check if check.extent is None and integer(check.low) >= 0:
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


INDICES: Table = {nd.CheckIndicesOp: [of_extent, held]}
