"""Calls of torch's functions that become calls of irc's own, in graphs of torch's functions: before AOTAutograd, which
would take them apart."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch.fx import Graph, GraphModule
from torch.fx import Node as FxNode


def retarget(
    module: GraphModule,
    own: Callable[..., Any],
    *targets: Any,
    chosen: Callable[[FxNode], bool] = lambda node: True,
    in_transforms: bool = False,
) -> GraphModule:
    """The graph, and those that it holds, as of checkpoints, whose calls of the targets call the own function; of these
    the chosen ones, and with `in_transforms` also those within a transform of torch.func."""
    for each in module.modules():
        if not isinstance(each, GraphModule):
            continue
        kept = set[FxNode]() if in_transforms else transformed_in(each.graph)
        for target in targets:
            for node in each.graph.find_nodes(op="call_function", target=target):
                if node not in kept and chosen(node):
                    node.target = own
        each.recompile()
    return module


def transformed_in(graph: Graph) -> set[FxNode]:
    """The nodes between the begin and the end of a vmap, grad or jvp, which have rules for torch's functions alone."""
    found, depth = set[FxNode](), 0
    for node in graph.nodes:
        name = getattr(node.target, "__name__", "")
        depth += name.endswith("_increment_nesting") - name.endswith("_decrement_nesting")
        if depth:
            found.add(node)
    return found
