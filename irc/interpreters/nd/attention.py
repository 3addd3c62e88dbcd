"""What attention means, and what its gradients need of the scores: one matrix of scores is held at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod

import numpy as np

from irc.dialects import nd
from irc.dialects.nd.base import integer
from irc.interpreters.nd.base import Array, Precision, meaning, wide
from irc.interpreters.nd.composed import softmax
from irc.interpreters.nd.linear import operand


@meaning(nd.AttentionOp)
def _attention(op: nd.AttentionOp, args: Sequence[Array], precision: Precision) -> Array:
    v = wide(operand(args[2], op.v))
    result = np.zeros((prod(args[0].shape[:-2]), args[0].shape[-2], v.shape[-1]), v.dtype)
    values = _matrices(v)
    for row, scores in enumerate(_scores(op, args)):
        result[row] = np.matmul(softmax(scores, -1), values[row * len(values) // len(result)])
    return result.reshape(*args[0].shape[:-1], v.shape[-1])


@meaning(nd.AttentionLogSumExpOp)
def _attention_log_sum_exp(op: nd.AttentionLogSumExpOp, args: Sequence[Array], precision: Precision) -> Array:
    found = [_log_sum_exp(scores) for scores in _scores(op, args)]
    return np.asarray(found, wide(args[0]).dtype).reshape(args[0].shape[:-1])


def _log_sum_exp(x: Array) -> Array:
    """Of each row; of nothing -inf."""
    if not x.shape[-1]:
        return np.full(x.shape[:-1], -np.inf, x.dtype)
    largest = np.max(x, axis=-1)
    return largest + np.log(np.sum(np.exp(x - largest[..., None]), axis=-1, dtype=np.float64)).astype(x.dtype)


@meaning(nd.AttentionWeightsOp)
def _attention_weights(op: nd.AttentionWeightsOp, args: Sequence[Array], precision: Precision) -> Array:
    sums = args[2].reshape(-1, args[2].shape[-1], 1)
    found = [np.exp(scores - sums[row]) for row, scores in enumerate(_scores(op, args))]
    shape = *args[0].shape[:-1], args[1].shape[-2]
    return np.stack(found).reshape(shape) if found else np.zeros(shape, wide(args[0]).dtype)


def _scores(op: nd.AttentionFamilyOp, args: Sequence[Array]) -> Iterator[Array]:
    """q k^T * scale of each batch of q; -inf where a query sees no key."""
    q, k = (wide(operand(x, value)) for x, value in zip(args, (op.q, op.k), strict=False))
    scale, causal = q.dtype.type(op.scale.value.data), bool(integer(op.causal))
    hidden = np.arange(k.shape[-2])[None, :] > np.arange(q.shape[-2])[:, None]
    queries, keys = _matrices(q), _matrices(k)
    for row, a in enumerate(queries):
        scores = np.matmul(a, keys[row * len(keys) // len(queries)].T) * scale
        if causal:
            scores[hidden] = -np.inf
        yield scores


def _matrices(x: Array) -> Array:
    return x.reshape(prod(x.shape[:-2]), *x.shape[-2:])
