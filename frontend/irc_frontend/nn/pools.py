"""Pools, channels last."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from irc_frontend.convolution import Numbers, for_each_axis
from irc_frontend.graph import fail
from irc_frontend.making_functions import ones
from irc_frontend.nn.layer import Layer, Params
from irc_frontend.tensor import Like, Tensor, node_of
from irc_frontend.window_functions import reduce_window


@dataclass(frozen=True)
class MaxPool(Layer):
    """The greatest element of each window: f[N, space..., channels] -> f[N, space..., channels].

    Numbers are one for each axis of space, or one for all. `stride`: the window, where it is None. `padding`: places on
    either side that have no element; at most half of the window.
    """

    window: tuple[int, ...]
    stride: Numbers | None = None
    padding: Numbers = 0

    def init(self, seed: int) -> Params:
        return {}

    def __call__(self, params: Params, x: Like) -> Tensor:
        return _pool(x, "max", self.window, self.stride, self.padding)


@dataclass(frozen=True)
class AvgPool(Layer):
    """The mean of the elements of each window, as `MaxPool` gives the greatest: those that there are, so that padding
    does not count."""

    window: tuple[int, ...]
    stride: Numbers | None = None
    padding: Numbers = 0

    def init(self, seed: int) -> Params:
        return {}

    def __call__(self, params: Params, x: Like) -> Tensor:
        tensor = Tensor.of(node_of(x))
        sums = _pool(tensor, "sum", self.window, self.stride, self.padding)
        if not any(for_each_axis(self.padding, len(self.window))):
            return sums / prod(self.window)
        there = ones([1, *tensor.shape[1:-1], 1], tensor.dtype)
        return sums / _pool(there, "sum", self.window, self.stride, self.padding)


def _pool(x: Like, monoid: str, window: tuple[int, ...], stride: Numbers | None, padding: Numbers) -> Tensor:
    tensor, rank = Tensor.of(node_of(x)), len(window)
    if tensor.ndim != rank + 2:
        raise fail(f"a pool with a window {window} takes {rank + 2} axes, found {tensor.node.type}")
    strides = window if stride is None else for_each_axis(stride, rank)
    around = for_each_axis(padding, rank)
    if any(2 * before > places for before, places in zip(around, window, strict=True)):
        raise fail(f"a pool with a window {window} has a padding of at most half of it, found {padding}")
    low = [0, *around, 0]
    return reduce_window(tensor, [1, *window, 1], monoid, strides=[1, *strides, 1], low=low, high=low)
