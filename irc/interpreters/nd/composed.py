"""What the composed ops mean: f16, bf16 and f8 in f32 throughout."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from irc.dialects import nd
from irc.dialects.nd.base import integer
from irc.interpreters.nd.base import Array, Precision, meaning, wide
from irc.interpreters.nd.linear import operand


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


@meaning(nd.AttentionOp)
def _attention(op: nd.AttentionOp, args: Sequence[Array], precision: Precision) -> Array:
    """One batch at a time, so that one matrix of scores is held."""
    q, k, v = (wide(operand(x, value)) for x, value in zip(args, op.operands, strict=True))
    scale, causal = q.dtype.type(op.scale.value.data), bool(integer(op.causal))
    hidden = np.arange(k.shape[-2])[None, :] > np.arange(q.shape[-2])[:, None]
    result = np.zeros((prod(q.shape[:-2]), q.shape[-2], v.shape[-1]), q.dtype)
    queries, keys, values = (x.reshape(prod(x.shape[:-2]), *x.shape[-2:]) for x in (q, k, v))
    for row, a in enumerate(queries):
        shared = row * len(keys) // len(queries)
        scores = np.matmul(a, keys[shared].T) * scale
        if causal:
            scores[hidden] = -np.inf
        result[row] = np.matmul(softmax(scores, -1), values[shared])
    return result.reshape(*q.shape[:-1], v.shape[-1])
