"""The decomposition of attention into two products, a mask and a softmax."""

from __future__ import annotations

from irc.dialects import nd
from irc.dialects.nd.base import element_of, integer, rank_of
from irc.dtypes import element_named
from irc.passes.nd.decompose_norms import softmax_of
from irc.passes.nd.terms import Decomposition, Term, accumulator, iota, narrowed
from irc.rewriting import Inserter


def attention(op: nd.AttentionOp, at: Inserter) -> Term:
    """softmax(q k^T * scale) v. The scores and the softmax are in f32; the weights, an operand of a product, are
    rounded to the operands' type."""
    element = element_of(op.q)
    wide = accumulator(element)
    rank = rank_of(op.q)
    batch = list(range(rank - 2))
    scores = Term(
        at.value(
            nd.MatmulOp(
                op.q,
                op.k,
                lhs_batch=batch,
                rhs_batch=batch,
                lhs_contract=[rank - 1],
                rhs_contract=[rank - 1],
                element=wide,
            )
        ),
        at,
    )
    scores = scores * op.scale.value.data
    if integer(op.causal):
        index = element_named("i32")
        seen = iota(at, scores.shape, rank - 1, index) <= iota(at, scores.shape, rank - 2, index)
        scores = seen.where(scores, scores.filled(float("-inf")))
    weights = softmax_of(scores, rank - 1).cast(element)
    product = nd.MatmulOp(
        weights.value,
        op.v,
        lhs_batch=batch,
        rhs_batch=batch,
        lhs_contract=[rank - 1],
        rhs_contract=[rank - 2],
        element=wide,
    )
    return narrowed(Term(at.value(product), at), op)


ATTENTION: dict[type[nd.NdOp], Decomposition] = {nd.AttentionOp: attention}
