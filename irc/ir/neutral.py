"""The values that reductions leave as they are: what padding and first accumulators hold."""

from __future__ import annotations

from math import inf

from irc.ir.dtypes import Element

_ZERO = ("sum", "cumsum", "any")
_ONE = ("prod", "cumprod", "all")
_LEAST = ("max", "argmax")
_GREATEST = ("min", "argmin")


def neutral(reduction: str, element: Element) -> float | int:
    """The element that does not change the result of the `nd` reduction or scan of this name; f8e4m3 has no
    infinities."""
    if reduction in _ZERO:
        return 0
    if reduction in _ONE:
        return 1
    if reduction not in _LEAST + _GREATEST:
        raise AssertionError(f"nd.{reduction} has no neutral element")
    low, high = element.limits()
    if element.is_float and element.name != "f8e4m3":
        low, high = -inf, inf
    return low if reduction in _LEAST else high
