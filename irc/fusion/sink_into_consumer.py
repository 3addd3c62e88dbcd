"""Cheap work that a kernel leaves to the one which reads its result.

Anchors take what follows them as far as it goes. Where another kernel reads the last of it, and reads what that was
computed from, too, it computes it itself: an array less is stored and read.
"""

from __future__ import annotations

from irc.analysis.op_classes import is_cheap, shape_of
from irc.dialects.kernel import Anchor
from irc.fusion.graph import Cluster, FusionGraph, bits


def sink_into_consumers(graph: FusionGraph) -> None:
    """Moves such nodes, the last ones first: every node has its place before."""
    for i in reversed(range(len(graph.ops))):
        if (cluster := _taker(graph, i)) is not None:
            graph.move(i, cluster)


def _taker(graph: FusionGraph, i: int) -> Cluster | None:
    """The one cluster that reads a node's value, element by element, and all arrays that it is computed from."""
    op, home = graph.ops[i], graph.cluster_of[i]
    clusters = {graph.cluster_of[edge.user] for edge in graph.users[i]}
    if not is_cheap(op) or i in graph.escaping or len(clusters) != 1 or home.members == 1 << i:
        return None
    (cluster,) = clusters
    shape = shape_of(op.results[0])
    if cluster is home or cluster.anchor not in (Anchor.REDUCE, Anchor.MAP) or cluster.domain != shape:
        return None
    if i in home.tails or i in home.reduced or any(edge.path for edge in graph.users[i]):
        return None
    needed, read = graph.arrays_read(i, shape), {x for j in bits(cluster.members) for x in graph.arrays_read(j, shape)}
    return cluster if needed and read.issuperset(needed) else None
