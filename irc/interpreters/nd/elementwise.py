"""What the elementwise ops mean."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import cast

import numpy as np

from irc.dialects import nd
from irc.dialects.nd.declared import is_deferred
from irc.interpreters.nd.base import (
    Array,
    Precision,
    convert,
    is_floating,
    meaning,
    wide,
)
from irc.interpreters.power import power
from irc.ir.dtypes import element_of


def _erf(x: Array) -> Array:
    from scipy.special import erf  # imported late: it takes 0.2 s

    return cast(Array, erf(x))


def _sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


def _integral(function: Callable[[Array], Array]) -> Callable[[Array], Array]:
    """`function` of floats; integers are integral already."""
    return lambda x: function(x) if is_floating(x) else x


UNARY: dict[type[nd.NdOp], Callable[[Array], Array]] = {
    nd.NegOp: np.negative,
    nd.AbsOp: np.abs,
    nd.SignOp: np.sign,
    nd.ReluOp: lambda x: np.maximum(x, x.dtype.type(0)),
    nd.FloorOp: _integral(np.floor),
    nd.CeilOp: _integral(np.ceil),
    nd.RoundOp: _integral(np.rint),
    nd.ExpOp: np.exp,
    nd.Exp2Op: np.exp2,
    nd.Expm1Op: np.expm1,
    nd.LogOp: np.log,
    nd.Log2Op: np.log2,
    nd.Log1pOp: np.log1p,
    nd.SqrtOp: np.sqrt,
    nd.RsqrtOp: lambda x: 1 / np.sqrt(x),
    nd.ReciprocalOp: lambda x: 1 / x,
    nd.SinOp: np.sin,
    nd.CosOp: np.cos,
    nd.TanOp: np.tan,
    nd.TanhOp: np.tanh,
    nd.ErfOp: _erf,
    nd.SigmoidOp: _sigmoid,
    nd.SiluOp: lambda x: x * _sigmoid(x),
    nd.IsnanOp: np.isnan,
    nd.IsinfOp: np.isinf,
    nd.LogicalNotOp: np.logical_not,
    nd.BitwiseNotOp: np.invert,
}


@meaning(*UNARY)
def _unary(op: nd.NdOp, args: Sequence[Array], precision: Precision) -> Array:
    return UNARY[type(op)](wide(args[0]))


@meaning(nd.GeluOp)
def _gelu(op: nd.GeluOp, args: Sequence[Array], precision: Precision) -> Array:
    x = wide(args[0])
    if op.approximate.data == "tanh":
        return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi).astype(x.dtype) * (x + 0.044715 * x * x * x)))
    return 0.5 * x * (1 + _erf(x * x.dtype.type(np.sqrt(0.5))))


@meaning(nd.LeakyReluOp)
def _leaky_relu(op: nd.LeakyReluOp, args: Sequence[Array], precision: Precision) -> Array:
    x = wide(args[0])
    return np.where(x > 0, x, x * x.dtype.type(op.slope.value.data))


BINARY: dict[type[nd.NdOp], Callable[[Array, Array], Array]] = {
    nd.AddOp: np.add,
    nd.SubOp: np.subtract,
    nd.MulOp: np.multiply,
    nd.DivOp: np.divide,
    nd.FloorDivOp: np.floor_divide,
    nd.ModOp: np.mod,
    nd.PowOp: power,
    nd.MinimumOp: np.minimum,
    nd.MaximumOp: np.maximum,
    nd.Atan2Op: np.arctan2,
    nd.BitwiseAndOp: np.bitwise_and,
    nd.BitwiseOrOp: np.bitwise_or,
    nd.BitwiseXorOp: np.bitwise_xor,
    nd.ShiftLeftOp: np.left_shift,
    nd.ShiftRightOp: np.right_shift,
    nd.EqualOp: np.equal,
    nd.NotEqualOp: np.not_equal,
    nd.LessOp: np.less,
    nd.LessEqualOp: np.less_equal,
    nd.GreaterOp: np.greater,
    nd.GreaterEqualOp: np.greater_equal,
}


@meaning(*BINARY)
def _binary(op: nd.NdOp, args: Sequence[Array], precision: Precision) -> Array:
    return BINARY[type(op)](wide(args[0]), wide(args[1]))


@meaning(nd.WhereOp)
def _where(op: nd.WhereOp, args: Sequence[Array], precision: Precision) -> Array:
    return np.where(args[0], args[1], args[2])


@meaning(nd.ClampOp)
def _clamp(op: nd.ClampOp, args: Sequence[Array], precision: Precision) -> Array:
    x, lo, hi = (wide(arg) for arg in args)
    return np.minimum(np.maximum(x, lo), hi)


@meaning(nd.CastOp)
def _cast(op: nd.CastOp, args: Sequence[Array], precision: Precision) -> Array:
    """A widening cast keeps the carried digits, and so does one that the user did not write; every other one rounds."""
    source, target = element_of(op.x.type), element_of(op.result.type)
    if is_deferred(op) and precision != "program" and target.is_float:
        return args[0]
    if source.is_float and target.is_float and source.size < target.size:
        return args[0]
    return convert(args[0], target.dtype)


@meaning(nd.BitcastOp)
def _bitcast(op: nd.BitcastOp, args: Sequence[Array], precision: Precision) -> Array:
    bits: Array = np.asarray(convert(args[0], element_of(op.x.type).dtype), order="C")
    return bits.view(element_of(op.result.type).dtype)
