"""Reshapes go after the work around them, where that lets them meet and cancel.

Canonical forms:

- no elementwise op whose operands are all reshapes that only add or drop axes of extent 1, or splats: it is computed
  on what they reshape (`keepdims` and the broadcast after it then cancel);
- no reduction of such a reshape: the axes of extent 1 play no part in it;
- no reduction of a reshape of what is computed, or of a cast of one, that keeps what is reduced apart: the sum over the
  rows of `reshape(y)` is one over axes of y, so that the kernel that computes y can sum it;
- a cast to a narrower type comes before a reshape that it alone uses, next to what computes the value.

Other reshapes stay where they are: of an argument, one is a view and costs nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.ir import Operation, SSAValue

from irc.canonicalization.shapes import kept_axes
from irc.canonicalization.simplify import Table, defined_by, for_each, merged, rebuilt, splat_of
from irc.dialects import nd
from irc.dialects.nd.base import ints, plain, shape_of
from irc.dialects.nd.elementwise import Elementwise
from irc.dialects.nd.reduce import reduced_shape
from irc.ir.rewriting import Inserter


def _unit_reshape(value: SSAValue) -> nd.ReshapeOp | None:
    """The reshape that defines the value, where it only adds or drops axes of extent 1."""
    reshape = defined_by(value, nd.ReshapeOp)
    if reshape is None or kept_axes(shape_of(reshape.x), shape_of(reshape.result)) is None:
        return None
    return reshape


def before_reshape(op: Elementwise, at: Inserter) -> SSAValue | None:
    reshapes = [_unit_reshape(operand) for operand in op.operands]
    shapes = {shape_of(reshape.x) for reshape in reshapes if reshape is not None}
    if len(shapes) != 1:
        return None
    values = [splat_of(operand) for operand in op.operands]
    if any(reshape is None and value is None for reshape, value in zip(reshapes, values, strict=True)):
        return None
    shape = shapes.pop()
    operands = [
        reshape.x if reshape is not None else _splat(at, operand, shape)
        for reshape, operand in zip(reshapes, op.operands, strict=True)
    ]
    return at.value(nd.ReshapeOp(rebuilt(at, op, operands, shape), shape_of(op.results[0])))


def _splat(at: Inserter, like: SSAValue, shape: tuple[int, ...]) -> SSAValue:
    """The number of a splat, in another shape."""
    value = splat_of(like)
    assert value is not None
    return at.value(nd.ConstantOp.splat(value, nd.tensor(shape, nd.element_of(like))))


def reduce_of_reshape(op: nd.ReduceOp, at: Inserter) -> SSAValue | None:
    reshape = _unit_reshape(op.x)
    if reshape is None:
        return None
    places = kept_axes(shape_of(reshape.x), shape_of(reshape.result)) or {}
    axes = [source for source, place in places.items() if place in ints(op.axes)]
    if not axes:
        return None
    return at.value(nd.ReshapeOp(_reduced(op, reshape.x, axes, at), shape_of(op.result)))


def _reduced(op: nd.ReduceOp, x: SSAValue, axes: Sequence[int], at: Inserter) -> SSAValue:
    """The reduction of another array, over axes of it."""
    result = nd.tensor(reduced_shape(shape_of(x), axes), nd.element_of(op.result))
    return at.value(type(op).create(operands=[x], result_types=[result], properties={"axes": plain(axes)}))


def reduce_before_reshape(op: nd.ReduceOp, at: Inserter) -> SSAValue | None:
    cast = defined_by(op.x, nd.CastOp)
    reshape = defined_by(op.x if cast is None else cast.x, nd.ReshapeOp)
    if reshape is None or not isinstance(reshape.x.owner, Operation) or 0 in shape_of(reshape.x):
        return None
    shape = shape_of(reshape.x)
    axes = _reduced_axes(shape, shape_of(reshape.result), ints(op.axes))
    if not axes:
        return None
    source = reshape.x if cast is None else rebuilt(at, cast, [reshape.x], shape)
    return at.value(nd.ReshapeOp(_reduced(op, source, axes, at), shape_of(op.result)))


def _reduced_axes(shape: Sequence[int], reshaped: Sequence[int], axes: Sequence[int]) -> list[int] | None:
    """The axes of a shape that have the elements along some axes of what it is reshaped to; None where an axis has
    some of them alone."""
    found: list[int] = []
    source = target = 0
    while source < len(shape) and target < len(reshaped):
        sources, targets = [source], [target]
        while (left := prod(shape[i] for i in sources)) != (right := prod(reshaped[i] for i in targets)):
            side = sources if left < right else targets
            side.append(side[-1] + 1)
        is_reduced = {i in axes for i in targets if reshaped[i] != 1}
        if len(is_reduced) > 1:
            return None
        if is_reduced == {True}:
            found += sources
        source, target = sources[-1] + 1, targets[-1] + 1
    return found


def narrowing_cast_of_reshape(op: nd.CastOp, at: Inserter) -> SSAValue | None:
    reshape = defined_by(op.x, nd.ReshapeOp)
    if reshape is None or nd.element_of(op.result).size >= nd.element_of(op.x).size or not op.x.has_one_use():
        return None
    return at.value(nd.ReshapeOp(rebuilt(at, op, [reshape.x], shape_of(reshape.x)), shape_of(op.result)))


ELEMENTWISE = tuple(op for op in nd.Nd.operations if issubclass(op, Elementwise))
REDUCTIONS = (nd.SumOp, nd.ProdOp, nd.MaxOp, nd.MinOp, nd.AnyOp, nd.AllOp)

RESHAPES: Table = merged(
    for_each(ELEMENTWISE, before_reshape),
    for_each(REDUCTIONS, reduce_of_reshape, reduce_before_reshape),
    {nd.CastOp: [narrowing_cast_of_reshape]},
)
