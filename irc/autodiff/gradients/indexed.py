"""Gradients of ops that read or write at indices: what was read is added where it was read.

Indices are clamped in both directions alike. `take` gives `scatter_add`; a `take_along` of one index a row, the step
from probabilities to a loss, gives a comparison with the position, which fuses with what is around it.
"""

from __future__ import annotations

from math import prod

from irc.dialects import nd
from irc.dialects.nd.base import integer, put, shape_of
from irc.dialects.nd.terms import Gradient, Term, iota, splat
from irc.ir.dtypes import element_named


def take(op: nd.TakeOp, g: Term) -> list[Term | None]:
    zeros = splat(g.at, 0, shape_of(op.x), g.element)
    added = nd.ScatterAddOp(zeros.value, op.indices, g.value, integer(op.axis))
    return [Term(g.at.value(added), g.at), None]


def reorder(op: nd.ReorderOp, g: Term) -> list[Term | None]:
    back = nd.ReorderOp(g.value, op.inverse, op.order, integer(op.axis))
    return [Term(g.at.value(back), g.at), None, None]


def take_along(op: nd.TakeAlongOp, g: Term) -> list[Term | None]:
    """Sums over the m indices of a row of `g` where the position is the index: m * n comparisons a row of n."""
    axis, shape, rank = integer(op.axis), g.shape, len(g.shape)
    extent = shape_of(op.x)[axis]
    hits = Term(g.at.value(nd.OneHotOp(op.indices, extent, element_named("bool"))), g.at)
    hit = g.broadcast(hits.shape, range(rank)).kept_where(hits)
    rows = [*shape[:axis], *shape[axis + 1 :], extent]
    total = hit.reshape(rows) if shape[axis] == 1 else hit.sum([axis])
    order = [*range(axis), rank - 1, *range(axis, rank - 1)]
    return [total.permute(order), None]


def scatter_add(op: nd.ScatterAddOp, g: Term) -> list[Term | None]:
    taken = nd.TakeOp(g.value, op.indices, integer(op.axis))
    return [g, None, Term(g.at.value(taken), g.at)]


def scattered_along(g: Term, indices: Term, axis: int, extent: int) -> Term:
    """Zeros with `extent` along the axis, and `g` added at the i64 `indices` along it: a scatter_add of the flattened
    arrays."""
    shape = put(g.shape, axis, extent)
    place, stride = indices.filled(0), prod(shape)
    for dim, size in enumerate(shape):
        stride //= max(size, 1)
        place = place + (indices if dim == axis else iota(g.at, g.shape, dim, indices.element)) * stride
    zeros = splat(g.at, 0, [prod(shape)], g.element)
    flat = nd.ScatterAddOp(zeros.value, place.reshape([prod(g.shape)]).value, g.reshape([prod(g.shape)]).value, 0)
    return Term(g.at.value(flat), g.at).reshape(shape)


INDEXED: dict[type[nd.NdOp], Gradient] = {
    nd.TakeOp: take,
    nd.ReorderOp: reorder,
    nd.TakeAlongOp: take_along,
    nd.ScatterAddOp: scatter_add,
}
