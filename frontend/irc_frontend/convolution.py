"""Convolutions, on nodes."""

from __future__ import annotations

from collections.abc import Sequence

from irc_frontend.graph import Node, fail
from irc_frontend.linear import product_element
from irc_frontend.slicing import index
from irc_frontend.structure import reshape, swap

Numbers = int | Sequence[int]
"""One for each axis of space, or one for all."""


def conv(
    x: Node,
    kernel: Node,
    strides: Numbers = 1,
    low: Numbers = 0,
    high: Numbers = 0,
    dilation: Numbers = 1,
    input_dilation: Numbers = 1,
    groups: int = 1,
    *,
    kernel_axes: Sequence[int] = (),
    flipped: bool = False,
    element: str | None = None,
) -> Node:
    """The op `nd.conv`: x is [N, C, space...], the kernel [O, C / groups, space...] in the order that `kernel_axes`
    says, the result [N, O, space...]."""
    from irc.support.windows import conv_shape, in_order

    if x.rank < 2 or x.rank != kernel.rank:
        raise fail(f"conv takes x and a kernel of as many axes, 2 or more, found {x.type} and {kernel.type}")
    if x.element != kernel.element or x.is_bool:
        raise fail(f"cannot convolve {x.type} with {kernel.type}", "cast them to one type of numbers")
    weights = in_order(kernel.shape, kernel_axes)
    if groups < 1 or x.shape[1] % groups or weights[0] % groups or x.shape[1] // groups != weights[1]:
        hint = "x is [N, C, ...], the kernel [O, C / groups, ...]"
        raise fail(f"cannot convolve {x.type} with {kernel.type} and groups={groups}", hint)
    rank = x.rank - 2
    strides, low, high = (
        _numbers("strides", strides, rank, 1),
        _numbers("low", low, rank, 0),
        _numbers("high", high, rank, 0),
    )
    dilation, spread = _numbers("dilation", dilation, rank, 1), _numbers("input_dilation", input_dilation, rank, 1)
    attributes = (
        ("strides", strides),
        ("low", low),
        ("high", high),
        ("dilation", dilation),
        ("input_dilation", spread),
        ("groups", groups),
        ("kernel_axes", tuple(kernel_axes)),
        ("flipped", flipped),
    )
    shape = conv_shape(x.shape, weights, strides, low, high, dilation, spread)
    return Node("conv", (x, kernel), shape, element or product_element(x.element), attributes)


def conv_transpose(
    x: Node,
    kernel: Node,
    strides: Sequence[int],
    before: Sequence[int],
    behind: Sequence[int],
    dilation: Sequence[int],
    groups: int = 1,
    element: str | None = None,
) -> Node:
    """The transpose of a convolution, for each axis of space: x is [N, I, space...], the kernel [I, O / groups,
    space...]. before, behind: what is cut off from the whole result; a negative number adds zeros."""
    windows = [(taps - 1) * step + 1 for taps, step in zip(kernel.shape[2:], dilation, strict=True)]
    low = [window - 1 - cut for window, cut in zip(windows, before, strict=True)]
    high = [window - 1 - cut for window, cut in zip(windows, behind, strict=True)]
    axes: tuple[int, ...] = (1, 0, *range(2, x.rank))
    if groups > 1:
        inputs, outputs, *taps = kernel.shape
        kernel = swap(reshape(kernel, (groups, inputs // groups, outputs, *taps)), 1, 2)
        kernel, axes = reshape(kernel, (groups * outputs, inputs // groups, *taps)), ()
    y = conv(
        x,
        kernel,
        low=[max(0, each) for each in low],
        high=[max(0, each) for each in high],
        dilation=dilation,
        input_dilation=strides,
        groups=groups,
        kernel_axes=axes,
        flipped=True,
        element=element,
    )
    if min(low + high, default=0) >= 0:
        return y
    # What is cut off beyond the window's places before its last tap takes places away.
    cut = (slice(max(0, -a), n - max(0, -b)) for a, b, n in zip(low, high, y.shape[2:], strict=True))
    return index(y, (slice(None), slice(None), *cut))


def for_each_axis(value: Numbers, count: int) -> tuple[int, ...]:
    """One number for each of so many axes."""
    return (value,) * count if isinstance(value, int) else tuple(value)


def _numbers(name: str, value: Numbers, count: int, least: int) -> tuple[int, ...]:
    found = for_each_axis(value, count)
    if len(found) != count or any(number < least for number in found):
        raise fail(f"conv takes {count} integers of {least} or more for {name}, found {list(found)}")
    return found
