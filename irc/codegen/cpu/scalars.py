"""Scalar ops as LLVM IR. Arithmetic on f16 and bf16 is in f32, and rounds once."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from xdsl.dialects import arith, math
from xdsl.dialects.builtin import (
    BFloat16Type,
    Float16Type,
    Float32Type,
    Float64Type,
    FloatAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    f32,
)
from xdsl.ir import Attribute, Operation

from irc.dialects.scalar import FmodOp
from irc.ir.dtypes import element_of
from irc.ir.math_library import FUNCTIONS
from irc.ir.rounding import cast_array
from irc.looping.unsupported import Unsupported

if TYPE_CHECKING:
    from irc.codegen.cpu.printer import Printer

Rule = Callable[..., str]


def llvm_type(type: Attribute) -> str:
    """The type of a value; Unsupported where there is none."""
    match type:
        case Float32Type():
            return "float"
        case Float64Type():
            return "double"
        case Float16Type():
            return "half"
        case BFloat16Type():
            return "i16"
        case IndexType():
            return "i64"
        case IntegerType():
            return f"i{type.width.data}"
        case _:
            raise Unsupported(f"values of {type}")


def literal(value: Attribute) -> str:
    """A constant."""
    if isinstance(value, IntegerAttr):
        bits = 64 if isinstance(value.type, IndexType) else value.type.width.data
        number = value.value.data
        return str(number & 1) if bits == 1 else str(number)
    assert isinstance(value, FloatAttr)
    type = llvm_type(value.type)
    number = cast_array(np.array(value.value.data, np.float64), element_of(value.type).dtype)
    if type == "i16":
        return str(int(number.view(np.int16)))
    if type == "half":
        return f"0xH{int(number.view(np.uint16)):04X}"
    return f"0x{struct.unpack('<Q', struct.pack('<d', float(number)))[0]:016X}"


def _is_narrow(type: Attribute) -> bool:
    return isinstance(type, BFloat16Type | Float16Type)


def widen(p: Printer, type: Attribute, x: str, target: Attribute = f32) -> str:
    """A float in f32 or f64."""
    if isinstance(type, BFloat16Type):
        bits = p.emit(f"shl i32 {p.emit(f'zext i16 {x} to i32')}, 16")
        type, x = f32, p.emit(f"bitcast i32 {bits} to float")
    if type == target:
        return x
    return p.emit(f"fpext {llvm_type(type)} {x} to {llvm_type(target)}")


def narrow(p: Printer, x: str, source: Attribute, target: Attribute) -> str:
    """A float rounded to a narrower type, to nearest even; NaN stays one."""
    if not isinstance(target, BFloat16Type):
        if isinstance(source, Float64Type) and isinstance(target, Float16Type):
            raise Unsupported("f64 rounded to f16")
        return p.emit(f"fptrunc {llvm_type(source)} {x} to {llvm_type(target)}")
    if isinstance(source, Float64Type):
        x = p.emit(f"fptrunc double {x} to float")
    elif isinstance(source, Float16Type):
        x = p.emit(f"fpext half {x} to float")
    bits = p.emit(f"bitcast float {x} to i32")
    odd = p.emit(f"and i32 {p.emit(f'lshr i32 {bits}, 16')}, 1")
    nearest = p.emit(f"add i32 {p.emit(f'add i32 {bits}, 32767')}, {odd}")
    is_nan = p.emit(f"fcmp uno float {x}, {x}")
    chosen = p.emit(f"select i1 {is_nan}, i32 2143289344, i32 {nearest}")
    return p.emit(f"trunc i32 {p.emit(f'lshr i32 {chosen}, 16')} to i16")


def _flags(op: Operation) -> str:
    found = getattr(op, "fastmath", None)
    flags = [] if found is None else [flag.value for flag in found.data]
    return "".join(f"{flag} " for flag in flags if flag in ("reassoc", "contract", "nsz"))


def _float(make: Callable[[Printer, str, str, tuple[str, ...]], str]) -> Rule:
    """A function of floats of one type: (printer, LLVM type, flags, operands)."""

    def rule(p: Printer, op: Operation, *args: str) -> str:
        type = op.results[0].type
        if not _is_narrow(type):
            return make(p, llvm_type(type), _flags(op), args)
        wide = tuple(widen(p, type, arg) for arg in args)
        return narrow(p, make(p, "float", _flags(op), wide), f32, type)

    return rule


def _binary(name: str) -> Rule:
    return _float(lambda p, type, flags, args: p.emit(f"{name} {flags}{type} {args[0]}, {args[1]}"))


def _intrinsic(name: str, flags: str = "") -> Rule:
    def make(p: Printer, type: str, _: str, args: tuple[str, ...]) -> str:
        width = {"float": "f32", "double": "f64"}[type]
        return p.call(f"llvm.{name}.{width}", type, [(type, arg) for arg in args], flags)

    return _float(make)


def _library(name: str) -> Rule:
    """A function of the C library."""

    def make(p: Printer, type: str, _: str, args: tuple[str, ...]) -> str:
        return p.call_library(name + ("f" if type == "float" else ""), type, args)

    return _float(make)


def _integer(name: str) -> Rule:
    def rule(p: Printer, op: Operation, a: str, b: str) -> str:
        return p.emit(f"{name} {llvm_type(op.results[0].type)} {a}, {b}")

    return rule


def _minmax(name: str) -> Rule:
    def rule(p: Printer, op: Operation, a: str, b: str) -> str:
        type = llvm_type(op.results[0].type)
        return p.call(f"llvm.{name}.{type}", type, [(type, a), (type, b)])

    return rule


def _shift(name: str) -> Rule:
    """Numbers of bits beyond the type's are those of the type."""

    def rule(p: Printer, op: Operation, a: str, b: str) -> str:
        type = llvm_type(op.results[0].type)
        if not b.lstrip("-").isdigit():
            b = p.call(f"llvm.smax.{type}", type, [(type, b), (type, "0")])
            b = p.call(f"llvm.smin.{type}", type, [(type, b), (type, str(int(type[1:]) - 1))])
        return p.emit(f"{name} {type} {a}, {b}")

    return rule


def _divided(name: str) -> Rule:
    """A division that does not trap: by 0 it gives something, as on a GPU."""

    def rule(p: Printer, op: Operation, a: str, b: str) -> str:
        type = llvm_type(op.results[0].type)
        return p.emit(f"{name} {type} {a}, {_divisor(p, type, a, b, name[0] == 's')}")

    return rule


def _divisor(p: Printer, type: str, a: str, b: str, is_signed: bool) -> str:
    if b.lstrip("-").isdigit() and b not in ("0", "-1"):
        return b
    bad = p.emit(f"icmp eq {type} {b}, 0")
    if is_signed:
        least = p.emit(f"icmp eq {type} {a}, {-(1 << int(type[1:]) - 1)}")
        over = p.emit(f"and i1 {least}, {p.emit(f'icmp eq {type} {b}, -1')}")
        bad = p.emit(f"or i1 {bad}, {over}")
    return p.emit(f"select i1 {bad}, {type} 1, {type} {b}")


def _rounded_quotient(is_up: bool) -> Rule:
    def rule(p: Printer, op: Operation, a: str, b: str) -> str:
        type = llvm_type(op.results[0].type)
        b = _divisor(p, type, a, b, True)
        quotient = p.emit(f"sdiv {type} {a}, {b}")
        rest = p.emit(f"srem {type} {a}, {b}")
        inexact = p.emit(f"icmp ne {type} {rest}, 0")
        signs = p.emit(f"icmp {'sge' if is_up else 'slt'} {type} {p.emit(f'xor {type} {rest}, {b}')}, 0")
        step = p.emit(f"zext i1 {p.emit(f'and i1 {inexact}, {signs}')} to {type}")
        return p.emit(f"{'add' if is_up else 'sub'} {type} {quotient}, {step}")

    return rule


_PREDICATES = ("eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge")
_ORDERS = "false oeq ogt oge olt ole one ord ueq ugt uge ult ule une uno true".split()


def _compare_integers(p: Printer, op: arith.CmpiOp, a: str, b: str) -> str:
    return p.emit(f"icmp {_PREDICATES[op.predicate.value.data]} {llvm_type(op.lhs.type)} {a}, {b}")


def _compare_floats(p: Printer, op: arith.CmpfOp, a: str, b: str) -> str:
    type: Attribute = op.lhs.type
    if _is_narrow(type):
        a, b, type = widen(p, type, a), widen(p, type, b), f32
    return p.emit(f"fcmp {_ORDERS[op.predicate.value.data]} {llvm_type(type)} {a}, {b}")


def _select(p: Printer, op: arith.SelectOp, condition: str, a: str, b: str) -> str:
    type = llvm_type(op.result.type)
    return p.emit(f"select i1 {condition}, {type} {a}, {type} {b}")


def _converted(name: str) -> Rule:
    def rule(p: Printer, op: Operation, x: str) -> str:
        source, target = llvm_type(op.operands[0].type), llvm_type(op.results[0].type)
        return x if source == target else p.emit(f"{name} {source} {x} to {target}")

    return rule


def _bitcast(p: Printer, op: Operation, x: str) -> str:
    source, target = llvm_type(op.operands[0].type), llvm_type(op.results[0].type)
    return x if source == target else p.emit(f"bitcast {source} {x} to {target}")


def _index_cast(p: Printer, op: Operation, x: str) -> str:
    source, target = (llvm_type(value.type) for value in (op.operands[0], op.results[0]))
    if source == target:
        return x
    name = "trunc" if int(source[1:]) > int(target[1:]) else "sext"
    return p.emit(f"{name} {source} {x} to {target}")


def _from_integer(name: str) -> Rule:
    def rule(p: Printer, op: Operation, x: str) -> str:
        target = op.results[0].type
        wide = f32 if _is_narrow(target) else target
        value = p.emit(f"{name} {llvm_type(op.operands[0].type)} {x} to {llvm_type(wide)}")
        return narrow(p, value, wide, target) if _is_narrow(target) else value

    return rule


def _to_integer(name: str) -> Rule:
    """Saturates, and gives 0 for NaN."""

    def rule(p: Printer, op: Operation, x: str) -> str:
        source: Attribute = op.operands[0].type
        target = llvm_type(op.results[0].type)
        if target == "i1":
            raise Unsupported("floats to booleans")
        if _is_narrow(source):
            x, source = widen(p, source, x), f32
        type, width = llvm_type(source), "f32" if source == f32 else "f64"
        return p.call(f"llvm.{name}.sat.{target}.{width}", target, [(type, x)])

    return rule


def _extend_float(p: Printer, op: Operation, x: str) -> str:
    return widen(p, op.operands[0].type, x, op.results[0].type)


def _truncate_float(p: Printer, op: Operation, x: str) -> str:
    return narrow(p, x, op.operands[0].type, op.results[0].type)


def _absolute(p: Printer, op: Operation, x: str) -> str:
    type = llvm_type(op.results[0].type)
    return p.call(f"llvm.abs.{type}", type, [(type, x), ("i1", "false")])


def _rsqrt(p: Printer, type: str, _: str, args: tuple[str, ...]) -> str:
    width = {"float": "f32", "double": "f64"}[type]
    return p.emit(f"fdiv {type} 1.0, {p.call(f'llvm.sqrt.{width}', type, [(type, args[0])])}")


SCALARS: dict[type[Operation], Any] = {
    **{op: _library(name) for op, name in FUNCTIONS.items()},
    arith.AddiOp: _integer("add"),
    arith.SubiOp: _integer("sub"),
    arith.MuliOp: _integer("mul"),
    arith.DivSIOp: _divided("sdiv"),
    arith.RemSIOp: _divided("srem"),
    arith.DivUIOp: _divided("udiv"),
    arith.RemUIOp: _divided("urem"),
    arith.FloorDivSIOp: _rounded_quotient(is_up=False),
    arith.CeilDivSIOp: _rounded_quotient(is_up=True),
    arith.MinSIOp: _minmax("smin"),
    arith.MaxSIOp: _minmax("smax"),
    arith.MinUIOp: _minmax("umin"),
    arith.MaxUIOp: _minmax("umax"),
    arith.AndIOp: _integer("and"),
    arith.OrIOp: _integer("or"),
    arith.XOrIOp: _integer("xor"),
    arith.ShLIOp: _shift("shl"),
    arith.ShRSIOp: _shift("ashr"),
    arith.ShRUIOp: _shift("lshr"),
    arith.CmpiOp: _compare_integers,
    arith.CmpfOp: _compare_floats,
    arith.SelectOp: _select,
    arith.AddfOp: _binary("fadd"),
    arith.SubfOp: _binary("fsub"),
    arith.MulfOp: _binary("fmul"),
    arith.DivfOp: _binary("fdiv"),
    FmodOp: _library("fmod"),
    arith.NegfOp: _float(lambda p, type, flags, args: p.emit(f"fneg {type} {args[0]}")),
    arith.MinimumfOp: _intrinsic("minimum", "nsz "),
    arith.MaximumfOp: _intrinsic("maximum", "nsz "),
    arith.MinnumfOp: _intrinsic("minnum"),
    arith.MaxnumfOp: _intrinsic("maxnum"),
    arith.BitcastOp: _bitcast,
    arith.IndexCastOp: _index_cast,
    arith.ExtSIOp: _converted("sext"),
    arith.ExtUIOp: _converted("zext"),
    arith.TruncIOp: _converted("trunc"),
    arith.SIToFPOp: _from_integer("sitofp"),
    arith.UIToFPOp: _from_integer("uitofp"),
    arith.FPToSIOp: _to_integer("fptosi"),
    arith.FPToUIOp: _to_integer("fptoui"),
    arith.ExtFOp: _extend_float,
    arith.TruncFOp: _truncate_float,
    math.AbsFOp: _intrinsic("fabs"),
    math.AbsIOp: _absolute,
    math.SqrtOp: _intrinsic("sqrt"),
    math.RsqrtOp: _float(_rsqrt),
    math.FloorOp: _intrinsic("floor"),
    math.CeilOp: _intrinsic("ceil"),
    math.TruncOp: _intrinsic("trunc"),
    math.RoundEvenOp: _intrinsic("roundeven"),
    math.FmaOp: _intrinsic("fma"),
    math.CopySignOp: _intrinsic("copysign"),
}
"""How each op is printed: (printer, op, operands) -> the name of the result."""
