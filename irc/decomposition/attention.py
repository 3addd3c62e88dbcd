"""The decomposition of attention into two products, a mask and a softmax."""

from __future__ import annotations

from collections.abc import Sequence

from irc.decomposition.norms import softmax_of
from irc.dialects import nd
from irc.dialects.nd.base import element_of, integer, rank_of, shape_of
from irc.dialects.nd.terms import Decomposition, Term, accumulator, iota, narrowed
from irc.ir.dtypes import element_named
from irc.ir.rewriting import Inserter


def attention(op: nd.AttentionOp, at: Inserter) -> Term:
    """softmax(q k^T * scale) v. The scores and the softmax are in f32; the weights, an operand of a product, are
    rounded to the operands' type."""
    scores = attention_scores(op, at)
    weights = softmax_of(scores, len(scores.shape) - 1).cast(element_of(op.q))
    result = batched_product(op, weights, Term(op.v, at), [-1], [-2])
    return narrowed(result.reshape(shape_of(op.result)), op)


def attention_scores(op: nd.AttentionOp, at: Inserter) -> Term:
    """q k^T * scale, batch..., S, T, in f32, of queries as `grouped` has them; -inf where a query sees no key."""
    scores = batched_product(op, grouped(Term(op.q, at), op), Term(op.k, at), [-1], [-1]) * op.scale.value.data
    rank = len(scores.shape)
    if integer(op.causal):
        index = element_named("i32")
        seen = iota(at, scores.shape, rank - 1, index) <= iota(at, scores.shape, rank - 2, index)
        scores = seen.where(scores, scores.filled(float("-inf")))
    return scores


def grouped(queries: Term, op: nd.AttentionOp) -> Term:
    """What lies along the queries, with an axis of its own behind the batches for those that share keys, if any do."""
    batch = shape_of(op.k)[:-2]
    if queries.shape[:-2] == batch:
        return queries
    return queries.reshape((*batch, queries.shape[-3] // batch[-1], *queries.shape[-2:]))


def batched_product(op: nd.AttentionOp, lhs: Term, rhs: Term, lhs_axes: Sequence[int], rhs_axes: Sequence[int]) -> Term:
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


ATTENTION: dict[type[nd.NdOp], Decomposition] = {nd.AttentionOp: attention}
