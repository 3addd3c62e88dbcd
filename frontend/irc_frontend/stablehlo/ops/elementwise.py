"""Rules of elementwise ops."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np

import irc_frontend as ir
from irc.support.diagnostics import IrcError
from irc_frontend.elementwise_functions import BITS
from irc_frontend.error_functions import erfc, erfinv
from irc_frontend.graph import Node
from irc_frontend.quotients import quotient, remainder
from irc_frontend.stablehlo.rules import RULES, Rule, rule
from irc_frontend.stablehlo.syntax import Op
from irc_frontend.tensor import Tensor

_PLAIN: dict[str, Callable[..., Tensor]] = {
    "stablehlo.abs": ir.abs,
    "stablehlo.atan2": ir.arctan2,
    "stablehlo.ceil": ir.ceil,
    "stablehlo.cosine": ir.cos,
    "stablehlo.divide": quotient,
    "stablehlo.exponential": ir.exp,
    "stablehlo.exponential_minus_one": ir.expm1,
    "stablehlo.floor": ir.floor,
    "stablehlo.is_finite": ir.isfinite,
    "stablehlo.log": ir.log,
    "stablehlo.log_plus_one": ir.log1p,
    "stablehlo.logistic": ir.sigmoid,
    "stablehlo.negate": ir.negative,
    "stablehlo.not": ir.invert,
    "stablehlo.real": lambda x: x,
    "stablehlo.remainder": remainder,
    "stablehlo.round_nearest_even": ir.round,
    "stablehlo.rsqrt": ir.rsqrt,
    "stablehlo.shift_left": ir.left_shift,
    "stablehlo.shift_right_arithmetic": ir.right_shift,
    "stablehlo.sign": ir.sign,
    "stablehlo.sine": ir.sin,
    "stablehlo.sqrt": ir.sqrt,
    "stablehlo.subtract": ir.subtract,
    "stablehlo.tan": ir.tan,
    "stablehlo.tanh": ir.tanh,
    "stablehlo.xor": ir.bitwise_xor,
    "stablehlo.and": ir.bitwise_and,
    "stablehlo.or": ir.bitwise_or,
    "chlo.acos": ir.arccos,
    "chlo.acosh": ir.arccosh,
    "chlo.asin": ir.arcsin,
    "chlo.asinh": ir.arcsinh,
    "chlo.atan": ir.arctan,
    "chlo.atanh": ir.arctanh,
    "chlo.cosh": ir.cosh,
    "chlo.erf": ir.erf,
    "chlo.is_inf": ir.isinf,
    "chlo.is_neg_inf": lambda x: ir.isinf(x) & (x < 0),
    "chlo.is_pos_inf": lambda x: ir.isinf(x) & (x > 0),
    "chlo.sinh": ir.sinh,
    "chlo.square": ir.square,
    "chlo.tan": ir.tan,
}
"""Functions that irc has."""


def _of_operands(function: Callable[..., Tensor]) -> Rule:
    return lambda op, *operands: function(*operands)


RULES.update({name: _of_operands(function) for name, function in _PLAIN.items()})


def _register_of_bools(name: str, function: Callable[..., Tensor], of_bools: Callable[..., Tensor]) -> None:
    @rule(name)
    def record(op: Op, a: Tensor, b: Tensor) -> Tensor:
        return of_bools(a, b) if a.node.is_bool else function(a, b)


_register_of_bools("stablehlo.add", ir.add, ir.logical_or)
_register_of_bools("stablehlo.multiply", ir.multiply, ir.logical_and)
_register_of_bools("stablehlo.maximum", ir.maximum, ir.logical_or)
_register_of_bools("stablehlo.minimum", ir.minimum, ir.logical_and)


_COMPARISONS: dict[str, Callable[[Any, Any], Tensor]] = {
    "EQ": ir.equal,
    "NE": ir.not_equal,
    "LT": ir.less,
    "LE": ir.less_equal,
    "GT": ir.greater,
    "GE": ir.greater_equal,
}


def compared_by(op: Op) -> tuple[str, str]:
    """The direction of a comparison, `LT`, and its order: `FLOAT`, `TOTALORDER`, `SIGNED` or `UNSIGNED`, or nothing."""
    if op.words:
        return op.words[0], "".join(op.words[1:])
    direction, order = (str(op.attrs.get(name, "")) for name in ("comparison_direction", "compare_type"))
    return direction.rstrip(">").split()[-1], order.rstrip(">").rpartition(" ")[2]


def total_order(x: Tensor) -> Tensor:
    """Integers in the order that IEEE 754 gives all floats: -NaN, -inf, ... -0, 0, ... inf, NaN. Floats of one sign are
    ordered as their bits are, negative ones the other way."""
    bits = ir.bitcast(x, BITS[x.element])
    return ir.where(bits < 0, ir.bitwise_xor(bits, int(np.iinfo(bits.dtype).max)), bits)


@rule("stablehlo.compare")
def _compare(op: Op, a: Tensor, b: Tensor) -> Tensor:
    direction, order = compared_by(op)
    if order == "TOTALORDER" and a.node.is_float:
        a, b = total_order(a), total_order(b)
    return _COMPARISONS[direction](a, b)


@rule("stablehlo.power")
def _power(op: Op, a: Tensor, b: Tensor) -> Tensor:
    return Tensor.of(Node("pow", (a.node, b.node), a.shape, a.element)) if a.node.is_integer else ir.power(a, b)


@rule("stablehlo.select")
def _select(op: Op, condition: Tensor, a: Tensor, b: Tensor) -> Tensor:
    return ir.where(condition, a, b)


@rule("stablehlo.clamp")
def _clamp(op: Op, low: Tensor, x: Tensor, high: Tensor) -> Tensor:
    return ir.clip(x, low, high)


@rule("stablehlo.convert")
def _convert(op: Op, x: Tensor) -> Tensor:
    return x.astype(op.types[-1].element)


@rule("stablehlo.bitcast_convert")
def _bitcast(op: Op, x: Tensor) -> Tensor:
    return ir.bitcast(x, op.types[-1].element)


def _register_in_f64(name: str, function: Callable[[Tensor], Tensor]) -> None:
    @rule(name)
    def record(op: Op, x: Tensor) -> Tensor:
        if x.element == "f64":
            raise IrcError(f"{name} of f64 is not supported", hint="it is accurate to f32")
        return function(x.astype("f64")).astype(x.element)


_register_in_f64("chlo.erfc", erfc)
_register_in_f64("chlo.erf_inv", erfinv)


@rule("stablehlo.reduce_precision")
def _reduce_precision(op: Op, x: Tensor) -> Tensor:
    """Rounded to a type of irc, or to one that has all values of x's."""
    given = op.attrs
    name = given["format"] if "format" in given else f"e{given['exponent_bits']}m{given['mantissa_bits']}"
    if (found := re.fullmatch(r"e(\d+)m(\d+)", str(name))) is None:
        raise IrcError(f"expected a format e<bits>m<bits>, found {name}")
    exponent, mantissa = int(found[1]), int(found[2])
    own = _FORMATS.get(x.element, (0, 0))
    if exponent >= own[0] > 0 and mantissa >= own[1]:
        return x
    narrow = next((element for element, bits in _FORMATS.items() if bits == (exponent, mantissa)), None)
    if narrow is None:
        formats = ", ".join(f"e{exponent}m{mantissa}" for exponent, mantissa in _FORMATS.values())
        raise IrcError(f"reduce_precision to {name} is not supported", hint=f"irc has {formats}")
    return x.astype(narrow).astype(x.element)


_FORMATS = {"f64": (11, 52), "f32": (8, 23), "bf16": (8, 7), "f16": (5, 10)}
"""Bits of the exponent and of the mantissa."""
