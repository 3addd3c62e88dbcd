"""Convolutions of any rank."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any, ClassVar

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute
from xdsl.ir.affine import AffineExpr, AffineMap
from xdsl.irdl import irdl_op_definition, operand_def, result_def

from irc.dialects.nd.base import (
    NUMBER,
    Location,
    NdOp,
    Operand,
    bool_prop,
    element_of,
    int_prop,
    integer,
    ints,
    ints_prop,
    rank_of,
    shape_of,
    tensor,
)
from irc.ir.dtypes import Element
from irc.ir.iteration import Access, Bound, Iteration, IterationInterface, Kind, Pattern, access, dim_exprs, numbered
from irc.support.integers import ceil_div
from irc.support.windows import conv_shape, in_order, placed

MAX_TAPS = 80
"""Products of a sum up to which these are unrolled, as the places of a pool are: 3x3 taps of 8 channels in a group are
72."""


_NUMBERS = ("strides", "low", "high", "dilation", "input_dilation")
"""The properties that have a number for each spatial axis."""

_ORDERS = ("x_axes", "kernel_axes", "result_axes")
"""Those that say where axes are."""


@dataclass(frozen=True)
class _Axis:
    """Along an axis of space: the place in x, and where it is inside of x; the tap in the kernel as it lies, and where
    there is one; the place in the result."""

    at: AffineExpr
    inside: tuple[Bound, ...]
    tap: AffineExpr
    exists: tuple[Bound, ...]
    place: AffineExpr


def _most_taps(taps: int, phases: int, low: int) -> int:
    """How many of the taps along an axis a phase has at most, numbered as `iteration` does."""
    return taps if phases == 1 else (taps + phases - 2 - low % phases) // phases + 1


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

    `taps`, where given, are those of the last spatial axis that there are, from one to before another. What the window
    covers with the others is not multiplied, whatever it is. They fill rows that instructions read whole;
    `arrange-convolutions` makes them, and they have no gradient.
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
    taps = ints_prop([])

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
        taps: Sequence[int] = (),
        element: Attribute | Element | None = None,
        location: Location | None = None,
    ):
        ones, zeros = [1] * (rank_of(x) - 2), [0] * (rank_of(x) - 2)
        numbers = (strides or ones, low or zeros, high or zeros, dilation or ones, input_dilation or ones)
        shapes = in_order(shape_of(x), x_axes), in_order(shape_of(kernel), kernel_axes)
        shape = (*parts, *placed(conv_shape(*shapes, *numbers, batch_groups=batch_groups), result_axes))
        orders = dict(zip(_ORDERS, (x_axes, kernel_axes, result_axes), strict=True))
        properties = {
            **dict(zip(_NUMBERS, numbers, strict=True)),
            "groups": groups,
            **{name: () if list(axes) == sorted(axes) else axes for name, axes in orders.items()},
            "flipped": flipped,
            "batch_groups": batch_groups,
            "parts": parts,
            "taps": taps,
        }
        self.setup([x, kernel], [tensor(shape, element or element_of(x))], properties, location)

    def changed(self, **changes: Any) -> ConvOp:
        """A convolution with other operands, numbers or element type."""
        own: dict[str, Any] = {name: ints(getattr(self, name)) for name in (*_NUMBERS, *_ORDERS, "parts", "taps")}
        own |= {"x": self.x, "kernel": self.kernel, "groups": integer(self.groups), "flipped": self.is_flipped}
        own |= {"batch_groups": integer(self.batch_groups), "element": element_of(self.result)}
        return ConvOp(**(own | changes), location=self.location)

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

    @property
    def phases(self) -> tuple[int, ...]:
        """How many sets of taps the places along each spatial axis have, one after the other: as many as zeros and an
        element of x are, where windows move by one over neighbors, and all taps are summed together; else 1."""
        groups = max(integer(self.groups), integer(self.batch_groups))
        is_divided = groups > 1 or any(parts > 1 for parts in ints(self.parts)[1:])
        is_empty = 0 in (*shape_of(self.x), *shape_of(self.kernel), *shape_of(self.result))
        whole = self._phases
        return (1,) * len(whole) if is_empty or (is_divided and self.pattern is not Pattern.WINDOW) else whole

    @property
    def _phases(self) -> tuple[int, ...]:
        """The phases of a convolution whose taps are all summed together."""
        numbers = zip(ints(self.input_dilation), ints(self.strides), ints(self.dilation), strict=True)
        return tuple(1 if (s, d) != (1, 1) else e for e, s, d in numbers)

    @property
    def pattern(self) -> Pattern:
        """That of a window where each element of the result is a sum of a few products, of the channels of one of
        several groups, and no zeros between elements of x are among these."""
        is_grouped = integer(self.groups) > 1
        is_whole = not ints(self.parts) and 0 not in (*shape_of(self.kernel), *shape_of(self.result))
        is_dense = self._phases == ints(self.input_dilation)
        is_small = prod(self.kernel_shape[1:]) <= MAX_TAPS
        return Pattern.WINDOW if is_grouped and is_whole and is_dense and is_small else self.PATTERN

    def iteration(self) -> Iteration:
        return self._windows() if self.pattern is Pattern.WINDOW else self._product()

    def _windows(self) -> Iteration:
        """d is the place in the result, its image and channel first, r the place in the window. Along an axis with
        phases d is the place divided by how many there are, and the phases are the last d."""
        shape, kernel, phases = self.result_shape, self.kernel_shape, self.phases
        counts = self._tap_counts
        outer = [ceil_div(n, e) for n, e in zip(shape[2:], phases, strict=True)]
        parallel = [*shape[:2], *outer, *(e for e in phases if e > 1)]
        dims = (*numbered("d", parallel), *numbered("r", [kernel[1], *counts], Kind.WINDOW, "sum"))
        image, output, *exprs = dim_exprs(len(dims))
        of_phase, (depth, *taps) = iter(exprs[len(outer) : len(parallel) - 2]), exprs[len(parallel) - 2 :]
        each = kernel[0] // integer(self.groups)
        channel = (output if each == 1 else output // each) * kernel[1] + depth
        axes = self._axes(exprs[: len(outer)], taps, of_phase)
        inputs = self._inputs(len(dims), (image, channel), (output, depth), axes)
        result = placed((image, output, *(axis.place for axis in axes)), ints(self.result_axes))
        return Iteration(dims, inputs, AffineMap(len(dims), 0, result))

    def _product(self) -> Iteration:
        """m0 is the image, n0 one of the output channels, k0 one of the input channels; the other m are the place in
        the result, the other k that in the window. The first b are the parts; several groups are the last b, n0 and k0,
        or n0 and m0, are of one then.

        Along an axis with phases, e of them, b is the place modulo e, m the place divided by it, and k goes over the
        taps that meet elements of x there. With c = low mod e, that are the taps e k + c - b which there are: at the
        place e m + b they read x at m + k - low floordiv e, and no zero is multiplied.
        """
        kernel, parts, phases = self.kernel_shape, ints(self.parts), self.phases
        of_images = integer(self.batch_groups)
        groups = max(integer(self.groups), of_images)
        summed = [n // p for n, p in zip((*kernel[1:2], *self._tap_counts), (*parts, *[1] * len(kernel)), strict=False)]
        places = [ceil_div(n, e) for n, e in zip(self.result_shape[2:], phases, strict=True)]
        m, window = (self.result_shape[0], *places), numbered("k", summed, Kind.WINDOW, "sum")
        channels = kernel[0] // groups
        outer = [*parts, groups] if groups > 1 else parts
        batches = numbered("b", [*outer, *(e for e in phases if e > 1)])
        dims = (*batches, *numbered("m", m), *numbered("n", [channels]), *window)
        dims = tuple(replace(dim, kind=Kind.REDUCE) if dim.name == "k0" else dim for dim in dims)
        exprs = dim_exprs(len(dims))
        part, of_phase, (image, *place) = exprs[: len(parts)], exprs[len(outer) : len(batches)], exprs[len(batches) :]
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
        axes = self._axes(place, taps, iter(of_phase))
        inputs = self._inputs(len(dims), (source, input), (output, depth), axes)
        result = (*part, *placed((image, output, *(axis.place for axis in axes)), ints(self.result_axes)))
        return Iteration(dims, inputs, AffineMap(len(dims), 0, result))

    @property
    def _tap_counts(self) -> list[int]:
        """How many taps along each spatial axis a place of the result has at most."""
        numbers = zip(self.kernel_shape[2:], self.phases, ints(self.low), strict=True)
        return [_most_taps(*each) for each in numbers]

    def _axes(
        self, places: Sequence[AffineExpr], taps: Sequence[AffineExpr], of_phase: Iterator[AffineExpr]
    ) -> list[_Axis]:
        """The spatial axes, of which those with phases take the next of `of_phase` each."""
        each = zip(places, taps, self.phases, strict=True)
        return [self._along(i, p, tap, next(of_phase) if e > 1 else None) for i, (p, tap, e) in enumerate(each)]

    def _inputs(
        self, dims: int, of_x: Sequence[AffineExpr], of_kernel: Sequence[AffineExpr], axes: Sequence[_Axis]
    ) -> tuple[Access, Access]:
        """How x, at an image and a channel, and the kernel, at an output and an input channel, are read."""
        x = access(dims, placed((*of_x, *(axis.at for axis in axes)), ints(self.x_axes)))
        x = replace(x, inside=tuple(bound for axis in axes for bound in axis.inside), outside=0)
        weights = access(dims, placed((*of_kernel, *(axis.tap for axis in axes)), ints(self.kernel_axes)))
        if exists := tuple(bound for axis in axes for bound in axis.exists):
            weights = replace(weights, inside=exists, outside=0)
        return x, weights

    def _along(self, axis: int, place: AffineExpr, tap: AffineExpr, phase: AffineExpr | None) -> _Axis:
        numbers = (self.strides, self.dilation, self.low, self.input_dilation)
        stride, dilation, low, apart = (ints(p)[axis] for p in numbers)
        extent, taps = self.x_shape[axis + 2], self.kernel_shape[axis + 2]
        exists = ()
        if phase is None:
            padded = place * stride + tap * dilation - low
            at, inside = padded, (Bound(padded, 0, (extent - 1) * apart + 1),)
            if apart > 1:
                at, inside = padded // apart, (*inside, Bound(padded % apart, 0, 1))
        else:
            at = place + tap - low // apart
            inside = (Bound(at, 0, extent),)
            tap, place = tap * apart + phase * -1 + low % apart, place * apart + phase
            exists = (Bound(tap, 0, taps),)
        if (there := ints(self.taps)) and axis == len(self.kernel_shape) - 3:
            inside = (*inside, Bound(tap, *there))
        return _Axis(at, inside, tap * -1 + (taps - 1) if self.is_flipped else tap, exists, place)

    def check(self) -> None:
        rank, groups = rank_of(self.x), integer(self.groups)
        if rank < 2 or rank != rank_of(self.kernel):
            raise self.fail(f"expects x and kernel of one rank, 2 or more, found {self.x.type} and {self.kernel.type}")
        if element_of(self.x) is not element_of(self.kernel):
            raise self.fail(f"expects operands with one element type, found {self.x.type} and {self.kernel.type}")
        self.check_element(self.x, NUMBER)
        self.check_element(self.result, NUMBER, " result")
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
        self.check_result_shape((*parts, *shape))

    def _check_windows(self, rank: int) -> None:
        if taps := ints(self.taps):
            is_plain = rank > 0 and not self.is_flipped and set(ints(self.input_dilation)) == {1}
            if not is_plain or len(taps) != 2 or not 0 <= taps[0] <= taps[1] <= self.kernel_shape[-1]:
                found = f"{list(taps)} of {list(self.kernel_shape[2:])}"
                raise self.fail(
                    f"expects taps from one to another of a kernel as it lies, without input dilation, found {found}"
                )
        for name, least in (("strides", 1), ("low", 0), ("high", 0), ("dilation", 1), ("input_dilation", 1)):
            values = ints(getattr(self, name))
            self.check_count(values, rank, f"{name}, one for each spatial axis")
            if any(value < least for value in values):
                raise self.fail(f"expects {name} of {least} or more, found {list(values)}")

    def _check_orders(self, rank: int) -> None:
        for name in ("x_axes", "kernel_axes", "result_axes"):
            axes = ints(getattr(self, name))
            if axes and sorted(axes) != list(range(rank)):
                raise self.fail(f"expects {name} to be the axes 0 to {rank - 1} in some order, found {list(axes)}")
