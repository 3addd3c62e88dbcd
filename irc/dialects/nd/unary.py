"""Elementwise ops of one operand: arithmetic and functions, tests, and bits. Results are rounded to their element
type."""

from __future__ import annotations

from math import log, pi, sqrt
from typing import Any, ClassVar

import numpy as np
from xdsl.dialects.builtin import StringAttr
from xdsl.irdl import prop_def

from irc.dialects.nd import numpy_code
from irc.dialects.nd.base import BITS, BOOL, Elements, Location, Operand, float_prop, type_of
from irc.dialects.nd.elementwise import NumberUnaryOp, UnaryOp
from irc.dialects.nd.table import Cost, composed, defined_in, flat, row, unary_row
from irc.dialects.nd.terms import Term
from irc.ir.rewriting import Inserter


@unary_row(np.negative, "neg", lambda g, x, y: -g, symbol="-", is_function=True, aten="neg")
class NegOp(NumberUnaryOp):
    """-x; integers wrap."""

    name = "nd.neg"


@unary_row(np.abs, "absolute", lambda g, x, y: g * x.sign(), aten="abs")
class AbsOp(NumberUnaryOp):
    """|x|; the least integer stays itself. At 0 its gradient is 0."""

    name = "nd.abs"


@row(np.sign, "sign", flat)
class SignOp(NumberUnaryOp):
    """-1, 0 or 1; NaN stays NaN."""

    name = "nd.sign"


@unary_row(numpy_code.relu, "relu", lambda g, x, y: g.zero_where(y <= 0), aten="relu")
class ReluOp(NumberUnaryOp):
    """maximum(x, 0); NaN stays NaN. At 0 its gradient is 0."""

    name = "nd.relu"


@row(numpy_code.integral(np.floor), ("math.floor", ""), flat, aten="floor")
class FloorOp(NumberUnaryOp):
    """The greatest integral value not above x."""

    name = "nd.floor"


@row(numpy_code.integral(np.ceil), ("math.ceil", ""), flat, aten="ceil")
class CeilOp(NumberUnaryOp):
    """The least integral value not below x."""

    name = "nd.ceil"


@row(numpy_code.integral(np.rint), ("math.roundeven", ""), flat, aten="round")
class RoundOp(NumberUnaryOp):
    """The nearest integral value, halves to even."""

    name = "nd.round"


@unary_row(np.exp, "math.exp", lambda g, x, y: g * y, cost=Cost.LONG, instructions=2, is_relaxable=True, aten="exp")
class ExpOp(UnaryOp):
    """e ** x."""

    name = "nd.exp"


@unary_row(
    np.exp2,
    "math.exp2",
    lambda g, x, y: g * y * log(2),
    cost=Cost.LONG,
    instructions=1,
    is_relaxable=True,
    aten="exp2",
)
class Exp2Op(UnaryOp):
    """2 ** x."""

    name = "nd.exp2"


@unary_row(np.expm1, "math.expm1", lambda g, x, y: g * x.exp(), cost=Cost.LONG, is_relaxable=True, aten="expm1")
class Expm1Op(UnaryOp):
    """e ** x - 1, accurate near 0."""

    name = "nd.expm1"


@unary_row(np.log, "math.log", lambda g, x, y: g / x, cost=Cost.LONG, is_relaxable=True, aten="log")
class LogOp(UnaryOp):
    """The natural logarithm; -inf at 0, NaN below."""

    name = "nd.log"


@unary_row(np.log2, "math.log2", lambda g, x, y: g / (x * log(2)), cost=Cost.LONG, is_relaxable=True, aten="log2")
class Log2Op(UnaryOp):
    """The logarithm of base 2."""

    name = "nd.log2"


@unary_row(np.log10, "math.log10", lambda g, x, y: g / (x * log(10)), cost=Cost.LONG, is_relaxable=True, aten="log10")
class Log10Op(UnaryOp):
    """The logarithm of base 10."""

    name = "nd.log10"


@unary_row(np.log1p, "math.log1p", lambda g, x, y: g / (x + 1), cost=Cost.LONG, is_relaxable=True, aten="log1p")
class Log1pOp(UnaryOp):
    """log(1 + x), accurate near 0."""

    name = "nd.log1p"


@unary_row(
    lambda x: np.logaddexp(x, x.dtype.type(0)),
    "",
    lambda g, x, y: g * x.sigmoid(),
    cost=Cost.LONG,
    is_relaxable=True,
    decomposition=composed(lambda x: x.maximum(0) + (-x.apply("abs")).exp().log1p()),
)
class SoftplusOp(UnaryOp):
    """log(1 + exp(x)), accurate for all x, and where exp(x) overflows."""

    name = "nd.softplus"


@unary_row(np.sqrt, "math.sqrt", lambda g, x, y: g / (y * 2), cost=Cost.SHORT, is_relaxable=True, aten="sqrt")
class SqrtOp(UnaryOp):
    """The square root; NaN below 0. At 0 its gradient is inf."""

    name = "nd.sqrt"


@unary_row(numpy_code.rsqrt, "math.rsqrt", lambda g, x, y: g * (y * y * y) * -0.5, cost=Cost.SHORT, aten="rsqrt")
class RsqrtOp(UnaryOp):
    """1 / sqrt(x)."""

    name = "nd.rsqrt"


@unary_row(
    np.reciprocal,
    "reciprocal",
    lambda g, x, y: -g * (y * y),
    cost=Cost.SHORT,
    is_relaxable=True,
    aten="reciprocal",
)
class ReciprocalOp(UnaryOp):
    """1 / x."""

    name = "nd.reciprocal"


@unary_row(np.sin, "math.sin", lambda g, x, y: g * x.cos(), cost=Cost.LONG, is_relaxable=True, aten="sin")
class SinOp(UnaryOp):
    """The sine of x radians."""

    name = "nd.sin"


@unary_row(np.cos, "math.cos", lambda g, x, y: -g * x.sin(), cost=Cost.LONG, is_relaxable=True, aten="cos")
class CosOp(UnaryOp):
    """The cosine of x radians."""

    name = "nd.cos"


@unary_row(np.tan, "math.tan", lambda g, x, y: g * (y * y + 1), cost=Cost.LONG, aten="tan")
class TanOp(UnaryOp):
    """The tangent of x radians."""

    name = "nd.tan"


@unary_row(np.arctan, "math.atan", lambda g, x, y: g / (x * x + 1), cost=Cost.LONG, aten="atan")
class AtanOp(UnaryOp):
    """The angle whose tangent is x, in radians from -pi / 2 to pi / 2."""

    name = "nd.atan"


@unary_row(
    np.tanh,
    "math.tanh",
    lambda g, x, y: g * (1 - y * y),
    cost=Cost.LONG,
    instructions=12,
    is_relaxable=True,
    aten="tanh",
)
class TanhOp(UnaryOp):
    """The hyperbolic tangent."""

    name = "nd.tanh"


@unary_row(
    numpy_code.erf,
    "math.erf",
    lambda g, x, y: g * (-(x * x)).exp() * (2 / sqrt(pi)),
    cost=Cost.LONG,
    instructions=16,
    is_relaxable=True,
    aten="erf",
)
class ErfOp(UnaryOp):
    """The error function, 2 / sqrt(pi) times the integral of exp(-t ** 2) from 0 to x."""

    name = "nd.erf"


@unary_row(
    numpy_code.sigmoid,
    "sigmoid",
    lambda g, x, y: g * y * (1 - y),
    cost=Cost.LONG,
    instructions=5,
    is_relaxable=True,
    aten="sigmoid",
)
class SigmoidOp(UnaryOp):
    """1 / (1 + exp(-x))."""

    name = "nd.sigmoid"


def _silu_gradient(g: Term, x: Term, y: Term) -> Term:
    s = x.sigmoid()
    return g * s * (x * (1 - s) + 1)


@unary_row(
    lambda x: x * numpy_code.sigmoid(x),
    "silu",
    _silu_gradient,
    cost=Cost.LONG,
    instructions=6,
    is_relaxable=True,
    decomposition=composed(lambda x: x * x.sigmoid()),
    aten="silu",
)
class SiluOp(UnaryOp):
    """x * sigmoid(x)."""

    name = "nd.silu"


def _gelu(x: Term, approximate: str) -> Term:
    """x * Phi(x) by erf, or the tanh approximation of Hendrycks and Gimpel (arXiv:1606.08415), where
    (1 + tanh(u)) / 2 = sigmoid(2 u) keeps the digits that the sum loses for negative u."""
    if approximate == "tanh":
        return x * ((x + x * x * x * 0.044715) * (2 * sqrt(2 / pi))).sigmoid()
    return x * 0.5 * ((x * sqrt(0.5)).erf() + 1.0)


def _gelu_gradient(g: Term, x: Term, y: Term, approximate: str = "none") -> Term:
    """Phi(x) + x * phi(x), or the derivative of the tanh approximation."""
    if approximate == "tanh":
        t = ((x + x * x * x * 0.044715) * sqrt(2 / pi)).tanh()
        slope = (x * x * (3 * 0.044715) + 1) * sqrt(2 / pi)
        return g * ((t + 1) * 0.5 + x * 0.5 * (1 - t * t) * slope)
    density = (x * x * -0.5).exp() * (1 / sqrt(2 * pi))
    return g * (((x * sqrt(0.5)).erf() + 1) * 0.5 + x * density)


@unary_row(
    numpy_code.gelu,
    "",
    _gelu_gradient,
    cost=Cost.LONG,
    is_relaxable=True,
    decomposition=composed(_gelu),
)
class GeluOp(UnaryOp):
    """x * Phi(x); `approximate = "tanh"` is Hendrycks and Gimpel's approximation (arXiv:1606.08415), `"none"` erf."""

    name = "nd.gelu"
    approximate = prop_def(StringAttr, default_value=StringAttr("none"))

    def __init__(self, x: Operand, approximate: str = "none", *, location: Location | None = None):
        self.setup([x], [type_of(x)], {"approximate": approximate}, location)

    def check(self) -> None:
        super().check()
        if self.approximate.data not in ("none", "tanh"):
            raise self.fail(f'expects approximate to be "none" or "tanh", found "{self.approximate.data}"')


def _leaky_relu(x: Term, slope: float) -> Term:
    """NaN takes the second arm and stays NaN."""
    return (x > 0.0).where(x, x * slope)


def _leaky_relu_gradient(g: Term, x: Term, y: Term, slope: float = 0.0) -> Term:
    return (x > 0).where(g, g * slope)


@unary_row(
    numpy_code.leaky_relu,
    "leaky_relu",
    _leaky_relu_gradient,
    decomposition=composed(_leaky_relu),
)
class LeakyReluOp(UnaryOp):
    """x where x > 0, else slope * x."""

    name = "nd.leaky_relu"
    slope = float_prop()

    def __init__(self, x: Operand, slope: float, *, location: Location | None = None):
        self.setup([x], [type_of(x)], {"slope": float(slope)}, location)


@row(np.isnan, "isnan")
class IsnanOp(UnaryOp):
    """Whether x is NaN."""

    IS_TEST: ClassVar[bool] = True

    name = "nd.isnan"


@row(np.isinf, "isinf")
class IsinfOp(UnaryOp):
    """Whether x is inf or -inf."""

    IS_TEST: ClassVar[bool] = True

    name = "nd.isinf"


def _logical_not(op: Any, at: Inserter) -> Term:
    return ~Term(op.x, at)


@row(np.logical_not, "invert", decomposition=_logical_not)
class LogicalNotOp(UnaryOp):
    """not x, of bool."""

    TAKES: ClassVar[Elements] = BOOL
    IS_TEST: ClassVar[bool] = True

    name = "nd.logical_not"


@row(np.invert, "invert", symbol="~")
class BitwiseNotOp(UnaryOp):
    """~x; of bool, not x."""

    TAKES: ClassVar[Elements] = BITS

    name = "nd.bitwise_not"


__all__ = defined_in(__name__)  # pyright: ignore[reportUnsupportedDunderAll]
