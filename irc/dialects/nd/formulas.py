"""Gradients and decompositions of elementwise ops that are longer than a line of the table.

Decompositions keep the NaN and infinity behavior that the ops state: `maximum` and `minimum` propagate NaN, a
comparison with NaN is false. At points without a derivative gradients follow torch.
"""

from __future__ import annotations

from math import pi, sqrt
from typing import Any

from irc.dialects.nd.terms import Term, widened
from irc.ir.rewriting import Inserter


def gelu(x: Term, approximate: str) -> Term:
    """x * Phi(x) by erf, or the tanh approximation of Hendrycks and Gimpel (arXiv:1606.08415), where
    (1 + tanh(u)) / 2 = sigmoid(2 u) keeps the digits that the sum loses for negative u."""
    if approximate == "tanh":
        return x * ((x + x * x * x * 0.044715) * (2 * sqrt(2 / pi))).sigmoid()
    return x * 0.5 * ((x * sqrt(0.5)).erf() + 1.0)


def gelu_gradient(g: Term, x: Term, y: Term, approximate: str = "none") -> Term:
    """Phi(x) + x * phi(x), or the derivative of the tanh approximation."""
    if approximate == "tanh":
        t = ((x + x * x * x * 0.044715) * sqrt(2 / pi)).tanh()
        slope = (x * x * (3 * 0.044715) + 1) * sqrt(2 / pi)
        return g * ((t + 1) * 0.5 + x * 0.5 * (1 - t * t) * slope)
    density = (x * x * -0.5).exp() * (1 / sqrt(2 * pi))
    return g * (((x * sqrt(0.5)).erf() + 1) * 0.5 + x * density)


def silu_gradient(g: Term, x: Term, y: Term) -> Term:
    s = x.sigmoid()
    return g * s * (x * (1 - s) + 1)


def leaky_relu(x: Term, slope: float) -> Term:
    """NaN takes the second arm and stays NaN."""
    return (x > 0.0).where(x, x * slope)


def leaky_relu_gradient(g: Term, x: Term, y: Term, slope: float = 0.0) -> Term:
    return (x > 0).where(g, g * slope)


def logical_not(op: Any, at: Inserter) -> Term:
    return ~Term(op.x, at)


def power_gradient(g: Term, a: Term, b: Term, y: Term) -> tuple[Term, Term]:
    """b * a ** (b - 1), where b is 0 nothing; y * log(a), where a is 0 and b is not negative nothing."""
    base = (g * b * a.pow(b - 1)).zero_where(b.equal(0))
    return base, (g * y * a.log()).zero_where(a.equal(0) & (b >= 0))


def minimum_gradient(g: Term, a: Term, b: Term, y: Term) -> tuple[Term, Term]:
    share = a.equal(b).where(g * 0.5, g)
    return share.zero_where(a > b), share.zero_where(b > a)


def maximum_gradient(g: Term, a: Term, b: Term, y: Term) -> tuple[Term, Term]:
    share = a.equal(b).where(g * 0.5, g)
    return share.zero_where(a < b), share.zero_where(b < a)


def atan2_gradient(g: Term, a: Term, b: Term, y: Term) -> tuple[Term, Term]:
    scaled = g / (a * a + b * b)
    return scaled * b, -(scaled * a)


def where_gradient(op: Any, g: Term) -> list[Term | None]:
    condition = Term(op.condition, g.at)
    return [None, g.kept_where(condition), g.zero_where(condition)]


def clamp(op: Any, at: Inserter) -> Term:
    """minimum(maximum(x, lo), hi): exact in any type, so nothing is widened."""
    x, lo, hi = (Term(value, at) for value in op.operands)
    return x.maximum(lo).minimum(hi)


def clamp_gradient(op: Any, g: Term) -> list[Term | None]:
    """To x between the bounds and at them, else to the bound that holds; hi holds where the bounds cross."""
    x, lo, hi = (widened(value, g.at) for value in op.operands)
    inside = (x >= lo) & (x <= hi)
    return [g.kept_where(inside), g.kept_where((x < lo) & (lo < hi)), g.kept_where((x > hi) | (lo > hi))]
