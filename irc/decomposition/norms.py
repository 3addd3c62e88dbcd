"""Decompositions of means, variances, softmax and the norms into reductions and arithmetic.

Sums of narrow floats accumulate in f32, and nothing in between is rounded (`widened`, `narrowed`).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.ir import BlockArgument, Operation, SSAValue

from irc.analysis.runs import is_held
from irc.dialects import nd
from irc.dialects.nd.base import element_of, integer, ints, shape_of
from irc.dialects.nd.terms import Decomposition, Term, count_of, deferred_cast, narrowed, widened
from irc.ir.dtypes import Element, accumulator
from irc.ir.extents import dims_of
from irc.ir.rewriting import Inserter
from irc.support.extents import varying


def mean_of(x: Term, axes: Sequence[int]) -> Term:
    """The mean over `axes`; NaN over nothing, as 0 / 0."""
    total = x.sum(axes)
    return total / count_of(x, axes, total.shape, total.element)


def variance_of(x: Term, axes: Sequence[int], correction: float) -> Term:
    """The variance in two passes: deviations from the mean first, so that nothing cancels."""
    deviation = x - mean_of(x, axes).over(x.shape, axes)
    total = (deviation * deviation).sum(axes)
    return total / degrees_of(x, axes, correction, total.shape)


def degrees_of(x: Term, axes: Sequence[int], correction: float, shape: Sequence[int]) -> Term | float:
    """What the squares of a variance are divided by: elements less a correction, but not less than 0."""
    count = count_of(x, axes, shape, x.element)
    return (count - correction).maximum(0.0) if isinstance(count, Term) else max(count - correction, 0.0)


def mean(op: nd.MeanOp, at: Inserter) -> Term:
    """Accumulated in the result's type, or f32 where that is narrow; what differs from it is converted first. Beside a
    variance in one pass, of the same sums as that."""
    axes, element = ints(op.axes), accumulator(element_of(op.result))
    x = deferred_cast(Term(op.x, at), element)
    if not any(_is_beside(use.operation, op) for use in op.x.uses) or not _is_read_once(op.x, axes):
        return narrowed(mean_of(x, axes), op)
    pivot = _pivot_of(op.x, axes, element, at)
    return narrowed(pivot + mean_of(x - pivot.over(x.shape, axes), axes), op)


def var(op: nd.VarOp, at: Inserter) -> Term:
    """In two passes, or in one where the second would read an array again."""
    axes, correction, element = ints(op.axes), integer(op.correction), accumulator(element_of(op.result))
    x = deferred_cast(Term(op.x, at), element)
    if not _is_read_once(op.x, axes):
        return narrowed(variance_of(x, axes, correction), op)
    return narrowed(variance_about(x, _pivot_of(op.x, axes, element, at), axes, correction), op)


def _is_beside(op: Operation, mean: nd.MeanOp) -> bool:
    """Whether the op is the variance of what the mean is of, in the same type."""
    return isinstance(op, nd.VarOp) and op.axes == mean.axes and op.result.type == mean.result.type


def _is_read_once(x: SSAValue, axes: Sequence[int]) -> bool:
    """Whether the variance is computed in one pass: of an array in memory, as it is, in another type or by a view, that
    no block holds. It begins with the middle of the array, which has to be known."""
    shape, dims = shape_of(x), dims_of(x.owner)
    while isinstance(x.owner, nd.CastOp | nd.ReshapeOp | nd.PermuteOp):
        x = x.owner.x
    is_known = not any(varying(shape[axis], dims) for axis in axes)
    return isinstance(x, BlockArgument) and is_known and not is_held(shape, axes)


def _pivot_of(x: SSAValue, axes: Sequence[int], element: Element, at: Inserter) -> Term:
    return deferred_cast(middle_of_three(Term(x, at), axes), element)


def middle_of_three(x: Term, axes: Sequence[int]) -> Term:
    """The middle one of the first, the central and the last element of what each result is reduced from: one of them
    may be far from all others."""

    def at(numerator: int) -> Term:
        starts = [(n - 1) * numerator // 2 if axis in axes else 0 for axis, n in enumerate(x.shape)]
        stops = [start + 1 if axis in axes else n for axis, (start, n) in enumerate(zip(starts, x.shape, strict=True))]
        return x.slice(starts, stops).reshape([n for axis, n in enumerate(x.shape) if axis not in axes])

    first, central, last = at(0), at(1), at(2)
    return first.minimum(central).maximum(first.maximum(central).minimum(last))


def variance_about(x: Term, pivot: Term, axes: Sequence[int], correction: float) -> Term:
    """The variance in one pass, from the sums of the deviations from a pivot and of their squares. It loses as many
    digits as the square of the pivot's distance from the mean has more than the variance (Chan, Golub, LeVeque 1983,
    "Algorithms for Computing the Sample Variance")."""
    deviation = x - pivot.over(x.shape, axes)
    count = float(prod(x.shape[axis] for axis in axes))
    total = deviation.sum(axes)
    return ((deviation * deviation).sum(axes) - total * total / count).maximum(0.0) / max(count - correction, 0.0)


def softmax(op: nd.SoftmaxOp, at: Inserter) -> Term:
    return narrowed(softmax_of(widened(op.x, at), integer(op.axis)), op)


def softmax_of(x: Term, axis: int) -> Term:
    """exp(x - max) / sum(exp(x - max)): no exponential exceeds 1, and the sum is at least 1. Its reciprocal is as good:
    one quotient a row instead of one an element."""
    if 0 in x.shape:
        return x
    e = (x - x.max([axis]).over(x.shape, [axis])).exp()
    return e * e.sum([axis]).reciprocal().over(x.shape, [axis])


def log_sum_exp(x: Term, axis: int) -> Term:
    """log(sum(exp(x))) along an axis, by exponentials of at most 1, as `softmax_of` has them."""
    largest = x.max([axis])
    return largest + (x - largest.over(x.shape, [axis])).exp().sum([axis]).log()


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
