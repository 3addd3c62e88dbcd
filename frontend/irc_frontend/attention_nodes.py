"""Attention, and what its gradients need of the scores, on nodes."""

from __future__ import annotations

import math
from collections.abc import Sequence

from irc.ir.dtypes import accumulator, element_named
from irc.support.shapes import is_grouped
from irc_frontend.graph import Node, fail


def attention(q: Node, k: Node, v: Node, causal: bool, scale: float | None) -> Node:
    """softmax(q k^T * scale) v over the last two axes; `scale` is 1 / sqrt(the last extent of q) by default. The heads
    of k and v, the extent before these axes, may divide those of q."""
    _check("attention", q, k, v)
    if not is_grouped(q.shape[:-2], k.shape[:-2]) or k.shape[-1] != q.shape[-1] or v.shape[:-1] != k.shape[:-1]:
        raise fail(f"attention: the extents do not fit, found {_types(q, k, v)}")
    return _node("attention", (q, k, v), (*q.shape[:-1], v.shape[-1]), q.element, causal, scale)


def attention_log_sum_exp(q: Node, k: Node, causal: bool, scale: float | None) -> Node:
    """log(sum(exp(q k^T * scale))) over the keys. q may have more batch axes than k, behind those that it shares."""
    _check_scored("attention_log_sum_exp", q, k)
    return _node("attention_log_sum_exp", (q, k), q.shape[:-1], _accumulator(q), causal, scale)


def attention_weights(q: Node, k: Node, log_sum_exp: Node, causal: bool, scale: float | None) -> Node:
    """exp(q k^T * scale - log_sum_exp), in q's element type."""
    _check_scored("attention_weights", q, k)
    if log_sum_exp.shape != q.shape[:-1] or log_sum_exp.element != _accumulator(q):
        wanted = Node("constant", (), q.shape[:-1], _accumulator(q)).type
        raise fail(f"attention_weights expects {wanted} for log_sum_exp, found {log_sum_exp.type}")
    shape = (*q.shape[:-1], k.shape[-2])
    return _node("attention_weights", (q, k, log_sum_exp), shape, q.element, causal, scale)


def _check(name: str, *factors: Node) -> None:
    is_one = len({x.element for x in factors}) == 1
    if min(x.rank for x in factors) < 2 or not factors[0].is_float or not is_one:
        found = _types(*factors)
        raise fail(f"{name} takes floats of one element type with two axes or more, found {found}")


def _check_scored(name: str, q: Node, k: Node) -> None:
    _check(name, q, k)
    if q.shape[:-2][: k.rank - 2] != k.shape[:-2] or q.shape[-1] != k.shape[-1]:
        raise fail(f"{name}: the extents do not fit, found {_types(q, k)}")


def _types(*nodes: Node) -> str:
    return " and ".join(x.type for x in nodes)


def _accumulator(q: Node) -> str:
    return accumulator(element_named(q.element)).name


def _node(
    op: str, operands: Sequence[Node], shape: Sequence[int], element: str, causal: bool, scale: float | None
) -> Node:
    factor = 1 / math.sqrt(max(1, operands[0].shape[-1])) if scale is None else float(scale)
    return Node(op, operands, shape, element, (("causal", causal), ("scale", factor)))
