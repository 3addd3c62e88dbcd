"""Reductions over large windows, along one axis after another, and over those that do not overlap as plain ones."""

from __future__ import annotations

from math import prod

from xdsl.ir import SSAValue

from irc.canonicalization.simplify import Table
from irc.dialects import nd
from irc.dialects.nd.base import element_of, put, shape_of
from irc.dialects.nd.terms import Term
from irc.ir.dtypes import accumulator
from irc.ir.rewriting import Inserter

MAX_TAPS = 32
"""Places of a window that a kernel reads for each element of its result. Each is code of its own."""


def smaller_windows(op: nd.ReduceWindowOp, at: Inserter) -> SSAValue | None:
    """A window of more places, of all axes but the last that it has several of, then of this one. What is between is
    as much less than x as the first windows are apart."""
    window = op.numbers["window"]
    several = [axis for axis, places in enumerate(window) if places > 1]
    if prod(window) <= MAX_TAPS or 0 in shape_of(op.result):
        return None
    if len(several) > 1:
        last = several[-1]
        first = _along(op, op.x, [axis for axis in range(len(window)) if axis != last], at, is_last=False)
        return _along(op, first, [last], at, is_last=True)
    return _apart(op, several[0], at)


def _along(op: nd.ReduceWindowOp, x: SSAValue, axes: list[int], at: Inserter, *, is_last: bool) -> SSAValue:
    """The op along some axes, of sums that are not rounded before the last."""
    plain = {"window": 1, "strides": 1, "low": 0, "high": 0, "dilation": 1, "input_dilation": 1}
    numbers = {
        name: [value if axis in axes else plain[name] for axis, value in enumerate(values)]
        for name, values in op.numbers.items()
    }
    element = element_of(op.result)
    if not is_last:
        element = accumulator(element)
    window = numbers.pop("window")
    element = element if op.monoid.data == "sum" else element_of(x)
    smaller = nd.ReduceWindowOp(x, window, monoid=op.monoid.data, element=element, location=op.location, **numbers)
    return smaller_windows(smaller, at) or at.value(smaller)


def _apart(op: nd.ReduceWindowOp, axis: int, at: Inserter) -> SSAValue | None:
    """A reduction of an axis that is cut into windows; None where they overlap or reach beyond x."""
    numbers = {name: values[axis] for name, values in op.numbers.items()}
    others = [op.numbers[name][:axis] + op.numbers[name][axis + 1 :] for name in ("strides", "input_dilation")]
    around = [value for name in ("low", "high") for value in op.numbers[name]]
    if numbers["strides"] < numbers["window"] or numbers["dilation"] != 1 or numbers["input_dilation"] != 1:
        return None
    if any(around) or any(value != 1 for values in others for value in values):
        return None
    shape, count, step = shape_of(op.x), shape_of(op.result)[axis], numbers["strides"]
    if count * step > shape[axis] and numbers["window"] != step:
        return None
    length = count * step
    x = Term(op.x, at)
    if length != shape[axis]:
        x = x.slice([0] * len(shape), put(shape, axis, length))
    parts = x.reshape([*shape[:axis], count, step, *shape[axis + 1 :]])
    if numbers["window"] != step:
        parts = parts.slice([0] * (len(shape) + 1), put(parts.shape, axis + 1, numbers["window"]))
    match op.monoid.data:
        case "sum":
            return parts.sum([axis + 1], element_of(op.result)).value
        case "max":
            return at.value(nd.MaxOp(parts.value, [axis + 1]))
        case _:
            return at.value(nd.MinOp(parts.value, [axis + 1]))


WINDOWS: Table = {nd.ReduceWindowOp: [smaller_windows]}
