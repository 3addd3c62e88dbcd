"""The simulator's scalars against Python's integers, with the meaning that the printed CUDA C++ has."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from xdsl.dialects import arith, math, test
from xdsl.dialects.builtin import Float32Type, Float64Type, IndexType, IntegerType, bf16, f16, i1, i8, i16, i32, i64
from xdsl.ir import Attribute, Operation

from irc.interpreters.sim.scalars import constant_value, evaluator, signed, unsigned

INDEX = np.dtype(np.int32)
WIDTHS: dict[IntegerType, int] = {i8: 8, i16: 16, i32: 32, i64: 64}


def values(*types: Attribute) -> list[Any]:
    return list(test.TestOp(result_types=types).results)


def compare(kind: Any, type: Attribute, name: str) -> Callable[..., Any]:
    """The function of a comparison."""
    return evaluator(kind(*values(type, type), name), INDEX)


def specials(width: int) -> list[int]:
    top = 2 ** (width - 1)
    return [-top, -top + 1, -35, -8, -7, -2, -1, 0, 1, 2, 3, 7, 8, 9, 31, 33, 100, top - 2, top - 1]


def wrapped(x: int, width: int) -> int:
    return (x + 2 ** (width - 1)) % 2**width - 2 ** (width - 1)


def quotient(a: int, b: int) -> int:
    return 0 if b == 0 else abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def natural(x: int, width: int) -> int:
    return x % 2**width


REFERENCES: dict[type[Operation], Callable[[int, int, int], int]] = {
    arith.AddiOp: lambda a, b, w: a + b,
    arith.SubiOp: lambda a, b, w: a - b,
    arith.MuliOp: lambda a, b, w: a * b,
    arith.AndIOp: lambda a, b, w: a & b,
    arith.OrIOp: lambda a, b, w: a | b,
    arith.XOrIOp: lambda a, b, w: a ^ b,
    arith.DivSIOp: lambda a, b, w: quotient(a, b),
    arith.RemSIOp: lambda a, b, w: 0 if b == 0 else a - b * quotient(a, b),
    arith.DivUIOp: lambda a, b, w: quotient(natural(a, w), natural(b, w)),
    arith.RemUIOp: lambda a, b, w: 0 if b == 0 else natural(a, w) % natural(b, w),
    arith.FloorDivSIOp: lambda a, b, w: 0 if b == 0 else a // b,
    arith.CeilDivSIOp: lambda a, b, w: 0 if b == 0 else -(-a // b),
    arith.MinSIOp: lambda a, b, w: min(a, b),
    arith.MaxSIOp: lambda a, b, w: max(a, b),
    arith.MinUIOp: lambda a, b, w: min(a, b, key=lambda x: natural(x, w)),
    arith.MaxUIOp: lambda a, b, w: max(a, b, key=lambda x: natural(x, w)),
    arith.ShLIOp: lambda a, b, w: a << b if 0 <= b < w else 0,
    arith.ShRUIOp: lambda a, b, w: natural(a, w) >> b if 0 <= b < w else 0,
    arith.ShRSIOp: lambda a, b, w: a >> (b if 0 <= b < w else w - 1),
}


@pytest.mark.parametrize("kind", REFERENCES, ids=lambda kind: kind.name)
@pytest.mark.parametrize("type", WIDTHS, ids=str)
def test_integers(kind: Any, type: IntegerType) -> None:
    width = WIDTHS[type]
    pairs = [(a, b) for a in specials(width) for b in specials(width)]
    lhs, rhs = (np.array(side, np.dtype(f"i{width // 8}")) for side in zip(*pairs, strict=True))
    function = evaluator(kind(*values(type, type)), INDEX)
    with np.errstate(all="ignore"):
        found = function(lhs, rhs)
        one = [function(a, b) for a, b in zip(lhs[:40], rhs[:40], strict=True)]
    assert found.dtype == lhs.dtype
    assert found.tolist() == [wrapped(REFERENCES[kind](a, b, width), width) for a, b in pairs]
    # A value that all lanes share is a scalar, which computes the same.
    assert [int(x) for x in one] == found[:40].tolist()


@pytest.mark.parametrize("amount", [0, 1, 5, 31, 32, 40])
@pytest.mark.parametrize("kind", [arith.ShLIOp, arith.ShRUIOp, arith.ShRSIOp], ids=lambda kind: kind.name)
def test_shifts_by_a_constant(kind: Any, amount: int) -> None:
    constant = arith.ConstantOp.from_int_and_width(amount, 32)
    function = evaluator(kind(values(i32)[0], constant.result), INDEX)
    x = np.array(specials(32), np.int32)
    found = function(x, constant_value(constant, INDEX))
    assert found.tolist() == [wrapped(REFERENCES[kind](a, amount, 32), 32) for a in specials(32)]


@pytest.mark.parametrize("name", ["eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge"])
def test_comparisons(name: str) -> None:
    pairs = [(a, b) for a in specials(8) for b in specials(8)]
    lhs, rhs = (np.array(side, np.int8) for side in zip(*pairs, strict=True))
    found = compare(arith.CmpiOp, i8, name)(lhs, rhs)
    tests: dict[str, Callable[[int, int], bool]] = {
        "eq": lambda a, b: a == b,
        "ne": lambda a, b: a != b,
        "lt": lambda a, b: a < b,
        "le": lambda a, b: a <= b,
        "gt": lambda a, b: a > b,
        "ge": lambda a, b: a >= b,
    }
    read = (lambda x: natural(x, 8)) if name[0] == "u" else (lambda x: x)
    assert found.tolist() == [tests[name[-2:]](read(a), read(b)) for a, b in pairs]


def test_bools() -> None:
    kind: Any
    both = np.array([False, False, True, True]), np.array([False, True, False, True])
    expected = {arith.AddiOp: [0, 1, 1, 0], arith.MuliOp: [0, 0, 0, 1], arith.AndIOp: [0, 0, 0, 1]}
    for kind, bits in expected.items():
        assert evaluator(kind(*values(i1, i1)), INDEX)(*both).tolist() == [bool(bit) for bit in bits]
    assert evaluator(arith.ExtSIOp(values(i1)[0], i32), INDEX)(both[0]).tolist() == [0, 0, -1, -1]
    assert evaluator(arith.ExtUIOp(values(i1)[0], i32), INDEX)(both[0]).tolist() == [0, 0, 1, 1]
    assert evaluator(arith.TruncIOp(values(i32)[0], i1), INDEX)(np.array([2, 3], np.int32)).tolist() == [False, True]


def test_float_comparisons_with_nan() -> None:
    a = np.array([1.0, 2.0, np.nan, 1.0], np.float32)
    b = np.array([1.0, 1.0, 1.0, np.nan], np.float32)
    expected = {
        "oeq": "1000",
        "ogt": "0100",
        "oge": "1100",
        "olt": "0000",
        "ole": "1000",
        "one": "0100",
        "ord": "1100",
        "ueq": "1011",
        "ugt": "0111",
        "uge": "1111",
        "ult": "0011",
        "ule": "1011",
        "une": "0111",
        "uno": "0011",
        "true": "1111",
        "false": "0000",
    }
    for name, bits in expected.items():
        found = compare(arith.CmpfOp, Float32Type(), name)(a, b)
        assert "".join(str(int(x)) for x in found) == bits, name


@pytest.mark.parametrize(("type", "dtype"), [(f16, np.float16), (bf16, ml_dtypes.bfloat16)], ids=["f16", "bf16"])
def test_narrow_floats_round_once(type: Attribute, dtype: Any) -> None:
    a, b = np.array([1.0, 257.0], dtype), np.array([1 / 512, 0.5], dtype)
    found = evaluator(arith.AddfOp(*values(type, type)), INDEX)(a, b)
    assert found.dtype == dtype
    np.testing.assert_array_equal(found, (a.astype(np.float32) + b.astype(np.float32)).astype(dtype))


def test_conversions_saturate() -> None:
    x = np.array([np.nan, -np.inf, np.inf, -1.5, 1.5, 3e9, 1e20], np.float32)
    found = evaluator(arith.FPToSIOp(values(Float32Type())[0], i32), INDEX)(x)
    assert found.tolist() == [0, -(2**31), 2**31 - 1, -1, 1, 2**31 - 1, 2**31 - 1]
    found = unsigned(evaluator(arith.FPToUIOp(values(Float32Type())[0], i32), INDEX)(x))
    assert found.tolist() == [0, 0, 2**32 - 1, 0, 1, 3 * 10**9, 2**32 - 1]
    found = evaluator(arith.UIToFPOp(values(i32)[0], Float64Type()), INDEX)(np.array([-1, 5], np.int32))
    assert found.tolist() == [2.0**32 - 1, 5.0]


def test_bits_are_counted() -> None:
    x = np.array([0, 1, 8, -1, 2**30], np.int32)
    (operand,) = values(i32)
    assert evaluator(math.CtPopOp(operand), INDEX)(x).tolist() == [0, 1, 1, 32, 1]
    assert evaluator(math.CountLeadingZerosOp(operand), INDEX)(x).tolist() == [32, 31, 28, 0, 1]
    assert evaluator(math.CountTrailingZerosOp(operand), INDEX)(x).tolist() == [32, 0, 3, 0, 30]


def test_an_index_has_the_width_of_the_kernel() -> None:
    (operand,) = values(i64)
    op = arith.IndexCastOp(operand, IndexType())
    assert evaluator(op, np.dtype(np.int32))(np.int64(2**33 + 5)) == 5
    assert evaluator(op, np.dtype(np.int64))(np.int64(2**33 + 5)) == 2**33 + 5


def test_readings() -> None:
    assert signed(np.array([True, False])).tolist() == [-1, 0]
    assert unsigned(np.array([-1], np.int8)).tolist() == [255]
