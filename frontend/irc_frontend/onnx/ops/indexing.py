"""Rules of operators that read and write at places given by an array."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import irc_frontend as ir
from irc.support.diagnostics import IrcError
from irc_frontend.onnx.rules import in_range, number, rule
from irc_frontend.tensor import Tensor
from irc_frontend.unrolling import known


@rule("Gather")
def _gather(x: Tensor, indices: Tensor, *, axis: int = 0) -> Tensor:
    axis = in_range(axis, x.ndim)
    if not indices.ndim and not indices.node.is_recorded:
        return x[(*[slice(None)] * axis, int(number(indices, "the index")))]
    return ir.take(x, indices, axis)


@rule("GatherElements")
def _gather_elements(x: Tensor, indices: Tensor, *, axis: int = 0) -> Tensor:
    """The other axes of x may be longer than those of the indices."""
    axis = in_range(axis, x.ndim)
    part = x[tuple(slice(None) if each == axis else slice(0, n) for each, n in enumerate(indices.shape))]
    return ir.take_along_axis(part, indices, axis)


@rule("GatherND")
def _gather_nd(x: Tensor, indices: Tensor, *, batch_dims: int = 0) -> Tensor:
    named = indices.shape[-1]
    batches, places = x.shape[:batch_dims], x.shape[batch_dims : batch_dims + named]
    rest = x.shape[batch_dims + named :]
    flat: Any = np.arange(math.prod(batches), dtype=np.int64).reshape(*batches, *[1] * (indices.ndim - 1 - batch_dims))
    for place, extent in enumerate(places):
        each = indices[..., place].astype("i64")
        flat = ir.where(each < 0, each + extent, each) + flat * extent
    rows = x.reshape(math.prod(batches) * math.prod(places), math.prod(rest))
    return ir.take(rows, flat, 0).reshape(*indices.shape[:-1], *rest)


@rule("ScatterElements", "Scatter")
def _scatter_elements(x: Tensor, indices: Tensor, updates: Tensor, *, axis: int = 0, reduction: str = "none") -> Tensor:
    axis = in_range(axis, x.ndim)
    key: list[Any] = [
        np.broadcast_to(
            np.arange(n, dtype=np.int64).reshape([-1 if each == other else 1 for other in range(x.ndim)]), indices.shape
        )
        for each, n in enumerate(indices.shape)
    ]
    key[axis] = _foldable(indices)
    return _updated(x, tuple(key), updates, reduction)


@rule("ScatterND")
def _scatter_nd(x: Tensor, indices: Tensor, updates: Tensor, *, reduction: str = "none") -> Tensor:
    places = _foldable(indices)
    return _updated(x, tuple(places[..., each] for each in range(indices.shape[-1])), updates, reduction)


def _foldable(indices: Tensor) -> Any:
    """Indices as numpy has them where they are known: a write is a gather then."""
    return indices if indices.node.is_recorded else known(indices, "the indices")


def _updated(x: Tensor, key: tuple[Any, ...], updates: Tensor, reduction: str) -> Tensor:
    methods = {"none": "set", "add": "add", "mul": "multiply", "min": "min", "max": "max"}
    if reduction not in methods:
        raise IrcError(f"the reduction {reduction} is not known", hint=f"it is one of {', '.join(methods)}")
    return getattr(x.at[key], methods[reduction])(updates)


@rule("TensorScatter")
def _tensor_scatter(
    past: Tensor, update: Tensor, places: Tensor | None = None, *, axis: int = -2, mode: str = "linear"
) -> Tensor:
    """Each batch's update written from its place on."""
    axis, count = in_range(axis, past.ndim), past.shape[0]
    steps = np.arange(update.shape[axis], dtype=np.int64)
    starts: Any = np.zeros(count, np.int64) if places is None else places
    at = starts.reshape(-1, 1) + steps
    at = at % past.shape[axis] if mode == "circular" else at
    moved, values = ir.moveaxis(past, axis, 1), ir.moveaxis(update, axis, 1)
    return ir.moveaxis(moved.at[np.arange(count)[:, None], at].set(values), 1, axis)


@rule("NonZero")
def _non_zero(x: Tensor) -> Tensor:
    return Tensor(np.asarray(np.nonzero(known(x, "x, whose elements decide a shape")), np.int64))


@rule("TopK")
def _top_k(x: Tensor, k: Tensor, *, axis: int = -1, largest: int = 1, sorted: int = 1) -> tuple[Tensor, Tensor]:
    """The order is that of sorted ones; the least are the greatest of what is negated, integers bit by bit."""
    count = int(number(k, "k"))
    if largest:
        return ir.topk(x, count, axis)
    values, places = ir.topk(ir.invert(x) if x.node.is_integer else -x, count, axis)
    return ir.invert(values) if x.node.is_integer else -values, places
