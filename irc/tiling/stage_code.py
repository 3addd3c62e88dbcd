"""Scalars that kernels compute of places and of integers in arrays: sums, comparisons, searches."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from xdsl.dialects import arith
from xdsl.ir import Operation, SSAValue

from irc.tiling.stage import Stage


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

    def search(self, count: int, holds: Callable[[SSAValue, SSAValue], SSAValue]) -> SSAValue:
        """How often a condition holds, of the numbers 1 to `count`, that holds of each before one of which it does. It
        is given a number, and the number again, or `count` where that is less: the answer is not used there."""
        found = self.index(0)
        for power in reversed(range(count.bit_length())):
            trial = self(arith.AddiOp(found, self.index(1 << power)))
            known = self(arith.MinSIOp(trial, self.index(count)))
            answer = holds(trial, known)
            is_one = self(arith.AndIOp(answer, self.compare("eq", trial, known)))
            found = self(arith.SelectOp(is_one, trial, found))
        return found
