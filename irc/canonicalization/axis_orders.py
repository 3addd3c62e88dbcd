"""Ops that do not care about the order of axes, and how each is computed on arrays with their axes in another order.

An order p is a permutation of axes: x in that order is `permute(x, p)`, whose axis i is axis p[i] of x.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.dialects.builtin import DenseArrayBase
from xdsl.ir import Attribute, Operation, SSAValue

from irc.canonicalization.shapes import moves_only_ones
from irc.canonicalization.simplify import reshaped_splat, splat_of
from irc.dialects import nd
from irc.dialects.nd.base import integer, ints, rank_of, shape_of
from irc.dialects.nd.elementwise import Elementwise
from irc.dialects.nd.reduce import ArgReduceOp, ReduceOp
from irc.ir.discardable import DECLARED
from irc.ir.properties import attribute_of
from irc.ir.rewriting import Inserter
from irc.support.shapes import inverse

Order = tuple[int, ...]

LISTS = ("starts", "stops", "steps", "low", "high", "window", "strides", "dilation", "input_dilation")
"""Properties with an entry for each axis."""


def composed(first: Sequence[int], second: Sequence[int]) -> Order:
    """The order of `permute(permute(x, first), second)`."""
    return tuple(first[axis] for axis in second)


def main_arrays(op: Operation) -> list[SSAValue]:
    """The operands and the result that have all axes of the op's work, splats left out; none where the op cares about
    the order of axes, or is a permute."""
    match op:
        case nd.PadOp() | nd.ReduceWindowOp():
            found = [op.x, op.result]
        case nd.BroadcastOp() | nd.IotaOp():
            found = [op.result]
        case ReduceOp() | ArgReduceOp():
            found = [op.x]
        case Elementwise() | nd.SliceOp() | nd.FlipOp() | nd.ConcatOp():
            found = [*op.operands, *op.results]
        case _:
            found = []
    return [value for value in found if splat_of(value) is None]


def small_array(op: Operation, order: Order) -> SSAValue | None:
    """What has to be permuted beside an op in this order: the operand of a broadcast, the result of a reduction, where
    their axes change places."""
    if isinstance(op, nd.BroadcastOp):
        dims = [order.index(dim) for dim in ints(op.dims)]
        return None if moves_only_ones(shape_of(op.x), inverse(dims)) else op.x
    if isinstance(op, ReduceOp | ArgReduceOp):
        return None if moves_only_ones(shape_of(op.results[0]), kept_order(op, order)) else op.results[0]
    return None


def kept_order(op: ReduceOp | ArgReduceOp, order: Order) -> Order:
    """The order in which a reduction of an array in this order leaves the axes of its result."""
    reduced = reduced_axes(op)
    kept = [axis for axis in range(len(order)) if axis not in reduced]
    return tuple(kept.index(axis) for axis in order if axis not in reduced)


def reduced_axes(op: ReduceOp | ArgReduceOp) -> tuple[int, ...]:
    return (integer(op.axis),) if isinstance(op, ArgReduceOp) else ints(op.axes)


def op_in_order(op: Operation, order: Order, at: Inserter) -> SSAValue:
    """The op's result, computed in another order: permuted, but of a reduction as it was."""
    if isinstance(op, nd.BroadcastOp):
        return _broadcast(op, order, at)
    values = [_in_order(value, order, at) if rank_of(value) == len(order) else value for value in op.operands]
    properties = {name: _property(op, name, value, order) for name, value in op.properties.items()}
    if isinstance(op, ReduceOp | ArgReduceOp):
        kept = kept_order(op, order)
        return permuted(_rebuilt(op, values, properties, kept, at), inverse(kept), at, op.results[0])
    return _rebuilt(op, values, properties, order, at)


def _in_order(value: SSAValue, order: Order, at: Inserter) -> SSAValue:
    if splat_of(value) is None:
        return permuted(value, order, at, value)
    shape = shape_of(value)
    return reshaped_splat(at, value, tuple(shape[axis] for axis in order))


def _rebuilt(
    op: Operation, operands: Sequence[SSAValue], properties: Mapping[str, Attribute], order: Order, at: Inserter
) -> SSAValue:
    """The op with a result that is permuted."""
    shape = shape_of(op.results[0])
    type = nd.tensor([shape[axis] for axis in order], nd.element_of(op.results[0]))
    attributes = dict(op.attributes)
    return at.value(
        op.__class__.create(operands=operands, result_types=[type], properties=dict(properties), attributes=attributes)
    )


def _property(op: Operation, name: str, value: Attribute, order: Order) -> Attribute:
    if name in LISTS and isinstance(value, DenseArrayBase):
        values = ints(value)
        return attribute_of([values[axis] for axis in order])
    if name == "axes" and isinstance(value, DenseArrayBase):
        return attribute_of(sorted(order.index(axis) for axis in ints(value)))
    if name == "axis" and isinstance(op, nd.ConcatOp | nd.IotaOp | ArgReduceOp):
        return attribute_of(order.index(integer(op.axis)))
    return value


def _broadcast(op: nd.BroadcastOp, order: Order, at: Inserter) -> SSAValue:
    """With increasing dims, as the canonical form has them."""
    dims = [order.index(dim) for dim in ints(op.dims)]
    shape = shape_of(op.result)
    new = nd.BroadcastOp(permuted(op.x, inverse(dims), at, op.x), [shape[axis] for axis in order], sorted(dims))
    new.attributes.update(op.attributes)
    return at.value(new)


def permuted(value: SSAValue, order: Order, at: Inserter, like: SSAValue) -> SSAValue:
    """A permute of the value, declared as `like` is; the value itself where nothing moves, what a permute permutes
    where two make one."""
    if isinstance(value.owner, nd.PermuteOp):
        value, order = value.owner.x, composed(ints(value.owner.permutation), order)
    if order == tuple(range(len(order))):
        return value
    new = nd.PermuteOp(value, order)
    declared = like.owner.attributes.get(DECLARED) if isinstance(like.owner, Operation) else None
    if declared is not None:
        new.attributes[DECLARED] = declared
    return at.value(new)
