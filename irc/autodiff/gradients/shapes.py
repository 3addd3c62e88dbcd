"""Gradients of ops that move elements: the moves backwards, sums where an element went to several places."""

from __future__ import annotations

from itertools import accumulate

from irc.dialects import nd
from irc.dialects.nd.base import integer, ints, put, shape_of
from irc.dialects.nd.terms import Gradient, Term, splat
from irc.ir.dtypes import element_named
from irc.support.shapes import inverse


def broadcast(op: nd.BroadcastOp, g: Term) -> list[Term | None]:
    """Sums over the axes that are new or were stretched."""
    dims, shape = ints(op.dims), shape_of(op.x)
    kept = [dim for axis, dim in enumerate(dims) if shape[axis] == g.shape[dim]]
    summed = [axis for axis in range(len(g.shape)) if axis not in kept]
    total = g.sum(summed) if summed else g
    order = [sorted(kept).index(dim) for dim in kept]
    return [total.permute(order).reshape(shape)]


def permute(op: nd.PermuteOp, g: Term) -> list[Term | None]:
    return [g.permute(inverse(ints(op.permutation)))]


def reshape(op: nd.ReshapeOp, g: Term) -> list[Term | None]:
    return [g.reshape(shape_of(op.x))]


def slice_(op: nd.SliceOp, g: Term) -> list[Term | None]:
    """Spread out by the steps, with zeros around it."""
    shape, starts, steps = shape_of(op.x), ints(op.starts), ints(op.steps)
    if 0 in g.shape:
        return [None]
    spread = dilated(g, steps)
    ends = [extent - start - count for extent, start, count in zip(shape, starts, spread.shape, strict=True)]
    return [spread.pad(starts, ends)]


def dilated(x: Term, steps: tuple[int, ...]) -> Term:
    """`steps[i] - 1` zeros between the elements of axis i: extent (n - 1) * step + 1. No axis is empty."""
    for axis, step in enumerate(steps):
        if step == 1 or x.shape[axis] == 1:
            continue
        shape, rank = x.shape, len(x.shape)
        apart = x.reshape([*shape[: axis + 1], 1, *shape[axis + 1 :]])
        apart = apart.pad([0] * (rank + 1), put([0] * (rank + 1), axis + 1, step - 1))
        whole = apart.reshape(put(shape, axis, shape[axis] * step))
        stops = put(shape, axis, (shape[axis] - 1) * step + 1)
        x = whole.slice([0] * rank, stops)
    return x


def pad(op: nd.PadOp, g: Term) -> list[Term | None]:
    """The middle to the array; the sum of what is around it to the value."""
    low, high = ints(op.low), ints(op.high)
    stops = [extent - width for extent, width in zip(g.shape, high, strict=True)]
    axes = range(len(g.shape))
    inner = splat(g.at, False, shape_of(op.x), element_named("bool"))
    around = inner.pad(low, high, True)
    return [g.slice(low, stops), g.kept_where(around).sum(axes)]


def concat(op: nd.ConcatOp, g: Term) -> list[Term | None]:
    axis = integer(op.axis)
    extents = [shape_of(x)[axis] for x in op.inputs]
    ends = list(accumulate(extents))
    zeros = [0] * len(g.shape)
    return [
        g.slice(put(zeros, axis, end - extent), put(g.shape, axis, end))
        for extent, end in zip(extents, ends, strict=True)
    ]


def flip(op: nd.FlipOp, g: Term) -> list[Term | None]:
    return [g.flip(ints(op.axes))]


def tile(op: nd.TileOp, g: Term) -> list[Term | None]:
    """Sums over the repetitions."""
    shape, reps = shape_of(op.x), ints(op.reps)
    pairs = [extent for pair in zip(reps, shape, strict=True) for extent in pair]
    return [g.reshape(pairs).sum(range(0, len(pairs), 2))]


def triangle(op: nd.TrilOp | nd.TriuOp, g: Term) -> list[Term | None]:
    """The same triangle."""
    return [Term(g.at.value(type(op)(g.value, integer(op.k))), g.at)]


SHAPES: dict[type[nd.NdOp], Gradient] = {
    nd.BroadcastOp: broadcast,
    nd.PermuteOp: permute,
    nd.ReshapeOp: reshape,
    nd.SliceOp: slice_,
    nd.PadOp: pad,
    nd.ConcatOp: concat,
    nd.FlipOp: flip,
    nd.TileOp: tile,
    nd.TrilOp: triangle,
    nd.TriuOp: triangle,
}
