"""Ops that only move elements: result element i is an operand's element at an affine function of i."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from math import prod
from typing import ClassVar

from xdsl.dialects.builtin import TensorType
from xdsl.ir.affine import AffineExpr
from xdsl.irdl import irdl_op_definition, operand_def, result_def, var_operand_def

from irc.dialects.nd.base import (
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
from irc.ir.iteration import Access, Bound, Iteration, IterationInterface, Pattern, access, dim_exprs, over_result


class IndexMapOp(NdOp, ABC):
    """An op that moves elements and computes nothing: broadcast permute reshape slice pad concat flip tile."""


class MoveOp(IndexMapOp, ABC):
    """An `IndexMapOp` of one operand `x`, to the same element type."""

    x = operand_def(TensorType)
    result = result_def(TensorType)

    def check(self) -> None:
        self.check_same_element(self.x)
        self.check_shape(shape_of(self.x), shape_of(self.result))

    def check_shape(self, shape: tuple[int, ...], result: tuple[int, ...]) -> None:
        """Raises VerifyException where the properties and the two shapes disagree."""
        raise NotImplementedError


class AccessOp(MoveOp, IterationInterface, ABC):
    """A `MoveOp` whose operand has an element for each place of the result."""

    PATTERN: ClassVar[Pattern] = Pattern.MOVE

    def iteration(self) -> Iteration:
        shape = shape_of(self.result)
        return over_result(shape, [access(len(shape), self.coordinates(dim_exprs(len(shape))))])

    @abstractmethod
    def coordinates(self, at: Sequence[AffineExpr]) -> Sequence[AffineExpr]:
        """Where in x the element of the result at these coordinates is."""


@irdl_op_definition
class BroadcastOp(AccessOp):
    """Repeats x: operand axis i becomes result axis dims[i], whose extent is the same, or any where the operand's is
    1."""

    name = "nd.broadcast"
    dims = ints_prop()

    def __init__(self, x: Operand, shape: Sequence[int], dims: Sequence[int], *, location: Location | None = None):
        self.setup([x], [tensor(shape, element_of(x))], {"dims": dims}, location)

    def check_shape(self, shape: tuple[int, ...], result: tuple[int, ...]) -> None:
        dims = ints(self.dims)
        self.check_count(dims, len(shape), "dims, one for each operand axis")
        self.check_axes(dims, len(result), "dims")
        for axis, dim in enumerate(dims):
            if shape[axis] not in (1, result[dim]):
                raise self.fail(f"expects extent 1 or {result[dim]} of operand axis {axis}, found {shape[axis]}")

    def coordinates(self, at: Sequence[AffineExpr]) -> Sequence[AffineExpr]:
        result, axes = shape_of(self.result), zip(shape_of(self.x), ints(self.dims), strict=True)
        return [at[dim] if extent == result[dim] else AffineExpr.constant(0) for extent, dim in axes]


@irdl_op_definition
class PermuteOp(AccessOp):
    """numpy.transpose: result axis i is operand axis permutation[i]."""

    name = "nd.permute"
    permutation = ints_prop()

    def __init__(self, x: Operand, permutation: Sequence[int], *, location: Location | None = None):
        shape = shape_of(x)
        order = [normalized(axis, len(shape)) for axis in permutation]
        self.setup([x], [tensor([shape[i] for i in order], element_of(x))], {"permutation": order}, location)

    def check_shape(self, shape: tuple[int, ...], result: tuple[int, ...]) -> None:
        order = ints(self.permutation)
        if sorted(order) != list(range(len(shape))):
            raise self.fail(f"expects a permutation of the {len(shape)} operand axes, found {list(order)}")
        self.check_result_shape([shape[axis] for axis in order])

    def coordinates(self, at: Sequence[AffineExpr]) -> Sequence[AffineExpr]:
        return [at[ints(self.permutation).index(axis)] for axis in range(len(at))]


@irdl_op_definition
class ReshapeOp(AccessOp):
    """The same elements in row-major order, in another shape."""

    name = "nd.reshape"

    def __init__(self, x: Operand, shape: Sequence[int], *, location: Location | None = None):
        self.setup([x], [tensor(shape, element_of(x))], location=location)

    def check_shape(self, shape: tuple[int, ...], result: tuple[int, ...]) -> None:
        if prod(shape) != prod(result):
            raise self.fail(
                f"expects as many elements as the operand's {prod(shape)}, found {prod(result)} in {list(result)}"
            )

    def coordinates(self, at: Sequence[AffineExpr]) -> Sequence[AffineExpr]:
        return reshaped(at, shape_of(self.result), shape_of(self.x))


def reshaped(at: Sequence[AffineExpr], shape: Sequence[int], source: Sequence[int]) -> list[AffineExpr]:
    """Where an element lies in a shape that is at coordinates of another one: by way of a row-major index, of as few
    axes at a time as go together."""
    found: list[AffineExpr] = []
    for to, of in _regrouped(shape, source):
        index = AffineExpr.constant(0)
        for axis in to:
            index = index * shape[axis] + at[axis]
        found += _delinearised(index, [source[axis] for axis in of])
    return found


def _regrouped(result: Sequence[int], source: Sequence[int]) -> list[tuple[range, range]]:
    """Neighbouring axes of two shapes of as many elements, in the smallest groups that have as many."""
    groups: list[tuple[range, range]] = []
    i = j = 0
    while j < len(source):
        first_i, first_j, a, b = i, j, 1, 1
        while a != b or i == first_i or j == first_j:
            if a <= b and i < len(result) and (a < b or i == first_i):
                a, i = a * result[i], i + 1
            elif j < len(source):
                b, j = b * source[j], j + 1
            elif i < len(result):
                a, i = a * result[i], i + 1
            else:
                break
        groups.append((range(first_i, i), range(first_j, j)))
    return groups


def _delinearised(index: AffineExpr, shape: Sequence[int]) -> list[AffineExpr]:
    """The coordinates at a row-major index. The first is not reduced: an index out of range stays out of range."""
    found: list[AffineExpr] = []
    for axis, extent in enumerate(shape):
        quotient = index // max(prod(shape[axis + 1 :]), 1)
        found.append(quotient if axis == 0 or extent == 0 else quotient % extent)
    return found


@irdl_op_definition
class SliceOp(AccessOp):
    """x[starts[0]:stops[0]:steps[0], ...] with 0 <= start <= stop <= extent and positive steps."""

    name = "nd.slice"
    starts = ints_prop()
    stops = ints_prop()
    steps = ints_prop()

    def __init__(
        self,
        x: Operand,
        starts: Sequence[int],
        stops: Sequence[int],
        steps: Sequence[int] | None = None,
        *,
        location: Location | None = None,
    ):
        steps = [1] * len(starts) if steps is None else steps
        properties = {"starts": starts, "stops": stops, "steps": steps}
        self.setup([x], [tensor(sliced_shape(starts, stops, steps), element_of(x))], properties, location)

    def check_shape(self, shape: tuple[int, ...], result: tuple[int, ...]) -> None:
        starts, stops, steps = ints(self.starts), ints(self.stops), ints(self.steps)
        for values, what in ((starts, "starts"), (stops, "stops"), (steps, "steps")):
            self.check_count(values, len(shape), what)
        for axis, (start, stop, step) in enumerate(zip(starts, stops, steps, strict=True)):
            if not 0 <= start <= stop <= shape[axis]:
                raise self.fail(f"expects 0 <= start <= stop <= {shape[axis]} on axis {axis}, found {start} and {stop}")
            if step < 1:
                raise self.fail(f"expects a positive step on axis {axis}, found {step}")
        self.check_result_shape(sliced_shape(starts, stops, steps))

    def coordinates(self, at: Sequence[AffineExpr]) -> Sequence[AffineExpr]:
        return [e * step + start for e, start, step in zip(at, ints(self.starts), ints(self.steps), strict=True)]


def sliced_shape(starts: Sequence[int], stops: Sequence[int], steps: Sequence[int]) -> tuple[int, ...]:
    """The extents of a slice with positive steps."""
    return tuple(
        max(0, -((start - stop) // max(step, 1))) for start, stop, step in zip(starts, stops, steps, strict=True)
    )


@irdl_op_definition
class PadOp(IndexMapOp, IterationInterface):
    """x with low[i] elements before it and high[i] after it on axis i, all of them the rank-0 `value`."""

    name = "nd.pad"
    x = operand_def(TensorType)
    value = operand_def(TensorType)
    result = result_def(TensorType)
    low = ints_prop()
    high = ints_prop()
    PATTERN: ClassVar[Pattern] = Pattern.MOVE

    def __init__(
        self, x: Operand, value: Operand, low: Sequence[int], high: Sequence[int], *, location: Location | None = None
    ):
        shape = [a + b + c for a, b, c in zip(low, shape_of(x), high, strict=True)]
        self.setup([x, value], [tensor(shape, element_of(x))], {"low": low, "high": high}, location)

    def check(self) -> None:
        shape, low, high = shape_of(self.x), ints(self.low), ints(self.high)
        self.check_same_element(self.x)
        if self.value.type != (wanted := tensor((), element_of(self.x))):
            raise self.fail(f"expects a value of type {wanted}, found {self.value.type}")
        for values, what in ((low, "low"), (high, "high")):
            self.check_count(values, len(shape), f"{what} widths")
            if any(width < 0 for width in values):
                raise self.fail(f"expects {what} widths of 0 or more, found {list(values)}")
        self.check_result_shape([a + b + c for a, b, c in zip(low, shape, high, strict=True)])

    def iteration(self) -> Iteration:
        shape = shape_of(self.x)
        at = [e - low for e, low in zip(dim_exprs(len(shape)), ints(self.low), strict=True)]
        inside = tuple(Bound(e, 0, extent) for e, extent in zip(at, shape, strict=True))
        x = replace(access(len(shape), at), inside=inside)
        return over_result(shape_of(self.result), [x, access(len(shape), [])])


@irdl_op_definition
class ConcatOp(IndexMapOp, IterationInterface):
    """numpy.concatenate along `axis`; one operand or more."""

    name = "nd.concat"
    inputs = var_operand_def(TensorType)
    result = result_def(TensorType)
    axis = int_prop()
    PATTERN: ClassVar[Pattern] = Pattern.MOVE

    def __init__(self, inputs: Sequence[Operand], axis: int, *, location: Location | None = None):
        types = [type_of(x) for x in inputs]
        axis = normalized(axis, rank_of(types[0]))
        shape = list(shape_of(types[0]))
        shape[axis] = sum(shape_of(type)[axis] for type in types)
        self.setup([inputs], [tensor(shape, types[0].element_type)], {"axis": axis}, location)

    def check(self) -> None:
        if not self.inputs:
            raise self.fail("expects one operand or more, found none")
        shapes, axis = [shape_of(x) for x in self.inputs], integer(self.axis)
        self.check_axis(axis, len(shapes[0]))
        for x in self.inputs:
            self.check_same_element(x)
        others = {(len(s), *s[:axis], *s[axis + 1 :]) for s in shapes}
        if len(others) > 1:
            found = " and ".join(str(x.type) for x in self.inputs)
            raise self.fail(f"expects operands that differ on axis {axis} only, found {found}")
        shape = list(shapes[0])
        shape[axis] = sum(s[axis] for s in shapes)
        self.check_result_shape(shape)

    def iteration(self) -> Iteration:
        axis, at, start = integer(self.axis), dim_exprs(rank_of(self.result)), 0
        inputs: list[Access] = []
        for x in self.inputs:
            stop = start + shape_of(x)[axis]
            each = access(len(at), [*at[:axis], at[axis] - start, *at[axis + 1 :]])
            inputs.append(replace(each, inside=(Bound(at[axis], start, stop),)))
            start = stop
        return over_result(shape_of(self.result), inputs)


@irdl_op_definition
class FlipOp(AccessOp):
    """numpy.flip: x backwards along `axes`."""

    name = "nd.flip"
    axes = ints_prop()

    def __init__(self, x: Operand, axes: Sequence[int], *, location: Location | None = None):
        self.setup([x], [type_of(x)], {"axes": normalized_axes(axes, rank_of(x))}, location)

    def check_shape(self, shape: tuple[int, ...], result: tuple[int, ...]) -> None:
        self.check_increasing(ints(self.axes), len(shape))
        self.check_result_shape(shape)

    def coordinates(self, at: Sequence[AffineExpr]) -> Sequence[AffineExpr]:
        shape, axes = shape_of(self.x), ints(self.axes)
        return [-e + (shape[axis] - 1) if axis in axes else e for axis, e in enumerate(at)]


@irdl_op_definition
class TileOp(MoveOp):
    """numpy.tile: x repeated reps[i] times along axis i, one after the other."""

    name = "nd.tile"
    reps = ints_prop()

    def __init__(self, x: Operand, reps: Sequence[int], *, location: Location | None = None):
        shape = [a * b for a, b in zip(shape_of(x), reps, strict=True)]
        self.setup([x], [tensor(shape, element_of(x))], {"reps": reps}, location)

    def check_shape(self, shape: tuple[int, ...], result: tuple[int, ...]) -> None:
        reps = ints(self.reps)
        self.check_count(reps, len(shape), "reps")
        if any(count < 0 for count in reps):
            raise self.fail(f"expects reps of 0 or more, found {list(reps)}")
        self.check_result_shape([a * b for a, b in zip(shape, reps, strict=True)])


class TriangleOp(NdOp, ABC):
    """x with one side of the k-th diagonal of its last two axes set to zero."""

    x = operand_def(TensorType)
    result = result_def(TensorType)
    k = int_prop()

    def __init__(self, x: Operand, k: int = 0, *, location: Location | None = None):
        self.setup([x], [type_of(x)], {"k": int(k)}, location)

    def check(self) -> None:
        if rank_of(self.x) < 2:
            raise self.fail(f"expects an operand of rank 2 or more, found {self.x.type}")
        self.check_result_type(type_of(self.x))


@irdl_op_definition
class TrilOp(TriangleOp):
    """Keeps element (i, j) where j <= i + k."""

    name = "nd.tril"


@irdl_op_definition
class TriuOp(TriangleOp):
    """Keeps element (i, j) where j >= i + k."""

    name = "nd.triu"


def kept_axes(shape: Sequence[int], result: Sequence[int]) -> dict[int, int] | None:
    """Where each axis of an extent other than 1 goes when a reshape only adds or drops axes of extent 1; None where
    it does more."""
    sources = [axis for axis, extent in enumerate(shape) if extent != 1]
    targets = [axis for axis, extent in enumerate(result) if extent != 1]
    if [shape[axis] for axis in sources] != [result[axis] for axis in targets]:
        return None
    return dict(zip(sources, targets, strict=True))
