"""Printing of arith: arithmetic, comparisons, choice. Conversions are in `printer_cast`.

Integers wrap: additions and products of 32 and 64 bits are done unsigned, unless the op is marked `nsw` or is on
`index`. Floats of 16 and 8 bits are computed in float and rounded.
"""

from __future__ import annotations

from xdsl.dialects import arith
from xdsl.dialects.builtin import (
    BFloat16Type,
    Float8E4M3FNType,
    Float8E5M2Type,
    Float16Type,
    IndexType,
    IntegerType,
    f64,
)
from xdsl.ir import Attribute, SSAValue

from irc.codegen.prelude_numbers import widen_name
from irc.codegen.printer import KernelPrinter, prints
from irc.codegen.printer_memory import slice_of
from irc.dialects.cuda import PackedOp, PackedWidenOp, RegistersType, WgmmaOp, WgmmaRegistersOp
from irc.dialects.scalar import CheckIndexOp, FmodOp
from irc.ir.dtypes import element_of
from irc.ir.properties import constant_of

Narrow = BFloat16Type | Float16Type | Float8E4M3FNType | Float8E5M2Type

_WRAPPING = {"arith.addi": "+", "arith.subi": "-", "arith.muli": "*"}
_ON_BOOL = {"arith.addi": "^", "arith.subi": "^", "arith.muli": "&"}
_BITWISE = {"arith.andi": "&", "arith.ori": "|", "arith.xori": "^"}
_FLOAT = {"arith.addf": "+", "arith.subf": "-", "arith.mulf": "*", "arith.divf": "/"}


def to_float(p: KernelPrinter, value: SSAValue) -> str:
    """The value as an expression that float arithmetic takes: a float or a double."""
    text = p.value(value)
    if not isinstance(value.type, Narrow):
        return text
    name = p.type(value.type)
    p.use(f"{name}_conversions")
    return f"{name}_to_float({text})"


def from_float(p: KernelPrinter, text: str, type: Attribute) -> str:
    """A float expression rounded to a type."""
    if not isinstance(type, Narrow):
        return text
    name = p.type(type)
    p.use(f"{name}_conversions")
    return f"float_to_{name}({text})"


_UNSIGNED = {
    "signed char": "unsigned char",
    "short": "unsigned short",
    "int": "unsigned",
    "long long": "unsigned long long",
    "bool": "bool",
}


def as_unsigned(p: KernelPrinter, value: SSAValue) -> str:
    """An integer value read as unsigned."""
    return f"({unsigned_type(p, value.type)}){p.value(value)}"


def as_signed(p: KernelPrinter, value: SSAValue) -> str:
    """An integer value read as signed: a bool is 0 or -1."""
    return f"-(int){p.value(value)}" if value.type == IntegerType(1) else p.value(value)


def unsigned_type(p: KernelPrinter, type: Attribute) -> str:
    """The unsigned C++ type of an integer type's width."""
    return _UNSIGNED[p.type(type)]


@prints(arith.ConstantOp)
def constant(p: KernelPrinter, op: arith.ConstantOp) -> None:
    p.name(op.result, p.constant(op.value, op.result.type))


@prints(arith.AddiOp, arith.SubiOp, arith.MuliOp)
def wrapping(p: KernelPrinter, op: arith.AddiOp | arith.SubiOp | arith.MuliOp) -> None:
    type, sign = op.result.type, _WRAPPING[op.name]
    if type == IntegerType(1):
        p.define(op.result, f"{p.value(op.lhs)} {_ON_BOOL[op.name]} {p.value(op.rhs)}")
    elif isinstance(type, IndexType) or any(flag.value == "nsw" for flag in op.overflow_flags.data):
        p.define(op.result, f"{p.value(op.lhs)} {sign} {p.value(op.rhs)}")
    else:
        p.define(op.result, f"({p.type(type)})({as_unsigned(p, op.lhs)} {sign} {as_unsigned(p, op.rhs)})")


@prints(arith.AndIOp, arith.OrIOp, arith.XOrIOp)
def bitwise(p: KernelPrinter, op: arith.AndIOp | arith.OrIOp | arith.XOrIOp) -> None:
    p.define(op.result, f"{p.value(op.lhs)} {_BITWISE[op.name]} {p.value(op.rhs)}")


@prints(arith.DivSIOp, arith.RemSIOp, arith.DivUIOp, arith.RemUIOp)
def division(p: KernelPrinter, op: arith.DivSIOp | arith.RemSIOp | arith.DivUIOp | arith.RemUIOp) -> None:
    """By zero gives 0 and leaves 0; a divisor that is known, or an index, needs no test of that."""
    type = op.result.type
    unsigned = isinstance(op, arith.DivUIOp | arith.RemUIOp)
    divides = isinstance(op, arith.DivSIOp | arith.DivUIOp)
    lhs = as_unsigned(p, op.lhs) if unsigned else p.value(op.lhs)
    rhs = as_unsigned(p, op.rhs) if unsigned else p.value(op.rhs)
    if isinstance(type, IndexType) or constant_of(op.rhs) not in (None, 0, -1):
        p.define(op.result, f"{lhs} {'/' if divides else '%'} {rhs}")
        return
    p.use("division")
    element = unsigned_type(p, type) if unsigned else p.type(type)
    p.define(op.result, f"{'divide' if divides else 'remainder_of'}<{element}>({lhs}, {rhs})")


@prints(arith.FloorDivSIOp, arith.CeilDivSIOp, arith.CeilDivUIOp)
def rounded_division(p: KernelPrinter, op: arith.FloorDivSIOp | arith.CeilDivSIOp | arith.CeilDivUIOp) -> None:
    divisor = constant_of(op.rhs)
    if isinstance(op, arith.FloorDivSIOp) and divisor is not None and divisor > 0 and divisor & (divisor - 1) == 0:
        p.define(op.result, f"{p.value(op.lhs)} >> {divisor.bit_length() - 1}")
        return
    p.use("division")
    unsigned = isinstance(op, arith.CeilDivUIOp)
    element = unsigned_type(p, op.result.type) if unsigned else p.type(op.result.type)
    function = "floor_divide" if isinstance(op, arith.FloorDivSIOp) else "ceil_divide"
    p.define(op.result, f"{function}<{element}>({p.value(op.lhs)}, {p.value(op.rhs)})")


@prints(arith.ShLIOp, arith.ShRSIOp, arith.ShRUIOp)
def shift(p: KernelPrinter, op: arith.ShLIOp | arith.ShRSIOp | arith.ShRUIOp) -> None:
    """By the width or more: all bits leave, as in PTX. `>>` of a signed value brings in its sign."""
    type, amount = p.type(op.result.type), p.value(op.rhs)
    width = _WIDTHS[type]
    logical = f"({type})({as_unsigned(p, op.lhs)} {'<<' if isinstance(op, arith.ShLIOp) else '>>'} {amount})"
    arithmetic = isinstance(op, arith.ShRSIOp)
    plain = f"{p.value(op.lhs)} >> {amount}" if arithmetic else logical
    known = constant_of(op.rhs)
    if known is not None and 0 <= known < width:
        p.define(op.result, plain)
        return
    inside = f"{as_unsigned(p, op.rhs)} < {width}"
    beyond = f"{p.value(op.lhs)} >> {width - 1}" if arithmetic else f"({type})0"
    p.define(op.result, f"{inside} ? {plain} : {beyond}")


_WIDTHS = {"bool": 1, "signed char": 8, "short": 16, "int": 32, "long long": 64}


@prints(arith.MinSIOp, arith.MaxSIOp, arith.MinUIOp, arith.MaxUIOp)
def extremum(p: KernelPrinter, op: arith.MinSIOp | arith.MaxSIOp | arith.MinUIOp | arith.MaxUIOp) -> None:
    read = as_unsigned if isinstance(op, arith.MinUIOp | arith.MaxUIOp) else as_signed
    sign = "<" if isinstance(op, arith.MinSIOp | arith.MinUIOp) else ">"
    p.define(op.result, f"{read(p, op.lhs)} {sign} {read(p, op.rhs)} ? {p.value(op.lhs)} : {p.value(op.rhs)}")


@prints(arith.AddfOp, arith.SubfOp, arith.MulfOp, arith.DivfOp)
def float_arithmetic(p: KernelPrinter, op: arith.AddfOp | arith.SubfOp | arith.MulfOp | arith.DivfOp) -> None:
    lhs, rhs = to_float(p, op.lhs), to_float(p, op.rhs)
    p.define(op.result, from_float(p, f"{lhs} {_FLOAT[op.name]} {rhs}", op.result.type))


@prints(FmodOp)
def fmod(p: KernelPrinter, op: FmodOp) -> None:
    function = "fmod" if op.result.type == f64 else "fmodf"
    p.define(op.result, f"{function}({p.value(op.lhs)}, {p.value(op.rhs)})")


@prints(CheckIndexOp)
def check_index(p: KernelPrinter, op: CheckIndexOp) -> None:
    """Beside wgmma without a word: ptxas has products wait for each other in a kernel with calls (its advice C7510)."""
    if any(isinstance(other, WgmmaOp | WgmmaRegistersOp) for other in p.kernel.walk()):
        p.line(f"if (!{p.value(op.inside)}) __trap();  // {op.expected}")
    else:
        p.use("index_out_of_range")
        p.line(f'if (!{p.value(op.inside)}) index_out_of_range("{op.expected}");')
    p.define(op.result, p.value(op.index))


@prints(PackedOp)
def packed(p: KernelPrinter, op: PackedOp) -> None:
    assert isinstance(op.array.type, RegistersType)
    slices = ((op.array, op.index), (op.lhs, op.lhs_index), (op.rhs, op.rhs_index))
    p.call(f"packed_{op.kind.data}_{op.array.type.element}", *(slice_of(p, *each) for each in slices))


@prints(PackedWidenOp)
def packed_widen(p: KernelPrinter, op: PackedWidenOp) -> None:
    assert isinstance(op.array.type, RegistersType) and isinstance(op.source.type, RegistersType)
    source = "u8" if op.unsigned is not None else element_of(op.source.type.element).name
    places = [f"(int){p.value(index)}" for index in (op.lhs_index, op.rhs_index)]
    target = element_of(op.array.type.element).name
    if op.field is None:
        p.call(widen_name(source, target), slice_of(p, op.array, op.index), op.source, *places)
        return
    name, (first, count) = f"packed_widen_bits_{target}", op.field
    template = f"{name}<{first}, {count}, {str(op.unsigned is not None).lower()}>"
    p.use(name)
    p.line(f"{template}({', '.join((slice_of(p, op.array, op.index), p.value(op.source), *places))});")


@prints(arith.NegfOp)
def negation(p: KernelPrinter, op: arith.NegfOp) -> None:
    p.define(op.result, from_float(p, f"-{to_float(p, op.operand)}", op.result.type))


@prints(arith.MinimumfOp, arith.MaximumfOp)
def propagating_extremum(p: KernelPrinter, op: arith.MinimumfOp | arith.MaximumfOp) -> None:
    """NaN where either operand is."""
    p.use("extrema")
    function = "minimum" if isinstance(op, arith.MinimumfOp) else "maximum"
    p.define(op.result, from_float(p, f"{function}({to_float(p, op.lhs)}, {to_float(p, op.rhs)})", op.result.type))


@prints(arith.MinnumfOp, arith.MaxnumfOp)
def number_extremum(p: KernelPrinter, op: arith.MinnumfOp | arith.MaxnumfOp) -> None:
    """The other operand where one is NaN."""
    function = "fmin" if isinstance(op, arith.MinnumfOp) else "fmax"
    suffix = "" if p.type(op.result.type) == "double" else "f"
    p.define(
        op.result, from_float(p, f"{function}{suffix}({to_float(p, op.lhs)}, {to_float(p, op.rhs)})", op.result.type)
    )


_INTEGER_SIGNS = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}


@prints(arith.CmpiOp)
def integer_comparison(p: KernelPrinter, op: arith.CmpiOp) -> None:
    predicate = arith.CMPI_COMPARISON_OPERATIONS[op.predicate.value.data]
    sign = _INTEGER_SIGNS[predicate[-2:]]
    read = as_unsigned if predicate[0] == "u" else as_signed
    if predicate in ("eq", "ne"):
        p.define(op.result, f"{p.value(op.lhs)} {sign} {p.value(op.rhs)}")
        return
    p.define(op.result, f"{read(p, op.lhs)} {sign} {read(p, op.rhs)}")


_FLOAT_COMPARISONS = {
    "false": "false",
    "oeq": "{0} == {1}",
    "ogt": "{0} > {1}",
    "oge": "{0} >= {1}",
    "olt": "{0} < {1}",
    "ole": "{0} <= {1}",
    "one": "{0} < {1} || {0} > {1}",
    "ord": "{0} == {0} && {1} == {1}",
    "ueq": "!({0} < {1} || {0} > {1})",
    "ugt": "!({0} <= {1})",
    "uge": "!({0} < {1})",
    "ult": "!({0} >= {1})",
    "ule": "!({0} > {1})",
    "une": "{0} != {1}",
    "uno": "{0} != {0} || {1} != {1}",
    "true": "true",
}
"""Of each predicate: the ones that start with u hold where an operand is NaN, the ones with o do not."""


@prints(arith.CmpfOp)
def float_comparison(p: KernelPrinter, op: arith.CmpfOp) -> None:
    predicate = arith.CMPF_COMPARISON_OPERATIONS[op.predicate.value.data]
    p.define(op.result, _FLOAT_COMPARISONS[predicate].format(to_float(p, op.lhs), to_float(p, op.rhs)))


@prints(arith.SelectOp)
def select(p: KernelPrinter, op: arith.SelectOp) -> None:
    p.define(op.result, f"{p.value(op.cond)} ? {p.value(op.lhs)} : {p.value(op.rhs)}")
