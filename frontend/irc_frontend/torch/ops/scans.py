"""Rules of running results along an axis that nd has no op for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

import irc_frontend as ir
from irc_frontend.casts import wide
from irc_frontend.elementwise import Number
from irc_frontend.tensor import Tensor
from irc_frontend.torch.rules import Left, rule

aten = torch.ops.aten

Parts = tuple[Tensor, ...]
"""Arrays of one shape that are run together."""


def running(combine: Callable[[Parts, Parts], Parts], parts: Parts, axis: int, nothing: Sequence[Number]) -> Parts:
    """Along the axis, what an associative function makes of all elements up to each (Hillis and Steele, 1986): in the
    step s, of each and the one s before it. `nothing` is what changes no other under the function."""
    extent, step = parts[0].shape[axis], 1
    while step < extent:
        earlier = tuple(_moved(part, axis, step, value) for part, value in zip(parts, nothing, strict=True))
        parts, step = combine(earlier, parts), step * 2
    return parts


def running_in_groups(combine: Callable[[Parts, Parts], Parts], groups: Tensor, parts: Parts, axis: int) -> Parts:
    """`running`, anew from where another group begins: numbers that are not negative, those of a group side by side."""

    def combined(earlier: Parts, later: Parts) -> Parts:
        (group, *before), (other, *here) = earlier, later
        found = combine(tuple(before), tuple(here))
        is_one = group == other
        return other, *(ir.where(is_one, joined, alone) for joined, alone in zip(found, here, strict=True))

    return running(combined, (groups, *parts), axis, (-1, *[0] * len(parts)))[1:]


def _moved(x: Tensor, axis: int, by: int, value: Number) -> Tensor:
    """The elements `by` further along the axis, behind ones of the value."""
    kept = x[(*[slice(None)] * axis, slice(0, x.shape[axis] - by))]
    return ir.pad(kept, [(by, 0) if each == axis else (0, 0) for each in range(x.ndim)], constant_values=value)


@rule(aten.logcumsumexp.default)
def _logcumsumexp(x: Tensor, dim: int) -> Tensor:
    if not x.ndim or not x.size:
        return x

    def combine(earlier: Parts, later: Parts) -> Parts:
        (a,), (b,) = earlier, later
        high, low = ir.maximum(a, b), ir.minimum(a, b)
        is_alone = ir.isinf(high) | ir.equal(low, high) & ir.isinf(low)
        return (ir.where(is_alone, high, high + ir.log1p(ir.exp(low - ir.where(is_alone, 0.0, high)))),)

    return running(combine, (wide(x),), dim % x.ndim, (-float("inf"),))[0]


@rule(aten.cummax.default)
def _cummax(x: Tensor, dim: int) -> Any:
    return _extremes(x, dim, ir.greater_equal)


@rule(aten.cummin.default)
def _cummin(x: Tensor, dim: int) -> Any:
    return _extremes(x, dim, ir.less_equal)


def _extremes(x: Tensor, dim: int, replaces: Callable[[Tensor, Tensor], Tensor]) -> Any:
    """The running extreme and where its last one is; NaN once there was one."""
    if not x.ndim:
        return x, ir.zeros((), "i64")
    if x.element == "bool":
        raise Left("bools")
    axis = dim % x.ndim
    places = ir.broadcast_to(
        ir.arange(x.shape[axis]).reshape(*[-1 if each == axis else 1 for each in range(x.ndim)]), x.shape
    )

    def combine(earlier: Parts, later: Parts) -> Parts:
        (value, place), (other, at) = earlier, later
        is_later = replaces(other, value) | (place < 0)
        if x.node.is_float:
            is_later = is_later & ~ir.isnan(value) | ir.isnan(other)
        return ir.where(is_later, other, value), ir.where(is_later, at, place)

    return running(combine, (x, places), axis, (0, -1))
