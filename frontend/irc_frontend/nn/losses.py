"""Losses, each a mean over all examples, computed in f32 at least; and what is told beside them."""

from __future__ import annotations

from irc_frontend.casts import wide
from irc_frontend.functions import check_indices, expand_dims, log_softmax, take_along_axis
from irc_frontend.graph import fail
from irc_frontend.reduction_functions import mean
from irc_frontend.tensor import Like, Tensor, node_of


def cross_entropy(logits: Like, labels: Like) -> Tensor:
    """-log softmax(logits) at the labels, which are 0 to classes - 1: f[..., classes], i[...] -> f32[] (f64 of f64)."""
    scores = _wide(logits)
    _check_labels(scores, labels)
    places = check_indices(labels, scores.shape[-1])
    return -mean(take_along_axis(log_softmax(scores), expand_dims(places, -1), -1, mode="clip"))


def mse(predicted: Like, wanted: Like) -> Tensor:
    """The square of the difference of two arrays of one shape: f[...], f[...] -> f32[] (f64 of f64)."""
    a, b = _wide(predicted), _wide(wanted)
    if a.shape != b.shape:
        raise fail(f"mse: expected arrays of one shape, found {a.node.type} and {b.node.type}")
    return ((a - b) ** 2).mean()


def accuracy(logits: Like, labels: Like) -> Tensor:
    """The share of examples whose greatest logit is at the label: f[..., classes], i[...] -> f32[]."""
    scores = Tensor.of(node_of(logits))
    _check_labels(scores, labels)
    return (scores.argmax(-1) == Tensor(labels, "i64")).astype("f32").mean()


def _wide(x: Like) -> Tensor:
    """Narrow floats stay narrow where they are stored: scores of many classes are the largest array of a step."""
    tensor = wide(Tensor.of(node_of(x)))
    return tensor if tensor.element == "f64" else tensor.astype("f32")


def _check_labels(logits: Tensor, labels: Like) -> None:
    node = node_of(labels)
    if not logits.ndim or not node.is_integer or node.shape != logits.shape[:-1]:
        raise fail(f"labels are integers, one for each row of the logits: found {logits.node.type} and {node.type}")
