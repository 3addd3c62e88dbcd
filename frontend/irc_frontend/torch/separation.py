"""The gradients of a convolution as nodes of their own, where irc does one of them and torch another."""

from __future__ import annotations

import operator
from typing import Any

import torch
from torch.fx import Graph
from torch.fx import Node as FxNode

from irc_frontend.torch.rules import device_of, value_of, why_left

aten = torch.ops.aten
MASK = 10
"""The argument of the op that says which gradients it gives: of x, of the weight and of the bias."""


def separate_gradients(graph: Graph) -> None:
    """Replaces an op that gives several gradients of a convolution, and that stays with torch as a whole, by one for
    each, if irc does any of these; that of the bias is a sum. torch's library computes them one by one as well."""
    for node in graph.find_nodes(op="call_function", target=aten.convolution_backward.default):
        device = device_of(node)
        if device is None or sum(map(bool, node.args[MASK])) < 2 or why_left(node, device.type) is None:
            continue
        users = [user for user in node.users if user.target is operator.getitem and node.args[MASK][user.args[1]]]
        apart = {user: _alone(graph, node, user.args[1]) for user in users}
        if any(why_left(each, device.type) is None for each in apart.values() if each.target is node.target):
            for user, each in apart.items():
                _replace(graph, user, each)
        for each in (*apart.values(), node):
            if not each.users:
                graph.erase_node(each)


def _alone(graph: Graph, node: FxNode, position: int) -> FxNode:
    """A node that gives one of the gradients."""
    values, args = value_of(node), node.args
    with graph.inserting_before(node):
        if position == 2:
            gradient: Any = args[0]
            axes = [0, *range(2, value_of(gradient).ndim)]
            alone = graph.call_function(aten.sum.dim_IntList, (gradient, axes))
        else:
            mask = [at == position for at in range(3)]
            alone = graph.call_function(aten.convolution_backward.default, (*args[:MASK], mask))
    value = values[2] if position == 2 else tuple(x if at == position else None for at, x in enumerate(values))
    alone.meta = {**node.meta, "val": value}
    return alone


def _replace(graph: Graph, user: FxNode, alone: FxNode) -> None:
    """Has the users of a gradient use that of a node that gives it alone."""
    if alone.target is aten.sum.dim_IntList:
        user.replace_all_uses_with(alone)
        graph.erase_node(user)
    else:
        user.args = (alone, user.args[1])
