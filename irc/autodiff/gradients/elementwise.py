"""Gradients of elementwise ops. Narrow floats are computed in f32.

At points without a derivative they follow torch: `abs` and `relu` have 0 at 0, `sqrt` inf at 0, a tie of `minimum` or
`maximum` gives half to each side, `clamp` passes at its bounds, `floor ceil round sign floordiv` have 0 everywhere.
"""

from __future__ import annotations

from collections.abc import Callable
from math import log, pi, sqrt
from typing import Any, TypeAlias

from irc.autodiff.gradients.rule import Rule, kept_where, zero_where
from irc.dialects import nd
from irc.dialects.nd.terms import Term, wide, widened

Unary: TypeAlias = "Callable[[Term, Term, Term], Term]"
"""(g, x, y): the cotangent of the result, the operand, the result."""

UNARY: dict[type[nd.NdOp], Unary] = {
    nd.NegOp: lambda g, x, y: -g,
    nd.AbsOp: lambda g, x, y: g * x.sign(),
    nd.ReluOp: lambda g, x, y: zero_where(y <= 0, g),
    nd.ExpOp: lambda g, x, y: g * y,
    nd.Exp2Op: lambda g, x, y: g * y * log(2),
    nd.Expm1Op: lambda g, x, y: g * x.exp(),
    nd.LogOp: lambda g, x, y: g / x,
    nd.Log2Op: lambda g, x, y: g / (x * log(2)),
    nd.Log1pOp: lambda g, x, y: g / (x + 1),
    nd.SqrtOp: lambda g, x, y: g / (y * 2),
    nd.RsqrtOp: lambda g, x, y: g * (y * y * y) * -0.5,
    nd.ReciprocalOp: lambda g, x, y: -g * (y * y),
    nd.SinOp: lambda g, x, y: g * x.cos(),
    nd.CosOp: lambda g, x, y: -g * x.sin(),
    nd.TanOp: lambda g, x, y: g * (y * y + 1),
    nd.TanhOp: lambda g, x, y: g * (1 - y * y),
    nd.ErfOp: lambda g, x, y: g * (-(x * x)).exp() * (2 / sqrt(pi)),
    nd.SigmoidOp: lambda g, x, y: g * y * (1 - y),
    nd.SiluOp: lambda g, x, y: _silu(g, x),
}


def _silu(g: Term, x: Term) -> Term:
    s = x.sigmoid()
    return g * s * (x * (1 - s) + 1)


def _unary(formula: Unary) -> Rule:
    def rule(op: nd.UnaryOp, g: Term) -> list[Term | None]:
        return [formula(wide(g), widened(op.x, g.at), widened(op.result, g.at))]

    return rule


def leaky_relu(op: nd.LeakyReluOp, g: Term) -> list[Term | None]:
    g = wide(g)
    return [(widened(op.x, g.at) > 0).where(g, g * op.slope.value.data)]


def gelu(op: nd.GeluOp, g: Term) -> list[Term | None]:
    """Phi(x) + x * phi(x), or the derivative of the tanh approximation."""
    g, x = wide(g), widened(op.x, g.at)
    if op.approximate.data == "tanh":
        t = ((x + x * x * x * 0.044715) * sqrt(2 / pi)).tanh()
        slope = (x * x * (3 * 0.044715) + 1) * sqrt(2 / pi)
        return [g * ((t + 1) * 0.5 + x * 0.5 * (1 - t * t) * slope)]
    density = (x * x * -0.5).exp() * (1 / sqrt(2 * pi))
    return [g * (((x * sqrt(0.5)).erf() + 1) * 0.5 + x * density)]


Binary: TypeAlias = "Callable[[Term, Term, Term, Term], tuple[Term | None, Term | None]]"
"""(g, a, b, y): the cotangent of the result, the operands, the result."""


def _pow(g: Term, a: Term, b: Term, y: Term) -> tuple[Term, Term]:
    """b * a ** (b - 1), where b is 0 nothing; y * log(a), where a is 0 and b is not negative nothing."""
    base = zero_where(b.equal(0), g * b * a.pow(b - 1))
    return base, zero_where(a.equal(0) & (b >= 0), g * y * a.log())


def _minimum(g: Term, a: Term, b: Term, y: Term) -> tuple[Term, Term]:
    share = a.equal(b).where(g * 0.5, g)
    return zero_where(a > b, share), zero_where(b > a, share)


def _maximum(g: Term, a: Term, b: Term, y: Term) -> tuple[Term, Term]:
    share = a.equal(b).where(g * 0.5, g)
    return zero_where(a < b, share), zero_where(b < a, share)


def _atan2(g: Term, a: Term, b: Term, y: Term) -> tuple[Term, Term]:
    scaled = g / (a * a + b * b)
    return scaled * b, -(scaled * a)


BINARY: dict[type[nd.NdOp], Binary] = {
    nd.MulOp: lambda g, a, b, y: (g * b, g * a),
    nd.DivOp: lambda g, a, b, y: (g / b, -g * y / b),
    nd.ModOp: lambda g, a, b, y: (g, -g * (a / b).floor()),
    nd.PowOp: _pow,
    nd.MinimumOp: _minimum,
    nd.MaximumOp: _maximum,
    nd.Atan2Op: _atan2,
}


def _binary(formula: Binary) -> Rule:
    def rule(op: nd.BinaryOp, g: Term) -> tuple[Term | None, Term | None]:
        a, b, y = (widened(value, g.at) for value in (op.lhs, op.rhs, op.result))
        return formula(wide(g), a, b, y)

    return rule


def add(op: nd.AddOp, g: Term) -> list[Term | None]:
    return [g, g]


def sub(op: nd.SubOp, g: Term) -> list[Term | None]:
    return [g, -g]


def where(op: nd.WhereOp, g: Term) -> list[Term | None]:
    condition = Term(op.condition, g.at)
    return [None, kept_where(condition, g), zero_where(condition, g)]


def clamp(op: nd.ClampOp, g: Term) -> list[Term | None]:
    """To x between the bounds and at them, else to the bound that holds; hi holds where the bounds cross."""
    x, lo, hi = (widened(value, g.at) for value in op.operands)
    inside = (x >= lo) & (x <= hi)
    return [kept_where(inside, g), kept_where((x < lo) & (lo < hi), g), kept_where((x > hi) | (lo > hi), g)]


def cast(op: nd.CastOp, g: Term) -> list[Term | None]:
    """The walk converts it back: a rounding or a saturation counts as the identity."""
    return [g]


def nothing(op: Any, g: Term) -> list[Term | None]:
    """Constant between jumps."""
    return [None] * len(op.operands)


ELEMENTWISE: dict[type[nd.NdOp], Rule] = {
    **{op: _unary(formula) for op, formula in UNARY.items()},
    **{op: _binary(formula) for op, formula in BINARY.items()},
    nd.LeakyReluOp: leaky_relu,
    nd.GeluOp: gelu,
    nd.AddOp: add,
    nd.SubOp: sub,
    nd.WhereOp: where,
    nd.ClampOp: clamp,
    nd.CastOp: cast,
    **dict.fromkeys((nd.SignOp, nd.FloorOp, nd.CeilOp, nd.RoundOp, nd.FloorDivOp), nothing),
}
