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
        is_hidden = (scores == -np.inf).all(-1)
        scores[is_hidden] = 0
        result[row] = np.matmul(softmax(scores, -1), values[row * len(values) // len(result)])
        result[row][is_hidden] = 0
    return result.reshape(*args[0].shape[:-1], v.shape[-1])


@meaning(nd.AttentionLogSumExpOp)
def _attention_log_sum_exp(op: nd.AttentionLogSumExpOp, args: Sequence[Array], precision: Precision) -> Array:
    found = [_log_sum_exp(scores) for scores in _scores(op, args)]
    return np.asarray(found, wide(args[0]).dtype).reshape(args[0].shape[:-1])


def _log_sum_exp(x: Array) -> Array:
    """Of each row; -inf of nothing, and where all is -inf."""
    largest = np.max(x, axis=-1, initial=-np.inf)
    finite = np.where(largest == -np.inf, 0, largest)
    with np.errstate(divide="ignore"):
        logarithms = np.log(np.sum(np.exp(x - finite[..., None]), axis=-1, dtype=np.float64))
    return finite + logarithms.astype(x.dtype)


@meaning(nd.AttentionWeightsOp)
def _attention_weights(op: nd.AttentionWeightsOp, args: Sequence[Array], precision: Precision) -> Array:
    sums = args[2].reshape(-1, args[2].shape[-1], 1)
    sums = np.where(sums == -np.inf, np.inf, sums) if op.hides_rows else sums
    found = [np.exp(scores - sums[row]) for row, scores in enumerate(_scores(op, args))]
    shape = *args[0].shape[:-1], args[1].shape[-2]
    return np.stack(found).reshape(shape) if found else np.zeros(shape, wide(args[0]).dtype)


def _scores(op: nd.AttentionFamilyOp, args: Sequence[Array]) -> Iterator[Array]:
    """q k^T * scale of each batch of q, capped, with its bias; -inf where a query does not see a key."""
    q, k = (wide(operand(x, value)) for x, value in zip(args, (op.q, op.k), strict=False))
    scale, cap = (q.dtype.type(each.value.data) for each in (op.scale, op.soft_cap))
    away = np.arange(k.shape[-2])[None, :] - np.arange(q.shape[-2])[:, None]
    window = integer(op.window) or max(k.shape[-2], q.shape[-2])
    hidden = (away > 0 if integer(op.causal) else away >= window) | (away <= -window)
    queries, keys = _matrices(q), _matrices(k)
    biases = None if op.bias is None else _matrices(args[-1])
    for row, a in enumerate(queries):
        scores = np.matmul(a, keys[row * len(keys) // len(queries)].T) * scale
        if cap:
            scores = cap * np.tanh(scores / cap)
        if biases is not None:
            bias = biases[row]
            scores = np.where(bias, scores, -np.inf) if bias.dtype == np.bool_ else scores + bias.astype(scores.dtype)
        yield np.where(hidden, scores.dtype.type(-np.inf), scores)


def _matrices(x: Array) -> Array:
    return x.reshape(prod(x.shape[:-2]), *x.shape[-2:])
