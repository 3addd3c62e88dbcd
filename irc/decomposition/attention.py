"""The decomposition of attention into two products, a mask and a softmax."""

from __future__ import annotations

from irc.decomposition.norms import softmax_of
from irc.dialects import nd
from irc.dialects.nd.base import element_of, integer, rank_of
from irc.dialects.nd.terms import Decomposition, Term, accumulator, iota, narrowed
from irc.ir.dtypes import element_named
from irc.ir.rewriting import Inserter


def attention(op: nd.AttentionOp, at: Inserter) -> Term:
    """softmax(q k^T * scale) v. The scores and the softmax are in f32; the weights, an operand of a product, are
    rounded to the operands' type."""
    weights = attention_weights(op, at).cast(element_of(op.q))
    return narrowed(batched_product(weights, Term(op.v, at), -1, -2), op)


def attention_weights(op: nd.AttentionOp, at: Inserter) -> Term:
    """softmax(q k^T * scale), batch..., S, T, in f32."""
    rank = rank_of(op.q)
    scores = batched_product(Term(op.q, at), Term(op.k, at), -1, -1) * op.scale.value.data
    if integer(op.causal):
        index = element_named("i32")
        seen = iota(at, scores.shape, rank - 1, index) <= iota(at, scores.shape, rank - 2, index)
        scores = seen.where(scores, scores.filled(float("-inf")))
    return softmax_of(scores, rank - 1)


def batched_product(lhs: Term, rhs: Term, lhs_axis: int, rhs_axis: int) -> Term:
    """The products of matrices over one axis of each, -1 or -2; all other axes are batches. In f32 for narrow
    floats."""
    batch = range(len(lhs.shape) - 2)
    product = nd.MatmulOp(
        lhs.value,
        rhs.value,
        lhs_batch=batch,
        rhs_batch=batch,
        lhs_contract=[lhs_axis],
        rhs_contract=[rhs_axis],
        element=accumulator(lhs.element),
    )
    return Term(lhs.at.value(product), lhs.at)


ATTENTION: dict[type[nd.NdOp], Decomposition] = {nd.AttentionOp: attention}
