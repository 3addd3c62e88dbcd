"""Building of scalar code, in the place of an op that it computes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.builder import Builder
from xdsl.dialects import arith, math, scf
from xdsl.dialects.builtin import FloatAttr, IntegerAttr, f32, i32
from xdsl.dialects.utils import FastMathFlag
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from irc.dialects import cuda


@dataclass(frozen=True)
class ScalarBuilder:
    """Adds scalar ops of f32 and i32."""

    builder: Builder

    def __call__(self, op: Operation) -> SSAValue:
        return self.builder.insert(op).results[0]

    def number(self, value: float) -> SSAValue:
        return self(arith.ConstantOp(FloatAttr(value, f32)))

    def integer(self, value: int) -> SSAValue:
        return self(arith.ConstantOp(IntegerAttr(value, i32)))

    def mul(self, a: SSAValue, b: SSAValue | float) -> SSAValue:
        return self(arith.MulfOp(a, self._value(b)))

    def add(self, a: SSAValue, b: SSAValue | float) -> SSAValue:
        return self(arith.AddfOp(a, self._value(b)))

    def sub(self, a: SSAValue | float, b: SSAValue | float) -> SSAValue:
        return self(arith.SubfOp(self._value(a), self._value(b)))

    def fma(self, a: SSAValue, b: SSAValue | float, c: SSAValue | float) -> SSAValue:
        return self(math.FmaOp(a, self._value(b), self._value(c)))

    def neg(self, x: SSAValue) -> SSAValue:
        return self(arith.NegfOp(x))

    def polynomial(self, x: SSAValue, coefficients: Sequence[float]) -> SSAValue:
        """Of the highest power first."""
        total = self.number(coefficients[0])
        for coefficient in coefficients[1:]:
            total = self.fma(total, x, coefficient)
        return total

    def test(self, a: SSAValue, test: str, b: SSAValue | float) -> SSAValue:
        return self(arith.CmpfOp(a, self._value(b), test))

    def select(self, condition: SSAValue, then: SSAValue | float, other: SSAValue | float) -> SSAValue:
        return self(arith.SelectOp(condition, self._value(then), self._value(other)))

    def where(
        self, a: SSAValue, test: str, b: SSAValue | float, then: SSAValue | float, other: SSAValue | float
    ) -> SSAValue:
        """`then` where the comparison of a and b holds, else `other`."""
        b, then = self._value(b), self._value(then)
        return self.select(self.test(a, test, b), then, other)

    def either(
        self,
        condition: SSAValue,
        then: Callable[[ScalarBuilder], Sequence[SSAValue]],
        other: Callable[[ScalarBuilder], Sequence[SSAValue]],
    ) -> Sequence[SSAValue]:
        """A branch: the values of `then` where the condition holds, else those of `other`."""
        values: Sequence[SSAValue] = ()
        blocks = Block(), Block()
        for block, side in zip(blocks, (then, other), strict=True):
            inside = ScalarBuilder(Builder(InsertPoint.at_end(block)))
            values = side(inside)
            inside.builder.insert(scf.YieldOp(*values))
        types = [value.type for value in values]
        return self.builder.insert(scf.IfOp(condition, types, Region(blocks[0]), Region(blocks[1]))).results

    def bits(self, x: SSAValue) -> SSAValue:
        return self(arith.BitcastOp(x, i32))

    def float_of(self, bits: SSAValue) -> SSAValue:
        return self(arith.BitcastOp(bits, f32))

    def shifted(self, bits: SSAValue) -> SSAValue:
        """The float of which the last bits are the exponent."""
        return self.float_of(self(arith.ShLIOp(bits, self.integer(23))))

    def absolute(self, x: SSAValue) -> SSAValue:
        return self(math.AbsFOp(x))

    def with_sign(self, x: SSAValue | float, sign: SSAValue) -> SSAValue:
        return self(math.CopySignOp(self._value(x), sign))

    def run(self, instruction: str, *inputs: SSAValue | float) -> SSAValue:
        """An instruction of a GPU (`irc/dialects/cuda/instructions.py`)."""
        return self(cuda.InstructionOp(instruction, *map(self._value, inputs)))

    def _value(self, x: SSAValue | float) -> SSAValue:
        return x if isinstance(x, SSAValue) else self.number(x)


Function = Callable[..., SSAValue]
"""Adds what computes an op of f32: (code, the op's operands...)."""


def expand(op: Operation, function: Function) -> None:
    """Put what a function adds in the place of an op."""
    last = op.prev_op
    value = function(ScalarBuilder(Builder(InsertPoint.before(op))), *op.operands)
    made = op.prev_op
    while made is not None and made is not last:
        for inner in made.walk():
            inner.location = op.location
        made = made.prev_op
    Rewriter.replace_op(op, [], [value])


def is_approximate(op: Operation, flag: FastMathFlag = FastMathFlag.APPROX_FUNC) -> bool:
    """Whether the op's fastmath flags have `flag`: by default, that it may be approximated."""
    flags = op.properties.get("fastmath")
    return isinstance(flags, arith.FastMathFlagsAttr) and flag in flags.data
