"""Matrix products and convolutions of any rank."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

from xdsl.dialects.builtin import StringAttr, TensorType
from xdsl.ir import Attribute
from xdsl.ir.affine import AffineExpr, AffineMap
from xdsl.irdl import irdl_op_definition, operand_def, prop_def, result_def

from irc.dialects.nd.base import (
    Location,
    NdOp,
    Operand,
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
    """An n-dimensional convolution (cross-correlation): x is N, C, spatial...; kernel is O, C / groups, spatial...;
    the result N, O, spatial...

    x is padded with `low` and `high` zeros on each spatial axis after `input_dilation - 1` zeros are put between its
    elements (a transposed convolution's stride); the kernel's elements are `dilation` apart; the window moves by
    `strides`. Accumulates as `matmul` does.
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
        element: Attribute | Element | None = None,
        location: Location | None = None,
    ):
        ones, zeros = [1] * (rank_of(x) - 2), [0] * (rank_of(x) - 2)
        numbers = (strides or ones, low or zeros, high or zeros, dilation or ones, input_dilation or ones)
        shape = conv_shape(shape_of(x), shape_of(kernel), *numbers)
        names = ("strides", "low", "high", "dilation", "input_dilation")
        properties = {**dict(zip(names, numbers, strict=True)), "groups": groups}
        self.setup([x, kernel], [tensor(shape, element or element_of(x))], properties, location)

    def iteration(self) -> Iteration:
        """b0 is the group, m0 the image, n0 one of the group's output channels, k0 one of its input channels; the other
        m are the place in the result, the other k that in the window."""
        shape, kernel, groups = shape_of(self.x), shape_of(self.kernel), integer(self.groups)
        m, window = (shape[0], *shape_of(self.result)[2:]), numbered("k", kernel[1:], Kind.WINDOW, "sum")
        channels = kernel[0] // groups
        dims = (*numbered("b", [groups]), *numbered("m", m), *numbered("n", [channels]), *window)
        dims = tuple(replace(dim, kind=Kind.REDUCE) if dim.name == "k0" else dim for dim in dims)
        group, image, *place = dim_exprs(len(dims))
        place, (channel, depth, *taps) = place[: len(m) - 1], place[len(m) - 1 :]
        at: list[AffineExpr] = []
        inside: list[Bound] = []
        windows = (ints(p) for p in (self.strides, self.dilation, self.low, self.input_dilation))
        for p, tap, extent, stride, dilation, low, apart in zip(place, taps, shape[2:], *windows, strict=True):
            padded = p * stride + tap * dilation - low
            at.append(padded // apart)
            inside += [Bound(padded, 0, (extent - 1) * apart + 1), Bound(padded % apart, 0, 1)]
        x = replace(access(len(dims), [image, group * kernel[1] + depth, *at]), inside=tuple(inside), outside=0)
        output = group * channels + channel
        result = AffineMap(len(dims), 0, (image, output, *place))
        return Iteration(dims, (x, access(len(dims), [output, depth, *taps])), result)

    def check(self) -> None:
        x, kernel, groups = shape_of(self.x), shape_of(self.kernel), integer(self.groups)
        if len(x) < 2 or len(x) != len(kernel):
            raise self.fail(f"expects x and kernel of one rank, 2 or more, found {self.x.type} and {self.kernel.type}")
        if element_of(self.x) is not element_of(self.kernel):
            raise self.fail(f"expects operands with one element type, found {self.x.type} and {self.kernel.type}")
        check_element(self, self.x, is_number, "float or integer")
        check_element(self, self.result, is_number, "float or integer result")
        self._check_windows(len(x) - 2)
        if groups < 1 or x[1] % groups or kernel[0] % groups:
            raise self.fail(f"expects groups that divide {x[1]} input and {kernel[0]} output channels, found {groups}")
        if x[1] // groups != kernel[1]:
            raise self.fail(f"expects a kernel with {x[1] // groups} input channels a group, found {kernel[1]}")
        numbers = (ints(p) for p in (self.strides, self.low, self.high, self.dilation, self.input_dilation))
        check_result_shape(self, conv_shape(x, kernel, *numbers))

    def _check_windows(self, rank: int) -> None:
        for name, least in (("strides", 1), ("low", 0), ("high", 0), ("dilation", 1), ("input_dilation", 1)):
            values = ints(getattr(self, name))
            check_count(self, values, rank, f"{name}, one for each spatial axis")
            if any(value < least for value in values):
                raise self.fail(f"expects {name} of {least} or more, found {list(values)}")


def conv_shape(
    x: Sequence[int],
    kernel: Sequence[int],
    strides: Sequence[int],
    low: Sequence[int],
    high: Sequence[int],
    dilation: Sequence[int],
    input_dilation: Sequence[int],
) -> tuple[int, ...]:
    """The result shape of a convolution."""
    spatial: list[int] = []
    for i in range(len(x) - 2):
        extent = max(0, (x[i + 2] - 1) * input_dilation[i] + 1) if x[i + 2] else 0
        window = (kernel[i + 2] - 1) * dilation[i] + 1
        spatial.append(max(0, (extent + low[i] + high[i] - window) // strides[i] + 1))
    return (x[0], kernel[0], *spatial)
