"""What reductions, scans and sorts mean. Floats accumulate in float64 and round once."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from xdsl.ir import Operation

from irc.dialects import nd
from irc.dialects.nd.base import integer, ints, shape_of
from irc.interpreters.nd.base import Array, Precision, convert, is_floating, meaning, wide
from irc.ir.dtypes import element_of
from irc.ir.neutral import neutral


@meaning(nd.SumOp, nd.ProdOp)
def _accumulate(op: nd.SumOp | nd.ProdOp, args: Sequence[Array], precision: Precision) -> Array:
    """Elements are converted to the result's element type, floats to float64, then accumulated; integers wrap."""
    function = np.sum if isinstance(op, nd.SumOp) else np.prod
    element = element_of(op.result.type)
    if element.is_float:
        return function(wide(args[0]), axis=ints(op.axes), dtype=np.float64)
    return function(convert(args[0], element.dtype), axis=ints(op.axes), dtype=element.dtype)


@meaning(nd.MeanOp)
def _mean(op: nd.MeanOp, args: Sequence[Array], precision: Precision) -> Array:
    axes = ints(op.axes)
    return np.asarray(np.sum(wide(args[0]), axis=axes, dtype=np.float64) / _count(args[0], axes))


@meaning(nd.VarOp)
def _var(op: nd.VarOp, args: Sequence[Array], precision: Precision) -> Array:
    """In two passes."""
    axes = ints(op.axes)
    count = _count(args[0], axes)
    x = args[0].astype(np.float64)
    x -= np.sum(x, axis=axes, keepdims=True) / count
    return np.sum(np.square(x, out=x), axis=axes) / np.float64(max(count - integer(op.correction), 0))


def _count(x: Array, axes: Sequence[int]) -> np.float64:
    """The number of elements that each result reduces."""
    return np.float64(np.prod([x.shape[axis] for axis in axes], dtype=np.float64))


_REDUCTIONS: dict[type[Operation], Callable[..., Array]] = {
    nd.MaxOp: np.max,
    nd.MinOp: np.min,
    nd.AnyOp: np.any,
    nd.AllOp: np.all,
}


@meaning(*_REDUCTIONS)
def _reduce(op: nd.ReduceOp, args: Sequence[Array], precision: Precision) -> Array:
    return _REDUCTIONS[type(op)](wide(args[0]), axis=ints(op.axes))


@meaning(nd.ReduceWindowOp)
def _reduce_window(op: nd.ReduceWindowOp, args: Sequence[Array], precision: Precision) -> Array:
    """Over views of the windows; what has no element is neutral."""
    numbers, element = op.numbers, element_of(op.result.type)
    x = wide(args[0]) if element.is_float else convert(args[0], element.dtype)
    spread = zip(x.shape, numbers["low"], numbers["high"], numbers["input_dilation"], strict=True)
    extents = [max(0, (n - 1) * apart + 1) + low + high for n, low, high, apart in spread]
    padded = np.full(
        extents, neutral(op.monoid.data, element_of(op.x.type)), np.float64 if element.is_float else x.dtype
    )
    places = zip(x.shape, numbers["low"], numbers["input_dilation"], strict=True)
    padded[tuple(slice(low, low + max(0, (n - 1) * apart + 1), apart) for n, low, apart in places)] = x
    covered = [(n - 1) * apart + 1 for n, apart in zip(numbers["window"], numbers["dilation"], strict=True)]
    shape = shape_of(op.result)
    if 0 in shape:
        return np.zeros(shape, padded.dtype)
    steps = [slice(None, None, step) for step in (*numbers["strides"], *numbers["dilation"])]
    windows = sliding_window_view(padded, covered)[tuple(steps)]
    axes = tuple(range(padded.ndim, 2 * padded.ndim))
    if op.monoid.data == "sum":
        return np.asarray(windows.sum(axes, dtype=padded.dtype))
    return np.asarray((np.max if op.monoid.data == "max" else np.min)(windows, axes))


@meaning(nd.ArgmaxOp, nd.ArgminOp)
def _arg_reduce(op: nd.ArgmaxOp | nd.ArgminOp, args: Sequence[Array], precision: Precision) -> Array:
    if not args[0].size:  # numpy refuses an empty axis even where the result is empty
        return np.zeros(shape_of(op.result), np.int64)
    find = np.argmax if isinstance(op, nd.ArgmaxOp) else np.argmin
    return np.asarray(find(wide(args[0]), axis=integer(op.axis)), np.int64)


@meaning(nd.CumsumOp, nd.CumprodOp)
def _scan(op: nd.CumsumOp | nd.CumprodOp, args: Sequence[Array], precision: Precision) -> Array:
    function = np.cumsum if isinstance(op, nd.CumsumOp) else np.cumprod
    dtype = np.float64 if is_floating(args[0]) else args[0].dtype
    return function(args[0], axis=integer(op.axis), dtype=dtype)


@meaning(nd.SortOp)
def _sort(op: nd.SortOp, args: Sequence[Array], precision: Precision) -> Array:
    return np.sort(wide(args[0]), axis=integer(op.axis), kind="stable")


@meaning(nd.TopkOp)
def _topk(op: nd.TopkOp, args: Sequence[Array], precision: Precision) -> tuple[Array, Array]:
    """A stable ascending sort of the reversed array, reversed: descending, the first of equals first."""
    x, axis = args[0], integer(op.axis)
    ascending = np.argsort(np.flip(wide(x), axis), axis=axis, kind="stable")
    descending = x.shape[axis] - 1 - np.flip(ascending, axis)
    indices = np.take(descending, np.arange(integer(op.k)), axis=axis)
    return np.take_along_axis(x, indices, axis), indices.astype(np.int64)
