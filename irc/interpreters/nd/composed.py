"""What the composed ops mean: f16, bf16 and f8 in f32 throughout."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from irc.dialects import nd
from irc.dialects.nd.base import integer
from irc.interpreters.nd.base import Array, Precision, meaning, wide


def _mean(x: Array, axis: int) -> Array:
    return np.mean(x, axis=axis, keepdims=True, dtype=np.float64).astype(x.dtype)


def _shifted(x: Array, axis: int) -> Array:
    """x less its greatest element along the axis."""
    return x - np.max(x, axis=axis, keepdims=True) if x.size else x


@meaning(nd.SoftmaxOp)
def _softmax(op: nd.SoftmaxOp, args: Sequence[Array], precision: Precision) -> Array:
    return softmax(wide(args[0]), integer(op.axis))


def softmax(x: Array, axis: int) -> Array:
    """e / sum(e) with e = exp(x - max(x)), in x's dtype."""
    e = np.exp(_shifted(x, axis))
    e /= np.sum(e, axis=axis, keepdims=True, dtype=np.float64).astype(x.dtype)
    return e


@meaning(nd.LogSoftmaxOp)
def _log_softmax(op: nd.LogSoftmaxOp, args: Sequence[Array], precision: Precision) -> Array:
    x, axis = wide(args[0]), integer(op.axis)
    d = _shifted(x, axis)
    return d - np.log(np.sum(np.exp(d), axis=axis, keepdims=True, dtype=np.float64)).astype(x.dtype)


@meaning(nd.LayerNormOp)
def _layer_norm(op: nd.LayerNormOp, args: Sequence[Array], precision: Precision) -> Array:
    x, axis = wide(args[0]), integer(op.axis)
    d = x - _mean(x, axis)
    return d / np.sqrt(_mean(d * d, axis) + x.dtype.type(op.eps.value.data))


@meaning(nd.RmsNormOp)
def _rms_norm(op: nd.RmsNormOp, args: Sequence[Array], precision: Precision) -> Array:
    x, axis = wide(args[0]), integer(op.axis)
    return x / np.sqrt(_mean(x * x, axis) + x.dtype.type(op.eps.value.data))
