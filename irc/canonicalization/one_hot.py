"""Choices between two numbers by a comparison, and sums along an axis on which such a choice hits one place.

The gradient of a loss that takes one class of each row is such an array, made by a comparison of classes with
positions, and its normalization sums it: a pass over all of it for what is known of each row.

Canonical forms:

- no comparison of a choice between two numbers with a third;
- no sum along an axis of `where(index == position along the axis, a, 0)`, alone or times what is the same along the
  axis, for whole numbers as indices. What is summed may be cast between floats, as autocast does.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

from xdsl.ir import SSAValue

from irc.canonicalization.simplify import Table, defined_by, for_each, is_splat, merged, splat_like, splat_of
from irc.dialects import nd
from irc.dialects.nd.base import integer, ints
from irc.ir.dtypes import Element
from irc.ir.rewriting import Inserter

_COMPARISONS: dict[type[Any], Callable[[Any, Any], bool]] = {
    nd.EqualOp: operator.eq,
    nd.NotEqualOp: operator.ne,
    nd.LessOp: operator.lt,
    nd.LessEqualOp: operator.le,
    nd.GreaterOp: operator.gt,
    nd.GreaterEqualOp: operator.ge,
}


def compared_choice(op: nd.CompareOp, at: Inserter) -> SSAValue | None:
    """The condition of the choice, its opposite, or a constant."""
    choice, number = defined_by(op.lhs, nd.WhereOp), splat_of(op.rhs)
    if choice is None or number is None:
        return None
    chosen, other = splat_of(choice.lhs), splat_of(choice.rhs)
    if chosen is None or other is None:
        return None
    compare = _COMPARISONS[type(op)]
    is_true, is_other_true = compare(chosen, number), compare(other, number)
    if is_true == is_other_true:
        return splat_like(at, is_true, op.result)
    return choice.condition if is_true else at.value(nd.BitwiseNotOp(choice.condition))


def one_hot_sum(op: nd.SumOp, at: Inserter) -> SSAValue | None:
    """The number where the index is a position of the axis. What it is multiplied by is so once by the number and else
    by zero, which says that it is not finite."""
    if len(ints(op.axes)) != 1 or nd.element_of(op.x) is not nd.element_of(op.result):
        return None
    (axis,) = ints(op.axes)
    summed, casts = _before_casts(op.x)
    if (hot := _hot(summed, axis)) is not None:
        return _cast_by(at, _at_index(at, *hot, summed, axis), casts)
    product = defined_by(summed, nd.MulOp)
    if product is None or nd.shape_of(summed)[axis] < 2:
        return None
    for choice, factor in ((product.lhs, product.rhs), (product.rhs, product.lhs)):
        hot, spread = _hot(choice, axis), _constant_along(factor, axis)
        if hot is not None and spread is not None:
            factor = _without(at, spread, axis)
            number = _at_index(at, *hot, summed, axis)
            products = [at.value(nd.MulOp(factor, each)) for each in (number, splat_like(at, 0, number))]
            return at.value(nd.AddOp(*(_cast_by(at, each, casts) for each in products)))
    return None


def _before_casts(value: SSAValue) -> tuple[SSAValue, list[Element]]:
    """What is cast between floats, which keeps a zero, and to which types, the first one first."""
    casts: list[Element] = []
    while (cast := defined_by(value, nd.CastOp)) is not None and nd.element_of(cast.x).is_float:
        if not nd.element_of(value).is_float:
            break
        casts.insert(0, nd.element_of(value))
        value = cast.x
    return value, casts


def _cast_by(at: Inserter, value: SSAValue, casts: Sequence[Element]) -> SSAValue:
    for element in casts:
        value = at.value(nd.CastOp(value, element))
    return value


def _hot(value: SSAValue, axis: int) -> tuple[nd.BroadcastOp, bool | int | float] | None:
    """Of `where(index == position along the axis, number, 0)`: the index and the number."""
    choice = defined_by(value, nd.WhereOp)
    equal = None if choice is None else defined_by(choice.condition, nd.EqualOp)
    if choice is None or equal is None or not is_splat(choice.rhs, 0):
        return None
    number = splat_of(choice.lhs)
    if number is None or number == 0:
        return None
    for index, position in ((equal.lhs, equal.rhs), (equal.rhs, equal.lhs)):
        spread = _constant_along(index, axis)
        if spread is not None and _is_position(position, axis):
            return spread, number
    return None


def _is_position(value: SSAValue, axis: int) -> bool:
    """Whether the value is the place along an axis, in integers that have all of them."""
    element, extent = nd.element_of(value), nd.shape_of(value)[axis]
    if element.kind != "int" or extent - 1 > element.limits()[1]:
        return False
    if (iota := defined_by(value, nd.IotaOp)) is not None:
        return integer(iota.axis) == axis
    spread = defined_by(value, nd.BroadcastOp)
    iota = None if spread is None else defined_by(spread.x, nd.IotaOp)
    if spread is None or iota is None:
        return False
    along = integer(iota.axis)
    return ints(spread.dims)[along] == axis and nd.shape_of(iota.result)[along] == extent


def _constant_along(value: SSAValue, axis: int) -> nd.BroadcastOp | None:
    """The broadcast that repeats a value along an axis."""
    spread = defined_by(value, nd.BroadcastOp)
    return spread if spread is not None and axis not in ints(spread.dims) else None


def _without(at: Inserter, spread: nd.BroadcastOp, axis: int) -> SSAValue:
    """What is broadcast, without an axis along which it repeats."""
    shape = [extent for dim, extent in enumerate(nd.shape_of(spread.result)) if dim != axis]
    return at.value(nd.BroadcastOp(spread.x, shape, [dim - (dim > axis) for dim in ints(spread.dims)]))


def _at_index(
    at: Inserter, spread: nd.BroadcastOp, number: bool | int | float, summed: SSAValue, axis: int
) -> SSAValue:
    """The number where the index is a position of the axis that is summed, else 0."""
    index = _without(at, spread, axis)
    not_before = at.value(nd.GreaterEqualOp(index, splat_like(at, 0, index)))
    last = splat_like(at, nd.shape_of(summed)[axis] - 1, index)
    is_inside = at.value(nd.BitwiseAndOp(not_before, at.value(nd.LessEqualOp(index, last))))
    type = nd.tensor(nd.shape_of(index), nd.element_of(summed))
    chosen, other = (at.value(nd.ConstantOp.splat(each, type)) for each in (number, 0))
    return at.value(nd.WhereOp(is_inside, chosen, other))


ONE_HOT: Table = merged(for_each(tuple(_COMPARISONS), compared_choice), {nd.SumOp: [one_hot_sum]})
