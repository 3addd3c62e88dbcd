"""Reductions over axes, which are dropped, and scans and sorts along one axis."""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence
from math import prod
from typing import Any, ClassVar, cast

from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, TensorType, i32, i64
from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition, operand_def, result_def

from irc.dialects.nd.base import (
    BOOL,
    FLOAT,
    NUMBER,
    Elements,
    Location,
    NdOp,
    Operand,
    element_of,
    int_prop,
    integer,
    ints,
    ints_prop,
    normalized,
    normalized_axes,
    rank_of,
    shape_of,
    tensor,
    type_of,
)
from irc.ir.dtypes import Element
from irc.ir.iteration import Iteration, IterationInterface, Kind, Pattern, over_operand


def reduced_shape(shape: Sequence[int], axes: Sequence[int]) -> tuple[int, ...]:
    """`shape` without `axes`."""
    return tuple(extent for axis, extent in enumerate(shape) if axis not in axes)


class ReduceOp(NdOp, ABC):
    """A reduction of `x` over `axes` (increasing, may be none), which the result does not have."""

    x = operand_def(TensorType)
    result = result_def(TensorType)
    axes = ints_prop()

    def check(self) -> None:
        self.check_increasing(ints(self.axes), rank_of(self.x))
        self.check_result_shape(reduced_shape(shape_of(self.x), ints(self.axes)))


class MonoidOp(NdOp, IterationInterface, ABC):
    """A reduction or scan of one operand that joins elements by a monoid, along the property `axes` or `axis`."""

    PATTERN: ClassVar[Pattern] = Pattern.REDUCE
    MONOID: ClassVar[str]

    @property
    def joined_axes(self) -> tuple[int, ...]:
        """The operand's axes along which elements are joined, increasing."""
        if (axes := self.properties.get("axes")) is not None:
            return ints(cast(DenseArrayBase[Any], axes))
        return (integer(cast(IntegerAttr[Any], self.properties["axis"])),)

    def iteration(self) -> Iteration:
        kind = Kind.SCAN if self.PATTERN is Pattern.SCAN else Kind.REDUCE
        return over_operand(shape_of(self.operands[0]), self.joined_axes, kind, self.MONOID)


class AccumulateOp(ReduceOp, ABC):
    """A reduction whose result element type, any number type, says what is accumulated into (f32 for f16, bf16 and f8).

    `element` defaults to the operand's, and to i32 of bool.
    """

    def __init__(
        self,
        x: Operand,
        axes: Sequence[int],
        element: Attribute | Element | None = None,
        *,
        location: Location | None = None,
    ):
        shape = shape_of(x)
        axes = normalized_axes(axes, len(shape))
        result = tensor(reduced_shape(shape, axes), element or _accumulated(element_of(x)))
        self.setup([x], [result], {"axes": axes}, location)

    def check(self) -> None:
        super().check()
        self.check_element(self.result, NUMBER, " result")


def _accumulated(element: Element) -> Attribute:
    return i32 if element.kind == "bool" else element.type


@irdl_op_definition
class SumOp(AccumulateOp, MonoidOp):
    """numpy.sum; 0 over nothing. Integers wrap."""

    name = "nd.sum"
    MONOID: ClassVar[str] = "sum"


@irdl_op_definition
class ProdOp(AccumulateOp, MonoidOp):
    """numpy.prod; 1 over nothing. Integers wrap."""

    name = "nd.prod"
    MONOID: ClassVar[str] = "prod"


class FloatResultOp(AccumulateOp, ABC):
    """An accumulation whose result is a float."""

    def check(self) -> None:
        super().check()
        self.check_element(self.result, FLOAT, " result")


@irdl_op_definition
class MeanOp(FloatResultOp):
    """The sum divided by the count; NaN over nothing."""

    name = "nd.mean"


@irdl_op_definition
class VarOp(FloatResultOp):
    """The sum of squares of x - mean(x), divided by maximum(count - correction, 0)."""

    name = "nd.var"
    correction = int_prop()

    def __init__(
        self,
        x: Operand,
        axes: Sequence[int],
        correction: int = 0,
        element: Attribute | Element | None = None,
        *,
        location: Location | None = None,
    ):
        shape = shape_of(x)
        axes = normalized_axes(axes, len(shape))
        result = tensor(reduced_shape(shape, axes), element or element_of(x))
        self.setup([x], [result], {"axes": axes, "correction": correction}, location)


class SelectOp(ReduceOp, MonoidOp, ABC):
    """A reduction to the operand's element type."""

    TAKES: ClassVar[Elements] = NUMBER

    def __init__(self, x: Operand, axes: Sequence[int], *, location: Location | None = None):
        shape = shape_of(x)
        axes = normalized_axes(axes, len(shape))
        self.setup([x], [tensor(reduced_shape(shape, axes), element_of(x))], {"axes": axes}, location)

    def check(self) -> None:
        super().check()
        self.check_element(self.x, self.TAKES)
        self.check_same_element(self.x)


class ExtremeOp(SelectOp, ABC):
    """A reduction that has no value over nothing."""

    def check(self) -> None:
        super().check()
        if prod(shape_of(self.result)) and not prod(shape_of(self.x)):
            raise self.fail(f"expects one element or more along axes {list(ints(self.axes))}, found {self.x.type}")


@irdl_op_definition
class MaxOp(ExtremeOp):
    """The greatest element; NaN where one is NaN."""

    name = "nd.max"
    MONOID: ClassVar[str] = "max"


@irdl_op_definition
class MinOp(ExtremeOp):
    """The least element; NaN where one is NaN."""

    name = "nd.min"
    MONOID: ClassVar[str] = "min"


@irdl_op_definition
class AnyOp(SelectOp):
    """Whether one bool holds; false over nothing."""

    TAKES: ClassVar[Elements] = BOOL

    name = "nd.any"
    MONOID: ClassVar[str] = "any"


@irdl_op_definition
class AllOp(SelectOp):
    """Whether every bool holds; true over nothing."""

    TAKES: ClassVar[Elements] = BOOL

    name = "nd.all"
    MONOID: ClassVar[str] = "all"


class ArgReduceOp(MonoidOp, ABC):
    """The i64 index along `axis` of an extreme element: the first of equals, the first NaN where there is one."""

    x = operand_def(TensorType)
    result = result_def(TensorType)
    axis = int_prop()

    def __init__(self, x: Operand, axis: int, *, location: Location | None = None):
        shape = shape_of(x)
        axis = normalized(axis, len(shape))
        self.setup([x], [tensor(reduced_shape(shape, [axis]), i64)], {"axis": axis}, location)

    def check(self) -> None:
        shape, axis = shape_of(self.x), integer(self.axis)
        self.check_axis(axis, len(shape))
        self.check_result_type(tensor(reduced_shape(shape, [axis]), i64))
        if shape[axis] == 0 and prod(shape_of(self.result)):
            raise self.fail(f"expects one element or more along axis {axis}, found {self.x.type}")


@irdl_op_definition
class ArgmaxOp(ArgReduceOp):
    """numpy.argmax."""

    name = "nd.argmax"
    MONOID: ClassVar[str] = "argmax"


@irdl_op_definition
class ArgminOp(ArgReduceOp):
    """numpy.argmin."""

    name = "nd.argmin"
    MONOID: ClassVar[str] = "argmin"


class AxisOp(NdOp, ABC):
    """`x` to the same type, along one axis."""

    x = operand_def(TensorType)
    result = result_def(TensorType)
    axis = int_prop()

    def __init__(self, x: Operand, axis: int, *, location: Location | None = None):
        self.setup([x], [type_of(x)], {"axis": normalized(axis, rank_of(x))}, location)

    def check(self) -> None:
        self.check_axis(integer(self.axis), rank_of(self.x))
        self.check_element(self.x, NUMBER)
        self.check_result_type(type_of(self.x))


class ScanOp(AxisOp, MonoidOp, ABC):
    """An inclusive scan; f16, bf16 and f8 accumulate in f32, integers wrap."""

    PATTERN: ClassVar[Pattern] = Pattern.SCAN


@irdl_op_definition
class CumsumOp(ScanOp):
    """numpy.cumsum."""

    name = "nd.cumsum"
    MONOID: ClassVar[str] = "sum"


@irdl_op_definition
class CumprodOp(ScanOp):
    """numpy.cumprod."""

    name = "nd.cumprod"
    MONOID: ClassVar[str] = "prod"


@irdl_op_definition
class SortOp(AxisOp):
    """numpy.sort: ascending, NaN after every number."""

    name = "nd.sort"


@irdl_op_definition
class TopkOp(NdOp):
    """The k greatest along the axis in the order of `sort` reversed (NaN first), and their i64 indices; the first of
    equals first."""

    name = "nd.topk"
    x = operand_def(TensorType)
    values = result_def(TensorType)
    indices = result_def(TensorType)
    k = int_prop()
    axis = int_prop()

    def __init__(self, x: Operand, k: int, axis: int, *, location: Location | None = None):
        axis = normalized(axis, rank_of(x))
        shape = _with_extent(shape_of(x), axis, k)
        types = [tensor(shape, element_of(x)), tensor(shape, i64)]
        self.setup([x], types, {"k": k, "axis": axis}, location)

    def check(self) -> None:
        shape, axis, k = shape_of(self.x), integer(self.axis), integer(self.k)
        self.check_axis(axis, len(shape))
        self.check_element(self.x, NUMBER)
        if not 0 <= k <= shape[axis]:
            raise self.fail(f"expects k from 0 to {shape[axis]}, found {k}")
        shape = _with_extent(shape, axis, k)
        for result, element in ((self.values, element_of(self.x)), (self.indices, i64)):
            if result.type != (wanted := tensor(shape, element)):
                raise self.fail(f"expects a result of type {wanted}, found {result.type}")


def _with_extent(shape: tuple[int, ...], axis: int, extent: int) -> tuple[int, ...]:
    return (*shape[:axis], extent, *shape[axis + 1 :])
