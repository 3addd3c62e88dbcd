"""Convolutions with parameters, channels last."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod, sqrt

from irc_frontend.convolution import Numbers, for_each_axis
from irc_frontend.graph import fail
from irc_frontend.linear_functions import conv
from irc_frontend.making_functions import random_uniform, zeros
from irc_frontend.nn.layer import Layer, Params
from irc_frontend.tensor import Like, Tensor, node_of


@dataclass(frozen=True)
class Conv(Layer):
    """A convolution over as many axes as the window has: f[N, space..., inputs] -> f[N, space..., outputs].

    Numbers are one for each axis of space, or one for all: `padding` zeros on either side. The parameters are `weight`,
    f[outputs, window..., inputs / groups], uniform within 1 / sqrt(inputs / groups * points of the window) of 0, and
    `bias`, zeros.
    """

    inputs: int
    outputs: int
    window: tuple[int, ...]
    stride: Numbers = 1
    padding: Numbers = 0
    dilation: Numbers = 1
    groups: int = 1
    bias: bool = True
    dtype: str = "f32"

    def init(self, seed: int) -> Params:
        shape = [self.outputs, *self.window, self.inputs // self.groups]
        bound = 1 / sqrt(max(prod(shape[1:]), 1))
        params: Params = {"weight": (random_uniform(shape, seed) * (2 * bound) - bound).astype(self.dtype)}
        return {**params, "bias": zeros([self.outputs], self.dtype)} if self.bias else params

    def __call__(self, params: Params, x: Like) -> Tensor:
        y = conv(
            _channels_second(x, self.window),
            _channels_second(params["weight"], self.window),
            self.stride,
            self.padding,
            self.padding,
            self.dilation,
            groups=self.groups,
        )
        return _channels_last(y, params["bias"] if self.bias else None)


@dataclass(frozen=True)
class ConvTranspose(Layer):
    """A transposed convolution, as the gradient of a `Conv` with respect to its x is one: f[N, space..., inputs] ->
    f[N, space..., outputs]. An axis of extent n becomes one of (n - 1) * stride - 2 * padding + window + more.

    Numbers are one for each axis of space, or one for all; `padding` is at most the window less one. The parameters are
    those of `Conv`: `weight`, f[outputs, window..., inputs], and `bias`.
    """

    inputs: int
    outputs: int
    window: tuple[int, ...]
    stride: Numbers = 1
    padding: Numbers = 0
    more: Numbers = 0
    bias: bool = True
    dtype: str = "f32"

    def init(self, seed: int) -> Params:
        return Conv(self.inputs, self.outputs, self.window, bias=self.bias, dtype=self.dtype).init(seed)

    def __call__(self, params: Params, x: Like) -> Tensor:
        padding, more = (for_each_axis(numbers, len(self.window)) for numbers in (self.padding, self.more))
        low = [taps - 1 - before for taps, before in zip(self.window, padding, strict=True)]
        if min(low, default=0) < 0:
            raise fail(f"a transposed convolution of a window {self.window} has no padding of {padding}")
        y = conv(
            _channels_second(x, self.window),
            _channels_second(params["weight"], self.window),
            low=low,
            high=[before + extra for before, extra in zip(low, more, strict=True)],
            input_dilation=self.stride,
            flipped=True,
        )
        return _channels_last(y, params["bias"] if self.bias else None)


def _channels_last(y: Tensor, bias: Like | None) -> Tensor:
    """The result of `conv` with channels last, and the bias of these, if there is one."""
    y = y.permute(0, *range(2, y.ndim), 1)
    return y if bias is None else y + bias


def _channels_second(x: Like, window: tuple[int, ...]) -> Tensor:
    """An array whose last axis has channels, as `conv` takes it."""
    array = Tensor.of(node_of(x))
    if array.ndim != len(window) + 2:
        raise fail(f"a convolution with a window {window} takes {len(window) + 2} axes, found {array.node.type}")
    return array.permute(0, array.ndim - 1, *range(1, array.ndim - 1))
