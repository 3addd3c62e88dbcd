"""Gradients of scans and sorts along one axis."""

from __future__ import annotations

from irc.autodiff.gradients.indexed import scattered_along
from irc.dialects import nd
from irc.dialects.nd.base import integer, put, shape_of
from irc.dialects.nd.terms import Gradient, Term, wide, widened


def cumsum(op: nd.CumsumOp, g: Term) -> list[Term | None]:
    """The sums of the cotangents from each element on."""
    axis, g = integer(op.axis), wide(g)
    return [g.flip([axis]).cumsum(axis).flip([axis])]


def cumprod(op: nd.CumprodOp, g: Term) -> list[Term | None]:
    """Element k is the product of those before it times s[k] = g[k] + x[k + 1] * s[k + 1]: right with zeros too."""
    axis, x = integer(op.axis), widened(op.x, g.at)
    following = shifted(x, axis, -1, 0)
    return [products_before(x, axis) * recurrence(following, wide(g), axis)]


def products_before(x: Term, axis: int) -> Term:
    """The product of the elements before each; 1 at the first."""
    return shifted(x, axis, 1, 1).cumprod(axis)


def products_after(x: Term, axis: int) -> Term:
    """The product of the elements after each; 1 at the last."""
    return products_before(x.flip([axis]), axis).flip([axis])


def shifted(x: Term, axis: int, by: int, fill: float) -> Term:
    """Element i of the axis is x's element i - by, `fill` where there is none."""
    extent, zeros = x.shape[axis], [0] * len(x.shape)
    by = max(-extent, min(by, extent))
    kept = x.slice(put(zeros, axis, max(-by, 0)), put(x.shape, axis, extent - max(by, 0)))
    return kept.pad(put(zeros, axis, max(by, 0)), put(zeros, axis, max(-by, 0)), fill)


def recurrence(a: Term, b: Term, axis: int) -> Term:
    """s[k] = b[k] + a[k] * s[k + 1], 0 after the last, by doubling (Hillis and Steele): log2 of the extent steps."""
    distance = 1
    while distance < b.shape[axis]:
        b = b + a * shifted(b, axis, -distance, 0)
        a = a * shifted(a, axis, -distance, 0)
        distance *= 2
    return b


def topk(op: nd.TopkOp, g: Term) -> list[Term | None]:
    axis = integer(op.axis)
    return [scattered_along(g, Term(op.indices, g.at), axis, shape_of(op.x)[axis])]


def sort(op: nd.SortOp, g: Term) -> list[Term | None]:
    """By the order that `topk` of all elements finds; which of equal elements gets which cotangent is open."""
    axis = integer(op.axis)
    extent = shape_of(op.x)[axis]
    order = g.at(nd.TopkOp(op.x, extent, axis)).indices
    return [scattered_along(g.flip([axis]), Term(order, g.at), axis, extent)]


SCANS: dict[type[nd.NdOp], Gradient] = {
    nd.CumsumOp: cumsum,
    nd.CumprodOp: cumprod,
    nd.TopkOp: topk,
    nd.SortOp: sort,
}
