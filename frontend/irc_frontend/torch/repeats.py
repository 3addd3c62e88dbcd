"""Equal nodes of a graph as one.

torch has such a pass (`fx_graph_cse`), which imports the lowerings of its own compiler: 0.4 s of a process that needs
nothing else of them.
"""

from __future__ import annotations

import operator
from collections.abc import Hashable
from typing import Any

import torch
from torch._ops import OpOverload
from torch.fx import Graph
from torch.fx import Node as FxNode
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils._pytree import tree_flatten, tree_leaves

from irc_frontend.torch.ops import EMPTY


def without_repeats(graph: Graph) -> Graph:
    """A copy of an ATen graph in which a node that computes what one before it does is that one. Results of the graph
    and what shares their memory stay as they are: torch promised the user arrays of their own. So do random numbers,
    new arrays, what has effects, and what is of torch's own kind of subgraphs."""
    found, known = Graph(), dict[FxNode, FxNode]()
    first: dict[Hashable, FxNode] = {}
    results = {storage for node in graph.output_node().all_input_nodes for storage in _storages(node)}
    writes = 0
    for node in graph.nodes:
        writes += _writes(node)
        key = None if _stays(node) or results & _storages(node) else (writes, _key(node, known))
        if key is not None and key in first:
            known[node] = first[key]
            continue
        known[node] = found.node_copy(node, known.__getitem__)
        if key is not None:
            first[key] = known[node]
    return found


def _writes(node: FxNode) -> bool:
    """Whether it writes into an argument: what is read before and behind it differs."""
    return isinstance(node.target, OpOverload) and node.target._schema.is_mutable  # pyright: ignore[reportPrivateUsage]


def _stays(node: FxNode) -> bool:
    if node.op != "call_function" or node.target in EMPTY:
        return True
    if node.target is operator.getitem:
        return False
    if not isinstance(node.target, OpOverload) or _writes(node):
        return True
    is_of_arrays = all(isinstance(value, torch.Tensor) for value in tree_leaves(node.meta.get("val")))
    return torch.Tag.nondeterministic_seeded in node.target.tags or node.is_impure() or not is_of_arrays


def _storages(node: FxNode) -> set[StorageWeakRef]:
    """The memory of its arrays."""
    arrays = [value for value in tree_leaves(node.meta.get("val")) if isinstance(value, torch.Tensor)]
    return {
        StorageWeakRef(array.untyped_storage())
        for array in arrays
        if array.layout == torch.strided and not array.is_nested
    }


def _key(node: FxNode, known: dict[FxNode, FxNode]) -> Hashable:
    """What it computes, of nodes of the copy."""
    leaves, spec = tree_flatten((node.args, node.kwargs))
    values = tuple(known[leaf] if isinstance(leaf, FxNode) else _constant(leaf) for leaf in leaves)
    return node.target, str(spec), values


def _constant(value: Any) -> Hashable:
    """A number is another one than those of other types that are equal to it, and 0.0 than -0.0."""
    return type(value), repr(value)
