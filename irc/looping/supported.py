"""The scalar ops and types that loop nests may have: those that have LLVM IR."""

from __future__ import annotations

from xdsl.dialects import arith
from xdsl.dialects.builtin import (
    BFloat16Type,
    Float16Type,
    Float32Type,
    Float64Type,
    IndexType,
    IntegerType,
    MemRefType,
    i1,
)
from xdsl.ir import Attribute, Operation

from irc.ir.math_library import FUNCTIONS
from irc.looping.unsupported import Unsupported

ARITH = (
    "addi subi muli divsi remsi divui remui floordivsi ceildivsi minsi maxsi minui maxui andi ori xori shli shrsi "
    "shrui cmpi cmpf select addf subf mulf divf negf minimumf maximumf minnumf maxnumf bitcast index_cast extsi extui "
    "trunci sitofp uitofp fptosi fptoui extf truncf constant"
)
SCALAR_OPS = frozenset(
    [
        *(f"arith.{name}" for name in ARITH.split()),
        *(op.name for op in FUNCTIONS),
        "math.absi",
        "scalar.fmod",
        "scalar.check_index",
    ]
)
"""Their names."""

OTHER_OPS = frozenset(
    [
        "scf.for",
        "scf.if",
        "scf.yield",
        "memref.alloca",
        "memref.load",
        "memref.store",
        "cpu.gemm",
        "cpu.transpose",
        "cpu.kernel",
    ]
)


def check_supported(kernel: Operation) -> None:
    """Unsupported where an op, or a value's type, has no LLVM IR."""
    for op in kernel.walk():
        if op.name not in SCALAR_OPS and op.name not in OTHER_OPS:
            raise Unsupported(op.name)
        for value in (*op.results, *(arg for region in op.regions for block in region.blocks for arg in block.args)):
            _check_type(value.type)
        if isinstance(op, arith.TruncFOp) and (op.input.type, op.result.type) == (Float64Type(), Float16Type()):
            raise Unsupported("f64 rounded to f16")
        if isinstance(op, arith.FPToSIOp | arith.FPToUIOp) and op.result.type == i1:
            raise Unsupported("floats to booleans")


def _check_type(type: Attribute) -> None:
    element = type.element_type if isinstance(type, MemRefType) else type
    if not isinstance(element, Float64Type | Float32Type | Float16Type | BFloat16Type | IndexType | IntegerType):
        raise Unsupported(f"values of {element}")
