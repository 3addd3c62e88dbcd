"""Gradients of reductions. `max` and `min` share theirs evenly among equal elements, as torch's `amax` does."""

from __future__ import annotations

from math import prod

from irc.autodiff.gradients.scans import products_after, products_before
from irc.decomposition.norms import degrees_of, mean_of
from irc.dialects import nd
from irc.dialects.nd.base import element_of, integer, ints, shape_of
from irc.dialects.nd.terms import Gradient, Term, count_of, deferred_cast, wide
from irc.ir.dtypes import accumulator


def _over(op: nd.ReduceOp, g: Term) -> Term:
    return g.over(shape_of(op.x), ints(op.axes))


def _count(op: nd.ReduceOp) -> int:
    """Elements that a result stands for."""
    return prod(shape_of(op.x)[axis] for axis in ints(op.axes))


def mean(op: nd.MeanOp, g: Term) -> list[Term | None]:
    g = wide(g)
    return [_over(op, g / count_of(Term(op.x, g.at), ints(op.axes), g.shape, g.element))]


def var(op: nd.VarOp, g: Term) -> list[Term | None]:
    """2 * (x - mean(x)) / (count - correction)."""
    x = deferred_cast(Term(op.x, g.at), accumulator(element_of(op.result)))
    axes = ints(op.axes)
    deviation, g = x - mean_of(x, axes).over(x.shape, axes), wide(g)
    return [deviation * _over(op, g * 2 / degrees_of(x, axes, integer(op.correction), g.shape))]


def extreme(op: nd.MaxOp | nd.MinOp, g: Term) -> list[Term | None]:
    x, best = Term(op.x, g.at), Term(op.result, g.at)
    g = wide(g)
    is_best = x.equal(_over(op, best))
    ties = is_best.cast(g.element).sum(ints(op.axes))
    return [_over(op, g / ties).kept_where(is_best)]


def prod_(op: nd.ProdOp, g: Term) -> list[Term | None]:
    """The product of the elements before and that of those after, by two scans: right with zeros too."""
    x = deferred_cast(Term(op.x, g.at), accumulator(element_of(op.result)))
    axes, rank = ints(op.axes), len(x.shape)
    kept = [axis for axis in range(rank) if axis not in axes]
    order = [*kept, *axes]
    rows = x.permute(order).reshape([*(x.shape[axis] for axis in kept), _count(op)])
    others = products_before(rows, len(kept)) * products_after(rows, len(kept))
    others = others.reshape([x.shape[axis] for axis in order]).permute([order.index(axis) for axis in range(rank)])
    return [others * _over(op, wide(g))]


REDUCTIONS: dict[type[nd.NdOp], Gradient] = {
    nd.SumOp: lambda op, g: [_over(op, g)],
    nd.MeanOp: mean,
    nd.VarOp: var,
    nd.MaxOp: extreme,
    nd.MinOp: extreme,
    nd.ProdOp: prod_,
}
