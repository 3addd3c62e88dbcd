"""numpy's functions that compare, and those of truth values and bits, on Tensors."""

from __future__ import annotations

from irc_frontend.elementwise_functions import abs as absolute
from irc_frontend.elementwise_functions import binary, isinf, isnan, unary
from irc_frontend.reduction_functions import all as every
from irc_frontend.tensor import Like, Tensor, node_of, tensors_of

__all__ = [
    "allclose",
    "array_equal",
    "bitwise_and",
    "bitwise_or",
    "bitwise_xor",
    "equal",
    "greater",
    "greater_equal",
    "invert",
    "isclose",
    "isfinite",
    "left_shift",
    "less",
    "less_equal",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "not_equal",
    "right_shift",
]


equal = binary("equal")
not_equal = binary("not_equal")
less = binary("less")
less_equal = binary("less_equal")
greater = binary("greater")
greater_equal = binary("greater_equal")
bitwise_and = binary("bitwise_and")
bitwise_or = binary("bitwise_or")
bitwise_xor = binary("bitwise_xor")
left_shift = binary("shift_left")
right_shift = binary("shift_right")
invert = unary("bitwise_not")


def logical_not(x: Like) -> Tensor:
    return invert(_truth(x))


def logical_and(a: Like, b: Like) -> Tensor:
    return bitwise_and(_truth(a), _truth(b))


def logical_or(a: Like, b: Like) -> Tensor:
    return bitwise_or(_truth(a), _truth(b))


def logical_xor(a: Like, b: Like) -> Tensor:
    return bitwise_xor(_truth(a), _truth(b))


def isfinite(x: Like) -> Tensor:
    return ~(isnan(x) | isinf(x))


def isclose(a: Like, b: Like, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Tensor:
    """|a - b| <= atol + rtol |b|, and where both are the same infinity."""
    x, y = tensors_of((a, b))
    if not x.node.is_float:
        x, y = x.astype("f64"), y.astype("f64")
    is_close = (x == y) | (~isinf(y) & (absolute(x - y) <= atol + rtol * absolute(y)))
    return is_close | (isnan(x) & isnan(y)) if equal_nan else is_close


def allclose(a: Like, b: Like, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> bool:
    return bool(every(isclose(a, b, rtol, atol, equal_nan)))


def array_equal(a: Like, b: Like) -> bool:
    """Whether shapes and elements are the same."""
    x, y = tensors_of((a, b))
    return x.shape == y.shape and bool(every(x == y))


def _truth(x: Like) -> Like:
    """A bool, or an array of them: numbers are true where they are not 0."""
    if isinstance(x, bool | int | float):
        return bool(x)
    tensor = Tensor.of(node_of(x))
    return tensor if tensor.node.is_bool else tensor != 0
