"""Rules of elementwise ops."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import irc_frontend as ir
from irc.support.diagnostics import IrcError
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
    "stablehlo.power": ir.power,
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
    "stablehlo.optimization_barrier": lambda x: x,
    "chlo.acos": ir.arccos,
    "chlo.acosh": ir.arccosh,
    "chlo.asin": ir.arcsin,
    "chlo.asinh": ir.arcsinh,
    "chlo.atan": ir.arctan,
    "chlo.atanh": ir.arctanh,
    "chlo.cosh": ir.cosh,
    "chlo.erf": ir.erf,
    "chlo.is_inf": ir.isinf,
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


@rule("stablehlo.compare")
def _compare(op: Op, a: Tensor, b: Tensor) -> Tensor:
    if op.words[-1] == "TOTALORDER":
        raise IrcError("comparisons by total order are not supported")
    return _COMPARISONS[op.words[0]](a, b)


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
