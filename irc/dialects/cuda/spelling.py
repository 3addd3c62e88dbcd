"""How ops are spelled in CUDA C++, and which threads they need: a row of the table says both of one. The printer prints
rows, and the simulator checks who takes part, with one rule for all.

A row is the class of its op under a decorator:

    @ptx("mbarrier.init.shared::cta.b64 [{address}], {count}")
    class BarrierInitOp(EffectOp):
        "Make 8 bytes of shared memory a barrier."
        name = "cuda.barrier_init"

In the text, `{x}` stands for the operand or integer property x of the op. Operands of any number are a vector of PTX,
innermost first, where the op has them outermost first. `{x:h}` is one of 16 bits. In C++, `{type}` is the type of the
op's result.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

from xdsl.ir import Operation
from xdsl.irdl import IRDLOperation, irdl_op_definition

OpT = TypeVar("OpT", bound=IRDLOperation)
Text: TypeAlias = "str | Callable[[Any], str]"
"""The same for all such ops, or by op."""

PLACE = re.compile(r"\{(\w+)(?::(\w))?\}")
"""The place of an operand in a text, and the letter of its constraint."""

RESULT_TYPE = "type"


@dataclass(frozen=True)
class Spelling:
    """text: a statement or expression of C++, or what an asm statement has, without the last semicolon.
    is_assembly: whether it is PTX.
    whole_warps: whether warps take part with all of their lanes.
    variant: what the function's name has behind that of the op, of PTX that is not the same for all such ops.
    """

    text: Text
    is_assembly: bool
    whole_warps: bool
    variant: Text = ""

    def text_of(self, op: Operation) -> str:
        return self.text if isinstance(self.text, str) else self.text(op)

    def is_function(self, op: Operation) -> bool:
        return self.is_assembly and bool(op.operands)

    def function_of(self, op: Operation) -> str:
        """The name of the function that an instruction with operands is in C++."""
        variant = self.variant if isinstance(self.variant, str) else self.variant(op)
        name = op.name.removeprefix("cuda.")
        return f"{name}_{variant}" if variant else name


SPELLINGS: dict[type[Operation], Spelling] = {}
"""By op."""


def ptx(text: Text, *, variant: Text = "", whole_warps: bool = False) -> Callable[[type[OpT]], type[OpT]]:
    """An op that is an instruction, which no access to memory moves over. One with operands is a function in C++, which
    takes them in their order and then the properties that the text has; others stand where they are used."""
    return _row(Spelling(text, is_assembly=True, whole_warps=whole_warps, variant=variant))


def cpp(text: Text, *, whole_warps: bool = False) -> Callable[[type[OpT]], type[OpT]]:
    """An op that is a line of C++, or the expression of its result."""
    return _row(Spelling(text, is_assembly=False, whole_warps=whole_warps))


def _row(row: Spelling) -> Callable[[type[OpT]], type[OpT]]:
    def define(cls: type[OpT]) -> type[OpT]:
        op = irdl_op_definition(cls)
        SPELLINGS[op] = row
        return op

    return define
