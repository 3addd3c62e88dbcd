"""Printing of math, as functions of CUDA's library, and of instructions."""

from __future__ import annotations

from xdsl.dialects import math
from xdsl.irdl import IRDLOperation

from irc.codegen.printer import KernelPrinter, prints
from irc.codegen.printer_arith import from_float, to_float
from irc.dialects.cuda import InstructionOp, LookupOp, size_of
from irc.ir.math_library import FUNCTIONS


@prints(*FUNCTIONS)
def function(p: KernelPrinter, op: IRDLOperation) -> None:
    result = op.results[0]
    arguments = ", ".join(to_float(p, operand) for operand in op.operands)
    suffix = "" if p.type(result.type) == "double" else "f"
    p.define(result, from_float(p, f"{FUNCTIONS[type(op)]}{suffix}({arguments})", result.type))


_CONSTRAINTS = {"float": "f", "double": "d", "int": "r", "long long": "l"}
"""Of operands of an asm statement, by their type."""


@prints(InstructionOp)
def instruction(p: KernelPrinter, op: InstructionOp) -> None:
    inputs = ", ".join(f'"{_CONSTRAINTS[p.type(each.type)]}"({p.value(each)})' for each in op.inputs)
    places = ", ".join(f"%{number}" for number in range(1 + len(op.inputs)))
    output = f'"={_CONSTRAINTS[p.type(op.result.type)]}"({p.declare(op.result)})'
    p.line(f'asm("{op.instruction.data} {places};" : {output} : {inputs});')


@prints(LookupOp)
def lookup(p: KernelPrinter, op: LookupOp) -> None:
    p.define(op.result, f"{p.table(op.values)}[{p.value(op.index)}]")


@prints(math.FPowIOp)
def float_to_integer_power(p: KernelPrinter, op: math.FPowIOp) -> None:
    double = p.type(op.result.type) == "double"
    power = f"pow({to_float(p, op.lhs)}, (double){p.value(op.rhs)})"
    text = power if double else power.replace("pow(", "powf(", 1).replace("(double)", "(float)", 1)
    p.define(op.result, from_float(p, text, op.result.type))


@prints(math.IPowIOp)
def integer_power(p: KernelPrinter, op: math.IPowIOp) -> None:
    p.use("integer_power")
    p.define(op.result, f"integer_power<{p.type(op.result.type)}>({p.value(op.lhs)}, {p.value(op.rhs)})")


@prints(math.AbsIOp)
def integer_absolute(p: KernelPrinter, op: math.AbsIOp) -> None:
    type, text = p.type(op.result.type), p.value(op.operand)
    p.define(op.result, f"{text} < 0 ? ({type})(0ull - (unsigned long long){text}) : {text}")


@prints(math.CtPopOp, math.CountLeadingZerosOp, math.CountTrailingZerosOp)
def count_bits(p: KernelPrinter, op: math.CtPopOp | math.CountLeadingZerosOp | math.CountTrailingZerosOp) -> None:
    """Of a narrow integer read as unsigned; of no bit set, the zeros are the width."""
    type, text = p.type(op.result.type), p.value(op.operand)
    bits = 64 if type == "long long" else 8 * size_of(op.result.type)
    unsigned = f"(unsigned long long){text}" if bits == 64 else f"((unsigned){text} & {2**bits - 1:#x}u)"
    suffix, container = ("ll", 64) if bits == 64 else ("", 32)
    if isinstance(op, math.CtPopOp):
        counted = f"__popc{suffix}({unsigned})"
    elif isinstance(op, math.CountLeadingZerosOp):
        counted = f"__clz{suffix}({unsigned}) - {container - bits}"
    else:
        counted = f"{text} == 0 ? {bits} : __ffs{suffix}({unsigned}) - 1"
    p.define(op.result, f"({type})({counted})")
