"""What matrix products and convolutions mean: through BLAS where it is exact or the accumulator is a float."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from math import prod
from typing import Any, cast

import ml_dtypes
import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from xdsl.ir import SSAValue

from irc.dialects import nd
from irc.dialects.nd.base import integer, ints, shape_of
from irc.interpreters.nd.base import Array, Precision, convert, is_floating, meaning, rounded, wide
from irc.ir.dtypes import Element, element_of
from irc.ir.rounding import cast_array
from irc.support.windows import in_order, placed

EXACT_TERMS = 2**22
"""Products of 8 and 16-bit integers, up to 2^31, that float64 adds exactly."""


@meaning(nd.MatmulOp)
def _matmul(op: nd.MatmulOp, args: Sequence[Array], precision: Precision) -> Array:
    lhs, rhs = (operand(x, value, op.precision.data) for x, value in zip(args, op.operands, strict=True))
    return contract(
        lhs,
        rhs,
        (ints(op.lhs_batch), op.lhs_free, ints(op.lhs_contract)),
        (ints(op.rhs_batch), op.rhs_free, ints(op.rhs_contract)),
        element_of(op.lhs.type),
        element_of(op.result.type),
    )


@meaning(nd.GroupedMatmulOp)
def _grouped_matmul(op: nd.GroupedMatmulOp, args: Sequence[Array], precision: Precision) -> Array:
    lhs, rhs = (operand(x, value, op.precision.data) for x, value in zip(args[:2], op.operands[:2], strict=True))
    lhs = np.moveaxis(lhs, integer(op.lhs_contract), 1)
    kinds = element_of(op.lhs.type), element_of(op.result.type)
    groups = segments_of(args[2], lhs.shape[int(op.contracts_rows)])
    if op.contracts_rows:
        rhs = np.moveaxis(rhs, integer(op.rhs_contract), 0)
        return np.stack([multiply(lhs[None, :, rows], rhs[None, rows], *kinds)[0] for rows in groups])
    rhs = rhs.transpose(integer(op.rhs_group), integer(op.rhs_contract), op.rhs_free)
    found = [multiply(lhs[None, rows], rhs[g : g + 1], *kinds)[0] for g, rows in enumerate(groups)]
    result = np.zeros(shape_of(op.result), found[0].dtype)
    for rows, part in zip(groups, found, strict=True):
        result[rows] = part
    return result


def segments_of(ends: Array, extent: int) -> list[slice]:
    """The segments of a dimension that end at these places, inside of it."""
    stops = np.clip(ends.astype(np.int64), 0, extent).tolist()
    return [slice(start, max(start, stop)) for start, stop in zip([0, *stops[:-1]], stops, strict=True)]


def operand(x: Array, value: SSAValue, precision: str = "default") -> Array:
    """An operand of a product: rounded to its declared type, and as `precision` says."""
    x = rounded(x, value.type)
    if precision == "tf32":
        return _to_tf32(x)
    if precision == "bf16":
        return convert(convert(x, np.dtype(ml_dtypes.bfloat16)), np.dtype(np.float32))
    return x


def _to_tf32(x: Array) -> Array:
    """Rounded to 10 bits after the point, ties away from zero, as PTX's `cvt.rna.tf32.f32`."""
    bits = np.asarray(convert(x, np.dtype(np.float32)), order="C").view(np.uint32)
    near = (bits + np.uint32(0x1000)) & np.uint32(0xFFFFE000)
    return np.where((bits & 0x7F800000) == 0x7F800000, bits, near).view(np.float32)


Axes = tuple[Sequence[int], Sequence[int], Sequence[int]]
"""(batch, free, contracted) axes of an operand."""


def contract(lhs: Array, rhs: Array, lhs_axes: Axes, rhs_axes: Axes, element: Element, result: Element) -> Array:
    """The product of operands of type `element` over the contracted axes, for a result of type `result`."""
    batch, m, k = ([lhs.shape[i] for i in axes] for axes in lhs_axes)
    n = [rhs.shape[i] for i in rhs_axes[1]]
    a = lhs.transpose((*lhs_axes[0], *lhs_axes[1], *lhs_axes[2])).reshape(prod(batch), prod(m), prod(k))
    b = rhs.transpose((*rhs_axes[0], *rhs_axes[2], *rhs_axes[1])).reshape(prod(batch), prod(k), prod(n))
    return multiply(a, b, element, result).reshape((*batch, *m, *n))


def multiply(a: Array, b: Array, element: Element, result: Element) -> Array:
    """(B, M, K) times (B, K, N), accumulated as `nd.matmul` says."""
    if is_floating(a):
        a, b = wide(a), wide(b)
        if result.name == "f64":
            a, b = a.astype(np.float64, copy=False), b.astype(np.float64, copy=False)
        return np.matmul(a, b)
    exact = _integer_product(a, b)
    if result.is_float:
        return cast_array(exact, np.dtype(np.int32) if element.size == 1 else element.dtype)
    return cast_array(exact, result.dtype)


def _integer_product(a: Array, b: Array) -> Array:
    """The exact sums modulo 2^64, in int64."""
    if a.dtype.itemsize <= 2 and a.shape[-1] <= EXACT_TERMS:
        return np.matmul(a.astype(np.float64), b.astype(np.float64)).astype(np.int64)
    return np.matmul(a.astype(np.int64), b.astype(np.int64))


@meaning(nd.ConvOp)
def _conv(op: nd.ConvOp, args: Sequence[Array], precision: Precision) -> Array:
    """A product of the windows of each group with the kernel."""
    x, kernel = (operand(arg, value) for arg, value in zip(args, op.operands, strict=True))
    x, kernel = (
        a.transpose(in_order(range(a.ndim), ints(axes))) for a, axes in ((x, op.x_axes), (kernel, op.kernel_axes))
    )
    if op.is_flipped:
        kernel = np.flip(kernel, tuple(range(2, kernel.ndim)))
    windows = _windows(_spread(x, op), kernel.shape[2:], op)
    if ints(op.taps):
        there = (..., slice(*ints(op.taps)))
        windows, kernel = windows[there], kernel[there]
    rank, of_images = len(kernel.shape) - 2, integer(op.batch_groups)
    groups = max(integer(op.groups), of_images)
    if of_images > 1:
        windows = windows.reshape(groups, x.shape[0] // groups, *windows.shape[1:]).swapaxes(0, 1)
    else:
        windows = windows.reshape(x.shape[0], groups, kernel.shape[1], *windows.shape[2:])
    kernel = kernel.reshape(groups, kernel.shape[0] // groups, *kernel.shape[1:])
    outputs, taps = range(3, 3 + rank), range(3 + rank, 3 + 2 * rank)

    def summed(part: Sequence[slice]) -> Array:
        """Over a part of the channels and taps."""
        sums = contract(
            windows[(slice(None), slice(None), part[0], *[slice(None)] * rank, *part[1:])],
            kernel[(slice(None), slice(None), *part)],
            ((1,), (0, *outputs), (2, *taps)),
            ((0,), (1,), (2, *range(3, 3 + rank))),
            element_of(op.x.type),
            element_of(op.result.type),
        )
        result = np.moveaxis(sums, (0, -1), (1, 2)).reshape(op.result_shape)
        return result.transpose(placed(range(result.ndim), ints(op.result_axes)))

    parts = ints(op.parts)
    found = [summed(part) for part in _parts(kernel.shape[2:], (*parts, *[1] * (1 + rank - len(parts))))]
    return np.stack(found).reshape(shape_of(op.result))


def _parts(extents: Sequence[int], counts: Sequence[int]) -> Iterator[tuple[slice, ...]]:
    """The ranges of each part, the outermost axis first, of axes that are cut into so many parts each."""
    sizes = [extent // count for extent, count in zip(extents, counts, strict=True)]
    for place in product(*map(range, counts)):
        yield tuple(slice(at * size, (at + 1) * size) for at, size in zip(place, sizes, strict=True))


def _spread(x: Array, op: nd.ConvOp) -> Array:
    """x with zeros between its elements and around them."""
    extents = op.x_shape[2:]
    steps, low, high = ints(op.input_dilation), ints(op.low), ints(op.high)
    inner = [(extent - 1) * step + 1 if extent else 0 for extent, step in zip(extents, steps, strict=True)]
    shape = [a + b + c for a, b, c in zip(low, inner, high, strict=True)]
    result = np.zeros((*x.shape[:2], *shape), x.dtype)
    places = (slice(a, a + b, step) for a, b, step in zip(low, inner, steps, strict=True))
    result[(slice(None), slice(None), *places)] = x
    return result


def _windows(x: Array, taps: Sequence[int], op: nd.ConvOp) -> Array:
    """A view with axes N, C, one for each output coordinate, one for each kernel coordinate."""
    rank, outputs = len(taps), op.result_shape[2:]
    if not prod(outputs) or not prod(taps):
        return np.zeros((*x.shape[:2], *outputs, *taps), x.dtype)
    dilation = ints(op.dilation)
    windows = [(tap - 1) * step + 1 for tap, step in zip(taps, dilation, strict=True)]
    view = sliding_window_view(x, windows, axis=tuple(range(2, 2 + rank))) if rank else x
    steps = (*ints(op.strides), *dilation)
    return cast("np.ndarray[Any, Any]", view[(slice(None), slice(None), *(slice(None, None, s) for s in steps))])
