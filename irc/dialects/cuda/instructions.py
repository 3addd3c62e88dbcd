"""Instructions on a thread's scalars that `arith` and `math` have no op for: a row of the table says all of one.

Rows are named as PTX spells them. The printer prints them, and the simulator computes what they mean, with one op for
all: a new instruction is a new row.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from xdsl.dialects.builtin import DenseArrayBase, StringAttr, f32, i32, i64
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, prop_def, result_def, var_operand_def
from xdsl.utils.exceptions import VerifyException

from irc.dialects.cuda.common import check_one_of
from irc.ir.operations import PureOp
from irc.ir.rounding import fused_multiply_add

Array: TypeAlias = np.ndarray[Any, Any]
Meaning: TypeAlias = Callable[..., Array]

TINY = float(np.finfo(np.float32).tiny)
"""The least normal f32."""


@dataclass(frozen=True)
class Instruction:
    """What is known of an instruction.

    operands, result: types of scalars.
    meaning: the result of arrays; where the machine approximates, the exact result, rounded once.
    relative, absolute: the result is within one of both of the exact one, as PTX ISA has it (9.7.3, floating point
    instructions). 0 and 0: the meaning is what the machine computes, bit for bit.
    """

    operands: tuple[Attribute, ...]
    result: Attribute
    meaning: Meaning
    relative: float = 0.0
    absolute: float = 0.0

    @property
    def is_exact(self) -> bool:
        return not self.relative and not self.absolute


def _flushed(x: Array) -> Array:
    """0 of a subnormal number, with its sign (`.ftz`)."""
    return np.where(np.abs(x) < TINY, np.copysign(np.float32(0), x), x)


def _wide(function: Callable[..., Any]) -> Meaning:
    """A function of f32 that is computed in f64, and rounded."""

    def meaning(*args: Array) -> Array:
        with np.errstate(all="ignore"):
            return np.asarray(function(*(np.asarray(each, np.float64) for each in args))).astype(np.float32)

    return meaning


def _flushing(meaning: Meaning) -> Meaning:
    return lambda *args: _flushed(meaning(*map(_flushed, args)))


def _down(a: Array, b: Array, c: Array) -> Array:
    return fused_multiply_add(a, b, c, down=True)


def _saturated(a: Array, b: Array, c: Array) -> Array:
    """0 of NaN."""
    return np.fmin(np.fmax(fused_multiply_add(a, b, c), np.float32(0)), np.float32(1)) + np.float32(0)


def _quotient(a: Array, b: Array) -> Array:
    """0 of a finite number by one beyond 2 ** 126, and NaN of an infinite one."""
    a, b = np.asarray(a, np.float64), np.asarray(b, np.float64)
    with np.errstate(all="ignore"):
        far = (np.abs(b) > 2.0**126) & np.isfinite(b)
        return np.where(far, a * np.copysign(0.0, b), a / b).astype(np.float32)


def _of_floats(count: int, meaning: Meaning, relative: float = 0.0, absolute: float = 0.0) -> Instruction:
    return Instruction((f32,) * count, f32, meaning, relative, absolute)


_EXP2, _RECIPROCAL = _wide(np.exp2), _wide(np.reciprocal)

INSTRUCTIONS: dict[str, Instruction] = {
    "cos.approx.f32": _of_floats(1, _wide(np.cos), absolute=2**-20.5),
    "div.approx.f32": _of_floats(2, _quotient, relative=2**-22),
    "div.full.f32": _of_floats(2, _wide(np.divide), relative=2**-22),
    "ex2.approx.f32": _of_floats(1, _EXP2, relative=2**-22),
    "ex2.approx.ftz.f32": _of_floats(1, _flushing(_EXP2), relative=2**-22),
    "fma.rm.f32": _of_floats(3, _down),
    "fma.rn.sat.f32": _of_floats(3, _saturated),
    "lg2.approx.f32": _of_floats(1, _wide(np.log2), relative=2**-22, absolute=2**-22),
    "rcp.approx.ftz.f32": _of_floats(1, _flushing(_RECIPROCAL), relative=2**-22.9),
    "rsqrt.approx.f32": _of_floats(1, _wide(lambda x: 1 / np.sqrt(x)), relative=2**-22.4),
    "sin.approx.f32": _of_floats(1, _wide(np.sin), absolute=2**-20.5),
    "sqrt.approx.f32": _of_floats(1, _wide(np.sqrt), relative=2**-22.9),
}
"""By the name that PTX has. The errors of sine and cosine are those of angles up to 2 pi. A relative error of 2 ** -23
is that of a result before it is rounded."""


@irdl_op_definition
class InstructionOp(PureOp):
    """The result of one instruction of the table `INSTRUCTIONS` of `irc/dialects/cuda/instructions.py`."""

    name = "cuda.instruction"
    instruction = prop_def(StringAttr)
    inputs = var_operand_def()
    result = result_def()
    assembly_format = "$instruction $inputs attr-dict `:` functional-type($inputs, $result)"

    def __init__(self, instruction: str, *inputs: SSAValue) -> None:
        super().__init__(instruction, inputs, INSTRUCTIONS[instruction].result)

    def verify_(self) -> None:
        name = self.instruction.data
        check_one_of("the instruction", name, sorted(INSTRUCTIONS))
        row, types = self.row, (*self.inputs.types, self.result.type)
        if types != (*row.operands, row.result):
            wanted, found = (
                f"({', '.join(map(str, operands))}) -> {result}"
                for *operands, result in ((*row.operands, row.result), types)
            )
            raise VerifyException(f"expected {name} : {wanted}, found {found}")

    @property
    def row(self) -> Instruction:
        return INSTRUCTIONS[self.instruction.data]


@irdl_op_definition
class LookupOp(PureOp):
    """values[index], of a table in constant memory. An index outside of it gives any number."""

    name = "cuda.lookup"
    values = prop_def(DenseArrayBase)
    index = operand_def(i32)
    result = result_def(i64)
    assembly_format = "$index attr-dict"

    def verify_(self) -> None:
        if self.values.elt_type != i64:
            raise VerifyException(f"expected values of i64, found {self.values.elt_type}")
        if not len(self.values):
            raise VerifyException("expected a table with values, found none")
