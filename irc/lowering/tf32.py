"""f32 operands of a warp's products, as three products of tf32: in registers, since each thread has its part of both.

What that is accurate to, and why in this order, is in split-dots, which does the same for warp groups in tiles: these
read a right operand from shared memory alone.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects import arith
from xdsl.ir import Attribute, Operation, SSAValue

from irc.expansion import tf32
from irc.ir.properties import scalar
from irc.lowering.emitter import Emitter
from irc.lowering.values import Registers, ThreadCode


def tf32_products(code: ThreadCode, a: Registers, b: Registers) -> list[tuple[Registers, Registers]]:
    """The operands of the three products whose sum is that of a and b, the small ones first."""
    (a_high, a_low), (b_high, b_low) = (_parts(code, operand) for operand in (a, b))
    return [(a_low, b_high), (a_high, b_low), (a_high, b_high)]


def _parts(code: ThreadCode, x: Registers) -> tuple[Registers, Registers]:
    """The high and the low part of each element."""
    high, low = (code.array(x.fragment, x.element, hint) for hint in ("high", "low"))
    with code.each(x.fragment) as at:
        value = code.element(x, x.fragment, at)
        first = tf32.high(_Scalars(code.e), value)
        code.set(high, at, first)
        code.set(low, at, code.e.value(arith.SubfOp(value, first)))
    return high, low


@dataclass(frozen=True)
class _Scalars:
    """Adds scalar ops where code is emitted."""

    emitter: Emitter

    def __call__(self, op: Operation, /) -> SSAValue:
        return self.emitter.value(op)

    def constant(self, value: float | int, type: Attribute, /) -> SSAValue:
        return self.emitter.value(arith.ConstantOp(scalar(value, type)))
