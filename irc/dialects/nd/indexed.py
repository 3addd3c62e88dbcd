"""Ops that read or write at places given by an integer operand. Indices are clamped into 0..extent-1; `check_indices`
refuses those that would be."""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence
from math import prod
from typing import ClassVar

from xdsl.dialects.builtin import IndexType, IntegerAttr, TensorType
from xdsl.ir import Attribute, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap
from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def, result_def

from irc.dialects.nd.base import (
    INTEGER,
    NUMBER,
    Elements,
    Location,
    NdOp,
    Operand,
    element_of,
    int_prop,
    integer,
    normalized,
    rank_of,
    shape_of,
    tensor,
    type_of,
)
from irc.dialects.nd.elementwise import UnaryOp
from irc.ir.dtypes import Element
from irc.ir.iteration import Access, Iteration, IterationInterface, Pattern, access, dim_exprs, over_result


class IndexedOp(NdOp, ABC):
    """An op with an operand `indices` of any integer type along `axis` of its operand `x`."""

    axis = int_prop()

    def check_indices(self, x: SSAValue, indices: SSAValue) -> None:
        """The axis is one of x's, and something can be found there."""
        shape, axis = shape_of(x), integer(self.axis)
        self.check_axis(axis, len(shape))
        self.check_element(indices, INTEGER)
        if shape[axis] == 0 and prod(shape_of(indices)):
            raise self.fail(f"cannot index axis {axis} of extent 0 of {x.type}")


@irdl_op_definition
class CheckIndicesOp(UnaryOp):
    """The indices x, all of which are low to high - 1: one that is not is an error of the run, on a GPU of the launch.
    Where nothing reads an index, nothing need check it. With an `extent`, which may stand for one that is known in a
    call (`irc.dims`), they are i32 or i64, and low to high + extent - 1."""

    TAKES: ClassVar[Elements] = INTEGER

    name = "nd.check_indices"
    low = int_prop()
    high = int_prop()
    extent = opt_prop_def(IntegerAttr.constr(type=IndexType()))

    def __init__(self, x: Operand, low: int, high: int, extent: int = 0, *, location: Location | None = None):
        beyond = {"extent": IntegerAttr(extent, IndexType())} if extent else {}
        self.setup([x], [type_of(x)], {"low": low, "high": high, **beyond}, location)

    @property
    def end(self) -> int:
        """What indices are less than, of the number that stands for the extent where one does."""
        return integer(self.high) + (0 if self.extent is None else self.extent.value.data)

    def check(self) -> None:
        super().check()
        if self.extent is not None and self.extent.value.data <= 0:
            raise self.fail(f"expects an extent, found {self.extent.value.data}")
        if self.extent is not None and element_of(self.x).name not in ("i32", "i64"):
            raise self.fail(f"expects i32 or i64 with an extent, found {type_of(self.x)}")
        if integer(self.low) > self.end:
            raise self.fail(f"expects low up to high, found {integer(self.low)} and {self.end}")


@irdl_op_definition
class AscendingOp(UnaryOp):
    """The integers x, which do not fall along any axis: where they do, results that depend on them are undefined. Loops
    over places that are compared with such numbers have bounds that are looked up, or searched for. The interpreter
    refuses others."""

    TAKES: ClassVar[Elements] = INTEGER

    name = "nd.ascending"


@irdl_op_definition
class TakeOp(IndexedOp, IterationInterface):
    """numpy.take: the axis of x is replaced by the axes of `indices`."""

    name = "nd.take"
    PATTERN: ClassVar[Pattern] = Pattern.MOVE
    x = operand_def(TensorType)
    indices = operand_def(TensorType)
    result = result_def(TensorType)

    def __init__(self, x: Operand, indices: Operand, axis: int = 0, *, location: Location | None = None):
        axis = normalized(axis, rank_of(x))
        shape = taken_shape(shape_of(x), shape_of(indices), axis)
        self.setup([x, indices], [tensor(shape, element_of(x))], {"axis": axis}, location)

    def check(self) -> None:
        self.check_indices(self.x, self.indices)
        self.check_same_element(self.x)
        self.check_result_shape(taken_shape(shape_of(self.x), shape_of(self.indices), integer(self.axis)))

    def iteration(self) -> Iteration:
        at, axis = dim_exprs(rank_of(self.result)), integer(self.axis)
        behind = axis + rank_of(self.indices)
        return over_result(shape_of(self.result), _gathered(at, axis, at[behind:], at[axis:behind]))


def taken_shape(shape: tuple[int, ...], indices: tuple[int, ...], axis: int) -> tuple[int, ...]:
    """`shape` with the extent of `axis` replaced by `indices`."""
    return (*shape[:axis], *indices, *shape[axis + 1 :])


@irdl_op_definition
class ReorderOp(IndexedOp):
    """x at `order` along the axis. `inverse` is where each element goes: `order[inverse[i]]` is i. So the gradient is
    another order, where that of a `take` adds what any indices meet."""

    name = "nd.reorder"
    x = operand_def(TensorType)
    order = operand_def(TensorType)
    inverse = operand_def(TensorType)
    result = result_def(TensorType)

    def __init__(
        self, x: Operand, order: Operand, inverse: Operand, axis: int = 0, *, location: Location | None = None
    ):
        self.setup([x, order, inverse], [type_of(x)], {"axis": normalized(axis, rank_of(x))}, location)

    def check(self) -> None:
        for indices in (self.order, self.inverse):
            self.check_indices(self.x, indices)
            if shape_of(indices) != (extent := shape_of(self.x)[integer(self.axis) :][:1]):
                raise self.fail(f"expects an index for each of {extent[0]} elements, found {indices.type}")
        self.check_result_type(type_of(self.x))


@irdl_op_definition
class TakeAlongOp(IndexedOp, IterationInterface):
    """numpy.take_along_axis: x at `indices` along the axis, the other coordinates as in the result."""

    name = "nd.take_along"
    PATTERN: ClassVar[Pattern] = Pattern.MOVE
    x = operand_def(TensorType)
    indices = operand_def(TensorType)
    result = result_def(TensorType)

    def __init__(self, x: Operand, indices: Operand, axis: int, *, location: Location | None = None):
        axis = normalized(axis, rank_of(x))
        self.setup([x, indices], [tensor(shape_of(indices), element_of(x))], {"axis": axis}, location)

    def check(self) -> None:
        self.check_indices(self.x, self.indices)
        self.check_same_element(self.x)
        shape, indices, axis = shape_of(self.x), shape_of(self.indices), integer(self.axis)
        if len(shape) != len(indices) or taken_shape(shape, (indices[axis],), axis) != indices:
            raise self.fail(
                f"expects indices with x's extents except on axis {axis}, found {self.indices.type} for {self.x.type}"
            )
        self.check_result_shape(indices)

    def iteration(self) -> Iteration:
        at, axis = dim_exprs(rank_of(self.result)), integer(self.axis)
        return over_result(shape_of(self.result), _gathered(at, axis, at[axis + 1 :], at))


def _gathered(
    at: Sequence[AffineExpr], axis: int, after: Sequence[AffineExpr], indices: Sequence[AffineExpr]
) -> list[Access]:
    """The accesses of the array, whose coordinate at `axis` is an index, and of the indices."""
    places = AffineMap(len(at), 1, (*at[:axis], AffineExpr.symbol(0), *after))
    return [Access(places, indices=(1,)), access(len(at), indices)]


@irdl_op_definition
class ScatterAddOp(IndexedOp):
    """x with `updates` added at `indices` along the axis; places that occur several times add up.

    `updates` has the shape of `take(x, indices)`. Sums are in x's accumulator type and rounded once.
    """

    name = "nd.scatter_add"
    x = operand_def(TensorType)
    indices = operand_def(TensorType)
    updates = operand_def(TensorType)
    result = result_def(TensorType)

    def __init__(
        self, x: Operand, indices: Operand, updates: Operand, axis: int = 0, *, location: Location | None = None
    ):
        self.setup([x, indices, updates], [type_of(x)], {"axis": normalized(axis, rank_of(x))}, location)

    def check(self) -> None:
        self.check_indices(self.x, self.indices)
        self.check_element(self.x, NUMBER)
        wanted = tensor(taken_shape(shape_of(self.x), shape_of(self.indices), integer(self.axis)), element_of(self.x))
        if self.updates.type != wanted:
            raise self.fail(f"expects updates of type {wanted}, found {self.updates.type}")
        self.check_result_type(type_of(self.x))


@irdl_op_definition
class OneHotOp(NdOp):
    """A new last axis of the result type's extent n, 1 at the clamped index and 0 elsewhere."""

    name = "nd.one_hot"
    indices = operand_def(TensorType)
    result = result_def(TensorType)

    def __init__(self, indices: Operand, n: int, element: Attribute | Element, *, location: Location | None = None):
        self.setup([indices], [tensor((*shape_of(indices), n), element)], location=location)

    def check(self) -> None:
        self.check_element(self.indices, INTEGER)
        indices, result = shape_of(self.indices), shape_of(self.result)
        if result[:-1] != indices or len(result) != len(indices) + 1:
            raise self.fail(f"expects a result of shape {[*indices, 'n']}, found {list(result)}".replace("'n'", "n"))
