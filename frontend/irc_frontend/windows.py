"""Reductions over windows, on nodes."""

from __future__ import annotations

from collections.abc import Sequence

from irc_frontend.graph import Node, fail

NUMBERS = {"strides": 1, "low": 0, "high": 0, "dilation": 1, "input_dilation": 1}
"""Numbers for each axis, and the least (and default) one."""


def reduce_window(
    x: Node, window: Sequence[int], monoid: str = "sum", element: str | None = None, **numbers: Sequence[int] | None
) -> Node:
    """The op `nd.reduce_window`: `window` and `numbers` have a number for each axis."""
    from irc.support.windows import MONOIDS, window_shape

    if monoid not in MONOIDS:
        raise fail(f"unknown monoid {monoid}", f"it is one of {', '.join(MONOIDS)}")
    if x.is_bool:
        raise fail(f"cannot reduce windows of {x.type}", "cast it to numbers first")
    given = {"window": tuple(window)}
    given |= {name: tuple(numbers.get(name) or (least,) * x.rank) for name, least in NUMBERS.items()}
    for name, values in given.items():
        least = NUMBERS.get(name, 1)
        if len(values) != x.rank or any(value < least for value in values):
            raise fail(f"reduce_window takes {x.rank} integers of {least} or more for {name}, found {list(values)}")
    shape = window_shape(x.shape, *given.values())
    return Node("reduce_window", (x,), shape, element or x.element, (("monoid", monoid), *given.items()))
