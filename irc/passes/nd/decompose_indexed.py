"""The decomposition of scatter_add into a reduction: each element of the result looks for its updates.

For V places and N updates that is V * N comparisons a column, done in registers; the updates are read from memory a
few times. The sum has a fixed order, so a program gives the same bits in each run, which atomic additions do not.
"""

from __future__ import annotations

from math import prod

from xdsl.ir import SSAValue

from irc.dialects import nd
from irc.dialects.nd.base import element_of, integer, shape_of
from irc.dtypes import element_named
from irc.passes.nd.decompose_shapes import index_element
from irc.passes.nd.terms import Decomposition, Term, iota, narrowed, widened
from irc.rewriting import Inserter


def scatter_add(op: nd.ScatterAddOp, at: Inserter) -> Term:
    """x + sum over n of `updates[n] where indices[n] == place`, in the accumulator's type. Indices are clamped."""
    shape, axis = shape_of(op.x), integer(op.axis)
    count = prod(shape_of(op.indices))
    if 0 in shape or count == 0:
        return Term(op.x, at)
    before, after = shape[:axis], shape[axis + 1 :]
    wide = element_named("i64") if element_of(op.indices).size == 8 else index_element(shape[axis])
    indices = Term(op.indices, at).cast(wide).maximum(0).minimum(shape[axis] - 1).reshape([count])
    updates = widened(op.updates, at).reshape([*before, count, *after])
    domain = [*before, shape[axis], count, *after]
    hit = iota(at, domain, axis, wide).equal(indices.broadcast(domain, [axis + 1]))
    spread = updates.over(domain, [axis])
    added = hit.where(spread, spread.filled(0)).sum([axis + 1], spread.element)
    return narrowed(added if _is_zero(op.x) else widened(op.x, at) + added, op)


def _is_zero(x: SSAValue) -> bool:
    """Whether the array is a constant of zeros, as in the gradient of a `take`."""
    return isinstance(x.owner, nd.ConstantOp) and x.owner.splat_value == 0


INDEXED: dict[type[nd.NdOp], Decomposition] = {nd.ScatterAddOp: scatter_add}
