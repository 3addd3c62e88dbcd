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
class _Pool(Layer):
    """What pools have in common: f[N, space..., channels] -> f[N, space..., channels].

    Numbers are one for each axis of space, or one for all. `stride`: the window, where it is None. `padding`: places on
    either side that have no element; at most half of the window.
    """

    window: tuple[int, ...]
    stride: Numbers | None = None
    padding: Numbers = 0

    def init(self, seed: int) -> Params:
        return {}

    def _joined(self, x: Like, monoid: str) -> Tensor:
        tensor, window, rank = Tensor.of(node_of(x)), self.window, len(self.window)
        if tensor.ndim != rank + 2:
            raise fail(f"a pool with a window {window} takes {rank + 2} axes, found {tensor.node.type}")
        strides = window if self.stride is None else for_each_axis(self.stride, rank)
        around = for_each_axis(self.padding, rank)
        if any(2 * before > places for before, places in zip(around, window, strict=True)):
            raise fail(f"a pool with a window {window} has a padding of at most half of it, found {self.padding}")
        low = [0, *around, 0]
        return reduce_window(tensor, [1, *window, 1], monoid, strides=[1, *strides, 1], low=low, high=low)


@dataclass(frozen=True)
class MaxPool(_Pool):
    """The greatest element of each window."""

    def __call__(self, params: Params, x: Like) -> Tensor:
        return self._joined(x, "max")


@dataclass(frozen=True)
class AvgPool(_Pool):
    """The mean of the elements of each window that there are: padding does not count."""

    def __call__(self, params: Params, x: Like) -> Tensor:
        tensor = Tensor.of(node_of(x))
        sums = self._joined(tensor, "sum")
        if not any(for_each_axis(self.padding, len(self.window))):
            return sums / prod(self.window)
        return sums / self._joined(ones([1, *tensor.shape[1:-1], 1], tensor.dtype), "sum")
