"""The functions of `flex_attention`, and their derivatives, of all scores at once.

An array that a function reads by its places alone, `table[h]` or `bias[b, h, q, k]`, is an operand with its axes among
those of the scores. By other indices it is gathered. What is added to the gradient of the one is a sum over the other
axes, to that of the other it is added at the indices.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import inf, prod
from typing import Any

import torch
from torch._subclasses import FakeTensor
from torch.fx import GraphModule
from torch.fx import Node as FxNode
from torch.fx.node import map_arg

import irc_frontend as ir
from irc_frontend.casts import wide
from irc_frontend.tensor import Tensor
from irc_frontend.torch.ops.scores import Factors
from irc_frontend.torch.rules import Left, element_of, mended, recorded, value_of

aten = torch.ops.aten

SCATTER = torch.ops.flex_lib.zeros_and_scatter.default
"""An array of 0 with values added at indices: the gradient of a read."""

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


@dataclass(frozen=True)
class Queries:
    """How what lies along queries[batch, heads, ...] lies beside keys that several of them share: heads, or batches
    too, where the keys of all are one batch. Its axes are those of the keys, and then those that share them."""

    batch: int
    heads: int
    key_heads: int
    is_one_batch: bool

    @staticmethod
    def of(q: Tensor, k: Tensor) -> Queries:
        return Queries(q.shape[0], q.shape[1], k.shape[1], q.shape[0] > k.shape[0] == 1)

    def apart(self, x: Tensor) -> Tensor:
        shared = () if self.heads == self.key_heads else (self.heads // self.key_heads,)
        x = x.reshape(self.batch, self.key_heads, *shared, *x.shape[2:]) if shared else x
        return x.swapaxes(0, 1) if self.is_one_batch else x

    def together(self, x: Tensor) -> Tensor:
        x = x.swapaxes(0, 1) if self.is_one_batch else x
        inner = 2 if self.heads == self.key_heads else 3
        return x.reshape(self.batch, self.heads, *x.shape[inner:])

    def keys(self, k: Tensor) -> Tensor:
        """Keys or values without the axis of the one batch."""
        return k.reshape(*k.shape[1:]) if self.is_one_batch else k


@dataclass(frozen=True, eq=False)
class Scored:
    """The scores of a call. places: batch, head, query and key, each along its axis, or its axes where heads share
    keys; axes: these. added: which scores add to gradients of what was read, None for all."""

    queries: Queries
    factors: Factors
    scores: Tensor
    captured: Sequence[Any]
    masked: Sequence[Any]
    score: GraphModule
    mask: GraphModule
    added: Tensor | None = None

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
    ) -> Scored:
        is_known = q.ndim == 4 and k.shape[0] == v.shape[0] and k.shape[0] in (1, q.shape[0])
        if not is_known or not q.node.is_float or len({q.element, k.element, v.element}) > 1:
            raise Left("flex_attention whose batches broadcast, or of several types")
        if 0 in (*q.shape, *k.shape, *v.shape):
            raise Left("attention of nothing")
        queries = Queries.of(q, k)
        factors = Factors(queries.apart(q), queries.keys(k), queries.keys(v))
        scores = wide(factors.scores(scale))
        return Scored(queries, factors, scores, arrays[:captured], arrays[captured:], score, mask)

    @cached_property
    def axes(self) -> Sequence[tuple[int, ...]]:
        rank = self.scores.ndim
        batch, heads = (1, 0) if self.queries.is_one_batch else (0, 1)
        return (batch,), (heads, *range(2, rank - 2)), (rank - 2,), (rank - 1,)

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

    def traced(self, graph: GraphModule, arguments: Sequence[Any], result: int | None = None) -> Any:
        """What a function gives of all scores at once, or one of its results, with what that needs alone."""
        output = graph.graph.output_node().args[0]
        wanted: Any = output if result is None else output[result]  # pyright: ignore
        needed = _needed(graph, wanted)
        given, known = iter(arguments), dict[FxNode, Any]()
        for node in graph.graph.nodes:
            if node.op == "placeholder":
                known[node] = next(given)
            elif node not in needed:
                continue
            elif node.op == "get_attr":
                known[node] = _constant(getattr(graph, str(node.target)))
            else:
                known[node] = self._recorded(node, known)
        return map_arg(wanted, known.__getitem__)

    def _recorded(self, node: FxNode, known: dict[FxNode, Any]) -> Any:
        value = value_of(node)
        if node.target is SCATTER:
            shape, indices, added = node.args
            return mended(self._added(shape, [known[index] for index in indices], known[added]), value.dtype)  # pyright: ignore
        is_alone = torch.Tag.pointwise in getattr(node.target, "tags", ()) or node.target in ALSO
        if not is_alone or not isinstance(value, torch.Tensor):
            raise Left(f"{node.target} in a function of flex_attention")
        if value.ndim and any(each.target not in (SCATTER, aten.add.Tensor) for each in node.all_input_nodes):
            raise Left("an array in a function of flex_attention")
        if node.target is aten.index.Tensor:
            array, indices = node.args
            return self._read(known[array], [known[index] for index in indices], node, known)  # pyright: ignore
        return mended(recorded(node, known), value.dtype)

    def _added(self, shape: Sequence[int], indices: Sequence[Tensor], values: Tensor) -> Tensor:
        """An array of 0 with the values of all scores added at indices: sums, where these are places."""
        values = ir.broadcast_to(wide(values), self.scores.shape)
        if self.added is not None:
            values = ir.where(self.added, values, 0.0)
        rank, extents = values.ndim, values.shape
        places = [at for index in indices for at, place in enumerate(self.places) if index is place]
        if len(places) == len(indices) == len(set(places)):
            axes = [axis for at in places for axis in self.axes[at]]
            rest = [axis for axis in range(rank) if axis not in axes]
            found = (values.sum(rest) if rest else values).permute([sorted(axes).index(axis) for axis in axes])
            found = found.reshape(*(self.places[at].size for at in places))
            if any(extent < count for extent, count in zip(shape, found.shape, strict=True)):
                raise Left("a function of flex_attention reads beyond the end of an array")
            return ir.pad(found, [(0, extent - count) for extent, count in zip(shape, found.shape, strict=True)])
        shapes = [(1,) * (rank - index.ndim) + index.shape for index in indices]
        along = [axis for axis in range(rank) if any(each[axis] > 1 for each in shapes)]
        rest = [axis for axis in range(rank) if axis not in along]
        values = values.sum(rest) if rest else values
        number = ir.zeros((), "i32")
        for index, each, extent in zip(indices, shapes, shape, strict=True):
            index = index.reshape(*(each[axis] for axis in along)).astype("i32")
            number = number * extent + ir.where(index < 0, index + extent, index)
        number = ir.broadcast_to(number, [extents[axis] for axis in along]).reshape(-1)
        total = ir.scatter_add(ir.zeros((prod(shape),), values.element), number, values.reshape(-1), mode="clip")
        return total.reshape(*shape)

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


def _needed(graph: GraphModule, wanted: Any) -> set[FxNode]:
    """The nodes that a result is computed by."""
    found, pending = set[FxNode](), list[FxNode]()
    map_arg(wanted, pending.append)
    while pending:
        node = pending.pop()
        if node not in found:
            found.add(node)
            pending += node.all_input_nodes
    return found


def _constant(value: Any) -> Tensor:
    """A tensor without axes that a function has made."""
    if not isinstance(value, torch.Tensor) or value.ndim or isinstance(value, FakeTensor):
        raise Left("an array in a function of flex_attention")
    return ir.full((), value.item(), element_of(value.dtype))
