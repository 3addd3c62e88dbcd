"""Rules of functions and activations of one array."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import irc_frontend as ir
from irc.support.diagnostics import IrcError
from irc_frontend.onnx.rules import RULES, Rule, number, rule
from irc_frontend.tensor import Tensor

_PLAIN: dict[str, Callable[..., Tensor]] = {
    "Abs": ir.abs,
    "Acos": ir.arccos,
    "Acosh": ir.arccosh,
    "Asin": ir.arcsin,
    "Asinh": ir.arcsinh,
    "Atan": ir.arctan,
    "Atanh": ir.arctanh,
    "BitwiseNot": ir.invert,
    "Ceil": ir.ceil,
    "Cos": ir.cos,
    "Cosh": ir.cosh,
    "Erf": ir.erf,
    "Exp": ir.exp,
    "Floor": ir.floor,
    "IsNaN": ir.isnan,
    "Log": ir.log,
    "Neg": ir.negative,
    "Not": ir.logical_not,
    "Reciprocal": ir.reciprocal,
    "Relu": ir.relu,
    "Round": ir.round,
    "Sigmoid": ir.sigmoid,
    "Sign": ir.sign,
    "Sin": ir.sin,
    "Sinh": ir.sinh,
    "Softplus": ir.softplus,
    "Sqrt": ir.sqrt,
    "Tan": ir.tan,
    "Tanh": ir.tanh,
}
"""Functions that irc has."""


def _of_one(function: Callable[..., Tensor]) -> Callable[[Tensor], Tensor]:
    return lambda x: function(x)


RULES.update({name: Rule(_of_one(function)) for name, function in _PLAIN.items()})


@rule("Identity")
def _identity(x: Tensor) -> Tensor:
    return x


@rule("IsInf")
def _is_inf(x: Tensor, *, detect_negative: int = 1, detect_positive: int = 1) -> Tensor:
    found = ir.isinf(x)
    if not detect_negative:
        found = found & (x > 0)
    return found if detect_positive else found & (x < 0)


@rule("Gelu")
def _gelu(x: Tensor, *, approximate: str = "none") -> Tensor:
    return ir.gelu(x, approximate)


@rule("LeakyRelu")
def _leaky_relu(x: Tensor, *, alpha: float = 0.01) -> Tensor:
    return ir.leaky_relu(x, alpha)


@rule("PRelu")
def _prelu(x: Tensor, slope: Tensor) -> Tensor:
    return ir.where(x < 0, x * slope, x)


@rule("Elu")
def _elu(x: Tensor, *, alpha: float = 1.0) -> Tensor:
    return ir.where(x > 0, x, ir.expm1(x) * alpha)


@rule("Selu")
def _selu(x: Tensor, *, alpha: float = 1.67326319217681884765625, gamma: float = 1.05070102214813232421875) -> Tensor:
    return ir.where(x > 0, x, ir.expm1(x) * alpha) * gamma


@rule("Celu")
def _celu(x: Tensor, *, alpha: float = 1.0) -> Tensor:
    return ir.where(x > 0, x, ir.expm1(x / alpha) * alpha)


@rule("HardSigmoid")
def _hard_sigmoid(x: Tensor, *, alpha: float = 0.2, beta: float = 0.5) -> Tensor:
    return ir.clip(x * alpha + beta, 0.0, 1.0)


@rule("HardSwish")
def _hard_swish(x: Tensor) -> Tensor:
    return x * ir.clip(x / 6.0 + 0.5, 0.0, 1.0)


@rule("Swish")
def _swish(x: Tensor, *, alpha: float = 1.0) -> Tensor:
    return x * ir.sigmoid(x * alpha)


@rule("Mish")
def _mish(x: Tensor) -> Tensor:
    return x * ir.tanh(ir.softplus(x))


@rule("Softsign")
def _softsign(x: Tensor) -> Tensor:
    return x / (ir.abs(x) + 1.0)


@rule("Shrink")
def _shrink(x: Tensor, *, lambd: float = 0.5, bias: float = 0.0) -> Tensor:
    if x.node.is_integer:
        wide = x.astype("f32")
        return ir.where(wide < -lambd, wide + bias, ir.where(wide > lambd, wide - bias, 0.0)).astype(x.element)
    return ir.where(x < -lambd, x + bias, ir.where(x > lambd, x - bias, 0.0))


@rule("ThresholdedRelu")
def _thresholded_relu(x: Tensor, *, alpha: float = 1.0) -> Tensor:
    return ir.where(x > alpha, x, 0.0)


@rule("Clip")
def _clip(x: Tensor, low: Tensor | None = None, high: Tensor | None = None) -> Tensor:
    """A bound that is known is a number: where both are, the high one wins over the low one."""
    if low is not None:
        x = ir.maximum(x, _bound(low))
    return x if high is None else ir.minimum(x, _bound(high))


def _bound(x: Tensor) -> Any:
    if x.node.is_recorded:
        return x
    found = number(x, "a bound")
    return found if not isinstance(found, float) or math.isfinite(found) else x


@rule("Dropout")
def _dropout(
    x: Tensor, ratio: Tensor | None = None, training: Tensor | None = None, *, seed: int = 0, outputs: int = 1
) -> Any:
    """That of inference, which keeps everything."""
    if training is not None and number(training, "training_mode") and (ratio is None or number(ratio, "ratio")):
        raise IrcError("training_mode draws numbers that irc does not draw as others do")
    return x if outputs < 2 else (x, ir.ones(x.shape, "bool"))
