"""Decompositions of activations, clamps and tests into plain arithmetic.

Each keeps the NaN and infinity behavior that `irc/dialects/nd` states: `maximum` and `minimum` propagate NaN, a
comparison with NaN is false. Narrow floats are computed in f32 (`widened`), with one deferred cast at the end
(`narrowed`).
"""

from __future__ import annotations

from math import pi, sqrt

from irc.dialects import nd
from irc.dialects.nd.terms import Decomposition, Term, narrowed, widened
from irc.ir.rewriting import Inserter


def gelu(op: nd.GeluOp, at: Inserter) -> Term:
    """x * Phi(x) by erf, or the tanh approximation of Hendrycks and Gimpel (arXiv:1606.08415), where
    (1 + tanh(u)) / 2 = sigmoid(2 u) keeps the digits that the sum loses for negative u."""
    x = widened(op.x, at)
    if op.approximate.data == "tanh":
        inner = (x + x * x * x * 0.044715) * (2 * sqrt(2 / pi))
        return narrowed(x * inner.sigmoid(), op)
    return narrowed(x * 0.5 * ((x * sqrt(0.5)).erf() + 1.0), op)


def silu(op: nd.SiluOp, at: Inserter) -> Term:
    x = widened(op.x, at)
    return narrowed(x * x.sigmoid(), op)


def leaky_relu(op: nd.LeakyReluOp, at: Inserter) -> Term:
    """x where x > 0, else slope * x: NaN takes the second arm and stays NaN."""
    x = widened(op.x, at)
    return narrowed((x > 0.0).where(x, x * op.slope.value.data), op)


def clamp(op: nd.ClampOp, at: Inserter) -> Term:
    """minimum(maximum(x, lo), hi): exact in any type, so nothing is widened."""
    x, lo, hi = (Term(value, at) for value in op.operands)
    return x.maximum(lo).minimum(hi)


def logical_not(op: nd.LogicalNotOp, at: Inserter) -> Term:
    return ~Term(op.x, at)


ELEMENTWISE: dict[type[nd.NdOp], Decomposition] = {
    nd.GeluOp: gelu,
    nd.SiluOp: silu,
    nd.LeakyReluOp: leaky_relu,
    nd.ClampOp: clamp,
    nd.LogicalNotOp: logical_not,
}
