"""`arith` and `math` on numpy arrays: scalars of a tile's body for all its elements at once.

Integers are signless and wrap; `fptosi` and `fptoui` saturate and give 0 for NaN, `truncf` to f8 saturates, `divsi` by
0 is an error.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from xdsl.dialects import arith, math
from xdsl.dialects.builtin import FloatAttr, IntegerAttr
from xdsl.ir import Attribute, Operation

from irc.dialects.nd.numpy_code import power
from irc.dialects.nd.table import ROWS
from irc.dialects.scalar import CheckIndexOp, FmodOp
from irc.ir.dtypes import element_of
from irc.ir.rounding import cast_array, fused_multiply_add
from irc.support.diagnostics import IrcError

Array = np.ndarray[Any, Any]
Rule = Callable[..., Any]


def dtype_of(type: Attribute) -> np.dtype[Any]:
    """The numpy dtype of a signless scalar, or of a tile's elements; index is int64."""
    return element_of(type).dtype


def scalar_function(op: Operation) -> Callable[..., Array]:
    """The result of an arith or math op as a function of its operands; IrcError where the op has no meaning here."""
    if isinstance(op, arith.ConstantOp):
        constant = _constant(op)
        return lambda: constant
    rule = _RULES.get(type(op))
    if rule is None:
        raise IrcError(f"{op.name} has no meaning in a tile program", op.location)
    target = dtype_of(op.results[0].type)

    def function(*args: Array) -> Array:
        value = np.asarray(rule(op, *args))
        return value if value.dtype == target else cast_array(value, target)

    return function


def scalar_rule(op: Operation) -> Rule | None:
    """What an op other than a constant computes of its operands, before the conversion to the result's type; None where
    it has no meaning here."""
    rule = _RULES.get(type(op))
    return None if rule is None else partial(rule, op)


def _constant(op: arith.ConstantOp) -> Array:
    target = dtype_of(op.result.type)
    value = op.value
    if isinstance(value, IntegerAttr):
        return np.array(value.value.data & (2 ** (8 * target.itemsize) - 1), np.uint64).astype(target)
    if isinstance(value, FloatAttr):
        return cast_array(np.array(value.value.data, np.float64), target)
    raise IrcError(f"expected a number, found {value}", op.location)


def unsigned(x: Array) -> Array:
    """The same bits read as unsigned integers."""
    return x if x.dtype == np.bool_ else x.view(f"u{x.dtype.itemsize}")


def signed(x: Array) -> Array:
    """i1 as 0 and -1, as two's complement has it."""
    return -x.astype(np.int8) if x.dtype == np.bool_ else x


def _on_unsigned(function: Rule) -> Rule:
    def rule(op: Operation, a: Array, b: Array) -> Array:
        result = function(unsigned(a), unsigned(b))
        return result if result.dtype == np.bool_ else result.view(a.dtype)

    return rule


def _quotient(a: Array, b: Array) -> Array:
    """Rounds toward zero."""
    quotient = a // b
    rest = a - quotient * b
    return np.where((rest != 0) & ((a < 0) != (b < 0)), quotient + 1, quotient).astype(a.dtype)


def _rest(a: Array, b: Array) -> Array:
    return (a - _quotient(a, b) * b).astype(a.dtype)


def _shift(function: Rule) -> Rule:
    def shift(a: Array, b: Array) -> Array:
        width = 8 * a.dtype.itemsize
        return function(a, np.clip(b, 0, width - 1).astype(a.dtype))

    return shift


def _bitwise(name: str) -> Rule:
    return lambda op, a, b: getattr(np, name)(a, b)


_INTEGER_TESTS: tuple[Rule, ...] = (
    np.equal,
    np.not_equal,
    lambda a, b: signed(a) < signed(b),
    lambda a, b: signed(a) <= signed(b),
    lambda a, b: signed(a) > signed(b),
    lambda a, b: signed(a) >= signed(b),
    lambda a, b: unsigned(a) < unsigned(b),
    lambda a, b: unsigned(a) <= unsigned(b),
    lambda a, b: unsigned(a) > unsigned(b),
    lambda a, b: unsigned(a) >= unsigned(b),
)
"""In the order of `arith.cmpi`'s predicates."""


def _compare_floats(op: Any, a: Array, b: Array) -> Array:
    """MLIR's predicates below 8 have bit 0 for equal, 1 for greater, 2 for less; then
    come these or unordered, and `uno`."""
    number = op.predicate.value.data
    code = number if number in (*range(8), 15) else 8 if number == 14 else number + 1
    if a.dtype.itemsize < 4:
        a, b = a.astype(np.float32), b.astype(np.float32)
    nan = np.isnan(a) | np.isnan(b)
    result = np.zeros(np.broadcast_shapes(a.shape, b.shape), np.bool_)
    for bit, test in enumerate((a == b, a > b, a < b)):
        if code >> bit & 1:
            result = result | (test & ~nan)
    return result | nan if code >> 3 & 1 else result


def _fused_multiply_add(a: Array, b: Array, c: Array) -> Array:
    """a b + c with one rounding (of f64: all but its last bits)."""
    if a.dtype == np.float32:
        return fused_multiply_add(a, b, c)
    return (a.astype(np.longdouble) * b + c).astype(a.dtype)


def _wide(function: Rule) -> Rule:
    """On floats: narrow ones are computed in f32 and rounded once."""

    def rule(op: Operation, *args: Array) -> Array:
        target = dtype_of(op.results[0].type)
        if target.itemsize < 4:
            return cast_array(np.asarray(function(*(a.astype(np.float32) for a in args))), target)
        return function(*args)

    return rule


def _check_index(op: CheckIndexOp, index: Array, inside: Array) -> Array:
    if not inside.all():
        raise IrcError(f"an index is out of range: {op.expected}", op.location)
    return index


def _to_integer(op: Operation, x: Array) -> Array:
    target = dtype_of(op.results[0].type)
    if isinstance(op, arith.FPToUIOp) and target != np.bool_:
        top = float(2 ** (8 * target.itemsize))
        whole = np.trunc(np.where(np.isnan(x), 0.0, x.astype(np.float64)))
        clipped = np.where(whole >= top, top - 1 if top < 2**53 else 0, np.clip(whole, 0, None))
        return clipped.astype(f"u{target.itemsize}").view(target)
    return cast_array(x, target)


def _from_unsigned(op: Operation, x: Array) -> Array:
    return cast_array(unsigned(x).astype(np.float64), dtype_of(op.results[0].type))


def _wrap(op: Operation, x: Array) -> Array:
    """trunci: the low bits."""
    target = dtype_of(op.results[0].type)
    return (x & 1).astype(np.bool_) if target == np.bool_ else x.astype(target)


_RULES: dict[type[Operation], Rule] = {
    **{op: _wide(row.numpy) for op in math.Math.operations for row in ROWS.values() if row.scalar == op.name},
    arith.AddiOp: lambda op, a, b: a + b,
    arith.SubiOp: lambda op, a, b: a - b,
    arith.MuliOp: lambda op, a, b: a * b,
    arith.DivSIOp: lambda op, a, b: _quotient(a, b),
    arith.RemSIOp: lambda op, a, b: _rest(a, b),
    arith.FloorDivSIOp: lambda op, a, b: a // b,
    arith.CeilDivSIOp: lambda op, a, b: -(-a // b),
    arith.DivUIOp: _on_unsigned(lambda a, b: a // b),
    arith.RemUIOp: _on_unsigned(lambda a, b: a % b),
    arith.MinSIOp: lambda op, a, b: np.minimum(a, b),
    arith.MaxSIOp: lambda op, a, b: np.maximum(a, b),
    arith.MinUIOp: _on_unsigned(np.minimum),
    arith.MaxUIOp: _on_unsigned(np.maximum),
    arith.AndIOp: _bitwise("bitwise_and"),
    arith.OrIOp: _bitwise("bitwise_or"),
    arith.XOrIOp: _bitwise("bitwise_xor"),
    arith.ShLIOp: lambda op, a, b: _shift(np.left_shift)(a, b),
    arith.ShRSIOp: lambda op, a, b: _shift(np.right_shift)(a, b),
    arith.ShRUIOp: _on_unsigned(_shift(np.right_shift)),
    arith.CmpiOp: lambda op, a, b: _INTEGER_TESTS[op.predicate.value.data](a, b),
    arith.CmpfOp: _compare_floats,
    arith.SelectOp: lambda op, c, a, b: np.where(c, a, b),
    arith.AddfOp: _wide(np.add),
    arith.SubfOp: _wide(np.subtract),
    arith.MulfOp: _wide(np.multiply),
    arith.DivfOp: _wide(np.divide),
    FmodOp: _wide(np.fmod),
    CheckIndexOp: _check_index,
    arith.NegfOp: _wide(np.negative),
    arith.MinimumfOp: _wide(np.minimum),
    arith.MaximumfOp: _wide(np.maximum),
    arith.MinnumfOp: _wide(np.fmin),
    arith.MaxnumfOp: _wide(np.fmax),
    arith.BitcastOp: lambda op, x: np.ascontiguousarray(x).view(dtype_of(op.results[0].type)).reshape(x.shape),
    arith.IndexCastOp: lambda op, x: _wrap(op, signed(x)),
    arith.ExtSIOp: lambda op, x: signed(x).astype(dtype_of(op.results[0].type)),
    arith.ExtUIOp: lambda op, x: unsigned(x).astype(dtype_of(op.results[0].type)),
    arith.TruncIOp: _wrap,
    arith.SIToFPOp: lambda op, x: cast_array(signed(x), dtype_of(op.results[0].type)),
    arith.UIToFPOp: _from_unsigned,
    arith.FPToSIOp: _to_integer,
    arith.FPToUIOp: _to_integer,
    arith.ExtFOp: lambda op, x: x.astype(dtype_of(op.results[0].type)),
    arith.TruncFOp: lambda op, x: cast_array(x, dtype_of(op.results[0].type)),
    math.AbsFOp: _wide(np.abs),
    math.AbsIOp: lambda op, x: np.abs(x),
    math.PowFOp: _wide(power),
    math.FloorOp: _wide(np.floor),
    math.CeilOp: _wide(np.ceil),
    math.TruncOp: _wide(np.trunc),
    math.RoundEvenOp: _wide(np.rint),
    math.FmaOp: _wide(_fused_multiply_add),
    math.CopySignOp: _wide(np.copysign),
}
