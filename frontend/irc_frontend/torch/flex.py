"""`flex_attention` in a graph of ATen ops: what its functions say of one score is recorded for all scores.

torch traces `score_mod` and `mask_mod`, and the derivative of the former, for one score and its four places: as graphs
of ops without axes. The rules of these ops take arrays, so the graphs are recorded with the scores in place of the one,
and with places along an axis each. What comes of it is a cascade (`docs/decisions/cascades.md`), whose masks are bounds
of its loops where they are conditions on places. The lists of a BlockMask, which say the same by blocks, are not read.

An array that a function reads by its places alone, `table[h]` or `bias[b, h, q, k]`, is an operand with its axes among
those of the scores. By other indices it is gathered.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import inf, log
from typing import Any

import torch
from torch._subclasses import FakeTensor
from torch.fx import GraphModule
from torch.fx import Node as FxNode
from torch.fx.node import map_arg

import irc_frontend as ir
from irc_frontend.tensor import Tensor
from irc_frontend.torch.ops.scores import Dropout, Factors, apart, product, softmax_product
from irc_frontend.torch.rules import (
    REASON,
    Composed,
    Left,
    deferred,
    element_of,
    mended,
    recorded,
    value_of,
    wide,
)

aten = torch.ops.aten
FORWARD = torch.ops.higher_order.flex_attention
BACKWARD = torch.ops.higher_order.flex_attention_backward

ALSO = (
    aten._to_copy.default,
    aten.alias.default,
    aten.clone.default,
    aten.detach.default,
    aten.full.default,
    aten.index.Tensor,
    aten.scalar_tensor.default,
)
"""What a function may call beside ops that compute element by element."""


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
    others = [user for user in node.users if user.args[1] == 3]
    if any(user.users for user in others):
        node.meta["custom"] = {**node.meta.get("custom", {}), REASON: "the gradient of what a score function reads"}
        return
    for user in others:
        module.graph.erase_node(user)
    score, joint, seen = (_graph(module, each) for each in (score, joint, mask[-1]))
    call = FlexAttentionGradients(score, joint, seen, float(scale), len(captured), g is not None, g_sums is not None)
    given = [x for x in (g, g_sums) if x is not None]
    node.meta["val"] = value_of(node)[:3]
    _replace(module, node, call, (q, k, v, y, sums, *given, *captured, *masked))


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
        scored = _Scored.of(q, k, v, arrays, self._captured, self._score, self._mask, self._scale)
        scores = scored.seen
        y, sums = softmax_product(scored.factors, deferred(scores, q.element), Dropout(), not scored.is_all_seen)
        rows = q.shape[:-1]
        largest = scores.max(-1).reshape(*rows) * (1 / log(2))
        return y.reshape(*rows, v.shape[-1]), sums.reshape(*rows) * (1 / log(2)), largest


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
        q, k, v, y, sums, *given = args
        g, g_sums, arrays = self._apart(given)
        captured, masked = tuple(arrays[: self._captured]), tuple(arrays[self._captured :])
        functions = self._score, self._joint, (self._mask,)
        return BACKWARD(q, k, v, y, sums, g, g_sums, *functions, self._scale, {}, captured, masked)[:3]

    def record(self, *args: Any) -> tuple[Tensor, Tensor, Tensor]:
        """As the gradients of attention are (`ops/attention.py`), with the derivative of the score function between
        those of the scores that it gives and of those that it takes."""
        q, k, v, y, sums, *given = args
        g, g_sums, arrays = self._apart(given)
        if g is None:
            raise Left("a gradient of the logarithms alone")
        scored = _Scored.of(q, k, v, arrays, self._captured, self._score, self._mask, self._scale)
        factors, shape = scored.factors, q.shape
        total = (wide(g) * wide(y)).sum(-1)
        if g_sums is not None:
            total = total - g_sums * (1 / log(2))
        sums = sums * log(2)
        if not scored.is_all_seen:
            sums = ir.where(sums == -inf, inf, sums)
        g, total, sums = (apart(x, k) for x in (g, total, sums))
        weights = ir.exp(deferred(scored.seen - ir.expand_dims(sums, -1), q.element))
        slope = wide(weights) * (product(g, v, factors.batches, [-1], [-1]) - ir.expand_dims(total, -1))
        slope = scored.traced(self._joint, (scored.scores, *scored.places, slope, *scored.captured))[0]
        if not scored.is_all_seen:
            slope = ir.where(wide(weights) > 0, slope, 0.0)
        slope = deferred(slope, q.element)
        queries = range(factors.batches - factors.q.ndim, -1)
        dq = product(slope, k, factors.batches, [-1], [-2]) * self._scale
        dk = product(slope, factors.q, factors.batches, queries, queries) * self._scale
        return dq.reshape(*shape), dk, product(weights, g, factors.batches, queries, queries)


@dataclass(frozen=True, eq=False)
class _Scored:
    """The scores of a call. places: batch, head, query and key, each along its axis, or its axes where heads share
    keys; axes: these."""

    factors: Factors
    scores: Tensor
    captured: Sequence[Any]
    masked: Sequence[Any]
    score: GraphModule
    mask: GraphModule

    @staticmethod
    def of(
        q: Tensor,
        k: Tensor,
        v: Tensor,
        arrays: Sequence[Any],
        captured: int,
        score: GraphModule,
        mask: GraphModule,
        scale: float,
    ) -> _Scored:
        if q.ndim != 4 or q.shape[0] != k.shape[0] or not q.node.is_float or len({q.element, k.element, v.element}) > 1:
            raise Left("flex_attention whose batches broadcast, or of several types")
        if 0 in (*q.shape, *k.shape, *v.shape):
            raise Left("attention of nothing")
        factors = Factors.of(q, k, v)
        scores = wide(factors.scores(scale))
        return _Scored(factors, scores, arrays[:captured], arrays[captured:], score, mask)

    @cached_property
    def axes(self) -> Sequence[tuple[int, ...]]:
        rank = self.scores.ndim
        return (0,), tuple(range(1, rank - 2)), (rank - 2,), (rank - 1,)

    @cached_property
    def places(self) -> Sequence[Tensor]:
        return [self._along(axes) for axes in self.axes]

    def _along(self, axes: tuple[int, ...]) -> Tensor:
        extents = [self.scores.shape[axis] for axis in axes]
        count = 1
        for extent in extents:
            count *= extent
        shape = [extent if axis in axes else 1 for axis, extent in enumerate(self.scores.shape)]
        return ir.arange(count, dtype="i32").reshape(*shape)

    @cached_property
    def _sees(self) -> Tensor:
        return self.traced(self.mask, (*self.places, *self.masked))

    @property
    def is_all_seen(self) -> bool:
        node = self._sees.node
        return node.op == "constant" and bool(dict(node.attributes)["value"])

    @cached_property
    def seen(self) -> Tensor:
        """The scores as the score function gives them, and -inf where the mask hides one."""
        found = self.traced(self.score, (self.scores, *self.places, *self.captured))
        found = ir.broadcast_to(found.astype(self.scores.element), self.scores.shape)
        return found if self.is_all_seen else ir.where(self._sees, found, -inf)

    def traced(self, graph: GraphModule, arguments: Sequence[Any]) -> Any:
        """What a function gives of all scores at once."""
        given, known = iter(arguments), dict[FxNode, Any]()
        result: Any = None
        for node in graph.graph.nodes:
            if node.op == "placeholder":
                known[node] = next(given)
            elif node.op == "get_attr":
                known[node] = _constant(getattr(graph, str(node.target)))
            elif node.op == "output":
                result = map_arg(node.args[0], known.__getitem__)
            else:
                known[node] = self._recorded(node, known)
        return result

    def _recorded(self, node: FxNode, known: dict[FxNode, Any]) -> Any:
        value = value_of(node)
        is_alone = torch.Tag.pointwise in getattr(node.target, "tags", ()) or node.target in ALSO
        if not is_alone or not isinstance(value, torch.Tensor):
            raise Left(f"{node.target} in a function of flex_attention")
        if value.ndim:
            raise Left("an array in a function of flex_attention")
        if node.target is aten.index.Tensor:
            array, indices = node.args
            return self._read(known[array], [known[index] for index in indices], node, known)  # pyright: ignore
        return mended(recorded(node, known), value.dtype)

    def _read(self, array: Tensor, indices: Sequence[Tensor], node: FxNode, known: dict[FxNode, Any]) -> Tensor:
        """The elements of an array that lie at the places of the scores, or at others."""
        places = [at for index in indices for at, place in enumerate(self.places) if index is place]
        if len(places) < array.ndim or len(set(places)) < len(places):
            return mended(recorded(node, known), value_of(node).dtype)
        axes = [axis for at in places for axis in self.axes[at]]
        extents = [self.scores.shape[axis] for axis in axes]
        counts = [self.places[at].size for at in places]
        if any(extent < count for extent, count in zip(array.shape, counts, strict=True)):
            raise Left("a function of flex_attention reads beyond the end of an array")
        found = array[tuple(slice(0, count) for count in counts)].reshape(*extents)
        found = found.permute(sorted(range(len(axes)), key=axes.__getitem__))
        return found.reshape(*(extent if axis in axes else 1 for axis, extent in enumerate(self.scores.shape)))


def _constant(value: Any) -> Tensor:
    """A tensor without axes that a function has made."""
    if not isinstance(value, torch.Tensor) or value.ndim or isinstance(value, FakeTensor):
        raise Left("an array in a function of flex_attention")
    return ir.full((), value.item(), element_of(value.dtype))
