"""Rules of matrix products and convolutions."""

from __future__ import annotations

from typing import Any

from irc.support.diagnostics import IrcError
from irc_frontend.convolution import conv
from irc_frontend.graph import Node
from irc_frontend.stablehlo.rules import rule
from irc_frontend.stablehlo.syntax import Op
from irc_frontend.tensor import Tensor


@rule("stablehlo.dot_general", "stablehlo.dot")
def _dot_general(op: Op, a: Tensor, b: Tensor) -> Tensor:
    """The result has the batches, then the other axes of a, then those of b, as that of `nd.matmul`."""
    given: dict[str, Any] = op.attrs
    if "dot_dimension_numbers" in given:
        numbers = given["dot_dimension_numbers"]
        batches = [numbers.get(f"{side}_batching_dimensions", []) for side in ("lhs", "rhs")]
        sums = [numbers.get(f"{side}_contracting_dimensions", []) for side in ("lhs", "rhs")]
    else:
        batches = given.get("batching_dims", [[], []])
        sums = given.get("contracting_dims", [[a.ndim - 1], [0]])
    attributes = (
        ("lhs_batch", tuple(batches[0])),
        ("rhs_batch", tuple(batches[1])),
        ("lhs_contract", tuple(sums[0])),
        ("rhs_contract", tuple(sums[1])),
    )
    return Tensor.of(Node("matmul", (a.node, b.node), op.types[-1].shape, op.types[-1].element, attributes))


@rule("stablehlo.convolution")
def _convolution(op: Op, x: Tensor, kernel: Tensor) -> Tensor:
    """By the order of axes that irc has: images, channels, space; outputs, inputs, space."""
    given = op.attrs
    if "dim_numbers" not in given:
        raise IrcError("a convolution in generic form is not supported", hint="print it as JAX does")
    rank, window = x.ndim - 2, given.get("window", {})
    if int(given.get("batch_group_count", 1)) != 1:
        raise IrcError("convolutions with groups of batches are not supported")
    space = [str(axis) for axis in range(rank)]
    x_order, kernel_order, y_order = (
        [[str(each) for each in axes].index(name) for name in (*ends, *space)]
        for axes, ends in zip(given["dim_numbers"], ("bf", "oi", "bf"), strict=True)
    )
    pads = window.get("pad", [[0, 0]] * rank)
    turned = window.get("reverse", [False] * rank)
    if any(turned) and not all(turned):
        raise IrcError("a kernel that is turned along some of its axes is not supported")
    low, high = [each[0] for each in pads], [each[1] for each in pads]
    cut = [max(0, -each) for each in (*low, *high)]
    y = conv(
        x.permute(x_order).node,
        kernel.permute(kernel_order).node,
        window.get("stride", [1] * rank),
        [max(0, each) for each in low],
        [max(0, each) for each in high],
        window.get("rhs_dilate", [1] * rank),
        window.get("lhs_dilate", [1] * rank),
        int(given.get("feature_group_count", 1)),
        flipped=bool(turned and all(turned)),
        element=op.types[-1].element,
    )
    if any(cut):
        raise IrcError("a convolution with negative padding is not supported")
    return Tensor.of(y).permute([y_order.index(axis) for axis in range(x.ndim)])
