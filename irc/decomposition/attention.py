"""The decomposition of attention into two products, a mask and a softmax, and of what its gradients need of the
scores."""

from __future__ import annotations

from collections.abc import Sequence

from irc.decomposition.norms import log_sum_exp, softmax_of
from irc.dialects import nd
from irc.dialects.nd.base import element_of, integer, rank_of, shape_of
from irc.dialects.nd.terms import Decomposition, Term, iota, narrowed
from irc.ir.dtypes import accumulator, element_named
from irc.ir.rewriting import Inserter


def attention(op: nd.AttentionOp, at: Inserter) -> Term:
    """softmax(q k^T * scale) v. The scores and the softmax are in f32; the weights, an operand of a product, are
    rounded to the operands' type."""
    scores = _scores(op, grouped(Term(op.q, at), op))
    weights = softmax_of(scores, len(scores.shape) - 1).cast(element_of(op.q))
    result = batched_product(op, weights, Term(op.v, at), [-1], [-2])
    return narrowed(result.reshape(shape_of(op.result)), op)


def attention_log_sum_exp(op: nd.AttentionLogSumExpOp, at: Inserter) -> Term:
    """log(sum(exp(q k^T * scale))) of each row."""
    scores = _scores(op, Term(op.q, at))
    if 0 in scores.shape:
        return Term(at.value(nd.ConstantOp.splat(float("-inf"), op.result.type)), at)
    return log_sum_exp(scores, len(scores.shape) - 1)


def attention_weights(op: nd.AttentionWeightsOp, at: Inserter) -> Term:
    """exp(q k^T * scale - log_sum_exp)."""
    scores = _scores(op, Term(op.q, at))
    sums = Term(op.log_sum_exp, at).over(scores.shape, [len(scores.shape) - 1])
    return narrowed((scores - sums).exp(), op)


def _scores(op: nd.AttentionFamilyOp, q: Term) -> Term:
    """q k^T * scale, in f32 for narrow floats; -inf where a query sees no key."""
    scores = batched_product(op, q, Term(op.k, q.at), [-1], [-1]) * op.scale.value.data
    rank = len(scores.shape)
    if integer(op.causal):
        index = element_named("i32")
        seen = iota(q.at, scores.shape, rank - 1, index) <= iota(q.at, scores.shape, rank - 2, index)
        scores = seen.where(scores, scores.filled(float("-inf")))
    return scores


def grouped(queries: Term, op: nd.AttentionOp) -> Term:
    """What lies along the queries, with an axis of its own behind the batches for those that share keys, if any do."""
    batch = shape_of(op.k)[:-2]
    if queries.shape[:-2] == batch:
        return queries
    return queries.reshape((*batch, queries.shape[-3] // batch[-1], *queries.shape[-2:]))


def batched_product(
    op: nd.AttentionFamilyOp, lhs: Term, rhs: Term, lhs_axes: Sequence[int], rhs_axes: Sequence[int]
) -> Term:
    """Products over some of the axes behind the batches of the keys, counted from the end. In f32 for narrow floats."""
    batch = range(rank_of(op.k) - 2)
    product = nd.MatmulOp(
        lhs.value,
        rhs.value,
        lhs_batch=batch,
        rhs_batch=batch,
        lhs_contract=lhs_axes,
        rhs_contract=rhs_axes,
        element=accumulator(lhs.element),
    )
    return Term(lhs.at.value(product), lhs.at)


ATTENTION: dict[type[nd.NdOp], Decomposition] = {
    nd.AttentionOp: attention,
    nd.AttentionLogSumExpOp: attention_log_sum_exp,
    nd.AttentionWeightsOp: attention_weights,
}
