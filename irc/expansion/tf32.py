"""f32 as tf32, and as the sum of two numbers of tf32: the bits of a number that a tensor core reads."""

from __future__ import annotations

from typing import Protocol

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import f32, i32
from xdsl.ir import Attribute, Operation, SSAValue

KEPT = 0xFFFFE000 - (1 << 32)
"""Bits of an f32 that tf32 has: sign, exponent and 10 bits of the significand."""

HALF = 0x1000
"""Half of tf32's last place, in bits of an f32."""

LARGEST = float.fromhex("0x1.ffdffep127")
"""The largest magnitude that does not round to infinity."""

FINITE = float.fromhex("0x1.fffffep127")
"""The largest finite magnitude."""

SMALL = 0xBFFFE000 - (1 << 32)
"""`KEPT` without the first bit of the exponent: infinity becomes 1, the largest numbers about 1."""


class Code(Protocol):
    """What scalar ops are added to."""

    def __call__(self, op: Operation, /) -> SSAValue: ...

    def constant(self, value: float | int, type: Attribute, /) -> SSAValue: ...


def high(code: Code, x: SSAValue) -> SSAValue:
    """x rounded to tf32; what would become infinite, and what is not finite, with a smaller exponent. x less that is
    exact, and has 12 bits."""
    bits = code(arith.BitcastOp(x, i32))
    small = code(arith.AndIOp(bits, code.constant(SMALL, i32)))
    return _nearest(code, x, bits, LARGEST, small)


def rounded(code: Code, x: SSAValue) -> SSAValue:
    """x rounded to tf32; what is not finite as it is."""
    bits = code(arith.BitcastOp(x, i32))
    return _nearest(code, x, bits, FINITE, bits)


def _nearest(code: Code, x: SSAValue, bits: SSAValue, largest: float, other: SSAValue) -> SSAValue:
    """The nearest number of tf32, ties away from zero, for magnitudes up to `largest`; above it and for NaN `other`."""
    magnitude = code(math.AbsFOp(x))
    nearest = code(arith.AndIOp(code(arith.AddiOp(bits, code.constant(HALF, i32))), code.constant(KEPT, i32)))
    rounds = code(arith.CmpfOp(magnitude, code.constant(largest, f32), "ole"))
    return code(arith.BitcastOp(code(arith.SelectOp(rounds, nearest, other)), f32))
