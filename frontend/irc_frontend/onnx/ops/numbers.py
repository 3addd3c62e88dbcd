"""Rules of arithmetic, comparisons and casts, whose operands broadcast."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy as np

import irc_frontend as ir
from irc.support.diagnostics import IrcError
from irc_frontend.graph import Node
from irc_frontend.onnx.model import element_of
from irc_frontend.onnx.rules import RULES, Rule, rule
from irc_frontend.quotients import quotient, remainder
from irc_frontend.tensor import Tensor

_PLAIN: dict[str, Callable[..., Tensor]] = {
    "Add": ir.add,
    "And": ir.logical_and,
    "BitwiseAnd": ir.bitwise_and,
    "BitwiseOr": ir.bitwise_or,
    "BitwiseXor": ir.bitwise_xor,
    "Equal": ir.equal,
    "Greater": ir.greater,
    "GreaterOrEqual": ir.greater_equal,
    "Less": ir.less,
    "LessOrEqual": ir.less_equal,
    "Mul": ir.multiply,
    "Or": ir.logical_or,
    "Sub": ir.subtract,
    "Xor": ir.logical_xor,
}
"""Functions that irc has."""


def _of_two(function: Callable[..., Tensor]) -> Callable[[Tensor, Tensor], Tensor]:
    return lambda a, b: function(a, b)


RULES.update({name: Rule(_of_two(function)) for name, function in _PLAIN.items()})


@rule("Div")
def _div(a: Tensor, b: Tensor) -> Tensor:
    return quotient(a, b)


@rule("Mod")
def _mod(a: Tensor, b: Tensor, *, fmod: int = 0) -> Tensor:
    return remainder(a, b) if fmod else a % b


@rule("Pow")
def _pow(a: Tensor, b: Tensor) -> Tensor:
    """In the type of the base. Integers wrap, as `nd.pow` says."""
    if a.node.is_integer and b.node.is_float:
        wide = "f64" if "f64" in (a.element, b.element) or a.element == "i64" else "f32"
        return (a.astype(wide) ** b.astype(wide)).astype(a.element)
    if a.node.is_float:
        return a ** b.astype(a.element)
    base, exponent = ir.broadcast_arrays(a, b.astype(a.element))
    return Tensor.of(Node("pow", (base.node, exponent.node), base.shape, base.element))


def _register_joined(name: str, join: Callable[[Any, Any], Tensor]) -> None:
    @rule(name)
    def record(*parts: Tensor) -> Tensor:
        return reduce(join, parts)


_register_joined("Max", ir.maximum)
_register_joined("Min", ir.minimum)
_register_joined("Sum", ir.add)


@rule("Mean")
def _mean(*parts: Tensor) -> Tensor:
    return reduce(ir.add, parts) / float(len(parts))


@rule("Where")
def _where(condition: Tensor, a: Tensor, b: Tensor) -> Tensor:
    return ir.where(condition, a, b)


@rule("BitShift")
def _bit_shift(a: Tensor, b: Tensor, *, direction: str) -> Tensor:
    return ir.left_shift(a, b) if direction == "LEFT" else ir.right_shift(a, b)


@rule("BitCast")
def _bit_cast(x: Tensor, *, to: int) -> Tensor:
    return ir.bitcast(x, element_of(to, "the type `to`"))


@rule("Cast")
def _cast(x: Tensor, *, to: int, saturate: int = 1, round_mode: str = "up") -> Tensor:
    return cast(x, element_of(to, "the type `to`"), saturate)


@rule("CastLike")
def _cast_like(x: Tensor, like: Tensor, *, saturate: int = 1, round_mode: str = "up") -> Tensor:
    return cast(x, like.element, saturate)


def cast(x: Tensor, element: str, saturate: int = 1) -> Tensor:
    """A cast of ONNX's: f8 saturates by default, as irc's own does; floats become small integers by way of i32."""
    if element.startswith("f8") and x.element != element:
        if not saturate:
            raise IrcError("casts to f8 that do not saturate are not supported")
        limit = float(np.float32(448.0 if element == "f8e4m3" else 57344.0))
        if x.node.is_float and x.element.startswith("f8"):
            x = ir.clip(x.astype("f32"), -limit, limit)
    if x.node.is_float and element in ("i8", "u8", "i16"):
        return x.astype("i32").astype(element)
    return x.astype(element)
