"""numpy's elementwise functions on Tensors, and those of the language that numpy does not have."""

from __future__ import annotations

from typing import Any

from irc_frontend import elementwise
from irc_frontend.elementwise import Number
from irc_frontend.graph import element_named, fail
from irc_frontend.tensor import Like, Tensor, binary, node_of, operand_of

__all__ = [
    "abs",
    "add",
    "arctan2",
    "astype",
    "bitcast",
    "ceil",
    "clip",
    "cos",
    "divide",
    "erf",
    "exp",
    "exp2",
    "expm1",
    "floor",
    "floor_divide",
    "gelu",
    "isinf",
    "isnan",
    "leaky_relu",
    "log",
    "log1p",
    "log2",
    "logical_not",
    "maximum",
    "minimum",
    "mod",
    "multiply",
    "negative",
    "power",
    "reciprocal",
    "relu",
    "round",
    "rsqrt",
    "sigmoid",
    "sign",
    "silu",
    "sin",
    "sqrt",
    "square",
    "subtract",
    "tan",
    "tanh",
    "where",
]


def _unary(op: str, x: Like, **attributes: Number | str) -> Tensor:
    return Tensor.of(elementwise.unary(op, node_of(x), **attributes))


def abs(x: Like) -> Tensor:
    return _unary("abs", x)


def negative(x: Like) -> Tensor:
    return _unary("neg", x)


def exp(x: Like) -> Tensor:
    return _unary("exp", x)


def exp2(x: Like) -> Tensor:
    return _unary("exp2", x)


def expm1(x: Like) -> Tensor:
    return _unary("expm1", x)


def log(x: Like) -> Tensor:
    return _unary("log", x)


def log2(x: Like) -> Tensor:
    return _unary("log2", x)


def log1p(x: Like) -> Tensor:
    return _unary("log1p", x)


def sqrt(x: Like) -> Tensor:
    return _unary("sqrt", x)


def square(x: Like) -> Tensor:
    return binary("mul", x, x)


def rsqrt(x: Like) -> Tensor:
    return _unary("rsqrt", x)


def reciprocal(x: Like) -> Tensor:
    return _unary("reciprocal", x)


def sin(x: Like) -> Tensor:
    return _unary("sin", x)


def cos(x: Like) -> Tensor:
    return _unary("cos", x)


def tan(x: Like) -> Tensor:
    return _unary("tan", x)


def tanh(x: Like) -> Tensor:
    return _unary("tanh", x)


def erf(x: Like) -> Tensor:
    return _unary("erf", x)


def sigmoid(x: Like) -> Tensor:
    return _unary("sigmoid", x)


def relu(x: Like) -> Tensor:
    return _unary("relu", x)


def silu(x: Like) -> Tensor:
    return _unary("silu", x)


def gelu(x: Like, approximate: str = "none") -> Tensor:
    """`approximate` is `none` or `tanh`."""
    if approximate not in ("none", "tanh"):
        raise fail(f"gelu: approximate is none or tanh, found {approximate}")
    return _unary("gelu", x, approximate=approximate)


def leaky_relu(x: Like, slope: float) -> Tensor:
    return _unary("leaky_relu", x, slope=float(slope))


def sign(x: Like) -> Tensor:
    return _unary("sign", x)


def floor(x: Like) -> Tensor:
    return _unary("floor", x)


def ceil(x: Like) -> Tensor:
    return _unary("ceil", x)


def round(x: Like) -> Tensor:
    """To the nearest integral value, halves to even."""
    return _unary("round", x)


def isnan(x: Like) -> Tensor:
    return _unary("isnan", x)


def isinf(x: Like) -> Tensor:
    return _unary("isinf", x)


def logical_not(x: Like) -> Tensor:
    return _unary("logical_not", x)


def add(a: Like, b: Like) -> Tensor:
    return binary("add", a, b)


def subtract(a: Like, b: Like) -> Tensor:
    return binary("sub", a, b)


def multiply(a: Like, b: Like) -> Tensor:
    return binary("mul", a, b)


def divide(a: Like, b: Like) -> Tensor:
    return binary("div", a, b)


def floor_divide(a: Like, b: Like) -> Tensor:
    return binary("floordiv", a, b)


def mod(a: Like, b: Like) -> Tensor:
    """With the sign of b, as numpy has it."""
    return binary("mod", a, b)


def power(a: Like, b: Like) -> Tensor:
    return binary("pow", a, b)


def maximum(a: Like, b: Like) -> Tensor:
    return binary("maximum", a, b)


def minimum(a: Like, b: Like) -> Tensor:
    return binary("minimum", a, b)


def arctan2(a: Like, b: Like) -> Tensor:
    return binary("atan2", a, b)


def where(condition: Like, a: Like, b: Like) -> Tensor:
    return Tensor.of(elementwise.where(node_of(condition), operand_of(a), operand_of(b)))


def clip(x: Like, lo: Like, hi: Like) -> Tensor:
    return Tensor.of(elementwise.clip(node_of(x), operand_of(lo), operand_of(hi)))


def astype(x: Like, dtype: Any) -> Tensor:
    return Tensor.of(elementwise.astype(node_of(x), element_named(dtype)))


def bitcast(x: Like, dtype: Any) -> Tensor:
    """The same bits as another element type of the same size."""
    return Tensor.of(elementwise.bitcast(node_of(x), element_named(dtype)))
