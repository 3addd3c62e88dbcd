"""numpy's elementwise functions on Tensors that are composed of others; `formulas` has what they compute.

Floats narrower than f32 are computed in f32 and rounded once.
"""

from __future__ import annotations

from collections.abc import Callable

from ml_dtypes import finfo

from irc_frontend import formulas
from irc_frontend.elementwise import Number
from irc_frontend.elementwise_functions import isinf, isnan, where
from irc_frontend.graph import fail
from irc_frontend.tensor import Like, Tensor, node_of, tensors_of

__all__ = [
    "arccos",
    "arccosh",
    "arcsin",
    "arcsinh",
    "arctan",
    "arctanh",
    "copysign",
    "cosh",
    "deg2rad",
    "fmax",
    "fmin",
    "fmod",
    "hypot",
    "log10",
    "logaddexp",
    "nan_to_num",
    "rad2deg",
    "signbit",
    "sinh",
    "trunc",
]


def _float(formula: Callable[..., Tensor], *operands: Like) -> Tensor:
    """The formula of floats; numbers take the element type of the first array."""
    tensors = tensors_of(operands)
    first = tensors[0]
    if not first.node.is_float:
        raise fail(f"{formula.__name__} of {first.node.type}", "cast it first: x.astype('f32')")
    element = "f64" if first.element == "f64" else "f32"
    return formula(*(x.astype(element) for x in tensors)).astype(first.element)


def sinh(x: Like) -> Tensor:
    return _float(formulas.sinh, x)


def cosh(x: Like) -> Tensor:
    return _float(formulas.cosh, x)


def arcsin(x: Like) -> Tensor:
    """NaN beyond -1..1."""
    return _float(formulas.arcsin, x)


def arccos(x: Like) -> Tensor:
    """NaN beyond -1..1."""
    return _float(formulas.arccos, x)


def arctan(x: Like) -> Tensor:
    return _float(formulas.arctan, x)


def arcsinh(x: Like) -> Tensor:
    return _float(formulas.arcsinh, x)


def arccosh(x: Like) -> Tensor:
    """NaN below 1."""
    return _float(formulas.arccosh, x)


def arctanh(x: Like) -> Tensor:
    """NaN beyond -1..1."""
    return _float(formulas.arctanh, x)


def log10(x: Like) -> Tensor:
    return _float(formulas.log10, x)


def hypot(a: Like, b: Like) -> Tensor:
    """sqrt(a^2 + b^2), whose squares do not overflow."""
    return _float(formulas.hypot, a, b)


def logaddexp(a: Like, b: Like) -> Tensor:
    """log(exp(a) + exp(b))."""
    return _float(formulas.logaddexp, a, b)


def copysign(a: Like, b: Like) -> Tensor:
    """|a| with the sign of b."""
    return _float(formulas.copysign, a, b)


def deg2rad(x: Like) -> Tensor:
    return _float(formulas.deg2rad, x)


def rad2deg(x: Like) -> Tensor:
    return _float(formulas.rad2deg, x)


def signbit(x: Like) -> Tensor:
    """Whether the sign is negative, also of zeros and NaN."""
    return formulas.signbit(Tensor.of(node_of(x)))


def fmax(a: Like, b: Like) -> Tensor:
    """The greater; the other where one is NaN."""
    return formulas.fmax(*tensors_of((a, b)))


def fmin(a: Like, b: Like) -> Tensor:
    """The lesser; the other where one is NaN."""
    return formulas.fmin(*tensors_of((a, b)))


def fmod(a: Like, b: Like) -> Tensor:
    """The remainder with the sign of a; `mod` has that of b."""
    return formulas.fmod(*tensors_of((a, b)))


def trunc(x: Like) -> Tensor:
    """Towards 0."""
    return formulas.trunc(Tensor.of(node_of(x)))


def nan_to_num(x: Like, nan: Number = 0.0, posinf: Number | None = None, neginf: Number | None = None) -> Tensor:
    """NaN and infinities replaced; infinities by the greatest and least finite numbers where nothing is said."""
    tensor = Tensor.of(node_of(x))
    if not tensor.node.is_float:
        return tensor
    limit = float(finfo(tensor.dtype).max)
    high, low = limit if posinf is None else posinf, -limit if neginf is None else neginf
    finite = where(isinf(tensor), where(tensor > 0, Tensor(high, tensor.element), low), tensor)
    return where(isnan(tensor), nan, finite)
