"""Printing of scalars: every arith and math op on every type compiles, and literals say exactly what the constant is."""

from __future__ import annotations

import math as python_math
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from drawing import long
from xdsl.context import Context
from xdsl.dialects import arith, builtin, math, scf
from xdsl.ir import Dialect
from xdsl.parser import Parser

from irc.codegen import print_module
from irc.codegen.literals import float_literal, literal
from irc.codegen.nvrtc import compile_source
from irc.codegen.printer import printed_ops
from irc.codegen.sass import disassemble, opcodes_of, uses
from irc.dialects.cuda import Cuda
from irc.ir.dtypes import element_named
from irc.ir.math_library import FUNCTIONS

FLOATS = ("f64", "f32", "f16", "bf16", "f8E4M3FN", "f8E5M2")
INTEGERS = ("i64", "i32", "i16", "i8", "index")


def kernel(types: dict[str, str], lines: list[str], clauses: str = "") -> str:
    """A kernel that loads %NAME of each type, computes, and stores every %rN: TYPE that the lines define with a trailing `-> TYPE`."""
    context = Context()
    dialects: tuple[Dialect, ...] = (builtin.Builtin, arith.Arith, math.Math, scf.Scf, Cuda)
    for dialect in dialects:
        context.load_dialect(dialect)
    body: list[str] = ["%t = cuda.thread_id", "%c0 = arith.constant 0 : index"]
    arguments = [f"%p_{name}: !cuda.ptr<{type}>" for name, type in types.items()]
    for name, type in types.items():
        array = f"!cuda.registers<1 x {type}>"
        body += [
            f"%a_{name} = cuda.registers : {array}",
            f"cuda.load %p_{name}[%t] -> %a_{name}[%c0] : !cuda.ptr<{type}> -> {array}",
            f"%{name} = cuda.get %a_{name}[%c0] : {array}",
        ]
    for number, line in enumerate(lines):
        text, _, type = line.rpartition(" => ")
        array = f"!cuda.registers<1 x {type}>"
        arguments.append(f"%q{number}: !cuda.ptr<{type}>")
        body += [
            f"%r{number} = {text}",
            f"%b{number} = cuda.registers : {array}",
            f"cuda.set %b{number}[%c0], %r{number} : {array}",
            f"cuda.store %b{number}[%c0], %q{number}[%t] : {array} -> !cuda.ptr<{type}>",
        ]
    text = "\n".join(body)
    module = Parser(
        context, f"cuda.kernel @k({', '.join(arguments)}) grid [1, 1, 1] block 32 {clauses} {{\n{text}\ncuda.return\n}}"
    ).parse_module()
    module.verify()
    return print_module(module)


def integer_lines() -> list[str]:
    lines: list[str] = []
    for type in INTEGERS:
        x, y = f"%{type}_x", f"%{type}_y"
        for (
            op
        ) in "addi subi muli divsi divui remsi remui floordivsi ceildivsi ceildivui minsi maxsi minui maxui".split():
            lines.append(f"arith.{op} {x}, {y} : {type} => {type}")
        for op in "andi ori xori shli shrsi shrui".split():
            lines.append(f"arith.{op} {x}, {y} : {type} => {type}")
        for predicate in arith.CMPI_COMPARISON_OPERATIONS:
            lines.append(f"arith.cmpi {predicate}, {x}, {y} : {type} => i1")
        lines.append(f"arith.select %yes, {x}, {y} : {type} => {type}")
        if type != "index":
            lines += [f"math.{op} {x} : {type} => {type}" for op in ("ctpop", "ctlz", "cttz", "absi")]
            lines.append(f"math.ipowi {x}, {y} : {type} => {type}")
    lines += [f"arith.{op} %yes, %no : i1 => i1" for op in ("addi", "subi", "muli", "andi", "ori", "xori")]
    lines += [f"arith.cmpi {p}, %yes, %no : i1 => i1" for p in arith.CMPI_COMPARISON_OPERATIONS]
    for narrow, wide in (("i1", "i8"), ("i8", "i16"), ("i8", "i32"), ("i16", "i64"), ("i32", "i64")):
        x = "%yes" if narrow == "i1" else f"%{narrow}_x"
        lines += [f"arith.{op} {x} : {narrow} to {wide} => {wide}" for op in ("extsi", "extui")]
        lines.append(f"arith.trunci %{wide}_x : {wide} to {narrow} => {narrow}")
        lines.append(f"arith.index_cast %{wide}_x : {wide} to index => index")
    return lines


def float_lines() -> list[str]:
    lines: list[str] = []
    for type in FLOATS:
        x, y = f"%{type}_x", f"%{type}_y"
        for op in "addf subf mulf divf minimumf maximumf minnumf maxnumf".split():
            lines.append(f"arith.{op} {x}, {y} : {type} => {type}")
        lines.append(f"arith.negf {x} : {type} => {type}")
        for predicate in arith.CMPF_COMPARISON_OPERATIONS:
            lines.append(f"arith.cmpf {predicate}, {x}, {y} : {type} => i1")
        for integer in ("i1", "i8", "i16", "i32", "i64"):
            i = "%yes" if integer == "i1" else f"%{integer}_x"
            lines += [f"arith.{op} {i} : {integer} to {type} => {type}" for op in ("sitofp", "uitofp")]
            if integer != "i1":
                lines += [f"arith.{op} {x} : {type} to {integer} => {integer}" for op in ("fptosi", "fptoui")]
    order = ["f8E5M2", "f8E4M3FN", "bf16", "f16", "f32", "f64"]
    for narrow in order:
        for wide in order[2:]:
            sizes = {"f64": 8, "f32": 4, "f16": 2, "bf16": 2}
            if sizes.get(narrow, 1) < sizes[wide]:
                lines.append(f"arith.extf %{narrow}_x : {narrow} to {wide} => {wide}")
                lines.append(f"arith.truncf %{wide}_x : {wide} to {narrow} => {narrow}")
    pairs = (("f32", "i32"), ("f64", "i64"), ("f16", "i16"), ("bf16", "i16"), ("f8E4M3FN", "i8"), ("bf16", "f16"))
    for a, b in pairs:
        lines.append(f"arith.bitcast %{a}_x : {a} to {b} => {b}")
        lines.append(f"arith.bitcast %{b}_x : {b} to {a} => {a}")
    return lines


def math_lines(flags: str = "") -> list[str]:
    lines: list[str] = []
    for op in FUNCTIONS:
        for type in ("f64", "f32", "bf16"):
            count = {"math.fma": 3, "math.powf": 2, "math.atan2": 2, "math.copysign": 2}.get(op.name, 1)
            operands = ", ".join([f"%{type}_x", f"%{type}_y", f"%{type}_x"][:count])
            lines.append(f"{op.name} {operands} {flags} : {type} => {type}")
    lines.append("math.fpowi %f32_x, %i32_x : f32, i32 => f32")
    return lines


def types(*names: str) -> dict[str, str]:
    return {f"{name}_{suffix}": name for name in names for suffix in "xy"} | {"yes": "i1", "no": "i1"}


CASES = {
    "integers": (types(*INTEGERS), integer_lines()),
    "floats": (types(*FLOATS, "i8", "i16", "i32", "i64"), float_lines()),
    "functions": (types("f64", "f32", "bf16", "i32"), math_lines()),
    "approximations": (types("f64", "f32", "bf16", "i32"), math_lines("fastmath<fast>")),
}


@long(2)
@pytest.mark.parametrize("case", CASES)
def test_scalars_compile(case: str) -> None:
    arch = "sm_90a"
    assert compile_source(kernel(*CASES[case]), arch, name=case).cubin


def test_bytes_are_the_low_bits_of_a_float() -> None:
    """The instruction that converts them has an eighth of the lanes of others."""
    lines = [f"arith.{op} %i8_x : i8 to {type} => {type}" for op in ("sitofp", "uitofp") for type in ("f32", "bf16")]
    found = opcodes_of(disassemble(compile_source(kernel(types("i8"), lines), "sm_90a", name="bytes").cubin))
    assert not uses(found, "I2F") and uses(found, "FADD")


@pytest.mark.parametrize("arch", ["sm_80", "sm_89", "sm_100a"])
def test_conversions_compile_everywhere(arch: str) -> None:
    """f8 is done by hand before sm_89."""
    lines = [
        line
        for line in float_lines()
        if line.startswith(("arith.extf", "arith.truncf", "arith.fpto", "arith.minimumf"))
    ]
    compiled = compile_source(kernel(types(*FLOATS, "i8", "i16", "i32", "i64"), lines, "index 64"), arch)
    assert ("e4m3x2" in compiled.ptx) == (arch != "sm_80")


def test_every_scalar_op_of_xdsl_has_a_form() -> None:
    left_out = {"arith.addui_extended", "arith.mulsi_extended", "arith.mului_extended"}
    ops = {op for dialect in (arith.Arith, math.Math) for op in dialect.operations}
    assert {op.name for op in ops - printed_ops()} == left_out


def test_every_cuda_device_op_has_a_form() -> None:
    """But those of products, channels and exchanges, which become others."""
    from irc.dialects.cuda import Cuda, KernelOp, channel, dot, exchange

    lowered = {op for op in Cuda.operations if op.__module__ in (channel.__name__, dot.__name__, exchange.__name__)}
    assert set(Cuda.operations) - printed_ops() - lowered == {KernelOp}


@pytest.mark.parametrize("value", [0.0, 1.0, 0.1, 1e-45, 3.4028234663852886e38, 2.0**-126, 1 / 3, 123456792.0])
def test_float_literals_are_exact(value: float) -> None:
    for sign in (1.0, -1.0):
        wanted = np.float32(sign * value)
        text = float_literal(sign * value, element_named("f32")).strip("()")
        assert text.endswith("f") and np.float32(text[:-1]) == wanted
        assert python_math.copysign(1, float(text[:-1])) == sign
        assert float(float_literal(sign * value, element_named("f64")).strip("()")) == sign * value


def test_other_literals() -> None:
    assert float_literal(float("inf"), element_named("f32")) == "__int_as_float(0x7f800000)"
    assert float_literal(float("-inf"), element_named("f64")) == "__longlong_as_double(0xfff0000000000000LL)"
    assert float_literal(1e39, element_named("f32")) == "__int_as_float(0x7f800000)"
    assert (
        float_literal(float("nan"), element_named("bf16"))
        == f"bf16{{{int(np.array(np.nan, ml_dtypes.bfloat16).view(np.uint16)):#x}}}"
    )
    assert float_literal(1.0, element_named("f8e4m3")) == "f8e4m3{0x38}"
    for width, text in ((32, "(-2147483647 - 1)"), (64, "(-9223372036854775807LL - 1)"), (8, "(-128)")):
        type = builtin.IntegerType(width)
        assert literal(builtin.IntegerAttr(-(2 ** (width - 1)), type), type) == text
    assert literal(builtin.IntegerAttr(5, builtin.IndexType()), builtin.IndexType(), wide_index=True) == "5LL"
    assert literal(builtin.BoolAttr.from_bool(True), builtin.i1) == "true"


@pytest.mark.parametrize("target", ["bf16", "f16"])
@pytest.mark.parametrize(
    ("element", "flags"),
    [
        ("i8", ""),
        ("i8", " {unsigned}"),
        ("f8E4M3FN", ""),
        ("f8E5M2", ""),
        ("i8", " {bits = array<i64: 0, 4>}"),
        ("i8", " {bits = array<i64: 4, 4>, unsigned}"),
    ],
)
def test_bytes_that_are_widened_in_pairs(element: str, flags: str, target: str) -> None:
    """Both ways in which two of them lie in words: side by side, and in the halves of one."""
    types = f"!cuda.registers<4 x {element}> -> !cuda.registers<4 x {target}>"
    lines = [
        f"cuda.kernel @k(%x: !cuda.ptr<{element}>, %y: !cuda.ptr<{target}>) grid [1, 1, 1] block 32 {{",
        "%c0 = arith.constant 0 : index\n%c1 = arith.constant 1 : index\n%c2 = arith.constant 2 : index",
        f"%a = cuda.registers : !cuda.registers<4 x {element}>\n%b = cuda.registers : !cuda.registers<4 x {target}>",
        f"cuda.load %x[%c0] -> %a[%c0] {{count = 4}} : !cuda.ptr<{element}> -> !cuda.registers<4 x {element}>",
        f"cuda.packed_widen %a[%c0, %c2] -> %b[%c0]{flags} : {types}",
        f"cuda.packed_widen %a[%c0, %c1] -> %b[%c2]{flags} : {types}",
        f"cuda.store %b[%c0], %y[%c0] {{count = 4}} : !cuda.registers<4 x {target}> -> !cuda.ptr<{target}>",
        "cuda.return\n}",
    ]
    context = Context()
    for dialect in (builtin.Builtin, arith.Arith, Cuda):
        context.load_dialect(dialect)
    module = Parser(context, "\n".join(lines)).parse_module()
    module.verify()
    compiled = compile_source(print_module(module), "sm_90a", name="k")
    assert compiled.warnings == ()
    assert compiled.resources["k"].spills == 0


def test_numbers_that_are_made_of_bits() -> None:
    """What the functions that widen integers subtract, over all bytes (`irc/codegen/prelude_numbers.py`)."""
    n = np.arange(256, dtype=np.uint16)
    signed = n.astype(np.uint8).view(np.int8).astype(np.float32)
    low, high = (
        np.array(n & mask | 0x4300, np.uint16).view(ml_dtypes.bfloat16).astype(np.float32) for mask in (0x7F, 0x80)
    )
    assert (low - high == signed).all()
    unset = ((~n & 0x80) * 0x86).astype(np.uint16).view(ml_dtypes.bfloat16).astype(np.float32)
    assert (low - unset == n).all()
    raised = np.array(n | 0x6400, np.uint16)
    assert (raised.view(np.float16) - np.float16(1024) == n).all()
    assert ((raised ^ 0x80).view(np.float16) - np.float16(1152) == signed).all()


@pytest.mark.parametrize(("target", "magic"), [(ml_dtypes.bfloat16, 0x4300), (np.float16, 0x6400)])
def test_numbers_that_are_made_of_some_bits(target: Any, magic: int) -> None:
    """The same for each field of a byte."""
    n = np.arange(256, dtype=np.uint16)
    fields = [(low, high - low) for high in range(9) for low in range(high) if high - low < 8]
    for first, count in fields:
        mask, sign = (1 << count) - 1, 1 << (count - 1)
        field = ((n >> first) & mask).astype(np.int32)
        for by, expected in ((magic, field), (magic | sign, (field ^ sign) - sign)):
            raised = np.array(((n >> first) & mask) ^ by, np.uint16).view(target).astype(np.float32)
            assert (raised - np.array(by, np.uint16).view(target).astype(np.float32) == expected).all()
