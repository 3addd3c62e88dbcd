"""Rules of reductions over windows, and of the gradient of an extreme of windows."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

import irc_frontend as ir
from irc.support.diagnostics import IrcError
from irc_frontend.stablehlo.ops.elementwise import compared_by
from irc_frontend.stablehlo.ops.reductions import is_neutral, joined_by
from irc_frontend.stablehlo.ops.shapes import padded
from irc_frontend.stablehlo.rules import rule
from irc_frontend.stablehlo.syntax import Body, Op
from irc_frontend.tensor import Tensor

_MONOIDS = {"stablehlo.add": "sum", "stablehlo.maximum": "max", "stablehlo.minimum": "min"}


@rule("stablehlo.reduce_window")
def _reduce_window(op: Op, x: Tensor, start: Tensor) -> Tensor:
    name, given = joined_by(op.regions[0]), op.attrs
    if name in _SCANS and is_neutral(start, name) and (found := _scanned(op, x, name)) is not None:
        return found
    if name not in _MONOIDS or not is_neutral(start, name):
        raise IrcError(f"a reduction of windows by {name}, or from such a start, is not supported")
    pads = given.get("padding", [[0, 0]] * x.ndim)
    ones = [1] * x.ndim
    return ir.reduce_window(
        x,
        given["window_dimensions"],
        _MONOIDS[name],
        strides=given.get("window_strides", ones),
        low=[each[0] for each in pads],
        high=[each[1] for each in pads],
        dilation=given.get("window_dilations", ones),
        input_dilation=given.get("base_dilations", ones),
        dtype=x.element if name == "stablehlo.add" else None,
    )


_SCANS = {"stablehlo.add": ir.cumsum, "stablehlo.multiply": ir.cumprod}


def _scanned(op: Op, x: Tensor, name: str) -> Tensor | None:
    """Sums or products of all elements up to each along an axis, or from each on, which JAX writes as those of windows
    that are as long as the axis; None where it is something else."""
    window, ones = list(op.attrs["window_dimensions"]), [1] * x.ndim
    axes = [axis for axis, size in enumerate(window) if size != 1]
    steps = (op.attrs.get(each, ones) for each in ("window_strides", "window_dilations", "base_dilations"))
    if len(axes) != 1 or any(list(each) != ones for each in steps):
        return None
    axis, extent = axes[0], window[axes[0]]
    pads = [list(each) for each in op.attrs.get("padding", [[0, 0]] * x.ndim)]
    beside = pads.pop(axis)
    if extent != x.shape[axis] or any(each != [0, 0] for each in pads):
        return None
    if beside == [extent - 1, 0]:
        return _SCANS[name](x, axis).astype(x.element)
    if beside == [0, extent - 1]:
        return ir.flip(_SCANS[name](ir.flip(x, axis), axis), axis).astype(x.element)
    return None


MAX_TAPS = 128
"""Places of a window, each of which is recorded."""


@rule("stablehlo.select_and_scatter")
def _select_and_scatter(op: Op, x: Tensor, source: Tensor, start: Tensor) -> Tensor:
    """Each element of the source is added where its window of x has its greatest or least element, the first of equals:
    the gradient of a pool. For each place of the windows, what is added there lies a window's step apart."""
    least = _is_least(op.regions[0])
    if joined_by(op.regions[1]) != "stablehlo.add":
        raise IrcError("a select_and_scatter that does not add is not supported", op.regions[1].ops[0].span)
    ones = [1] * x.ndim
    window, strides = (list(op.attrs.get(name, ones)) for name in ("window_dimensions", "window_strides"))
    pads = [list(each) for each in op.attrs.get("padding", [[0, 0]] * x.ndim)]
    taps = list(product(*map(range, window)))
    if len(taps) > MAX_TAPS:
        raise IrcError(f"a select_and_scatter over windows of more than {MAX_TAPS} elements is not supported")
    low, high = [each[0] for each in pads], [each[1] for each in pads]
    wide, inside = (
        padded(each, ir.zeros((), each.element), low, high, [0] * x.ndim) for each in (x, ir.ones(x.shape, "bool"))
    )
    chosen = _first_best(wide, inside, source.shape, taps, strides, least)
    total: Any = ir.broadcast_to(start, x.shape)
    zero = ir.zeros((), source.element)
    for number, tap in enumerate(taps):
        part = ir.where(chosen == number, source, zero)
        before = [place - pad for place, pad in zip(tap, low, strict=True)]
        reach = [(count - 1) * step + 1 for count, step in zip(source.shape, strides, strict=True)]
        behind = [n - each - length for n, each, length in zip(x.shape, before, reach, strict=True)]
        total = total + padded(part, zero, before, behind, [step - 1 for step in strides])
    return total


def _first_best(
    x: Tensor, inside: Tensor, counts: Sequence[int], taps: Sequence[Sequence[int]], strides: Sequence[int], least: bool
) -> Tensor:
    """For each window the number of the place of its best element; -1 where it has none. inside: what of x is not
    padding."""
    chosen: Any = ir.full(tuple(counts), -1, "i32")
    best: Any = ir.zeros(tuple(counts), x.element)
    for number, tap in enumerate(taps):
        key = tuple(
            slice(place, place + (count - 1) * step + 1, step)
            for place, count, step in zip(tap, counts, strides, strict=True)
        )
        value = x[key]
        is_better = inside[key] & ((chosen < 0) | ~((best <= value) if least else (best >= value)))
        chosen, best = ir.where(is_better, number, chosen), ir.where(is_better, value, best)
    return chosen


def _is_least(body: Body) -> bool:
    """Whether it selects the least element, not the greatest."""
    names = [name for name, _ in body.arguments]
    if len(body.ops) == 2 and body.ops[0].name == "stablehlo.compare" and body.ops[0].operands == names:
        direction = compared_by(body.ops[0])[0]
        if direction in ("GE", "LE"):
            return direction == "LE"
    hint = "irc has the comparisons GE and LE of the selected element with another"
    raise IrcError("the selection of a select_and_scatter is not supported", body.ops[0].span, hint)
