"""Gradients of ops that stand for several, in terms of their results: fewer values are kept and less cancels than in
the gradient of a decomposition.

What a rule computes anew (the weights of an attention, the scale of a norm) it writes as `decompose-nd` does, so that
value numbering finds it in the forward pass.
"""

from __future__ import annotations

from irc.autodiff.gradients.products import factor_element
from irc.autodiff.gradients.rule import Rule
from irc.decomposition.attention import attention_scores, batched_product, grouped
from irc.decomposition.norms import layer_scale, log_sum_exp, mean_of, rms_scale
from irc.dialects import nd
from irc.dialects.nd.base import element_of, integer, rank_of, shape_of
from irc.dialects.nd.declared import relax_between
from irc.dialects.nd.terms import Term, deferred_cast, wide, widened


def softmax(op: nd.SoftmaxOp, g: Term) -> list[Term | None]:
    """y * (g - sum(g * y))."""
    g, y, axes = wide(g), widened(op.result, g.at), [integer(op.axis)]
    return [y * (g - (g * y).sum(axes).over(y.shape, axes))]


def log_softmax(op: nd.LogSoftmaxOp, g: Term) -> list[Term | None]:
    """g - exp(y) * sum(g)."""
    g, y, axes = wide(g), widened(op.result, g.at), [integer(op.axis)]
    return [g - y.exp() * g.sum(axes).over(y.shape, axes)]


def layer_norm(op: nd.LayerNormOp, g: Term) -> list[Term | None]:
    """scale * (g - mean(g) - y * mean(g * y)), where scale is 1 / sqrt(var(x) + eps)."""
    g, y, axes = wide(g), widened(op.result, g.at), [integer(op.axis)]
    _, scale = layer_scale(op, g.at)
    along = mean_of(g * y, axes).over(y.shape, axes)
    return [(g - mean_of(g, axes).over(y.shape, axes) - y * along) * scale.over(y.shape, axes)]


def rms_norm(op: nd.RmsNormOp, g: Term) -> list[Term | None]:
    """scale * (g - y * mean(g * y)), where scale is 1 / sqrt(mean(x * x) + eps)."""
    g, y, axes = wide(g), widened(op.result, g.at), [integer(op.axis)]
    along = mean_of(g * y, axes).over(y.shape, axes)
    return [(g - y * along) * rms_scale(op, g.at).over(y.shape, axes)]


def attention(op: nd.AttentionOp, g: Term) -> list[Term | None]:
    """With p the weights: dv = p^T g; the scores get p * (g v^T - sum(g * y)), as in FlashAttention (arXiv:2205.14135,
    appendix B.4): the sum over the row of the result, not of the scores. The weights are computed again from the scores
    and the logarithm of the sum of their row's exponentials."""
    at, element = g.at, factor_element(element_of(op.q))
    before = at.previous
    q, k, v = (deferred_cast(Term(value, at), element) for value in op.operands)
    q, g, y = (grouped(term, op) for term in (q, g, widened(op.result, at)))
    scores, last = attention_scores(op, at), len(g.shape) - 1
    weights = scores
    if 0 not in scores.shape:
        weights = (scores - log_sum_exp(scores, last).over(scores.shape, [last])).exp()
    rounded, cotangent = deferred_cast(weights.cast(element_of(op.q)), element), deferred_cast(g, element)
    total = (wide(g) * y).sum([last])
    slope = weights * (batched_product(op, cotangent, v, [-1], [-1]) - total.over(weights.shape, [last]))
    slope = deferred_cast(slope, element)
    if element_of(op.q).is_narrow_float:
        relax_between(before, slope.op)
    queries, scale = list(range(rank_of(op.k) - 2 - len(g.shape), -1)), op.scale.value.data
    return [
        (batched_product(op, slope, k, [-1], [-2]) * scale).reshape(shape_of(op.q)),
        batched_product(op, slope, q, queries, queries) * scale,
        batched_product(op, rounded, cotangent, queries, queries),
    ]


COMPOSED: dict[type[nd.NdOp], Rule] = {
    nd.SoftmaxOp: softmax,
    nd.LogSoftmaxOp: log_softmax,
    nd.LayerNormOp: layer_norm,
    nd.RmsNormOp: rms_norm,
    nd.AttentionOp: attention,
}
