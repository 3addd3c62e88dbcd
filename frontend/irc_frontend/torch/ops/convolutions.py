"""Rules of convolutions and their gradients."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from irc_frontend.casts import deferred, wide
from irc_frontend.convolution import conv, conv_transpose
from irc_frontend.graph import ARGUMENT, Node
from irc_frontend.promotion import accumulator
from irc_frontend.tensor import Tensor
from irc_frontend.torch.costs import why_slow_convolution
from irc_frontend.torch.rules import rule

aten = torch.ops.aten


@rule(aten.convolution.default, cost=why_slow_convolution)
def _convolution(x: Tensor, weight: Tensor, bias: Tensor | None, *how: Any) -> Tensor:
    y = _product(x, weight, *how)
    if bias is None:
        return y
    return y + deferred(bias, y.element).reshape(1, -1, *[1] * (y.ndim - 2))


@rule(aten.convolution_backward.default, cost=why_slow_convolution)
def _gradients(
    g: Tensor,
    x: Tensor,
    weight: Tensor,
    bias_sizes: Sequence[int] | None,  # that of g's channels
    *others: Any,
) -> tuple[Tensor | None, ...]:
    """The gradients of x, of the weight and of the bias, those that the mask, the last argument, has."""
    from irc_frontend.reverse import reverse  # imported late: it imports xDSL

    *how, output_mask = others
    wanted = [each for each, is_wanted in zip((x, weight), output_mask[:2], strict=True) if is_wanted]
    found: list[Tensor] = []
    if wanted:
        inputs = {each: Tensor.of(Node(ARGUMENT, (), each.shape, each.element)) for each in wanted}
        operands = inputs.get(x, x), inputs.get(weight, weight)
        y = _product(*operands, *how)
        loss = (y * deferred(g, y.element)).sum()
        nodes = [each.node for each in inputs.values()], [each.node for each in inputs]
        found = [Tensor.of(node) for node in reverse([loss.node], *nodes)[1]]
    gradients = iter(found)
    sums = wide(g).sum((0, *range(2, g.ndim))) if output_mask[2] else None
    return (*(next(gradients) if is_wanted else None for is_wanted in output_mask[:2]), sums)


def _product(
    x: Tensor,
    weight: Tensor,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    transposed: bool,
    output_padding: Sequence[int],
    groups: int,
) -> Tensor:
    """The convolution; that of narrow floats is f32, and rounded where it is stored."""
    rank = x.ndim - 2
    stride, padding, dilation, output_padding = (
        tuple(each) * rank if len(each) == 1 else tuple(each) for each in (stride, padding, dilation, output_padding)
    )
    element = accumulator(x.element)
    if x.element in ("i8", "u8", "i16"):
        x, weight, element = x.astype("i64"), weight.astype("i64"), "i64"
    if not transposed:
        return Tensor.of(conv(x.node, weight.node, stride, padding, padding, dilation, 1, groups, element=element))
    behind = [each - more for each, more in zip(padding, output_padding, strict=True)]
    return Tensor.of(conv_transpose(x.node, weight.node, stride, padding, behind, dilation, groups, element))
