"""Reductions over windows."""

from __future__ import annotations

from irc.language.arguments import Arguments
from irc.language.functions.reductions import accumulated
from irc.language.functions.registry import builtin
from irc.language.values import Value
from irc.support.windows import MONOIDS, window_shape

LISTS = {"strides": 1, "low": 0, "high": 0, "dilation": 1, "input_dilation": 1}
"""Parameters with one number for each axis, and the least (and default) number."""


@builtin(
    'reduce_window(x, window, *, monoid="sum", strides=None, low=None, high=None, dilation=None, input_dilation=None, '
    "dtype=None)"
)
def reduce_window(args: Arguments) -> Value:
    x, monoid = args.number_array("x"), args.choice("monoid", MONOIDS, "sum")
    if "dtype" in args and monoid != "sum":
        raise args.error(f"the {monoid} of a window has the type of x", "dtype", "cast the result")
    element = args.number_element(accumulated(x.element)) if monoid == "sum" else x.element
    window = _numbers(args, "window", 1, x.rank)
    numbers = {
        name: _numbers(args, name, least, x.rank) if name in args else [least] * x.rank for name, least in LISTS.items()
    }
    shape = window_shape(x.shape, window, *numbers.values())
    return args.emit("reduce_window", [x], shape, element, monoid=monoid, window=window, **numbers)


def _numbers(args: Arguments, name: str, least: int, count: int) -> list[int]:
    values = args.integers(name)
    if len(values) != count or any(value < least for value in values):
        raise args.error(f"reduce_window expects {count} integers of {least} or more for {name}, found {values}", name)
    return values
