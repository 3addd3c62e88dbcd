"""Reductions over windows, on Tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from irc_frontend import windows
from irc_frontend.graph import element_named
from irc_frontend.tensor import Like, Tensor, node_of

__all__ = ["reduce_window"]


def reduce_window(
    x: Like,
    window: Sequence[int],
    monoid: str = "sum",
    *,
    strides: Sequence[int] | None = None,
    low: Sequence[int] | None = None,
    high: Sequence[int] | None = None,
    dilation: Sequence[int] | None = None,
    input_dilation: Sequence[int] | None = None,
    dtype: Any = None,
) -> Tensor:
    """The `sum`, `max` or `min` of each window of x, as the op `nd.reduce_window` defines it. Each has a number for
    every axis: the places of a window and how far they are apart (`dilation`), the steps between windows, the places
    without an element before (`low`) and behind x, and those between its elements plus one. They do not count. `dtype`
    is the element type of a sum."""
    numbers = {"strides": strides, "low": low, "high": high, "dilation": dilation, "input_dilation": input_dilation}
    element = None if dtype is None else element_named(dtype)
    return Tensor.of(windows.reduce_window(node_of(x), window, monoid, element, **numbers))
