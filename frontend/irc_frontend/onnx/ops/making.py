"""Rules of operators that make arrays, and that tell of shapes."""

from __future__ import annotations

from typing import Any

import numpy as np

import irc_frontend as ir
from irc.support.diagnostics import IrcError
from irc_frontend.onnx.model import element_of
from irc_frontend.onnx.rules import Array, integers, number, rule
from irc_frontend.tensor import Tensor
from irc_frontend.unrolling import known


@rule("Constant")
def _constant(
    *,
    value: Array | None = None,
    value_float: float | None = None,
    value_floats: list[float] | None = None,
    value_int: int | None = None,
    value_ints: list[int] | None = None,
) -> Tensor:
    if value is not None:
        return Tensor(value)
    floats = value_float if value_float is not None else value_floats
    numbers = value_int if value_int is not None else value_ints
    if floats is not None:
        return Tensor(np.asarray(floats, np.float32))
    if numbers is not None:
        return Tensor(np.asarray(numbers, np.int64))
    raise IrcError("expected the attribute value, value_float, value_floats, value_int or value_ints")


@rule("ConstantOfShape")
def _constant_of_shape(shape: Tensor, *, value: Array | None = None) -> Tensor:
    fill = np.zeros(1, np.float32) if value is None else value
    return ir.broadcast_to(Tensor(fill.reshape(())), integers(shape, "the shape"))


@rule("Shape")
def _shape(x: Tensor, *, start: int = 0, end: int | None = None) -> Tensor:
    return Tensor(np.asarray(x.shape[slice(start, end)], np.int64))


@rule("Size")
def _size(x: Tensor) -> Tensor:
    return Tensor(np.asarray(x.size, np.int64))


@rule("Range")
def _range(start: Tensor, limit: Tensor, delta: Tensor) -> Tensor:
    bounds = [known(each, "a bound").reshape(()) for each in (start, limit, delta)]
    count = max(0, int(np.ceil((bounds[1] - bounds[0]) / bounds[2])))
    return Tensor((bounds[0] + np.arange(count) * bounds[2]).astype(start.dtype))


@rule("EyeLike")
def _eye_like(x: Tensor, *, dtype: int | None = None, k: int = 0) -> Tensor:
    rows, columns = x.shape
    return ir.eye(rows, columns, k, x.element if dtype is None else element_of(dtype, "dtype"))


@rule("OneHot")
def _one_hot(indices: Tensor, depth: Tensor, values: Tensor, *, axis: int = -1) -> Tensor:
    """Indices count from the end where they are negative; those out of range choose nothing."""
    count = int(number(depth, "depth"))
    places = indices if indices.node.is_integer else indices.astype("i64")
    places = ir.where(places < 0, places + count, places) if places.element != "u8" else places.astype("i32")
    rank = indices.ndim + 1
    axis = axis % rank
    classes: Any = np.arange(count, dtype=places.dtype).reshape([-1 if each == axis else 1 for each in range(rank)])
    return ir.where(ir.expand_dims(places, axis) == classes, values[1], values[0])
