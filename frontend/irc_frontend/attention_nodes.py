"""Attention, and what its gradients need of the scores, on nodes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from irc.support.shapes import is_grouped
from irc_frontend.elementwise import broadcast_to
from irc_frontend.graph import Node, fail
from irc_frontend.promotion import accumulator
from irc_frontend.shapes import broadcast_shapes


@dataclass(frozen=True)
class Options:
    """What scores are beside q k^T: scaled, by 1 / sqrt(the last extent of q) where `scale` is None; with a bias, which
    broadcasts to them, behind a soft cap c, which makes c tanh(s / c) of a score s; and seen up to a query's own place,
    or less than `window` away from it, if at all."""

    causal: bool = False
    scale: float | None = None
    window: int | None = None
    bias: Node | None = None
    soft_cap: float | None = None


def attention(q: Node, k: Node, v: Node, options: Options) -> Node:
    """softmax(scores) v over the last two axes. The heads of k and v, the extent before these axes, may divide those of
    q."""
    _check("attention", q, k, v)
    if not is_grouped(q.shape[:-2], k.shape[:-2]) or k.shape[-1] != q.shape[-1] or v.shape[:-1] != k.shape[:-1]:
        raise fail(f"attention: the extents do not fit, found {_types(q, k, v)}")
    return _node("attention", (q, k, v), (*q.shape[:-1], v.shape[-1]), q.element, options)


def attention_log_sum_exp(q: Node, k: Node, options: Options) -> Node:
    """log(sum(exp(scores))) over the keys. q may have more batch axes than k, behind those that it shares."""
    _check_scored("attention_log_sum_exp", q, k)
    return _node("attention_log_sum_exp", (q, k), q.shape[:-1], _accumulator(q), options)


def attention_weights(q: Node, k: Node, log_sum_exp: Node, options: Options) -> Node:
    """exp(scores - log_sum_exp), in q's element type."""
    _check_scored("attention_weights", q, k)
    if log_sum_exp.shape != q.shape[:-1] or log_sum_exp.element != _accumulator(q):
        wanted = Node("constant", (), q.shape[:-1], _accumulator(q)).type
        raise fail(f"attention_weights expects {wanted} for log_sum_exp, found {log_sum_exp.type}")
    return _node("attention_weights", (q, k, log_sum_exp), (*q.shape[:-1], k.shape[-2]), q.element, options)


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
    return accumulator(q.element)


def _node(op: str, operands: Sequence[Node], shape: Sequence[int], element: str, options: Options) -> Node:
    q, k, *_ = operands
    scale = 1 / math.sqrt(max(1, q.shape[-1])) if options.scale is None else float(options.scale)
    if options.window is not None and options.window < 1:
        raise fail(f"{op} expects a window of 1 or more, found {options.window}")
    if options.soft_cap is not None and not 0 < options.soft_cap < math.inf:
        raise fail(f"{op} expects a soft_cap greater than 0, found {options.soft_cap}")
    seen = (("causal", options.causal), ("scale", scale), ("window", options.window or 0))
    attributes = (*seen, ("soft_cap", float(options.soft_cap or 0)))
    if options.bias is not None:
        operands = *operands, _bias(op, options.bias, (*q.shape[:-1], k.shape[-2]))
    return Node(op, operands, shape, element, attributes)


def _bias(op: str, bias: Node, scores: tuple[int, ...]) -> Node:
    if not bias.is_float and not bias.is_bool:
        raise fail(f"{op} expects floats or bools for bias, found {bias.type}")
    if broadcast_shapes(bias.shape, scores) != scores:
        raise fail(f"{op}: a bias {bias.type} does not broadcast to the scores {list(scores)}")
    return broadcast_to(bias, scores)
