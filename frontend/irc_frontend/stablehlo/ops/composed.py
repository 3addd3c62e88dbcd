"""Rules of elementwise ops that are composed of several of irc's: bits of integers, roots and roundings."""

from __future__ import annotations

import irc_frontend as ir
from irc_frontend.stablehlo.rules import rule
from irc_frontend.stablehlo.syntax import Op
from irc_frontend.tensor import Tensor


@rule("stablehlo.cbrt")
def _cbrt(op: Op, x: Tensor) -> Tensor:
    """A power, and a step of Newton's method: the power alone loses the bits of the rounded exponent times log(x)."""
    size = ir.abs(x if x.element in ("f32", "f64") else x.astype("f32"))
    root = size ** (1 / 3)
    better = root - (root - size / (root * root)) / 3
    plain = (size == 0) | ir.isinf(size)
    return ir.copysign(ir.where(plain, size, better).astype(x.element), x)


@rule("stablehlo.round_nearest_afz")
def _round_nearest_afz(op: Op, x: Tensor) -> Tensor:
    """Halves are rounded away from 0."""
    whole = ir.trunc(x)
    return ir.where(ir.abs(x - whole) >= 0.5, whole + ir.copysign(ir.ones_like(x), x), whole)


def _width(x: Tensor) -> int:
    return 8 * x.dtype.itemsize


@rule("stablehlo.shift_right_logical")
def _shift_right_logical(op: Op, x: Tensor, count: Tensor) -> Tensor:
    """Zeros come in from the left; by the width or more, it is 0."""
    if x.element == "u8":
        return ir.right_shift(x, count)
    width = _width(x)
    kept = ir.invert(ir.left_shift(ir.full_like(x, -1), width - count))
    return ir.where((count >= 0) & (count < width), ir.right_shift(x, count) & kept, 0)


@rule("stablehlo.popcnt")
def _popcnt(op: Op, x: Tensor) -> Tensor:
    return _bit_count(x)


def _bit_count(x: Tensor) -> Tensor:
    """Numbers of ones in fields of 1, 2, 4, ... bits, each the sum of two. The mask has no bit where a shift brings in
    the sign."""
    width, field = _width(x), 1
    while field < width:
        mask = sum(((1 << field) - 1) << start for start in range(0, width, 2 * field))
        x = (x & mask) + (ir.right_shift(x, field) & mask)
        field *= 2
    return x


@rule("stablehlo.count_leading_zeros")
def _count_leading_zeros(op: Op, x: Tensor) -> Tensor:
    """All bits behind the first one are set, and counted."""
    width, step = _width(x), 1
    while step < width:
        x = x | ir.right_shift(x, step)
        step *= 2
    return width - _bit_count(x)


@rule("stablehlo.optimization_barrier")
def _optimization_barrier(op: Op, *operands: Tensor) -> list[Tensor]:
    return list(operands)
