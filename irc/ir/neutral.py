"""The values that reductions leave as they are: what padding and first accumulators hold."""

from __future__ import annotations

from math import inf

from irc.ir.dtypes import Element

_ZERO = ("sum", "any")
_ONE = ("prod", "all")
_LEAST = ("max", "argmax")
_GREATEST = ("min", "argmin")


def neutral(monoid: str, element: Element) -> float | int:
    """The element that does not change what a monoid joins (`irc.ir.iteration`); f8e4m3 has no infinities."""
    if monoid in _ZERO:
        return 0
    if monoid in _ONE:
        return 1
    if monoid not in _LEAST + _GREATEST:
        raise AssertionError(f"{monoid} has no neutral element")
    low, high = element.limits()
    if element.is_float and element.name != "f8e4m3":
        low, high = -inf, inf
    return low if monoid in _LEAST else high
