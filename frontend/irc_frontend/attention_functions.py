"""Attention on Tensors, and what its gradients need of the scores."""

from __future__ import annotations

from irc_frontend import attention_nodes as nodes
from irc_frontend.tensor import Like, Tensor, node_of

__all__ = ["attention", "attention_log_sum_exp", "attention_weights"]


def attention(q: Like, k: Like, v: Like, causal: bool = False, scale: float | None = None) -> Tensor:
    """softmax(q k^T * scale) v over the last two axes. With `causal` query i sees keys up to i. Heads of k and v, the
    extent before these axes, may divide those of q: each is shared by as many of q in a row."""
    return Tensor.of(nodes.attention(node_of(q), node_of(k), node_of(v), causal, scale))


def attention_log_sum_exp(q: Like, k: Like, causal: bool = False, scale: float | None = None) -> Tensor:
    """log(sum(exp(q k^T * scale))) over the keys, of q[batch..., more..., S, D] and k[batch..., T, D]: f32[batch...,
    more..., S]."""
    return Tensor.of(nodes.attention_log_sum_exp(node_of(q), node_of(k), causal, scale))


def attention_weights(q: Like, k: Like, log_sum_exp: Like, causal: bool = False, scale: float | None = None) -> Tensor:
    """exp(q k^T * scale - log_sum_exp), which is 0 where a query does not see a key, of q[batch..., more..., S, D] and
    k[batch..., T, D]: [batch..., more..., S, T]."""
    return Tensor.of(nodes.attention_weights(node_of(q), node_of(k), node_of(log_sum_exp), causal, scale))
