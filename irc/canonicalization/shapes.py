"""Ops that move elements: what does nothing, what two do that one can do, and what a simpler op does.

Canonical forms:

- a permute that moves only axes of extent 1, and a broadcast that repeats nothing and keeps the order, are reshapes;
- a broadcast has increasing `dims` and no operand axis of extent 1: a reshape before it drops such axes, a permute
  before it orders the others;
- at most one permute, reshape, broadcast, slice or flip of a kind follows another, and none that does nothing remains;
- a slice of a concat that lies inside one operand slices that operand; a concat has no empty operands and no concat of
  its axis that has no other use, and does not begin as another one that is used;
- what moves a splat constant is a splat constant.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from irc.canonicalization.simplify import Table, defined_by, for_each, merged, splat_like, splat_of
from irc.dialects import nd
from irc.dialects.nd.base import integer, ints, put, shape_of
from irc.dialects.nd.shape import kept_axes
from irc.ir.rewriting import Inserter


def splat_moved(op: nd.MoveOp, at: Inserter) -> SSAValue | None:
    value = splat_of(op.x)
    return None if value is None else splat_like(at, value, op.result)


# Permute


def permute(op: nd.PermuteOp, at: Inserter) -> SSAValue | None:
    order = ints(op.permutation)
    if list(order) == list(range(len(order))):
        return op.x
    if (inner := defined_by(op.x, nd.PermuteOp)) is not None:
        first = ints(inner.permutation)
        return at.value(nd.PermuteOp(inner.x, [first[axis] for axis in order]))
    shape = shape_of(op.x)
    if moves_only_ones(shape, order):
        return at.value(nd.ReshapeOp(op.x, shape_of(op.result)))
    return None


def moves_only_ones(shape: Sequence[int], order: Sequence[int]) -> bool:
    """Whether the axes with an extent other than 1 keep their order."""
    rest = [axis for axis in order if shape[axis] != 1]
    return rest == sorted(rest)


# Reshape


def reshape(op: nd.ReshapeOp, at: Inserter) -> SSAValue | None:
    if op.x.type == op.result.type:
        return op.x
    inner = defined_by(op.x, nd.ReshapeOp)
    return None if inner is None else at.value(nd.ReshapeOp(inner.x, shape_of(op.result)))


def reshape_of_broadcast(op: nd.ReshapeOp, at: Inserter) -> SSAValue | None:
    """A reshape that only adds or drops axes of extent 1, as another broadcast."""
    inner = defined_by(op.x, nd.BroadcastOp)
    if inner is None:
        return None
    places = kept_axes(shape_of(op.x), shape_of(op.result))
    dims = ints(inner.dims)
    if places is None or any(dim not in places for dim in dims):
        return None
    return at.value(nd.BroadcastOp(inner.x, shape_of(op.result), [places[dim] for dim in dims]))


# Broadcast


def broadcast(op: nd.BroadcastOp, at: Inserter) -> SSAValue | None:
    shape, result, dims = shape_of(op.x), shape_of(op.result), ints(op.dims)
    if op.x.type == op.result.type and list(dims) == list(range(len(dims))):
        return op.x
    if (inner := defined_by(op.x, nd.BroadcastOp)) is not None:
        return at.value(nd.BroadcastOp(inner.x, result, [dims[dim] for dim in ints(inner.dims)]))
    if repeats_nothing(shape, result, dims) and list(dims) == sorted(dims):
        return at.value(nd.ReshapeOp(op.x, result))
    return broadcast_without_ones(op, at) or broadcast_in_order(op, at)


def repeats_nothing(shape: Sequence[int], result: Sequence[int], dims: Sequence[int]) -> bool:
    """Whether every result axis has its operand axis's extent, or 1 where it has none."""
    source = dict(zip(dims, shape, strict=True))
    return all(extent == source.get(axis, 1) for axis, extent in enumerate(result))


def broadcast_without_ones(op: nd.BroadcastOp, at: Inserter) -> SSAValue | None:
    shape, dims = shape_of(op.x), ints(op.dims)
    kept = [axis for axis, extent in enumerate(shape) if extent != 1]
    if len(kept) == len(shape):
        return None
    x = at.value(nd.ReshapeOp(op.x, [shape[axis] for axis in kept]))
    return at.value(nd.BroadcastOp(x, shape_of(op.result), [dims[axis] for axis in kept]))


def broadcast_in_order(op: nd.BroadcastOp, at: Inserter) -> SSAValue | None:
    dims = ints(op.dims)
    if list(dims) == sorted(dims):
        return None
    x = at.value(nd.PermuteOp(op.x, sorted(range(len(dims)), key=lambda axis: dims[axis])))
    return at.value(nd.BroadcastOp(x, shape_of(op.result), sorted(dims)))


def permute_of_broadcast(op: nd.PermuteOp, at: Inserter) -> SSAValue | None:
    """Another broadcast, which may permute the smaller operand."""
    inner = defined_by(op.x, nd.BroadcastOp)
    if inner is None:
        return None
    order = ints(op.permutation)
    return at.value(nd.BroadcastOp(inner.x, shape_of(op.result), [order.index(dim) for dim in ints(inner.dims)]))


# Slice, pad, concat, flip


def slice(op: nd.SliceOp, at: Inserter) -> SSAValue | None:
    if op.x.type == op.result.type:
        return op.x
    if (inner := defined_by(op.x, nd.SliceOp)) is not None:
        return at.value(_slice_of_slice(op, inner))
    if (whole := defined_by(op.x, nd.ConcatOp)) is not None:
        return _slice_of_concat(op, whole, at)
    return None


def _slice_of_slice(op: nd.SliceOp, inner: nd.SliceOp) -> nd.SliceOp:
    starts: list[int] = []
    stops: list[int] = []
    steps: list[int] = []
    for axis, extent in enumerate(shape_of(op.result)):
        first, step = ints(inner.starts)[axis], ints(inner.steps)[axis]
        starts.append(min(first + ints(op.starts)[axis] * step, ints(inner.stops)[axis]))
        steps.append(step * ints(op.steps)[axis])
        stops.append(starts[-1] + (extent - 1) * steps[-1] + 1 if extent else starts[-1])
    return nd.SliceOp(inner.x, starts, stops, steps)


def _slice_of_concat(op: nd.SliceOp, whole: nd.ConcatOp, at: Inserter) -> SSAValue | None:
    axis = integer(whole.axis)
    start, stop = ints(op.starts)[axis], ints(op.stops)[axis]
    if start == stop:
        return None
    offset = 0
    for part in whole.inputs:
        extent = shape_of(part)[axis]
        if offset <= start and stop <= offset + extent:
            return at.value(
                nd.SliceOp(
                    part,
                    put(ints(op.starts), axis, start - offset),
                    put(ints(op.stops), axis, stop - offset),
                    ints(op.steps),
                )
            )
        offset += extent
    return None


def pad(op: nd.PadOp, at: Inserter) -> SSAValue | None:
    """No padding, or nothing but padding."""
    if op.x.type == op.result.type:
        return op.x
    if 0 in shape_of(op.x):
        return at.value(nd.BroadcastOp(op.value, shape_of(op.result), []))
    return None


def concat(op: nd.ConcatOp, at: Inserter) -> SSAValue | None:
    axis = integer(op.axis)
    parts = [x for x in op.inputs if shape_of(x)[axis] != 0] or [op.inputs[0]]
    if len(parts) == 1:
        return parts[0]
    flat: list[SSAValue] = []
    for part in parts:
        inner = defined_by(part, nd.ConcatOp)
        is_same = inner is not None and integer(inner.axis) == axis and part.has_one_use()
        flat.extend(inner.inputs if inner is not None and is_same else [part])
    return at.value(nd.ConcatOp(flat, axis)) if len(flat) != len(op.inputs) else None


def concat_of_longer(op: nd.ConcatOp, at: Inserter) -> SSAValue | None:
    """One that begins with the operands of another reads what that has made: of arrays that grow step by step, as in a
    DenseNet, each has two operands and not one for each step."""
    inputs = list(op.inputs)
    while (longest := _beginning(op, inputs)) is not None:
        inputs[: len(longest.inputs)] = [longest.result]
    return at.value(nd.ConcatOp(inputs, integer(op.axis))) if len(inputs) != len(op.inputs) else None


def _beginning(op: nd.ConcatOp, inputs: Sequence[SSAValue]) -> nd.ConcatOp | None:
    """The longest concat before the op that is used and whose operands are the first of these."""
    found = [
        each
        for each in (use.operation for use in inputs[0].uses)
        if isinstance(each, nd.ConcatOp)
        and integer(each.axis) == integer(op.axis)
        and 1 < len(each.inputs) < len(inputs)
        and all(a is b for a, b in zip(each.inputs, inputs, strict=False))
        and each.parent is op.parent
        and each.result.first_use is not None
        and each.is_before_in_block(op)
    ]
    return max(found, key=lambda each: len(each.inputs), default=None)


def flip(op: nd.FlipOp, at: Inserter) -> SSAValue | None:
    """Flips of axes with one element do nothing; two flips of an axis cancel."""
    inner = defined_by(op.x, nd.FlipOp)
    x = op.x if inner is None else inner.x
    twice = set(ints(op.axes)) ^ set(() if inner is None else ints(inner.axes))
    axes = sorted(axis for axis in twice if shape_of(op.x)[axis] > 1)
    if not axes:
        return x
    return None if inner is None and list(ints(op.axes)) == axes else at.value(nd.FlipOp(x, axes))


def reduce_of_nothing(op: nd.ReduceOp, at: Inserter) -> SSAValue | None:
    """A reduction over no axes, or over axes of extent 1, keeps every element, in the type that it accumulates in."""
    shape, axes = shape_of(op.x), ints(op.axes)
    if any(shape[axis] != 1 for axis in axes):
        return None
    value, element = op.x, nd.element_of(op.result)
    value = value if nd.element_of(value) is element else at.value(nd.CastOp(value, element))
    return value if not axes else at.value(nd.ReshapeOp(value, shape_of(op.result)))


SHAPES: Table = merged(
    for_each((nd.PermuteOp, nd.ReshapeOp, nd.BroadcastOp, nd.SliceOp, nd.FlipOp), splat_moved),
    {
        nd.PermuteOp: [permute, permute_of_broadcast],
        nd.ReshapeOp: [reshape, reshape_of_broadcast],
        nd.BroadcastOp: [broadcast],
        nd.SliceOp: [slice],
        nd.PadOp: [pad],
        nd.ConcatOp: [concat, concat_of_longer],
        nd.FlipOp: [flip],
    },
    for_each((nd.MaxOp, nd.MinOp, nd.AnyOp, nd.AllOp, nd.SumOp, nd.ProdOp), reduce_of_nothing),
)
