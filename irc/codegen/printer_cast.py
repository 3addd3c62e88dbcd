"""Printing of arith's conversions.

Float to integer truncates and saturates, NaN gives 0; narrowing rounds to nearest even; float to f8 saturates.
"""

from __future__ import annotations

from xdsl.dialects import arith
from xdsl.dialects.builtin import Float32Type, Float64Type, IntegerType, i8
from xdsl.ir import Attribute

from irc.codegen.printer import KernelPrinter, prints
from irc.codegen.printer_arith import Narrow, as_signed, as_unsigned, from_float, to_float, unsigned_type
from irc.dialects.cuda import size_of


@prints(arith.IndexCastOp)
def index_cast(p: KernelPrinter, op: arith.IndexCastOp) -> None:
    """Between types that are one in C++, another name of the same value."""
    source, target, text = p.type(op.input.type), p.type(op.result.type), p.value(op.input)
    if source == target:
        p.name(op.result, text)
        return
    p.define(op.result, f"({target}){text}")


@prints(arith.ExtSIOp)
def extend_signed(p: KernelPrinter, op: arith.ExtSIOp) -> None:
    p.define(op.result, f"({p.type(op.result.type)}){_in_parens(as_signed(p, op.input))}")


@prints(arith.ExtUIOp)
def extend_unsigned(p: KernelPrinter, op: arith.ExtUIOp) -> None:
    p.define(op.result, f"({p.type(op.result.type)}){as_unsigned(p, op.input)}")


@prints(arith.TruncIOp)
def truncate_integer(p: KernelPrinter, op: arith.TruncIOp) -> None:
    if op.result.type == IntegerType(1):
        p.define(op.result, f"({p.value(op.input)} & 1) != 0")
        return
    p.define(op.result, f"({p.type(op.result.type)}){p.value(op.input)}")


@prints(arith.ExtFOp)
def extend_float(p: KernelPrinter, op: arith.ExtFOp) -> None:
    text = to_float(p, op.input)
    p.define(
        op.result, f"(double){text}" if isinstance(op.result.type, Float64Type) else from_float(p, text, op.result.type)
    )


@prints(arith.TruncFOp)
def truncate_float(p: KernelPrinter, op: arith.TruncFOp) -> None:
    p.define(op.result, _narrowed(p, to_float(p, op.input), op.input.type, op.result.type))


def _narrowed(p: KernelPrinter, text: str, source: Attribute, target: Attribute) -> str:
    """A float expression of one type rounded once to a type not wider."""
    if not isinstance(source, Float64Type):
        return from_float(p, text, target)
    if isinstance(target, Float32Type):
        return f"(float){text}"
    p.use("double_to_float_odd")
    return from_float(p, f"double_to_float_odd({text})", target)


@prints(arith.SIToFPOp, arith.UIToFPOp)
def integer_to_float(p: KernelPrinter, op: arith.SIToFPOp | arith.UIToFPOp) -> None:
    """Integers of 32 bits and more go to narrow floats through double, rounded once."""
    signed, target = isinstance(op, arith.SIToFPOp), op.result.type
    text = _in_parens(as_signed(p, op.input) if signed else as_unsigned(p, op.input))
    if op.input.type == i8 and not isinstance(target, Float64Type):
        p.use("bytes_to_float")
        p.define(op.result, from_float(p, f"{'i8' if signed else 'u8'}_to_float({text})", target))
        return
    if isinstance(target, Narrow) and size_of(op.input.type) >= 4:
        p.define(op.result, _narrowed(p, f"(double){text}", Float64Type(), target))
        return
    p.define(
        op.result, f"(double){text}" if isinstance(target, Float64Type) else from_float(p, f"(float){text}", target)
    )


@prints(arith.FPToSIOp, arith.FPToUIOp)
def float_to_integer(p: KernelPrinter, op: arith.FPToSIOp | arith.FPToUIOp) -> None:
    signed, text = isinstance(op, arith.FPToSIOp), to_float(p, op.input)
    result = op.result.type
    double = isinstance(op.input.type, Float64Type)
    bits = 1 if result == IntegerType(1) else 8 * size_of(result)
    if bits == 32 and not double:
        # The instruction saturates, and gives 0 for NaN.
        p.define(op.result, f"__float2int_rz({text})" if signed else f"(int)__float2uint_rz({text})")
        return
    least, past = (-(2 ** (bits - 1)), 2 ** (bits - 1)) if signed else (0, 2**bits)
    integer = p.type(result) if signed else unsigned_type(p, result)
    lowest = f"({least + 1}LL - 1)" if signed else "0"
    bounds = ", ".join(f"{bound:.1f}{'' if double else 'f'}" for bound in (float(least), float(past)))
    p.use("float_to_integer")
    element = "double" if double else "float"
    highest = f"{past - 1}{'LL' if signed else 'ULL'}"
    p.define(
        op.result,
        f"({p.type(result)})float_to_integer<{integer}, {element}>"
        f"({text}, {bounds}, ({integer}){lowest}, ({integer}){highest})",
    )


_BITS = {
    ("float", "int"): "__float_as_int({})",
    ("int", "float"): "__int_as_float({})",
    ("double", "long long"): "__double_as_longlong({})",
    ("long long", "double"): "__longlong_as_double({})",
}


@prints(arith.BitcastOp)
def bitcast(p: KernelPrinter, op: arith.BitcastOp) -> None:
    source, target, text = p.type(op.input.type), p.type(op.result.type), p.value(op.input)
    if source == target:
        p.name(op.result, text)
        return
    if (source, target) in _BITS:
        p.define(op.result, _BITS[source, target].format(text))
        return
    if isinstance(op.input.type, Narrow):
        text = f"{text}.bits"
    if isinstance(op.result.type, Narrow):
        storage = "unsigned char" if size_of(op.result.type) == 1 else "unsigned short"
        p.define(op.result, f"{target}{{({storage}){text}}}")
        return
    p.define(op.result, f"({target}){text}")


def _in_parens(text: str) -> str:
    return f"({text})" if text.startswith("-") else text
