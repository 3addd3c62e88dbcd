"""Rules of reductions and scans."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

import irc_frontend as ir
from irc_frontend.onnx.rules import given_axes, in_range, number, rule
from irc_frontend.tensor import Tensor

Axes = tuple[int, ...]

Reduce = Callable[[Tensor, Axes, bool], Tensor]
"""Of an array, over axes, which stay with the extent 1 or go."""


def _register(name: str, function: Reduce) -> None:
    @rule(name)
    def record(
        x: Tensor, given: Tensor | None = None, *, axes: Any = None, keepdims: int = 1, noop_with_empty_axes: int = 0
    ) -> Tensor:
        """The axes are an attribute in older versions. No axes are all of them, or none."""
        found = axes if given is None or not given.size else given
        if found is None and noop_with_empty_axes:
            return function(x.reshape(*x.shape, 1), (x.ndim,), False)
        return function(x, tuple(given_axes(found, x.ndim)), bool(keepdims))


def _sum(x: Tensor, axes: Axes, keepdims: bool) -> Tensor:
    """In the type of x, also of small integers."""
    return ir.sum(x, axes, x.element, keepdims)


def _prod(x: Tensor, axes: Axes, keepdims: bool) -> Tensor:
    return ir.prod(x, axes, x.element, keepdims)


def _mean(x: Tensor, axes: Axes, keepdims: bool) -> Tensor:
    return ir.mean(x, axes, keepdims=keepdims).astype(x.element)


def _log_sum_exp(x: Tensor, axes: Axes, keepdims: bool) -> Tensor:
    if 0 in (x.shape[axis] for axis in axes):
        return ir.log(_sum(ir.exp(x), axes, keepdims))
    most = ir.max(x, axes, True)
    most = ir.where(ir.isinf(most), 0.0, most)
    total = ir.log(_sum(ir.exp(x - most), axes, True)) + most
    return total if keepdims else total.squeeze(axes)


def _extreme(of_numbers: Any, of_bools: Any, sign: int) -> Reduce:
    """The greatest or the least; of nothing, the least or the greatest number."""

    def reduce(x: Tensor, axes: Axes, keepdims: bool) -> Tensor:
        if x.node.is_bool:
            return of_bools(x, axes, keepdims)
        if x.size:
            return of_numbers(x, axes, keepdims)
        limits = None if x.node.is_float else np.iinfo(x.dtype)
        fill = -sign * math.inf if limits is None else int(limits.min if sign > 0 else limits.max)
        return of_numbers(x, axes, keepdims, initial=fill)

    return reduce


_register("ReduceSum", _sum)
_register("ReduceProd", _prod)
_register("ReduceMean", _mean)
_register("ReduceMax", _extreme(ir.max, ir.any, 1))
_register("ReduceMin", _extreme(ir.min, ir.all, -1))
_register("ReduceL1", lambda x, axes, keepdims: _sum(ir.abs(x), axes, keepdims))
_register("ReduceL2", lambda x, axes, keepdims: ir.sqrt(_sum(x * x, axes, keepdims)))
_register("ReduceSumSquare", lambda x, axes, keepdims: _sum(x * x, axes, keepdims))
_register("ReduceLogSum", lambda x, axes, keepdims: ir.log(_sum(x, axes, keepdims)))
_register("ReduceLogSumExp", _log_sum_exp)


def _register_place(name: str, function: Callable[..., Tensor]) -> None:
    @rule(name)
    def record(x: Tensor, *, axis: int = 0, keepdims: int = 1, select_last_index: int = 0) -> Tensor:
        axis = in_range(axis, x.ndim)
        if not select_last_index:
            return function(x, axis, bool(keepdims))
        return x.shape[axis] - 1 - function(ir.flip(x, axis), axis, bool(keepdims))


_register_place("ArgMax", ir.argmax)
_register_place("ArgMin", ir.argmin)


def _register_scan(name: str, function: Callable[..., Tensor], start: int) -> None:
    @rule(name)
    def record(x: Tensor, axis: Tensor, *, exclusive: int = 0, reverse: int = 0) -> Tensor:
        along = in_range(int(number(axis, "the axis")), x.ndim)
        y = ir.flip(x, along) if reverse else x
        if exclusive:
            before = [slice(None)] * along
            widths = [(1, 0) if each == along else (0, 0) for each in range(x.ndim)]
            y = ir.pad(y[(*before, slice(0, -1))], widths, constant_values=start)
        y = function(y, along)
        return ir.flip(y, along) if reverse else y


_register_scan("CumSum", ir.cumsum, 0)
_register_scan("CumProd", ir.cumprod, 1)


@rule("Softmax")
def _softmax(x: Tensor, *, axis: int = -1) -> Tensor:
    return ir.softmax(x, axis)


@rule("LogSoftmax")
def _log_softmax(x: Tensor, *, axis: int = -1) -> Tensor:
    return ir.log_softmax(x, axis)


@rule("Hardmax")
def _hardmax(x: Tensor, *, axis: int = -1) -> Tensor:
    axis = in_range(axis, x.ndim)
    places = np.arange(x.shape[axis], dtype=np.int64).reshape([-1 if each == axis else 1 for each in range(x.ndim)])
    return (ir.argmax(x, axis, True) == places).astype(x.element)
