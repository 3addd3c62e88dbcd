"""numpy's elementwise functions on Tensors, and those of the language that numpy does not have.

Functions that are composed of others compute f16, bf16 and f8 in f32 and round once. Their formulas are accurate to a
few units in the last place of f32 wherever the function is, also near its zeros and where a part of it would overflow.
"""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, Protocol, TypeVar

from ml_dtypes import finfo

from irc_frontend import elementwise
from irc_frontend.elementwise import Number
from irc_frontend.graph import element_named, fail
from irc_frontend.tensor import Like, Tensor, applied, node_of, operand_of, tensors_of

__all__ = [
    "abs",
    "add",
    "arccos",
    "arccosh",
    "arcsin",
    "arcsinh",
    "arctan",
    "arctan2",
    "arctanh",
    "astype",
    "bitcast",
    "ceil",
    "clip",
    "copysign",
    "cos",
    "cosh",
    "deg2rad",
    "divide",
    "erf",
    "exp",
    "exp2",
    "expm1",
    "floor",
    "floor_divide",
    "fmax",
    "fmin",
    "fmod",
    "gelu",
    "hypot",
    "isinf",
    "isnan",
    "leaky_relu",
    "log",
    "log1p",
    "log2",
    "log10",
    "logaddexp",
    "maximum",
    "minimum",
    "mod",
    "multiply",
    "nan_to_num",
    "negative",
    "power",
    "rad2deg",
    "reciprocal",
    "relu",
    "round",
    "rsqrt",
    "sigmoid",
    "sign",
    "signbit",
    "silu",
    "sin",
    "sinh",
    "softplus",
    "sqrt",
    "square",
    "subtract",
    "tan",
    "tanh",
    "trunc",
    "where",
]


class Unary(Protocol):
    """A function of an array."""

    def __call__(self, x: Like) -> Tensor: ...


class Binary(Protocol):
    """A function of two arrays, one of which may be a number."""

    def __call__(self, a: Like, b: Like) -> Tensor: ...


def unary(op: str) -> Unary:
    """The function that records an op of the table of elementwise ops."""

    def function(x: Like) -> Tensor:
        return applied(op, Tensor.of(node_of(x)))

    return _named(function, op)


def binary(op: str) -> Binary:
    """The function that records an op of two operands."""

    def function(a: Like, b: Like) -> Tensor:
        return applied(op, a, b)

    return _named(function, op)


FunctionT = TypeVar("FunctionT", bound=Callable[..., Tensor])


def _named(function: FunctionT, op: str) -> FunctionT:
    function.__name__ = function.__qualname__ = op
    function.__doc__ = f"`nd.{op}` of the elements: docs/dialects/nd.md."
    return function


# Ops of the table, docs/dialects/nd.md

abs = unary("abs")
arctan = unary("atan")
ceil = unary("ceil")
cos = unary("cos")
erf = unary("erf")
exp = unary("exp")
exp2 = unary("exp2")
expm1 = unary("expm1")
floor = unary("floor")
log = unary("log")
log10 = unary("log10")
log1p = unary("log1p")
log2 = unary("log2")
negative = unary("neg")
reciprocal = unary("reciprocal")
relu = unary("relu")
rsqrt = unary("rsqrt")
sigmoid = unary("sigmoid")
sign = unary("sign")
silu = unary("silu")
sin = unary("sin")
softplus = unary("softplus")
sqrt = unary("sqrt")
tan = unary("tan")
tanh = unary("tanh")

add = binary("add")
arctan2 = binary("atan2")
divide = binary("div")
floor_divide = binary("floordiv")
hypot = binary("hypot")
maximum = binary("maximum")
minimum = binary("minimum")
mod = binary("mod")
multiply = binary("mul")
power = binary("pow")
subtract = binary("sub")


def round(x: Like, decimals: int = 0) -> Tensor:
    """To the nearest multiple of 10^-`decimals`, ties to the even one."""
    tensor = Tensor.of(node_of(x))
    if not decimals:
        return applied("round", tensor) if tensor.node.is_float else tensor
    if not tensor.node.is_float:
        raise fail(f"round to {decimals} decimals of {tensor.node.type}: integers have none", "x.astype('f32')")
    scale = 10.0 ** builtins.abs(decimals)
    wide = tensor.astype("f64" if tensor.element == "f64" else "f32")
    scaled = applied("round", wide * scale if decimals > 0 else wide / scale)
    return (scaled / scale if decimals > 0 else scaled * scale).astype(tensor.element)


def isnan(x: Like) -> Tensor:
    return _test("isnan", x)


def isinf(x: Like) -> Tensor:
    return _test("isinf", x)


def _test(op: str, x: Like) -> Tensor:
    """A test of floats, which integers and bools fail."""
    tensor = Tensor.of(node_of(x))
    return applied(op, tensor) if tensor.node.is_float else applied("not_equal", tensor, tensor)


def square(x: Like) -> Tensor:
    return multiply(x, x)


def gelu(x: Like, approximate: str = "none") -> Tensor:
    """`approximate` is `none` or `tanh`."""
    if approximate not in ("none", "tanh"):
        raise fail(f"gelu: approximate is none or tanh, found {approximate}")
    return applied("gelu", Tensor.of(node_of(x)), approximate=approximate)


def leaky_relu(x: Like, slope: float) -> Tensor:
    return applied("leaky_relu", Tensor.of(node_of(x)), slope=float(slope))


def where(condition: Like, a: Like, b: Like) -> Tensor:
    return Tensor.of(elementwise.where(node_of(condition), operand_of(a), operand_of(b)))


def clip(x: Like, min: Like | None = None, max: Like | None = None) -> Tensor:
    """Limited to `min` and `max`; None is no limit."""
    return Tensor.of(node_of(x)).clip(min, max)


def astype(x: Like, dtype: Any) -> Tensor:
    return Tensor.of(elementwise.astype(node_of(x), element_named(dtype)))


def bitcast(x: Like, dtype: Any) -> Tensor:
    """The same bits as another element type of the same size."""
    return Tensor.of(elementwise.bitcast(node_of(x), element_named(dtype)))


# Composed of those

OF_FLOATS: dict[str, Callable[..., Tensor]] = {}
"""The composed functions that take floats alone, by name."""


def floats_of(name: str, operands: Sequence[Like]) -> list[Tensor]:
    """The operands, which have one float type; numbers take that of the first array."""
    tensors = tensors_of(operands)
    if not tensors[0].node.is_float:
        ways = "x.astype('f32') computes it in f32, x.astype('f64') in numpy's f64"
        raise fail(f"{name} of {tensors[0].node.type}: {ways}")
    return tensors


def _of_floats(formula: Callable[..., Tensor]) -> Callable[..., Tensor]:
    @wraps(formula)
    def function(*operands: Like) -> Tensor:
        tensors = floats_of(formula.__name__, operands)
        element = tensors[0].element
        wide = "f64" if element == "f64" else "f32"
        return formula(*(x.astype(wide) for x in tensors)).astype(element)

    OF_FLOATS[formula.__name__] = function
    return function


def of_float(formula: Callable[[Tensor], Tensor]) -> Unary:
    """The function whose formula is of f32 or f64."""
    return _of_floats(formula)


def of_two_floats(formula: Callable[[Tensor, Tensor], Tensor]) -> Binary:
    """The function whose formula is of two arrays of f32 or f64."""
    return _of_floats(formula)


@of_float
def sinh(x: Tensor) -> Tensor:
    """By expm1, and for great x by half of exp(x - log 2), which does not overflow before the result does."""
    size = abs(x)
    low = expm1(minimum(size, 1.0))
    return _signed(where(size < 1, (low + low / (low + 1)) * 0.5, _half_exp(size) - 0.25 / _half_exp(size)), x)


@of_float
def cosh(x: Tensor) -> Tensor:
    half = _half_exp(abs(x))
    return half + 0.25 / half


def _half_exp(x: Tensor) -> Tensor:
    """exp(x) / 2."""
    root = exp(x * 0.5)
    return root * 0.5 * root


def _signed(size: Tensor, x: Tensor) -> Tensor:
    """An odd function of x from its values for |x|."""
    return where(x < 0, -size, where(x == 0, x.astype(size.element), size))


@of_float
def arcsin(x: Tensor) -> Tensor:
    """NaN beyond -1..1."""
    return arctan2(x, sqrt((1 - x) * (1 + x)))


@of_float
def arccos(x: Tensor) -> Tensor:
    """NaN beyond -1..1."""
    return arctan2(sqrt((1 - x) * (1 + x)), x)


@of_float
def arcsinh(x: Tensor) -> Tensor:
    """log1p(|x| + x^2 / (1 + sqrt(x^2 + 1))), and log(2 |x|) where x^2 says nothing more."""
    size = abs(x)
    near = minimum(size, 1e4)
    square = near * near
    low = log1p(near + square / (1 + sqrt(square + 1)))
    return _signed(where(size < 1e4, low, log(size) + math.log(2)), x)


@of_float
def arccosh(x: Tensor) -> Tensor:
    """log1p(t + sqrt(2 t + t^2)) of t = x - 1, and log(2 x) where 1 says nothing more. NaN below 1."""
    above = clip(x, 1.0, 1e4) - 1
    near = log1p(above + sqrt(above * (above + 2)))
    return where(x < 1, math.nan, where(x > 1e4, log(x) + math.log(2), near))


@of_float
def arctanh(x: Tensor) -> Tensor:
    """NaN beyond -1..1."""
    size = abs(x)
    return _signed(log1p(2 * size / (1 - size)) * 0.5, x)


@of_two_floats
def logaddexp(a: Tensor, b: Tensor) -> Tensor:
    """log(exp(a) + exp(b)): the greater plus log1p(exp(-distance)); equal infinities have no distance."""
    most = maximum(a, b)
    return where(isinf(most) & (a == b), most, most + log1p(exp(-abs(a - b))))


@of_float
def deg2rad(angle: Tensor) -> Tensor:
    return angle * (math.pi / 180)


@of_float
def rad2deg(angle: Tensor) -> Tensor:
    return angle * (180 / math.pi)


BITS = {"f64": "i64", "f32": "i32", "f16": "i16", "bf16": "i16", "f8e4m3": "i8", "f8e5m2": "i8"}
"""The integers that have as many bits."""


def signbit(x: Like) -> Tensor:
    """Whether the sign is negative, also of zeros and NaN."""
    tensor = Tensor.of(node_of(x))
    if not tensor.node.is_float:
        return tensor != tensor if tensor.element in ("bool", "u8") else tensor < 0
    return bitcast(tensor, BITS[tensor.element]) < 0


def copysign(a: Like, b: Like) -> Tensor:
    """|a| with the sign of b."""
    x, y = floats_of("copysign", (a, b))
    size = abs(x)
    return where(signbit(y), -size, size)


def fmax(a: Like, b: Like) -> Tensor:
    """The greater; the other where one is NaN."""
    x, y = tensors_of((a, b))
    return _of_numbers(x, y, where(x >= y, x, y))


def fmin(a: Like, b: Like) -> Tensor:
    """The lesser; the other where one is NaN."""
    x, y = tensors_of((a, b))
    return _of_numbers(x, y, where(x <= y, x, y))


def _of_numbers(a: Tensor, b: Tensor, chosen: Tensor) -> Tensor:
    return where(isnan(b), a, where(isnan(a), b, chosen)) if a.node.is_float else chosen


def trunc(x: Like) -> Tensor:
    """Towards 0; integers are themselves."""
    tensor = Tensor.of(node_of(x))
    return where(tensor < 0, ceil(tensor), floor(tensor)) if tensor.node.is_float else tensor


def fmod(a: Like, b: Like) -> Tensor:
    """The remainder with the sign of a, also of floats where it is 0; `mod` has that of b."""
    x, y = tensors_of((a, b))
    if x.node.is_float:
        return copysign(mod(abs(x), abs(y)), x)
    rest = mod(x, y)  # the least integer has no absolute value
    return where((rest != 0) & ((x < 0) != (y < 0)), rest - y, rest)


def nan_to_num(x: Like, nan: Number = 0.0, posinf: Number | None = None, neginf: Number | None = None) -> Tensor:
    """NaN and infinities replaced; infinities by the greatest and least finite numbers where nothing is said."""
    tensor = Tensor.of(node_of(x))
    if not tensor.node.is_float:
        return tensor
    limit = float(finfo(tensor.dtype).max)
    high, low = limit if posinf is None else posinf, -limit if neginf is None else neginf
    finite = where(isinf(tensor), where(tensor > 0, Tensor(high, tensor.element), low), tensor)
    return where(isnan(tensor), nan, finite)
