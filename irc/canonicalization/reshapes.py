"""Reshapes go after the work around them, where that lets them meet and cancel.

Canonical forms:

- no elementwise op whose operands are all reshapes that only add or drop axes of extent 1, or splats: it is computed
  on what they reshape (`keepdims` and the broadcast after it then cancel);
- no reduction of such a reshape: the axes of extent 1 play no part in it;
- no reduction of a reshape of what is computed, or of a cast of one, that keeps what is reduced apart: the sum over the
  rows of `reshape(y)` is one over axes of y, so that the kernel that computes y can sum it;
- a cast to a narrower type comes before a reshape that it alone uses, next to what computes the value;
- so does elementwise work on reshapes of one shape that it alone uses, next to what computes the values;
- axes are split before they are permuted, and merged after they are where a result or a convolution asks for the order:
  what lies between has all axes, and `cancel-permutes` finds its order;
- neighbors in memory are merged before they are permuted for a product, which reads a transposed operand as it lies.

Other reshapes stay where they are: of an argument, one is a view and costs nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.dialects.func import ReturnOp
from xdsl.ir import BlockArgument, Operation, SSAValue

from irc.canonicalization.matmul import absorbs
from irc.canonicalization.simplify import (
    Table,
    defined_by,
    for_each,
    merged,
    of_operands,
    rebuilt,
    reshaped_splat,
    splat_of,
)
from irc.dialects import nd
from irc.dialects.nd.base import ints, shape_of
from irc.dialects.nd.elementwise import Elementwise
from irc.dialects.nd.reduce import reduced_shape
from irc.dialects.nd.shape import kept_axes
from irc.ir.properties import attribute_of
from irc.ir.rewriting import Inserter
from irc.support.shapes import inverse


def _unit_reshape(value: SSAValue) -> nd.ReshapeOp | None:
    """The reshape that defines the value, where it only adds or drops axes of extent 1."""
    reshape = defined_by(value, nd.ReshapeOp)
    if reshape is None or kept_axes(shape_of(reshape.x), shape_of(reshape.result)) is None:
        return None
    return reshape


def _own_reshape(value: SSAValue) -> nd.ReshapeOp | None:
    """The reshape of something computed that defines the value, where nothing else uses it, or all that does becomes
    one value."""
    reshape = defined_by(value, nd.ReshapeOp)
    is_own = reshape is not None and not isinstance(reshape.x, BlockArgument) and _is_joined(value)
    return reshape if is_own else None


def _is_joined(value: SSAValue) -> bool:
    """Whether the value has one use, or elementwise ops of it and splats that give one value: x * sigmoid(x)."""
    if value.has_one_use():
        return True
    users = list({use.operation: None for use in value.uses})
    if len(users) > 2 or not all(isinstance(user, Elementwise) for user in users):
        return False
    inside = {value, *(user.results[0] for user in users)}
    if any(operand not in inside and splat_of(operand) is None for user in users for operand in user.operands):
        return False
    return len(users) == 1 or any({use.operation for use in user.results[0].uses} <= {*users} for user in users)


@of_operands(nd.ReshapeOp)
def before_reshape(op: Elementwise, at: Inserter) -> SSAValue | None:
    reshapes = [_unit_reshape(operand) or _own_reshape(operand) for operand in op.operands]
    shapes = {shape_of(reshape.x) for reshape in reshapes if reshape is not None}
    if len(shapes) != 1:
        return None
    values = [splat_of(operand) for operand in op.operands]
    if any(reshape is None and value is None for reshape, value in zip(reshapes, values, strict=True)):
        return None
    shape = shapes.pop()
    operands = [
        reshape.x if reshape is not None else reshaped_splat(at, operand, shape)
        for reshape, operand in zip(reshapes, op.operands, strict=True)
    ]
    return at.value(nd.ReshapeOp(rebuilt(at, op, operands, shape), shape_of(op.results[0])))


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
    return at.value(type(op).create(operands=[x], result_types=[result], properties={"axes": attribute_of(axes)}))


def reduce_before_reshape(op: nd.ReduceOp, at: Inserter) -> SSAValue | None:
    cast = defined_by(op.x, nd.CastOp)
    reshape = defined_by(op.x if cast is None else cast.x, nd.ReshapeOp)
    if reshape is None or not isinstance(reshape.x.owner, Operation):
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
    for sources, targets in _factors(shape, reshaped):
        is_reduced = {i in axes for i in targets if reshaped[i] != 1}
        if len(is_reduced) > 1:
            return None
        if is_reduced == {True}:
            found += sources
    return found


@of_operands(nd.ReshapeOp)
def narrowing_cast_of_reshape(op: nd.CastOp, at: Inserter) -> SSAValue | None:
    reshape = defined_by(op.x, nd.ReshapeOp)
    if reshape is None or nd.element_of(op.result).size >= nd.element_of(op.x).size or not op.x.has_one_use():
        return None
    return at.value(nd.ReshapeOp(rebuilt(at, op, [reshape.x], shape_of(reshape.x)), shape_of(op.result)))


def _factors(source: Sequence[int], target: Sequence[int]) -> list[tuple[list[int], list[int]]]:
    """Axes of a reshape's operand and of its result that have the same elements, in order; none where there are no
    elements."""
    groups: list[tuple[list[int], list[int]]] = []
    i = j = 0
    while prod(source) and (i < len(source) or j < len(target)):
        old, new = [i] if i < len(source) else [], [j] if j < len(target) else []
        while (a := prod(source[axis] for axis in old)) != (b := prod(target[axis] for axis in new)):
            if a < b:
                old.append(old[-1] + 1 if old else i)
            else:
                new.append(new[-1] + 1 if new else j)
        i, j = i + len(old), j + len(new)
        groups.append((old, new))
    return groups


@of_operands(nd.PermuteOp)
def split_before_permute(op: nd.ReshapeOp, at: Inserter) -> SSAValue | None:
    """A reshape of a permute that splits axes: they are split first. Products read any order of what was split."""
    permute = defined_by(op.x, nd.PermuteOp)
    is_factor = any(isinstance(use.operation, nd.MatmulOp) for use in op.result.uses)
    if permute is None or is_factor or kept_axes(shape_of(op.x), shape_of(op.result)) is not None:
        return None
    groups = _factors(shape_of(op.x), shape_of(op.result))
    if not groups or any(len(old) != 1 for old, _ in groups):
        return None
    order = ints(permute.permutation)
    inside = inverse(order)  # the group of each axis in memory
    extents = [shape_of(op.result)[axis] for group in inside for axis in groups[group][1]]
    starts = {group: sum(len(groups[other][1]) for other in inside[:place]) for place, group in enumerate(inside)}
    places = [starts[group] + at for group, (_, new) in enumerate(groups) for at in range(len(new))]
    return at.value(nd.PermuteOp(at.value(nd.ReshapeOp(permute.x, extents)), places))


@of_operands(nd.PermuteOp)
def merge_before_permute(op: nd.ReshapeOp, at: Inserter) -> SSAValue | None:
    """A reshape for products that merges axes of a permute: they are merged first, where they are neighbors in
    memory."""
    permute = defined_by(op.x, nd.PermuteOp)
    if permute is None or isinstance(permute.x.owner, nd.PermuteOp):
        return None
    if not all(isinstance(use.operation, nd.MatmulOp) for use in op.result.uses):
        return None
    order, groups = ints(permute.permutation), _factors(shape_of(op.x), shape_of(op.result))
    if not groups or any(len(new) != 1 for _, new in groups):
        return None
    places = [[order[axis] for axis in group] for group, _ in groups]
    if any(not place or place != list(range(place[0], place[0] + len(place))) for place in places):
        return None  # an axis of extent 1 is of none
    inside = inverse(places)  # the axis of the result of each in memory
    merged = at.value(nd.ReshapeOp(permute.x, [shape_of(op.result)[axis] for axis in inside]))
    return at.value(nd.PermuteOp(merged, inverse(inside)))


def merge_after_permute(op: nd.PermuteOp, at: Inserter) -> SSAValue | None:
    """A permute of a reshape that merges axes: they are permuted first, where that gives the order that a result or a
    convolution has, or where they are permuted already. Not where products read as it lies what others use too, as the
    gradients of a projection's weights and of its input read that of its result."""
    reshape = defined_by(op.x, nd.ReshapeOp)
    if reshape is None or kept_axes(shape_of(reshape.x), shape_of(op.x)) is not None:
        return None
    is_asked = all(isinstance(use.operation, ReturnOp | nd.ConvOp) for use in op.result.uses)
    if isinstance(reshape.x, BlockArgument) or not (is_asked or isinstance(reshape.x.owner, nd.PermuteOp)):
        return None
    if not reshape.x.has_one_use() and all(absorbs(use.operation, use.index, op) for use in op.result.uses):
        return None
    groups = _factors(shape_of(reshape.x), shape_of(op.x))
    if not groups or any(len(new) != 1 for _, new in groups):
        return None
    places = ints(op.permutation)
    if not isinstance(reshape.x.owner, nd.PermuteOp) and places[-1] != len(places) - 1 and len(groups[-1][0]) > 1:
        return None  # what is merged is last, as convolutions read it best
    order = [axis for group in places for axis in groups[group][0]]
    return at.value(nd.ReshapeOp(at.value(nd.PermuteOp(reshape.x, order)), shape_of(op.result)))


ELEMENTWISE = tuple(op for op in nd.Nd.operations if issubclass(op, Elementwise))
REDUCTIONS = (nd.SumOp, nd.ProdOp, nd.MaxOp, nd.MinOp, nd.AnyOp, nd.AllOp)

RESHAPES: Table = merged(
    for_each(ELEMENTWISE, before_reshape),
    for_each(REDUCTIONS, reduce_of_reshape, reduce_before_reshape),
    {
        nd.CastOp: [narrowing_cast_of_reshape],
        nd.ReshapeOp: [split_before_permute, merge_before_permute],
        nd.PermuteOp: [merge_after_permute],
    },
)
