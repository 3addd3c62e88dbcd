"""Attention on Tensors, and what its gradients need of the scores.

Scores are q k^T * scale, with `scale` 1 / sqrt(D) by default. With `causal` query i sees keys j up to i, and with a
`window` those that are less than it away, |i - j| < window. With a `soft_cap` c scores s become c tanh(s / c). A `bias`
broadcasts to the scores: floats are added to them then, and of bools a query sees the keys where they hold.
"""

from __future__ import annotations

from irc_frontend import attention_nodes as nodes
from irc_frontend.attention_nodes import Options
from irc_frontend.tensor import Like, Tensor, node_of

__all__ = ["attention", "attention_log_sum_exp", "attention_weights"]


def attention(
    q: Like,
    k: Like,
    v: Like,
    causal: bool = False,
    scale: float | None = None,
    window: int | None = None,
    bias: Like | None = None,
    soft_cap: float | None = None,
) -> Tensor:
    """softmax(scores) v over the last two axes; 0 where a query sees no key. Heads of k and v, the extent before these
    axes, may divide those of q: each is shared by as many of q in a row."""
    return Tensor.of(
        nodes.attention(node_of(q), node_of(k), node_of(v), _options(causal, scale, window, bias, soft_cap))
    )


def attention_log_sum_exp(
    q: Like,
    k: Like,
    causal: bool = False,
    scale: float | None = None,
    window: int | None = None,
    bias: Like | None = None,
    soft_cap: float | None = None,
) -> Tensor:
    """log(sum(exp(scores))) over the keys, of q[batch..., more..., S, D] and k[batch..., T, D]: f32[batch..., more...,
    S]; -inf where a query sees no key."""
    return Tensor.of(
        nodes.attention_log_sum_exp(node_of(q), node_of(k), _options(causal, scale, window, bias, soft_cap))
    )


def attention_weights(
    q: Like,
    k: Like,
    log_sum_exp: Like,
    causal: bool = False,
    scale: float | None = None,
    window: int | None = None,
    bias: Like | None = None,
    soft_cap: float | None = None,
) -> Tensor:
    """exp(scores - log_sum_exp), which is 0 where a query does not see a key, of q[batch..., more..., S, D] and
    k[batch..., T, D]: [batch..., more..., S, T]."""
    options = _options(causal, scale, window, bias, soft_cap)
    return Tensor.of(nodes.attention_weights(node_of(q), node_of(k), node_of(log_sum_exp), options))


def _options(causal: bool, scale: float | None, window: int | None, bias: Like | None, cap: float | None) -> Options:
    return Options(causal, scale, window, None if bias is None else node_of(bias), cap)
