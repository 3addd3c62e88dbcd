"""Gradients of attention, and of what they need of the scores.

The weights are computed again from the scores and the logarithm of the sum of their row's exponentials, as
FlashAttention does (arXiv:2205.14135, appendix B.4). Value numbering finds that sum in the forward pass.
"""

from __future__ import annotations

from typing import Any

from xdsl.ir import SSAValue

from irc.autodiff.gradients.products import factor_element
from irc.decomposition.attention import batched_product, grouped, of_cap
from irc.dialects import nd
from irc.dialects.nd.base import element_of, integer, rank_of, shape_of
from irc.dialects.nd.terms import Gradient, Term, deferred_cast, wide, widened


def attention(op: nd.AttentionOp, g: Term) -> list[Term | None]:
    """With p the weights: dv = p^T g; the scores get p * (g v^T - sum(g * y)): the sum over the row of the result, not
    of the scores."""
    at = g.at
    q, g, y = (grouped(term, op) for term in (Term(op.q, at), g, widened(op.result, at)))
    bias = None if op.bias is None else grouped(Term(op.bias, at), op).value
    sums = at.value(nd.AttentionLogSumExpOp(q.value, op.k, **_options(op), bias=bias))
    weights = _weights(op, q, sums, bias)
    cotangent, v = _factor(op, g), _factor(op, Term(op.v, at))
    total = (wide(g) * y).sum([len(g.shape) - 1])
    slope = wide(weights) * (batched_product(op, cotangent, v, [-1], [-1]) - _along(total, weights))
    queries = list(range(rank_of(op.k) - 2 - len(g.shape), -1))
    dq, dk, *dbias = _of_scores(op, q, slope)
    dv = batched_product(op, _factor(op, weights), cotangent, queries, queries)
    return [dq, dk, dv, *dbias]


def log_sum_exp(op: nd.AttentionLogSumExpOp, g: Term) -> list[Term | None]:
    """The scores get p * g, with p the weights."""
    q = Term(op.q, g.at)
    weights = _weights(op, q, op.result, op.bias)
    return _of_scores(op, q, wide(weights) * _along(g, weights))


def weights(op: nd.AttentionWeightsOp, g: Term) -> list[Term | None]:
    """The scores get p * g, with p the result; what is subtracted from a row gets -sum(p * g)."""
    slope = widened(op.result, g.at) * wide(g)
    dq, dk, *dbias = _of_scores(op, Term(op.q, g.at), slope)
    return [dq, dk, -slope.sum([len(slope.shape) - 1]), *dbias]


def _options(op: nd.AttentionFamilyOp) -> dict[str, Any]:
    scale, soft_cap = op.scale.value.data, op.soft_cap.value.data
    return {"causal": bool(integer(op.causal)), "scale": scale, "window": integer(op.window), "soft_cap": soft_cap}


def _weights(op: nd.AttentionFamilyOp, q: Term, sums: SSAValue, bias: SSAValue | None) -> Term:
    return Term(q.at.value(nd.AttentionWeightsOp(q.value, op.k, sums, **_options(op), bias=bias)), q.at)


def _factor(op: nd.AttentionFamilyOp, term: Term) -> Term:
    """A term as an operand of the gradients' products."""
    return deferred_cast(term, factor_element(element_of(op.q)))


def _along(rows: Term, weights: Term) -> Term:
    return rows.over(weights.shape, [len(weights.shape) - 1])


def _of_scores(op: nd.AttentionFamilyOp, q: Term, slope: Term) -> list[Term | None]:
    """The gradients of q, k, and of a bias if there is one, for a gradient of the scores: along the keys, and along all
    queries that share them. Of c tanh(s / c), s gets the gradient times 1 - tanh(s / c)^2."""
    capped = slope
    if op.soft_cap.value.data:
        part = of_cap(op, q)
        capped = slope * (1 - part * part)
    factor, q, k = (_factor(op, term) for term in (capped, q, Term(op.k, q.at)))
    queries, scale = list(range(rank_of(op.k) - 2 - len(q.shape), -1)), op.scale.value.data
    dq, dk = batched_product(op, factor, k, [-1], [-2]), batched_product(op, factor, q, queries, queries)
    found: list[Term | None] = [(dq * scale).reshape(shape_of(op.q)), dk * scale]
    if op.bias is not None:
        found.append(slope.reshape(shape_of(op.bias)) if element_of(op.bias).is_float else None)
    return found


ATTENTION: dict[type[nd.NdOp], Gradient] = {
    nd.AttentionOp: attention,
    nd.AttentionLogSumExpOp: log_sum_exp,
    nd.AttentionWeightsOp: weights,
}
