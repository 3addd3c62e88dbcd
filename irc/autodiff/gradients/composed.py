"""Gradients of ops that stand for several, in terms of their results: fewer values are kept and less cancels than in
the gradient of a decomposition.

What a rule computes anew (the scale of a norm) it writes as `decompose-nd` does, so that value numbering finds it in
the forward pass.
"""

from __future__ import annotations

from irc.decomposition.norms import layer_scale, mean_of, rms_scale
from irc.dialects import nd
from irc.dialects.nd.base import integer
from irc.dialects.nd.terms import Gradient, Term, wide, widened


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


COMPOSED: dict[type[nd.NdOp], Gradient] = {
    nd.SoftmaxOp: softmax,
    nd.LogSoftmaxOp: log_softmax,
    nd.LayerNormOp: layer_norm,
    nd.RmsNormOp: rms_norm,
}
