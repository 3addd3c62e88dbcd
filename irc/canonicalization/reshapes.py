"""Reshapes go after the work around them, where that lets them meet and cancel.

Canonical forms:

- no elementwise op whose operands are all reshapes that only add or drop axes of extent 1, or splats: it is computed
  on what they reshape (`keepdims` and the broadcast after it then cancel);
- no reduction of such a reshape: the axes of extent 1 play no part in it;
- a cast to a narrower type comes before a reshape that it alone uses, next to what computes the value.

Other reshapes stay where they are: of an argument, one is a view and costs nothing.
"""

from __future__ import annotations

from xdsl.ir import SSAValue

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
    result = nd.tensor(reduced_shape(shape_of(reshape.x), axes), nd.element_of(op.result))
    new = type(op).create(operands=[reshape.x], result_types=[result], properties={"axes": plain(axes)})
    return at.value(nd.ReshapeOp(at.value(new), shape_of(op.result)))


def narrowing_cast_of_reshape(op: nd.CastOp, at: Inserter) -> SSAValue | None:
    reshape = defined_by(op.x, nd.ReshapeOp)
    if reshape is None or nd.element_of(op.result).size >= nd.element_of(op.x).size or not op.x.has_one_use():
        return None
    return at.value(nd.ReshapeOp(rebuilt(at, op, [reshape.x], shape_of(reshape.x)), shape_of(op.result)))


ELEMENTWISE = tuple(op for op in nd.Nd.operations if issubclass(op, Elementwise))
REDUCTIONS = (nd.SumOp, nd.ProdOp, nd.MaxOp, nd.MinOp, nd.AnyOp, nd.AllOp)

RESHAPES: Table = merged(
    for_each(ELEMENTWISE, before_reshape),
    for_each(REDUCTIONS, reduce_of_reshape),
    {nd.CastOp: [narrowing_cast_of_reshape]},
)
