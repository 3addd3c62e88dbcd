"""Gradients of reductions over windows: sums over the windows that have an element, without atomics."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

from irc.dialects import nd
from irc.dialects.nd.base import shape_of
from irc.dialects.nd.terms import Gradient, Term, splat, wide
from irc.ir.dtypes import accumulator
from irc.ir.neutral import neutral
from irc.ir.rewriting import location_of
from irc.support.diagnostics import IrcError


def reduce_window(op: nd.ReduceWindowOp, g: Term) -> list[Term | None]:
    """Of sums, for each element the sum over the windows that have it: the windows of the gradient, with places between
    its elements. An extreme shares its gradient evenly among the elements of a window that are equal to it."""
    numbers, shape = op.numbers, shape_of(op.x)
    if 0 in shape or 0 in g.shape:
        return [splat(g.at, 0, shape, g.element)]
    if op.monoid.data == "sum":
        return [_windows_of(op, g)]
    if set(numbers["input_dilation"]) != {1}:
        hint = "put the places between elements in with pad"
        raise IrcError("an extreme of windows with places between elements has no gradient", location_of(op), hint)
    x, best, g = Term(op.x, g.at), Term(op.result, g.at), wide(g)
    total: Term | None = None
    ties: Term | None = None
    taps = list(product(*map(range, numbers["window"])))
    for tap in taps:
        is_best = _at_tap(op, x, tap).equal(best).cast(g.element)
        ties = is_best if ties is None else ties + is_best
    assert ties is not None
    share = g / ties
    for tap in taps:
        is_best = _at_tap(op, x, tap).equal(best)
        part = _to_tap(op, share.kept_where(is_best), tap)
        total = part if total is None else total + part
    return [total]


def _windows_of(op: nd.ReduceWindowOp, g: Term) -> Term:
    """The transpose of sums over windows."""
    axes = zip(shape_of(op.x), g.shape, *op.numbers.values(), strict=True)
    low, high, cut = [], [], []
    for extent, count, window, stride, before, _, apart, spread in axes:
        reach = (window - 1) * apart
        padded = (extent - 1) * spread + 1
        begin, end = reach - before, padded + before - (count - 1) * stride - 1
        low.append(max(0, begin))
        high.append(max(0, end))
        cut.append((max(0, -begin), padded))
    numbers = op.numbers
    found = Term(
        g.at.value(
            nd.ReduceWindowOp(
                g.value,
                numbers["window"],
                dilation=numbers["dilation"],
                low=low,
                high=high,
                input_dilation=numbers["strides"],
                element=accumulator(g.element),
            )
        ),
        g.at,
    )
    starts = [start for start, _ in cut]
    stops = [start + length for start, length in cut]
    steps = numbers["input_dilation"]
    if starts == [0] * len(starts) and tuple(stops) == found.shape and set(steps) == {1}:
        return found
    return found.slice(starts, stops, steps)


def _at_tap(op: nd.ReduceWindowOp, x: Term, tap: Sequence[int]) -> Term:
    """What each window has at one of its places."""
    numbers = op.numbers
    starts = [place * apart for place, apart in zip(tap, numbers["dilation"], strict=True)]
    value = neutral(op.monoid.data, x.element)
    padded = x.pad(numbers["low"], numbers["high"], value)
    counts = zip(starts, shape_of(op.result), numbers["strides"], strict=True)
    stops = [start + (count - 1) * stride + 1 for start, count, stride in counts]
    return padded.slice(starts, stops, numbers["strides"])


def _to_tap(op: nd.ReduceWindowOp, part: Term, tap: Sequence[int]) -> Term:
    """The transpose of `_at_tap`."""
    one = nd.ReduceWindowOp  # a window of one place moves and spreads, with no element between
    numbers, rank = op.numbers, len(tap)
    axes = zip(shape_of(op.x), part.shape, tap, *(numbers[n] for n in ("strides", "low", "dilation")), strict=True)
    spread = Term(part.at.value(one(part.value, [1] * rank, input_dilation=numbers["strides"])), part.at)
    low, high, starts, stops = [], [], [], []
    for extent, count, place, stride, before, apart in axes:
        begin = place * apart - before
        end = extent - begin - (count - 1) * stride - 1
        low.append(max(0, begin))
        high.append(max(0, end))
        starts.append(max(0, -begin))
        stops.append(max(0, -begin) + extent)
    return spread.pad(low, high).slice(starts, stops)


WINDOWS: dict[type[nd.NdOp], Gradient] = {nd.ReduceWindowOp: reduce_window}
