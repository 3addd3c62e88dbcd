"""Decompositions of means, variances, softmax and the norms into reductions and arithmetic.

Sums of narrow floats accumulate in f32, and nothing in between is rounded (`widened`, `narrowed`).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from irc.dialects import nd
from irc.dialects.nd.base import element_of, integer, ints
from irc.passes.nd.terms import Decomposition, Term, accumulator, deferred_cast, narrowed, widened
from irc.rewriting import Inserter


def mean_of(x: Term, axes: Sequence[int]) -> Term:
    """The mean over `axes`; NaN over nothing, as 0 / 0."""
    return x.sum(axes) / float(prod(x.shape[axis] for axis in axes))


def variance_of(x: Term, axes: Sequence[int], correction: float) -> Term:
    """The variance in two passes: deviations from the mean first, so that nothing cancels."""
    deviation = x - mean_of(x, axes).over(x.shape, axes)
    count = float(prod(x.shape[axis] for axis in axes))
    return (deviation * deviation).sum(axes) / max(count - correction, 0.0)


def mean(op: nd.MeanOp, at: Inserter) -> Term:
    """Accumulated in the result's type, or f32 where that is narrow; what differs from it is converted first."""
    x = deferred_cast(Term(op.x, at), accumulator(element_of(op.result)))
    return narrowed(mean_of(x, ints(op.axes)), op)


def var(op: nd.VarOp, at: Inserter) -> Term:
    x = deferred_cast(Term(op.x, at), accumulator(element_of(op.result)))
    return narrowed(variance_of(x, ints(op.axes), integer(op.correction)), op)


def softmax(op: nd.SoftmaxOp, at: Inserter) -> Term:
    return narrowed(softmax_of(widened(op.x, at), integer(op.axis)), op)


def softmax_of(x: Term, axis: int) -> Term:
    """exp(x - max) / sum(exp(x - max)): no exponential exceeds 1, and the sum is at least 1. Its reciprocal is as good:
    one quotient a row instead of one an element."""
    if 0 in x.shape:
        return x
    e = (x - x.max([axis]).over(x.shape, [axis])).exp()
    return e * e.sum([axis]).reciprocal().over(x.shape, [axis])


def log_softmax(op: nd.LogSoftmaxOp, at: Inserter) -> Term:
    """(x - max) - log(sum(exp(x - max))): the logarithm is of a number of at least 1."""
    x, axes = widened(op.x, at), [integer(op.axis)]
    if 0 in x.shape:
        return Term(op.x, at)
    shifted = x - x.max(axes).over(x.shape, axes)
    return narrowed(shifted - shifted.exp().sum(axes).log().over(x.shape, axes), op)


def layer_norm(op: nd.LayerNormOp, at: Inserter) -> Term:
    """(x - mean) / sqrt(var + eps), the variance from the same deviations."""
    deviation, scale = layer_scale(op, at)
    return narrowed(deviation * scale.over(deviation.shape, [integer(op.axis)]), op)


def layer_scale(op: nd.LayerNormOp, at: Inserter) -> tuple[Term, Term]:
    """(x - mean, 1 / sqrt(var + eps)) of a layer norm."""
    x, axes = widened(op.x, at), [integer(op.axis)]
    deviation = x - mean_of(x, axes).over(x.shape, axes)
    return deviation, (mean_of(deviation * deviation, axes) + op.eps.value.data).rsqrt()


def rms_norm(op: nd.RmsNormOp, at: Inserter) -> Term:
    """x / sqrt(mean(x * x) + eps)."""
    x = widened(op.x, at)
    return narrowed(x * rms_scale(op, at).over(x.shape, [integer(op.axis)]), op)


def rms_scale(op: nd.RmsNormOp, at: Inserter) -> Term:
    """1 / sqrt(mean(x * x) + eps) of an rms norm."""
    x, axes = widened(op.x, at), [integer(op.axis)]
    return (mean_of(x * x, axes) + op.eps.value.data).rsqrt()


NORMS: dict[type[nd.NdOp], Decomposition] = {
    nd.MeanOp: mean,
    nd.VarOp: var,
    nd.SoftmaxOp: softmax,
    nd.LogSoftmaxOp: log_softmax,
    nd.LayerNormOp: layer_norm,
    nd.RmsNormOp: rms_norm,
}
