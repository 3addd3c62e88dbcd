"""Rules of quantized numbers: integers, or f8, with a scale and a zero point."""

from __future__ import annotations

from typing import Any

import numpy as np

import irc_frontend as ir
from irc.support.diagnostics import IrcError
from irc_frontend.onnx.model import element_of
from irc_frontend.onnx.ops.numbers import cast
from irc_frontend.onnx.rules import in_range, rule
from irc_frontend.tensor import Tensor


def _along(x: Tensor, values: Tensor, axis: int, block_size: int) -> Tensor:
    """Scales of an array, of an axis, or of blocks along one, broadcast to x."""
    if values.size == 1 and values.ndim <= 1:
        return values.reshape(())
    axis = in_range(axis, x.ndim)
    if block_size:
        return ir.repeat(values, block_size, axis)[tuple(slice(0, extent) for extent in x.shape)]
    return values.reshape([-1 if each == axis else 1 for each in range(x.ndim)])


@rule("QuantizeLinear")
def _quantize(
    x: Tensor,
    scale: Tensor,
    zero: Tensor | None = None,
    *,
    axis: int = 1,
    block_size: int = 0,
    output_dtype: int = 0,
    precision: int = 0,
    saturate: int = 1,
) -> Tensor:
    named = element_of(output_dtype, "output_dtype") if output_dtype else "u8"
    element = named if zero is None else zero.element
    y = x.astype("f32") / _along(x, scale, axis, block_size).astype("f32")
    if element.startswith("f8"):
        return cast(y, element, saturate)
    y = ir.round(y)
    if zero is not None:
        y = y + _along(x, zero, axis, block_size).astype("f32")
    return _saturated(y, element)


def _saturated(y: Tensor, element: str) -> Tensor:
    if element not in ("i8", "u8", "i16"):
        raise IrcError(f"numbers quantized as {element} are not supported")
    limits = np.iinfo(ir.zeros((), element).dtype)
    return ir.clip(y, float(limits.min), float(limits.max)).astype("i32").astype(element)


@rule("DequantizeLinear")
def _dequantize(
    x: Tensor,
    scale: Tensor,
    zero: Tensor | None = None,
    *,
    axis: int = 1,
    block_size: int = 0,
    output_dtype: int = 0,
) -> Tensor:
    element = element_of(output_dtype, "output_dtype") if output_dtype else scale.element
    y = x.astype("f32")
    if zero is not None:
        y = y - _along(x, zero, axis, block_size).astype("f32")
    return (y * _along(x, scale, axis, block_size).astype("f32")).astype(element)


@rule("DynamicQuantizeLinear")
def _dynamic_quantize(x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    most, least = ir.maximum(ir.max(x), 0.0), ir.minimum(ir.min(x), 0.0)
    scale = (most - least) / 255.0
    zero = _saturated(ir.round(-least / scale), "u8")
    return _saturated(ir.round(x / scale) + zero.astype("f32"), "u8"), scale, zero


def _shifted(x: Tensor, zero: Tensor | None, axis: int) -> Tensor:
    """x without its zero point, which is that of the array, or of a row or column."""
    if zero is None:
        return x.astype("i32")
    shape: list[Any] = [1] * x.ndim
    if zero.size > 1:
        shape[axis] = -1
    return x.astype("i32") - (zero.astype("i32").reshape(shape) if zero.ndim < 2 else zero.astype("i32"))


@rule("MatMulInteger")
def _matmul_integer(a: Tensor, b: Tensor, a_zero: Tensor | None = None, b_zero: Tensor | None = None) -> Tensor:
    return _shifted(a, a_zero, a.ndim - 2) @ _shifted(b, b_zero, b.ndim - 1)


@rule("QLinearMatMul")
def _qlinear_matmul(
    a: Tensor,
    a_scale: Tensor,
    a_zero: Tensor,
    b: Tensor,
    b_scale: Tensor,
    b_zero: Tensor,
    y_scale: Tensor,
    y_zero: Tensor,
) -> Tensor:
    total = _shifted(a, a_zero, a.ndim - 2) @ _shifted(b, b_zero, b.ndim - 1)
    factor = a_scale.astype("f32") * b_scale.astype("f32") / y_scale.astype("f32")
    return _saturated(ir.round(total.astype("f32") * factor) + y_zero.astype("f32"), y_zero.element)
