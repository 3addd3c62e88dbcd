"""Rules of matrix products and convolutions."""

from __future__ import annotations

from typing import Any, Unpack

import irc_frontend as ir
from irc.support.diagnostics import IrcError
from irc_frontend.convolution import conv_transpose
from irc_frontend.onnx.rules import rule
from irc_frontend.onnx.windows import Window, windows
from irc_frontend.tensor import Tensor


@rule("MatMul")
def _matmul(a: Tensor, b: Tensor) -> Tensor:
    return a @ b


@rule("Gemm")
def _gemm(
    a: Tensor,
    b: Tensor,
    c: Tensor | None = None,
    *,
    alpha: float = 1.0,
    beta: float = 1.0,
    transA: int = 0,
    transB: int = 0,
) -> Tensor:
    y = (a.T if transA else a) @ (b.T if transB else b)
    y = y if alpha == 1 else y * _factor(y, alpha)
    return y if c is None or beta == 0 else y + (c if beta == 1 else c * _factor(c, beta))


def _factor(x: Tensor, value: float) -> Any:
    if x.node.is_float:
        return value
    if value != int(value):
        raise IrcError(f"a product of {x.element} times {value}")
    return int(value)


@rule("Einsum")
def _einsum(*operands: Tensor, equation: str) -> Tensor:
    return ir.einsum(equation.replace(" ", ""), *operands)


@rule("Conv")
def _conv(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    *,
    group: int = 1,
    kernel_shape: list[int] | None = None,
    **how: Unpack[Window],
) -> Tensor:
    _expect_kernel(weight, kernel_shape)
    found = windows(x.shape[2:], weight.shape[2:], **how)
    steps, low, high, apart = ([getattr(each, name) for each in found] for name in ("step", "low", "high", "apart"))
    return _with_bias(ir.conv(x, weight, steps, low, high, apart, groups=group), bias)


def _expect_kernel(weight: Tensor, kernel_shape: list[int] | None) -> None:
    if kernel_shape is not None and tuple(kernel_shape) != weight.shape[2:]:
        raise IrcError(f"the kernel {weight.node.type} has not the kernel_shape {kernel_shape}")


def _with_bias(y: Tensor, bias: Tensor | None) -> Tensor:
    return y if bias is None else y + bias.reshape(1, -1, *[1] * (y.ndim - 2))


@rule("ConvTranspose")
def _conv_transpose(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    *,
    group: int = 1,
    kernel_shape: list[int] | None = None,
    output_padding: list[int] | None = None,
    output_shape: list[int] | None = None,
    **how: Unpack[Window],
) -> Tensor:
    _expect_kernel(weight, kernel_shape)
    rank, auto_pad, pads = x.ndim - 2, how.get("auto_pad", "NOTSET"), how.get("pads")
    strides, dilations = how.get("strides", [1] * rank), how.get("dilations", [1] * rank)
    more, both = output_padding or [0] * rank, pads or [0] * 2 * rank
    before, behind = list(both[:rank]), list(both[rank:])
    reach = [(taps - 1) * gap + 1 for taps, gap in zip(weight.shape[2:], dilations, strict=True)]
    if auto_pad in ("SAME_UPPER", "SAME_LOWER") and output_shape is None:
        output_shape = [extent * step for extent, step in zip(x.shape[2:], strides, strict=True)]
    if output_shape is not None:
        for axis, wanted in enumerate(output_shape[-rank:]):
            cut = strides[axis] * (x.shape[2 + axis] - 1) + more[axis] + reach[axis] - wanted
            half = cut - cut // 2 if auto_pad != "SAME_UPPER" else cut // 2
            before[axis] = half if cut > 0 else 0
            behind[axis] = cut - before[axis]
    behind = [cut - extra for cut, extra in zip(behind, more, strict=True)]
    y = conv_transpose(x.node, weight.node, strides, before, behind, dilations, group)
    return _with_bias(Tensor.of(y), bias)
