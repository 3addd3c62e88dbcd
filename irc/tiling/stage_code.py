"""Scalars that kernels compute of places and of integers in arrays: sums, comparisons, searches."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from xdsl.dialects import arith
from xdsl.ir import Operation, SSAValue

from irc.support.integers import ceil_div
from irc.tiling.stage import Stage

RADIX_BITS = 3
"""Of a digit of what is searched for. Of 4096 numbers in steps of 128 two trials wait for each other, not six."""


@dataclass(frozen=True)
class StageCode:
    """Index scalars at the end of a stage's block."""

    stage: Stage

    def __call__(self, op: Operation) -> SSAValue:
        return self.stage.insert(op, self.stage.program.op.location)

    def index(self, value: int) -> SSAValue:
        return self.stage.index(value)

    def compare(self, predicate: str, a: SSAValue, b: SSAValue) -> SSAValue:
        return self(arith.CmpiOp(a, b, predicate))

    def view(self, argument: int) -> SSAValue:
        return self.stage.program.argument(argument)

    def search(self, most: int, count: SSAValue, holds: Callable[[SSAValue, SSAValue], SSAValue]) -> SSAValue:
        """How often a condition holds, of the numbers 1 to `count`, at most `most`, that holds of each before one of
        which it does. It is given a number, and the number again, or `count` where that is less: the answer is not used
        there. A digit of the answer is found at a time, by trials that do not wait for each other, as each reads
        memory."""
        found = self.index(0)
        levels = ceil_div(most.bit_length(), RADIX_BITS)
        for shift in reversed(range(0, levels * RADIX_BITS, RADIX_BITS)):
            begin = found
            for digit in range(1, 1 + min((1 << RADIX_BITS) - 1, most >> shift)):
                trial = self(arith.AddiOp(begin, self.index(digit << shift)))
                known = self(arith.MinSIOp(trial, count))
                answer = holds(trial, known)
                is_one = self(arith.AndIOp(answer, self.compare("eq", trial, known)))
                found = self(arith.SelectOp(is_one, trial, found))
        return found
