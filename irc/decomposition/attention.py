"""The decomposition of attention into two products, a mask and a softmax, and of what its gradients need of the
scores."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

from irc.decomposition.norms import log_sum_exp, softmax_of
from irc.dialects import nd
from irc.dialects.nd.base import element_of, integer, rank_of, shape_of
from irc.dialects.nd.terms import Decomposition, Term, deferred_cast, iota, narrowed, splat
from irc.ir.dtypes import accumulator, element_named
from irc.ir.rewriting import Inserter


def attention(op: nd.AttentionOp, at: Inserter) -> Term:
    """softmax(q k^T * scale) v. The scores and the softmax are in f32; the weights, an operand of a product, are
    rounded to the operands' type."""
    scores = _scores(op, grouped(Term(op.q, at), op), None if op.bias is None else grouped(Term(op.bias, at), op))
    last = len(scores.shape) - 1
    weights = softmax_of(scores, last).cast(element_of(op.q))
    result = batched_product(op, weights, Term(op.v, at), [-1], [-2])
    if op.hides_rows and 0 not in scores.shape:
        is_hidden = scores.max([last]).equal(-inf).over(result.shape, [last])
        result = is_hidden.where(result.filled(0), result)
    return narrowed(result.reshape(shape_of(op.result)), op)


def attention_log_sum_exp(op: nd.AttentionLogSumExpOp, at: Inserter) -> Term:
    """log(sum(exp(q k^T * scale))) of each row."""
    scores = _scores(op, Term(op.q, at), None if op.bias is None else Term(op.bias, at))
    if 0 in scores.shape:
        return splat(at, -inf, shape_of(op.result), element_of(op.result))
    last = len(scores.shape) - 1
    sums = log_sum_exp(scores, last)
    return scores.max([last]).equal(-inf).where(sums.filled(-inf), sums) if op.hides_rows else sums


def attention_weights(op: nd.AttentionWeightsOp, at: Inserter) -> Term:
    """exp(q k^T * scale - log_sum_exp)."""
    scores = _scores(op, Term(op.q, at), None if op.bias is None else Term(op.bias, at))
    sums = Term(op.log_sum_exp, at)
    if op.hides_rows:
        sums = sums.equal(-inf).where(sums.filled(inf), sums)
    return narrowed((scores - sums.over(scores.shape, [len(scores.shape) - 1])).exp(), op)


def _scores(op: nd.AttentionFamilyOp, q: Term, bias: Term | None) -> Term:
    """q k^T * scale, in f32 for narrow floats, capped and with the bias; -inf where a query does not see a key."""
    cap = op.soft_cap.value.data
    scores = of_cap(op, q) * cap if cap else products(op, q) * op.scale.value.data
    hidden = scores.filled(-inf)
    if bias is not None:
        is_mask = bias.element.kind == "bool"
        scores = bias.where(scores, hidden) if is_mask else scores + deferred_cast(bias, scores.element)
    seen = _seen(op, q.at, scores.shape)
    return scores if seen is None else seen.where(scores, hidden)


def products(op: nd.AttentionFamilyOp, q: Term) -> Term:
    """q k^T."""
    return batched_product(op, q, Term(op.k, q.at), [-1], [-1])


def of_cap(op: nd.AttentionFamilyOp, q: Term) -> Term:
    """The scores before the bias, in parts of their soft cap."""
    return (products(op, q) * (op.scale.value.data / op.soft_cap.value.data)).tanh()


def _seen(op: nd.AttentionFamilyOp, at: Inserter, shape: Sequence[int]) -> Term | None:
    """Which columns a row sees by their places; None where that is all of them."""
    causal, window = bool(integer(op.causal)), integer(op.window)
    if not causal and not window:
        return None
    row, column = (iota(at, shape, len(shape) - back, element_named("i32")) for back in (2, 1))
    seen = column <= row if causal else column < row + window
    return seen & (column > row - window) if window else seen


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
