"""What a forward graph keeps for its backward graph: torch's choice, the least bytes that have to be kept, but for
views of which there is a better one.

Queries, keys and values that one product makes side by side are kept as that product's result: irc reads its parts in
place in both graphs. Kept one by one they are arrays with gaps, which a backward graph's program has copied.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch._functorch.partitioners import min_cut_rematerialization_partition
from torch.fx import Graph, GraphModule
from torch.fx import Node as FxNode
from torch.utils.checkpoint import CheckpointPolicy

from irc_frontend.torch.flex import with_flex_attention
from irc_frontend.torch.ops import VIEWS

RECOMPUTE = "recompute"
"""The name, in a node's meta, of what torch's partitioner is told of it."""


def partition(joint: GraphModule, inputs: Sequence[Any], **options: Any) -> tuple[GraphModule, GraphModule]:
    """The forward and the backward graph of both together."""
    joint = with_flex_attention(joint)  # so that nothing is kept that is not read
    if not any(RECOMPUTE in node.meta for node in joint.graph.nodes):  # else the user says what is kept
        for view in _views_to_take_again(joint.graph):
            view.meta[RECOMPUTE] = CheckpointPolicy.MUST_RECOMPUTE
    return min_cut_rematerialization_partition(joint, inputs, **options)


def _views_to_take_again(graph: Graph) -> Iterator[FxNode]:
    """The views by which attention takes all parts of an array."""
    for node in graph.find_nodes(op="call_function", target=torch.ops.irc.attention.default):
        operands = list(map(_as_node, node.args[:3]))
        chains = [_views(operand) for operand in operands]
        bases = {base for base, _ in chains}
        if len(bases) == 1 and len({*operands}) == 3 and sum(map(_size, bases)) == sum(map(_size, operands)):
            yield from (view for _, views in chains for view in views)


def _views(node: FxNode) -> tuple[FxNode, list[FxNode]]:
    """What a node is a view of, and the views, the last one first."""
    views: list[FxNode] = []
    while node.target in VIEWS or (node.target is operator.getitem and _as_node(node.args[0]).target in VIEWS):
        views.append(node)
        node = _as_node(node.args[0])
    return node, views


def _size(node: FxNode) -> int:
    return node.meta["val"].numel()


def _as_node(argument: Any) -> FxNode:
    assert isinstance(argument, FxNode)
    return argument
