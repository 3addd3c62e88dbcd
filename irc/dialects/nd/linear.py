"""Matrix products and convolutions of any rank."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar, TypeVar

from xdsl.dialects.builtin import StringAttr, TensorType
from xdsl.ir import Attribute
from xdsl.ir.affine import AffineExpr, AffineMap
from xdsl.irdl import irdl_op_definition, operand_def, prop_def, result_def

from irc.dialects.nd.base import (
    Location,
    NdOp,
    Operand,
    bool_prop,
    check_axes,
    check_count,
    check_element,
    check_result_shape,
    element_of,
    int_prop,
    integer,
    ints,
    ints_prop,
    is_number,
    normalized,
    rank_of,
    shape_of,
    tensor,
)
from irc.ir.dtypes import Element
from irc.ir.iteration import Bound, Iteration, IterationInterface, Kind, Pattern, access, dim_exprs, numbered

PRECISIONS = ("default", "f32", "tf32", "bf16")


@irdl_op_definition
class MatmulOp(NdOp, IterationInterface):
    """Sums products over pairs of contracted axes, for each index of the batch axes, which are pairs too.

    The result's axes are the batch axes (in the order of `lhs_batch`), then lhs's free axes, then rhs's, each in their
    order. Operands have one element type, or both are f8. Products of f16, bf16 and f8 are exact and accumulate in f32,
    or in f64 for a result of f64; the sum is rounded to the result's element type, so that bf16 x bf16 -> f32 gives it
    unrounded. Integers are exact modulo the width of an integer result; for a float result i8 and ui8 accumulate in
    i32, wider ones in their own type. `precision` says how f32 operands are multiplied: `default` and `f32` accurately,
    `tf32` and `bf16` after rounding them.
    """

    name = "nd.matmul"
    PATTERN: ClassVar[Pattern] = Pattern.PRODUCT
    lhs = operand_def(TensorType)
    rhs = operand_def(TensorType)
    result = result_def(TensorType)
    lhs_batch = ints_prop([])
    rhs_batch = ints_prop([])
    lhs_contract = ints_prop()
    rhs_contract = ints_prop()
    precision = prop_def(StringAttr, default_value=StringAttr("default"))

    def __init__(
        self,
        lhs: Operand,
        rhs: Operand,
        *,
        lhs_batch: Sequence[int] = (),
        rhs_batch: Sequence[int] = (),
        lhs_contract: Sequence[int],
        rhs_contract: Sequence[int],
        element: Attribute | Element | None = None,
        precision: str = "default",
        location: Location | None = None,
    ):
        a, b = rank_of(lhs), rank_of(rhs)
        lhs_batch, rhs_batch = [normalized(i, a) for i in lhs_batch], [normalized(i, b) for i in rhs_batch]
        lhs_contract, rhs_contract = [normalized(i, a) for i in lhs_contract], [normalized(i, b) for i in rhs_contract]
        shape = product_shape(shape_of(lhs), shape_of(rhs), lhs_batch, rhs_batch, lhs_contract, rhs_contract)
        properties = {
            "lhs_batch": lhs_batch,
            "rhs_batch": rhs_batch,
            "lhs_contract": lhs_contract,
            "rhs_contract": rhs_contract,
            "precision": precision,
        }
        self.setup([lhs, rhs], [tensor(shape, element or element_of(lhs))], properties, location)

    @property
    def lhs_free(self) -> tuple[int, ...]:
        """The axes of lhs that are neither batch nor contracted."""
        return _free(rank_of(self.lhs), ints(self.lhs_batch), ints(self.lhs_contract))

    @property
    def rhs_free(self) -> tuple[int, ...]:
        """The axes of rhs that are neither batch nor contracted."""
        return _free(rank_of(self.rhs), ints(self.rhs_batch), ints(self.rhs_contract))

    def iteration(self) -> Iteration:
        lhs, rhs, contract = shape_of(self.lhs), shape_of(self.rhs), ints(self.lhs_contract)
        dims = (
            *numbered("b", [lhs[axis] for axis in ints(self.lhs_batch)]),
            *numbered("m", [lhs[axis] for axis in self.lhs_free]),
            *numbered("n", [rhs[axis] for axis in self.rhs_free]),
            *numbered("k", [lhs[axis] for axis in contract], Kind.REDUCE, "sum"),
        )
        places = list(zip(dims, dim_exprs(len(dims)), strict=True))
        b, m, n, k = ([place for dim, place in places if dim.role == role] for role in "bmnk")
        left = dict(zip((*ints(self.lhs_batch), *self.lhs_free, *contract), (*b, *m, *k), strict=True))
        right_axes = (*ints(self.rhs_batch), *self.rhs_free, *ints(self.rhs_contract))
        right = dict(zip(right_axes, (*b, *n, *k), strict=True))
        inputs = tuple(access(len(dims), [side[axis] for axis in range(len(side))]) for side in (left, right))
        return Iteration(dims, inputs, AffineMap(len(dims), 0, (*b, *m, *n)))

    def check(self) -> None:
        elements = [element_of(value) for value in (self.lhs, self.rhs)]
        if elements[0] is not elements[1] and not all(e.is_float and e.size == 1 for e in elements):
            raise self.fail(f"expects operands with one element type, found {self.lhs.type} and {self.rhs.type}")
        check_element(self, self.lhs, is_number, "float or integer")
        check_element(self, self.result, is_number, "float or integer result")
        if self.precision.data not in PRECISIONS:
            raise self.fail(f'expects a precision of {", ".join(PRECISIONS)}, found "{self.precision.data}"')
        check_axes(self, (*ints(self.lhs_batch), *ints(self.lhs_contract)), rank_of(self.lhs), "lhs axes")
        check_axes(self, (*ints(self.rhs_batch), *ints(self.rhs_contract)), rank_of(self.rhs), "rhs axes")
        self._check_pairs(ints(self.lhs_batch), ints(self.rhs_batch), "batch")
        self._check_pairs(ints(self.lhs_contract), ints(self.rhs_contract), "contracted")
        numbers = (ints(p) for p in (self.lhs_batch, self.rhs_batch, self.lhs_contract, self.rhs_contract))
        check_result_shape(self, product_shape(shape_of(self.lhs), shape_of(self.rhs), *numbers))

    def _check_pairs(self, lhs: Sequence[int], rhs: Sequence[int], what: str) -> None:
        if len(lhs) != len(rhs):
            raise self.fail(f"expects as many {what} axes of lhs as of rhs, found {list(lhs)} and {list(rhs)}")
        a, b = shape_of(self.lhs), shape_of(self.rhs)
        for i, j in zip(lhs, rhs, strict=True):
            if a[i] != b[j]:
                raise self.fail(
                    f"expects {what} axes of one extent, found {a[i]} (axis {i} of lhs) and {b[j]} (axis {j} of rhs)"
                )


def product_shape(
    lhs: Sequence[int],
    rhs: Sequence[int],
    lhs_batch: Sequence[int],
    rhs_batch: Sequence[int],
    lhs_contract: Sequence[int],
    rhs_contract: Sequence[int],
) -> tuple[int, ...]:
    """The result shape of a matmul: batch extents, free extents of lhs, free extents of rhs."""
    return (
        *(lhs[i] for i in lhs_batch),
        *(lhs[i] for i in _free(len(lhs), lhs_batch, lhs_contract)),
        *(rhs[i] for i in _free(len(rhs), rhs_batch, rhs_contract)),
    )


def _free(rank: int, batch: Sequence[int], contract: Sequence[int]) -> tuple[int, ...]:
    return tuple(i for i in range(rank) if i not in batch and i not in contract)


@irdl_op_definition
class ConvOp(NdOp, IterationInterface):
    """An n-dimensional convolution (cross-correlation).

    x has the axes N, C, spatial..., the kernel O, C / groups, spatial..., the result N, O, spatial..., in this order
    unless `x_axes`, `kernel_axes` and `result_axes` say where each of them is: channels last is [0, 3, 1, 2].

    x is padded with `low` and `high` zeros on each spatial axis after `input_dilation - 1` zeros are put between its
    elements (a transposed convolution's stride); the kernel's elements are `dilation` apart; the window moves by
    `strides`. A `flipped` kernel has its elements in the opposite order along each spatial axis. Accumulates as
    `matmul` does.

    With `batch_groups`, images and output channels are in so many groups, and the channels are those of each: output
    channel o is of the images in group o // (O / batch_groups), and the result has as many images as a group. So are
    the gradients of the kernels of grouped convolutions.

    `parts` cuts what is summed, the channels of a group and the kernel's spatial axes in order, into so many parts
    each. The result has an axis in front for each number: the sums of each part by itself. Parts are what
    `split-reductions` makes; they have no gradient.
    """

    name = "nd.conv"
    PATTERN: ClassVar[Pattern] = Pattern.CONVOLUTION
    x = operand_def(TensorType)
    kernel = operand_def(TensorType)
    result = result_def(TensorType)
    strides = ints_prop()
    low = ints_prop()
    high = ints_prop()
    dilation = ints_prop()
    input_dilation = ints_prop()
    groups = int_prop()
    x_axes = ints_prop([])
    kernel_axes = ints_prop([])
    result_axes = ints_prop([])
    flipped = bool_prop(False)
    batch_groups = int_prop(1)
    parts = ints_prop([])

    def __init__(
        self,
        x: Operand,
        kernel: Operand,
        *,
        strides: Sequence[int] | None = None,
        low: Sequence[int] | None = None,
        high: Sequence[int] | None = None,
        dilation: Sequence[int] | None = None,
        input_dilation: Sequence[int] | None = None,
        groups: int = 1,
        x_axes: Sequence[int] = (),
        kernel_axes: Sequence[int] = (),
        result_axes: Sequence[int] = (),
        flipped: bool = False,
        batch_groups: int = 1,
        parts: Sequence[int] = (),
        element: Attribute | Element | None = None,
        location: Location | None = None,
    ):
        ones, zeros = [1] * (rank_of(x) - 2), [0] * (rank_of(x) - 2)
        numbers = (strides or ones, low or zeros, high or zeros, dilation or ones, input_dilation or ones)
        shapes = in_order(shape_of(x), x_axes), in_order(shape_of(kernel), kernel_axes)
        shape = (*parts, *placed(conv_shape(*shapes, *numbers, batch_groups=batch_groups), result_axes))
        names = ("strides", "low", "high", "dilation", "input_dilation")
        orders = {"x_axes": x_axes, "kernel_axes": kernel_axes, "result_axes": result_axes}
        properties = {
            **dict(zip(names, numbers, strict=True)),
            "groups": groups,
            **{name: () if list(axes) == sorted(axes) else axes for name, axes in orders.items()},
            "flipped": flipped,
            "batch_groups": batch_groups,
            "parts": parts,
        }
        self.setup([x, kernel], [tensor(shape, element or element_of(x))], properties, location)

    @property
    def is_flipped(self) -> bool:
        return bool(self.flipped.value.data)

    @property
    def x_shape(self) -> tuple[int, ...]:
        """The extents of x: N, C, spatial."""
        return in_order(shape_of(self.x), ints(self.x_axes))

    @property
    def kernel_shape(self) -> tuple[int, ...]:
        """The extents of the kernel: O, C / groups, spatial."""
        return in_order(shape_of(self.kernel), ints(self.kernel_axes))

    @property
    def result_shape(self) -> tuple[int, ...]:
        """The extents of the result, of one part: N, O, spatial."""
        return in_order(shape_of(self.result)[len(ints(self.parts)) :], ints(self.result_axes))

    def iteration(self) -> Iteration:
        """m0 is the image, n0 one of the output channels, k0 one of the input channels; the other m are the place in
        the result, the other k that in the window. The first b are the parts; several groups are the last b, n0 and k0,
        or n0 and m0, are of one then."""
        shape, kernel, parts = self.x_shape, self.kernel_shape, ints(self.parts)
        of_images = integer(self.batch_groups)
        groups = max(integer(self.groups), of_images)
        summed = [n // p for n, p in zip(kernel[1:], (*parts, *[1] * len(kernel)), strict=False)]
        m, window = (self.result_shape[0], *self.result_shape[2:]), numbered("k", summed, Kind.WINDOW, "sum")
        channels = kernel[0] // groups
        batches = numbered("b", [*parts, groups] if groups > 1 else parts)
        dims = (*batches, *numbered("m", m), *numbered("n", [channels]), *window)
        dims = tuple(replace(dim, kind=Kind.REDUCE) if dim.name == "k0" else dim for dim in dims)
        exprs = dim_exprs(len(dims))
        part, (image, *place) = exprs[: len(parts)], exprs[len(batches) :]
        place, (output, *inner) = place[: len(m) - 1], place[len(m) - 1 :]
        starts = [each * extent for each, extent in zip(part, summed, strict=False)]
        inner[: len(parts)] = [start + at for start, at in zip(starts, inner, strict=False)]
        depth, *taps = inner
        source, input = image, depth
        if groups > 1:
            group = exprs[len(parts)]
            output = group * channels + output
            if of_images > 1:
                source = group * m[0] + image
            else:
                input = group * kernel[1] + depth
        at: list[AffineExpr] = []
        inside: list[Bound] = []
        windows = (ints(p) for p in (self.strides, self.dilation, self.low, self.input_dilation))
        for p, tap, extent, stride, dilation, low, apart in zip(place, taps, shape[2:], *windows, strict=True):
            padded = p * stride + tap * dilation - low
            at.append(padded // apart if apart > 1 else padded)
            inside.append(Bound(padded, 0, (extent - 1) * apart + 1))
            inside += [Bound(padded % apart, 0, 1)] if apart > 1 else []
        x = access(len(dims), placed((source, input, *at), ints(self.x_axes)))
        x = replace(x, inside=tuple(inside), outside=0)
        if self.is_flipped:
            taps = [tap * -1 + (extent - 1) for extent, tap in zip(kernel[2:], taps, strict=True)]
        weights = access(len(dims), placed((output, depth, *taps), ints(self.kernel_axes)))
        result = (*part, *placed((image, output, *place), ints(self.result_axes)))
        return Iteration(dims, (x, weights), AffineMap(len(dims), 0, result))

    def check(self) -> None:
        rank, groups = rank_of(self.x), integer(self.groups)
        if rank < 2 or rank != rank_of(self.kernel):
            raise self.fail(f"expects x and kernel of one rank, 2 or more, found {self.x.type} and {self.kernel.type}")
        if element_of(self.x) is not element_of(self.kernel):
            raise self.fail(f"expects operands with one element type, found {self.x.type} and {self.kernel.type}")
        check_element(self, self.x, is_number, "float or integer")
        check_element(self, self.result, is_number, "float or integer result")
        self._check_windows(rank - 2)
        self._check_orders(rank)
        x, kernel = self.x_shape, self.kernel_shape
        if groups < 1 or x[1] % groups or kernel[0] % groups:
            raise self.fail(f"expects groups that divide {x[1]} input and {kernel[0]} output channels, found {groups}")
        of_images = integer(self.batch_groups)
        if of_images < 1 or x[0] % of_images or kernel[0] % of_images or (groups > 1 < of_images):
            found = f"{of_images}, and {groups} groups of channels"
            raise self.fail(
                f"expects batch_groups that divide {x[0]} images and {kernel[0]} output channels, found {found}"
            )
        if x[1] // groups != kernel[1]:
            raise self.fail(f"expects a kernel with {x[1] // groups} input channels a group, found {kernel[1]}")
        parts = ints(self.parts)
        if len(parts) >= rank or any(p < 1 or n % p for p, n in zip(parts, kernel[1:], strict=False)):
            raise self.fail(f"expects parts that divide {list(kernel[1:])}, what is summed, found {list(parts)}")
        numbers = (ints(p) for p in (self.strides, self.low, self.high, self.dilation, self.input_dilation))
        shape = placed(conv_shape(x, kernel, *numbers, batch_groups=of_images), ints(self.result_axes))
        check_result_shape(self, (*parts, *shape))

    def _check_windows(self, rank: int) -> None:
        for name, least in (("strides", 1), ("low", 0), ("high", 0), ("dilation", 1), ("input_dilation", 1)):
            values = ints(getattr(self, name))
            check_count(self, values, rank, f"{name}, one for each spatial axis")
            if any(value < least for value in values):
                raise self.fail(f"expects {name} of {least} or more, found {list(values)}")

    def _check_orders(self, rank: int) -> None:
        for name in ("x_axes", "kernel_axes", "result_axes"):
            axes = ints(getattr(self, name))
            if axes and sorted(axes) != list(range(rank)):
                raise self.fail(f"expects {name} to be the axes 0 to {rank - 1} in some order, found {list(axes)}")


T = TypeVar("T")


def in_order(values: Sequence[T], axes: Sequence[int]) -> tuple[T, ...]:
    """What an array has along each of its axes, in the order that `axes` says; as it is where that is empty."""
    return tuple(values[axis] for axis in axes) if axes else tuple(values)


def placed(values: Sequence[T], axes: Sequence[int]) -> tuple[T, ...]:
    """What is in the order that `axes` says, along each axis of the array."""
    return tuple(values[axes.index(axis)] for axis in range(len(axes))) if axes else tuple(values)


def conv_shape(
    x: Sequence[int],
    kernel: Sequence[int],
    strides: Sequence[int],
    low: Sequence[int],
    high: Sequence[int],
    dilation: Sequence[int],
    input_dilation: Sequence[int],
    batch_groups: int = 1,
) -> tuple[int, ...]:
    """The result shape of a convolution."""
    spatial: list[int] = []
    for i in range(len(x) - 2):
        extent = max(0, (x[i + 2] - 1) * input_dilation[i] + 1) if x[i + 2] else 0
        window = (kernel[i + 2] - 1) * dilation[i] + 1
        spatial.append(max(0, (extent + low[i] + high[i] - window) // strides[i] + 1))
    return (x[0] // batch_groups, kernel[0], *spatial)
