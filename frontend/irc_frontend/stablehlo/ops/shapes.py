"""Rules of ops that make arrays and move elements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import irc_frontend as ir
from irc.support.diagnostics import IrcError
from irc_frontend.graph import Node
from irc_frontend.stablehlo.rules import rule
from irc_frontend.stablehlo.syntax import Op, dense
from irc_frontend.tensor import Tensor


@rule("stablehlo.constant")
def _constant(op: Op) -> Tensor:
    value = op.attrs["value"]
    array = dense(value, op.types[-1], op.span) if isinstance(value, str) else np.asarray(value)
    found = Tensor(np.ascontiguousarray(array).astype(array.dtype).reshape(op.types[-1].shape))
    return found.astype(op.types[-1].element)


@rule("stablehlo.iota")
def _iota(op: Op) -> Tensor:
    axis = op.attrs["dim"] if "dim" in op.attrs else op.attrs["iota_dimension"]
    return Tensor.of(Node("iota", (), op.types[-1].shape, op.types[-1].element, (("axis", int(axis)),)))


@rule("stablehlo.broadcast_in_dim")
def _broadcast_in_dim(op: Op, x: Tensor) -> Tensor:
    """Axis i of x becomes axis dims[i]."""
    dims = op.attrs["dims"] if "dims" in op.attrs else op.attrs["broadcast_dimensions"]
    shape = op.types[-1].shape
    if len(dims) != x.ndim or len(set(dims)) != x.ndim or not set(dims) <= set(range(len(shape))):
        raise IrcError(f"dims has an axis of {list(shape)} for each of {x.node.type}, found {dims}")
    order = sorted(range(x.ndim), key=lambda axis: dims[axis])
    y = x if order == list(range(x.ndim)) else x.permute(order)
    extents = iter(y.shape)
    beside = tuple(next(extents) if axis in dims else 1 for axis in range(len(shape)))
    return ir.broadcast_to(y.reshape(beside), shape)


@rule("stablehlo.reshape")
def _reshape(op: Op, x: Tensor) -> Tensor:
    return x.reshape(op.types[-1].shape)


@rule("stablehlo.transpose")
def _transpose(op: Op, x: Tensor) -> Tensor:
    return x.permute(op.attrs["dims"] if "dims" in op.attrs else op.attrs["permutation"])


@rule("stablehlo.reverse")
def _reverse(op: Op, x: Tensor) -> Tensor:
    return ir.flip(x, op.attrs["dims"] if "dims" in op.attrs else op.attrs["dimensions"])


@rule("stablehlo.concatenate")
def _concatenate(op: Op, *parts: Tensor) -> Tensor:
    axis = op.attrs["dim"] if "dim" in op.attrs else op.attrs["dimension"]
    return ir.concatenate(parts, int(axis))


@rule("stablehlo.slice")
def _slice(op: Op, x: Tensor) -> Tensor:
    if "ranges" in op.attrs:
        return x[tuple(slice(*each) for each in op.attrs["ranges"])]
    bounds = (op.attrs[name] for name in ("start_indices", "limit_indices", "strides"))
    return x[tuple(slice(*each) for each in zip(*bounds, strict=True))]


@rule("stablehlo.pad")
def _pad(op: Op, x: Tensor, value: Tensor) -> Tensor:
    names = ("low", "high", "interior") if "low" in op.attrs else _PAD
    low, high, between = (op.attrs[name] for name in names)
    return padded(x, value, low, high, between)


_PAD = ("edge_padding_low", "edge_padding_high", "interior_padding")


def padded(x: Tensor, value: Tensor, low: Sequence[int], high: Sequence[int], between: Sequence[int]) -> Tensor:
    """x with places of a value before and behind it, and between its elements. Negative numbers cut off."""
    for axis, count in enumerate(between):
        if count and x.shape[axis] > 1:
            x = _apart(x, value, axis, count)
    x = x[tuple(slice(max(0, -a), n - max(0, -b)) for a, b, n in zip(low, high, x.shape, strict=True))]
    low, high = [max(0, each) for each in low], [max(0, each) for each in high]
    shape = [sum(each) for each in zip(x.shape, low, high, strict=True)]
    attributes = (("low", tuple(low)), ("high", tuple(high)))
    return Tensor.of(Node("pad", (x.node, value.node), shape, x.element, attributes))


def _apart(x: Tensor, value: Tensor, axis: int, count: int) -> Tensor:
    """x with so many places between its elements along an axis."""
    shape: list[Any] = list(x.shape)
    wide = [*shape[: axis + 1], count, *shape[axis + 1 :]]
    y = ir.concatenate([ir.expand_dims(x, axis + 1), ir.broadcast_to(value, wide)], axis + 1)
    shape[axis] *= count + 1
    return y.reshape(tuple(shape))[(*[slice(None)] * axis, slice(0, shape[axis] - count))]


@rule("stablehlo.get_dimension_size")
def _get_dimension_size(op: Op, x: Tensor) -> Tensor:
    axis = op.attrs["dim"] if "dim" in op.attrs else op.attrs["dimension"]
    return Tensor(np.asarray(x.shape[int(axis)], np.int32))
