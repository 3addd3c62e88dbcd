"""`flex_attention` in a graph of ATen ops: what its functions say of one score is recorded for all scores.

torch traces `score_mod` and `mask_mod`, and the derivative of the former, for one score and its four places: as graphs
of ops without axes. The rules of these ops take arrays, so the graphs are recorded with the scores in place of the one,
and with places along an axis each. What comes of it is a cascade (`docs/decisions/cascades.md`), whose masks are bounds
of its loops where they are conditions on places. The lists of a BlockMask, which say the same by blocks, are not read.

How the functions are recorded is in `flex_scores.py`. What the score function reads has gradients of its own, each a
call of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import inf, log
from typing import Any

import torch
from torch.fx import GraphModule
from torch.fx import Node as FxNode

import irc_frontend as ir
from irc_frontend.casts import deferred, wide
from irc_frontend.tensor import Tensor
from irc_frontend.torch.flex_scores import Scored
from irc_frontend.torch.ops.scores import Dropout, product, softmax_product
from irc_frontend.torch.rules import REASON, Composed, Left, value_of

FORWARD = torch.ops.higher_order.flex_attention
BACKWARD = torch.ops.higher_order.flex_attention_backward

FIRST_CAPTURED = 5
"""Behind the gradients of a score and of its four places, a derivative gives those of the arrays."""


def with_flex_attention(module: GraphModule) -> GraphModule:
    """The graph with calls that hold their functions in place of torch's, where irc may record them."""
    for node in list(module.graph.nodes):
        if node.target not in (FORWARD, BACKWARD):
            continue
        if isinstance(node.args[5 if node.target is FORWARD else 10], FxNode):
            node.meta["custom"] = {**node.meta.get("custom", {}), REASON: "a scale that is not known"}
        elif node.target is FORWARD:
            _replace(module, node, *_forward(module, node))
        else:
            _give_backward(module, node)
    return module


def _forward(module: GraphModule, node: FxNode) -> tuple[Composed, Sequence[Any]]:
    arguments: Any = node.args
    q, k, v, score, mask, scale, _, captured, masked = arguments
    call = FlexAttention(_graph(module, score), _graph(module, mask[-1]), float(scale), len(captured))
    return call, (q, k, v, *captured, *masked)


def _give_backward(module: GraphModule, node: FxNode) -> None:
    arguments: Any = node.args
    q, k, v, y, sums, g, g_sums, score, joint, mask, scale, _, captured, masked = arguments
    score, joint, seen = (_graph(module, each) for each in (score, joint, mask[-1]))
    functions = score, joint, seen, float(scale), len(captured), g is not None, g_sums is not None
    given = [x for x in (g, g_sums) if x is not None]
    arrays = q, k, v, y, sums, *given, *captured, *masked
    for user in [user for user in node.users if user.args[1] == 3]:
        _give_captured(module, node, user, functions, arrays)
    node.meta["val"] = value_of(node)[:3]
    _replace(module, node, FlexAttentionGradients(*functions), arrays)


def _give_captured(
    module: GraphModule, node: FxNode, user: FxNode, functions: Sequence[Any], arrays: Sequence[Any]
) -> None:
    """Makes the gradients of what the score function reads calls of their own."""
    for each in list(user.users):
        number = each.args[1]
        assert isinstance(number, int)
        with module.graph.inserting_before(node):
            own = module.graph.call_function(FlexCapturedGradient(*functions, number), tuple(arrays))
        own.meta = {**node.meta, "val": value_of(each)}
        each.replace_all_uses_with(own)
        module.graph.erase_node(each)
    module.graph.erase_node(user)


def _replace(module: GraphModule, node: FxNode, call: Composed, arguments: Sequence[Any]) -> None:
    with module.graph.inserting_before(node):
        own = module.graph.call_function(call, tuple(arguments))
    own.meta = dict(node.meta)
    node.replace_all_uses_with(own)
    _erase(module, node)


def _erase(module: GraphModule, node: FxNode) -> None:
    """Takes out a node, and what is computed for it alone: lists of blocks."""
    read = node.all_input_nodes
    module.graph.erase_node(node)
    for each in read:
        is_erased = getattr(each, "_erased", False)  # with another one
        if not is_erased and not each.users and each.op != "placeholder" and not each.is_impure():
            _erase(module, each)


def _graph(module: GraphModule, node: Any) -> GraphModule:
    found = module.get_submodule(node.target)
    assert isinstance(found, GraphModule)
    return found


class _Flex(Composed):
    """A call with its functions, which are compared by identity."""

    def __init__(self) -> None:
        self.__name__ = self.__qualname__ = type(self).__name__


class FlexAttention(_Flex):
    """The call forward: of q, k, v, the `captured` arrays that the score function reads, and those of the mask. It
    gives the result, and the logarithms of the rows' sums and their greatest scores as exponents of 2."""

    def __init__(self, score: GraphModule, mask: GraphModule, scale: float, captured: int):
        super().__init__()
        self._score, self._mask, self._scale, self._captured = score, mask, scale, captured

    def __str__(self) -> str:
        return "flex_attention"

    def __call__(self, *args: Any) -> Any:
        q, k, v, *arrays = args
        captured, masked = tuple(arrays[: self._captured]), tuple(arrays[self._captured :])
        return FORWARD(q, k, v, self._score, (self._mask,), self._scale, {}, captured, masked)

    def record(self, *args: Any) -> tuple[Tensor, Tensor, Tensor]:
        q, k, v, *arrays = args
        scored = Scored.of(q, k, v, arrays, self._captured, self._score, self._mask, self._scale)
        scores = scored.seen
        y, sums = softmax_product(scored.factors, deferred(scores, q.element), Dropout(), not scored.is_all_seen)
        y, sums, largest = map(scored.queries.together, (y, sums, scores.max(-1)))
        return y, sums * (1 / log(2)), largest * (1 / log(2))


class FlexAttentionGradients(_Flex):
    """The call backward: of q, k, v, the result, the logarithms of rows, the gradients of either that there are, and
    the arrays. It gives the gradients of q, k and v."""

    def __init__(
        self,
        score: GraphModule,
        joint: GraphModule,
        mask: GraphModule,
        scale: float,
        captured: int,
        has_g: bool,
        has_g_sums: bool,
    ):
        super().__init__()
        self._score, self._joint, self._mask, self._scale, self._captured = score, joint, mask, scale, captured
        self._has_g, self._has_g_sums = has_g, has_g_sums

    def __str__(self) -> str:
        return "flex_attention_backward"

    def _apart(self, given: Sequence[Any]) -> tuple[Any, Any, Sequence[Any]]:
        """The gradients of the result and of the logarithms, None where there is none, and the arrays."""
        rest = list(given)
        g = rest.pop(0) if self._has_g else None
        g_sums = rest.pop(0) if self._has_g_sums else None
        return g, g_sums, rest

    def __call__(self, *args: Any) -> Any:
        return self._called(args)[:3]

    def _called(self, args: Sequence[Any]) -> Any:
        q, k, v, y, sums, *given = args
        g, g_sums, arrays = self._apart(given)
        captured, masked = tuple(arrays[: self._captured]), tuple(arrays[self._captured :])
        functions = self._score, self._joint, (self._mask,)
        return BACKWARD(q, k, v, y, sums, g, g_sums, *functions, self._scale, {}, captured, masked)

    def record(self, *args: Any) -> Any:
        """As the gradients of attention are (`ops/attention.py`), with the derivative of the score function between
        those of the scores that it gives and of those that it takes."""
        scored, g, weights, slope = self._slope(*args)
        (q, k, v), factors = args[:3], scored.factors
        slope = scored.traced(self._joint, (scored.scores, *scored.places, slope, *scored.captured))[0]
        if not scored.is_all_seen:
            slope = ir.where(wide(weights) > 0, slope, 0.0)
        slope = deferred(slope, q.element)
        queries = range(factors.batches - factors.q.ndim, -1)
        dq = product(slope, factors.k, factors.batches, [-1], [-2]) * self._scale
        dk = product(slope, factors.q, factors.batches, queries, queries) * self._scale
        dv = product(weights, g, factors.batches, queries, queries)
        return scored.queries.together(dq), dk.reshape(*k.shape), dv.reshape(*v.shape)

    def _slope(self, *args: Any) -> tuple[Scored, Tensor, Tensor, Tensor]:
        """The scores, the gradient of the result along them, the weights, and the gradient of what the score function
        gives."""
        q, k, v, y, sums, *given = args
        g, g_sums, arrays = self._apart(given)
        if g is None:
            raise Left("a gradient of the logarithms alone")
        scored = Scored.of(q, k, v, arrays, self._captured, self._score, self._mask, self._scale)
        total = (wide(g) * wide(y)).sum(-1)
        if g_sums is not None:
            total = total - g_sums * (1 / log(2))
        sums = sums * log(2)
        if not scored.is_all_seen:
            sums = ir.where(sums == -inf, inf, sums)
        g, total, sums = map(scored.queries.apart, (g, total, sums))
        weights = ir.exp(deferred(scored.seen - ir.expand_dims(sums, -1), q.element))
        slope = product(g, scored.factors.v, scored.factors.batches, [-1], [-1]) - ir.expand_dims(total, -1)
        return scored, g, weights, wide(weights) * slope


class FlexCapturedGradient(FlexAttentionGradients):
    """The gradient of one of the arrays that the score function reads, of the same arguments: what each score adds to
    the element that it has read."""

    def __init__(self, *arguments: Any):
        *functions, self._number = arguments
        super().__init__(*functions)

    def __str__(self) -> str:
        return f"flex_attention_backward of captured array {self._number}"

    def __call__(self, *args: Any) -> Any:
        return self._called(args)[3][self._number]

    def record(self, *args: Any) -> Tensor:
        scored, _, weights, slope = self._slope(*args)
        if not scored.is_all_seen:
            scored = replace(scored, added=wide(weights) > 0)
        inputs = scored.scores, *scored.places, slope, *scored.captured
        found = scored.traced(self._joint, inputs, FIRST_CAPTURED + self._number)
        if not isinstance(found, Tensor):
            raise Left("a gradient of an array that a score function does not read by its elements")
        return found
