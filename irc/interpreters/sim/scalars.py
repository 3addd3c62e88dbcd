"""`arith` and `math` for all lanes at once, as the printed CUDA C++ computes them (`irc/codegen/printer_arith.py`).

Integers wrap; division by zero gives 0; a shift by the width or more brings in zeros, or the sign. `index` has the
kernel's width. A product and the sum that takes it are two operations, where the machine may fuse them. Instructions
that approximate give the exact result here, rounded once, and so do functions that are left to CUDA's library.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from xdsl.dialects import arith, math
from xdsl.dialects.builtin import FloatAttr, IndexType, IntegerAttr
from xdsl.ir import Attribute, Operation

from irc.dialects.cuda import InstructionOp, LookupOp
from irc.dialects.scalar import FmodOp
from irc.interpreters.tile.scalars import scalar_rule, signed, unsigned
from irc.ir.dtypes import element_of
from irc.ir.properties import constant_of, values_of
from irc.ir.rounding import cast_array
from irc.support.diagnostics import IrcError

Function = Callable[..., Any]
Build = Callable[[Any, np.dtype[Any]], Function]
"""From an op and its result's dtype to the function of the operands' values."""


def dtype_of(type: Attribute, index: np.dtype[Any]) -> np.dtype[Any]:
    """The numpy dtype of a scalar type; `index` is that of the kernel's index."""
    return index if isinstance(type, IndexType) else element_of(type).dtype


def constant_value(op: arith.ConstantOp, index: np.dtype[Any]) -> Any:
    """A numpy scalar."""
    dtype = dtype_of(op.result.type, index)
    if isinstance(op.value, IntegerAttr):
        mask = 2 ** (8 * dtype.itemsize) - 1
        return np.array(op.value.value.data & mask, np.uint64).astype(dtype)[()]
    if isinstance(op.value, FloatAttr):
        return cast_array(np.array(op.value.value.data, np.float64), dtype)[()]
    raise IrcError(f"expected a number, found {op.value}", op.location)


def is_scalar(op: Operation) -> bool:
    """Whether the op is a function of its operands' values alone."""
    return op.name.startswith(("arith.", "math.")) or isinstance(op, FmodOp | InstructionOp | LookupOp)


def evaluator(op: Operation, index: np.dtype[Any]) -> Function:
    """The function that computes the op's result; IrcError where the op has no meaning here."""
    if isinstance(op, InstructionOp):
        meaning = op.row.meaning
        return lambda *args: meaning(*args)[()]
    if isinstance(op, LookupOp):
        table = np.array(values_of(op.values), np.int64)
        return lambda x: np.take(table, x, mode="clip")
    target = dtype_of(op.results[0].type, index)
    if (build := _BUILDERS.get(type(op))) is not None:
        return build(op, target)
    rule = scalar_rule(op)
    if rule is None:
        raise IrcError(f"the simulator has no meaning for {op.name}", op.location)

    def function(*args: Any) -> Any:
        value = rule(*map(np.asarray, args))
        return (value if value.dtype == target else cast_array(np.asarray(value), target))[()]

    return function


def _wrapping(function: Function, on_bool: Function) -> Build:
    return lambda op, target: on_bool if target == np.bool_ else function


def _same(function: Function) -> Build:
    return lambda op, target: function


def _divided(a: Any, b: Any) -> Any:
    """The quotient toward zero and the rest; 0 and 0 by zero, and the rest by -1 is 0 (the quotient wraps)."""
    zero = b == 0
    divisor = np.where(zero, 1, b).astype(b.dtype)
    quotient = a // divisor
    rest = a - quotient * divisor
    adjust = (rest != 0) & ((rest < 0) != (a < 0))
    quotient, rest = np.where(adjust, quotient + 1, quotient), np.where(adjust, rest - divisor, rest)
    return np.where(zero, 0, quotient).astype(a.dtype)[()], np.where(zero, 0, rest).astype(a.dtype)[()]


def _floor_divided(a: Any, b: Any) -> Any:
    quotient, rest = _divided(a, b)
    return np.where((rest != 0) & ((rest < 0) != (b < 0)), quotient - 1, quotient).astype(a.dtype)[()]


def _ceil_divided(a: Any, b: Any) -> Any:
    quotient, rest = _divided(a, b)
    return np.where((rest != 0) & ((rest < 0) == (b < 0)), quotient + 1, quotient).astype(a.dtype)[()]


def _on_unsigned(function: Function) -> Build:
    def apply(a: Any, b: Any) -> Any:
        result = function(unsigned(a), unsigned(b))
        return result if result.dtype == np.bool_ else result.view(a.dtype)

    return _same(apply)


def _logical_shift(function: Function) -> Build:
    def apply(a: Any, b: Any) -> Any:
        width = 8 * a.dtype.itemsize
        amount, bits = unsigned(b), unsigned(a)
        inside = amount < width
        if np.all(inside):
            return function(bits, amount.astype(bits.dtype)).view(a.dtype)
        safe = np.where(inside, amount, 0).astype(bits.dtype)
        return np.where(inside, function(bits, safe), 0).astype(bits.dtype).view(a.dtype)[()]

    def build(op: Operation, target: np.dtype[Any]) -> Function:
        known = constant_of(op.operands[1])
        if known is None or target == np.bool_ or not 0 <= known < 8 * target.itemsize:
            return apply
        amount = np.dtype(f"u{target.itemsize}").type(known)
        return lambda a, b: function(unsigned(a), amount).view(a.dtype)

    return build


def _arithmetic_shift(a: Any, b: Any) -> Any:
    width = 8 * a.dtype.itemsize
    return np.right_shift(a, np.minimum(unsigned(b), width - 1).astype(a.dtype))


def _extremum(test: Function, read: Function) -> Build:
    def apply(a: Any, b: Any) -> Any:
        return np.where(test(read(a), read(b)), a, b)[()]

    return _same(apply)


_INTEGER_TESTS: tuple[tuple[Function, Function | None], ...] = (
    (np.equal, None),
    (np.not_equal, None),
    (np.less, signed),
    (np.less_equal, signed),
    (np.greater, signed),
    (np.greater_equal, signed),
    (np.less, unsigned),
    (np.less_equal, unsigned),
    (np.greater, unsigned),
    (np.greater_equal, unsigned),
)
"""In the order of `arith.cmpi`'s predicates: the test, and how the operands are read."""


def _compare(op: arith.CmpiOp, target: np.dtype[Any]) -> Function:
    test, read = _INTEGER_TESTS[op.predicate.value.data]
    if read is None:
        return test
    return lambda a, b: test(read(a), read(b))


_FLOAT_TESTS: dict[int, Function] = {
    1: np.equal,
    2: np.greater,
    3: np.greater_equal,
    4: np.less,
    5: np.less_equal,
    13: np.not_equal,
}
"""Predicates of `arith.cmpf` that are one comparison of numpy: the ordered ones, and `une`."""


def _compare_floats(op: arith.CmpfOp, target: np.dtype[Any]) -> Function:
    if (test := _FLOAT_TESTS.get(op.predicate.value.data)) is not None:
        return test
    rule = scalar_rule(op)
    assert rule is not None
    return lambda a, b: rule(np.asarray(a), np.asarray(b))[()]


def _select(op: Operation, target: np.dtype[Any]) -> Function:
    def apply(c: Any, a: Any, b: Any) -> Any:
        if np.ndim(c) == 0:
            return a if c else b
        return np.where(c, a, b)

    return apply


def _float(function: Function) -> Build:
    """f32 and f64 at once; narrow floats in f32, rounded once."""

    def build(op: Operation, target: np.dtype[Any]) -> Function:
        if target.itemsize >= 4:
            return function
        wide = np.dtype(np.float32)
        return lambda *args: cast_array(np.asarray(function(*(a.astype(wide) for a in args))), target)[()]

    return build


def _cast(op: Operation, target: np.dtype[Any]) -> Function:
    return lambda x: cast_array(np.asarray(x), target)[()]


def _extend(op: Operation, target: np.dtype[Any]) -> Function:
    return lambda x: x.astype(target)


def _index_cast(op: arith.IndexCastOp, target: np.dtype[Any]) -> Function:
    def apply(x: Any) -> Any:
        return x if x.dtype == target else x.astype(target)

    return apply


def _bitcast(op: arith.BitcastOp, target: np.dtype[Any]) -> Function:
    return lambda x: np.ascontiguousarray(x).view(target).reshape(np.shape(x))[()]


def _count_bits(op: Operation, target: np.dtype[Any]) -> Function:
    """Of a narrow integer read as unsigned; of no bit set, the zeros are the width."""
    width = 8 * target.itemsize

    def apply(x: Any) -> Any:
        bits = np.unpackbits(
            np.atleast_1d(np.ascontiguousarray(x)).view(np.uint8).reshape(-1, target.itemsize)[:, ::-1]
        )
        rows = bits.reshape(-1, width)
        if isinstance(op, math.CtPopOp):
            counted = rows.sum(axis=1)
        else:
            order = rows if isinstance(op, math.CountLeadingZerosOp) else rows[:, ::-1]
            counted = np.where(order.any(axis=1), order.argmax(axis=1), width)
        return counted.astype(target).reshape(np.shape(x))[()]

    return apply


def _integer_power(base: Any, exponent: Any) -> Any:
    """By squaring; a negative exponent gives 1 of 1, the sign of -1, and 0 of others."""
    result, factor, rest = np.ones_like(base), base, np.maximum(exponent, 0)
    while np.any(rest):
        result = np.where(rest & 1, result * factor, result)
        factor, rest = factor * factor, rest >> 1
    sign = np.where(exponent & 1, -1, 1)
    reciprocal = np.where(base == 1, 1, np.where(base == -1, sign, 0))
    return np.where(exponent < 0, reciprocal, result).astype(base.dtype)[()]


def _round_away(x: Any) -> Any:
    """Halves away from zero, as C's round."""
    return np.copysign(np.floor(np.abs(x)) + (np.abs(x) - np.floor(np.abs(x)) >= 0.5), x).astype(x.dtype)


_BUILDERS: dict[type[Operation], Build] = {
    arith.AddiOp: _wrapping(np.add, np.bitwise_xor),
    arith.SubiOp: _wrapping(np.subtract, np.bitwise_xor),
    arith.MuliOp: _wrapping(np.multiply, np.bitwise_and),
    arith.AndIOp: _same(np.bitwise_and),
    arith.OrIOp: _same(np.bitwise_or),
    arith.XOrIOp: _same(np.bitwise_xor),
    arith.DivSIOp: _same(lambda a, b: _divided(a, b)[0]),
    arith.RemSIOp: _same(lambda a, b: _divided(a, b)[1]),
    arith.DivUIOp: _on_unsigned(lambda a, b: _divided(a, b)[0]),
    arith.RemUIOp: _on_unsigned(lambda a, b: _divided(a, b)[1]),
    arith.FloorDivSIOp: _same(_floor_divided),
    arith.CeilDivSIOp: _same(_ceil_divided),
    arith.CeilDivUIOp: _on_unsigned(_ceil_divided),
    arith.ShLIOp: _logical_shift(np.left_shift),
    arith.ShRUIOp: _logical_shift(np.right_shift),
    arith.ShRSIOp: _same(_arithmetic_shift),
    arith.MinSIOp: _extremum(np.less, signed),
    arith.MaxSIOp: _extremum(np.greater, signed),
    arith.MinUIOp: _extremum(np.less, unsigned),
    arith.MaxUIOp: _extremum(np.greater, unsigned),
    arith.CmpiOp: _compare,
    arith.CmpfOp: _compare_floats,
    arith.SelectOp: _select,
    arith.AddfOp: _float(np.add),
    arith.SubfOp: _float(np.subtract),
    arith.MulfOp: _float(np.multiply),
    arith.DivfOp: _float(np.divide),
    FmodOp: _float(np.fmod),
    arith.NegfOp: _float(np.negative),
    arith.MinimumfOp: _float(np.minimum),
    arith.MaximumfOp: _float(np.maximum),
    arith.MinnumfOp: _float(np.fmin),
    arith.MaxnumfOp: _float(np.fmax),
    arith.IndexCastOp: _index_cast,
    arith.BitcastOp: _bitcast,
    arith.ExtFOp: _extend,
    arith.TruncFOp: _cast,
    math.RoundOp: _float(_round_away),
    math.IPowIOp: _same(_integer_power),
    math.CtPopOp: _count_bits,
    math.CountLeadingZerosOp: _count_bits,
    math.CountTrailingZerosOp: _count_bits,
}
