"""Padding, on nodes: constants as one op, edges and mirrors as a gather along each axis."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias, TypeVar, cast

import numpy as np

from irc_frontend.elementwise import Number, constant
from irc_frontend.graph import LEAF, Node, fail
from irc_frontend.indexed import take

Widths: TypeAlias = "int | Sequence[int] | Sequence[Sequence[int]]"
"""How much padding: for each axis a pair, or one pair or one number for all."""

Values: TypeAlias = "Number | Sequence[Number] | Sequence[Sequence[Number]]"
"""What is padded with: for each axis a pair, or one pair or one number for all."""

MODES = ("constant", "edge", "reflect", "symmetric", "wrap")

NumberT = TypeVar("NumberT", bound=Number)


def pad(x: Node, widths: Widths, mode: str = "constant", values: Values = 0) -> Node:
    """`widths[i]` is how many elements go before and after on axis i; one pair or one number stands for all."""
    pairs = _pairs(widths, x.rank)
    if len(pairs) != x.rank or any(len(pair) != 2 or min(pair) < 0 for pair in pairs):
        raise fail(f"pad: expected {x.rank} pairs of widths of 0 or more, found {pairs}")
    if mode not in MODES:
        raise fail(f"pad: unknown mode {mode!r}", f"it is one of {', '.join(MODES)}")
    if mode == "constant":
        return _constants(x, pairs, values)
    for axis, (low, high) in enumerate(pairs):
        if low or high:
            x = take(x, _places(x, axis, low, high, mode), axis, "clip")
    return x


def _places(x: Node, axis: int, low: int, high: int, mode: str) -> Node:
    """Where each element of the padded axis comes from."""
    if not x.shape[axis]:
        raise fail(f"pad: axis {axis} of {x.type} has no element to repeat", "the mode constant needs none")
    found = np.pad(np.arange(x.shape[axis]), (low, high), mode)  # pyright: ignore[reportCallIssue, reportArgumentType]
    return Node(LEAF, (), found.shape, "i64", value=found)


def _constants(x: Node, pairs: Sequence[Sequence[int]], values: Values) -> Node:
    if isinstance(values, bool | int | float):
        return _padded(x, pairs, values)
    ends = _pairs(values, x.rank)
    if len(ends) != x.rank or any(len(each) != 2 for each in ends):
        raise fail(f"pad: expected {x.rank} pairs of values, found {ends}")
    for axis, (widths, (first, last)) in enumerate(zip(pairs, ends, strict=True)):
        x = _padded(x, _alone(axis, x.rank, widths[0], 0), first)
        x = _padded(x, _alone(axis, x.rank, 0, widths[1]), last)
    return x


def _alone(axis: int, rank: int, low: int, high: int) -> list[tuple[int, int]]:
    return [(low, high) if each == axis else (0, 0) for each in range(rank)]


def _padded(x: Node, pairs: Sequence[Sequence[int]], value: Number) -> Node:
    if not any(low or high for low, high in pairs):
        return x
    shape = [low + extent + high for (low, high), extent in zip(pairs, x.shape, strict=True)]
    attributes = (("low", tuple(low for low, _ in pairs)), ("high", tuple(high for _, high in pairs)))
    return Node("pad", (x, constant(bool(value) if x.is_bool else value, (), x.element)), shape, x.element, attributes)


def _pairs(given: NumberT | Sequence[NumberT] | Sequence[Sequence[NumberT]], rank: int) -> list[tuple[NumberT, ...]]:
    if isinstance(given, bool | int | float):
        return [(given, given)] * rank
    listed = cast("Sequence[NumberT | Sequence[NumberT]]", given)
    if all(isinstance(each, bool | int | float) for each in listed):
        return [tuple(cast("Sequence[NumberT]", listed)) * (2 if len(listed) == 1 else 1)] * rank
    found = [tuple(each) for each in cast("Sequence[Sequence[NumberT]]", listed)]
    return found * rank if len(found) == 1 else found
