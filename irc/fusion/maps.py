"""Clusters of the elementwise and moving ops that no anchor has taken: maximal groups whose results have one shape."""

from __future__ import annotations

from math import prod

from xdsl.ir import SSAValue

from irc.analysis.op_classes import LARGE, is_elementwise, is_view, moves_memory, shape_of, size_of
from irc.dialects.kernel import Anchor
from irc.fusion.alignment import reads_along_domain
from irc.fusion.graph import Cluster, FusionGraph, bits

MAX_RESULTS = 8
"""Results of a kernel that grows by joining groups which merely read the same array."""


def grow_maps(graph: FusionGraph) -> list[Cluster]:
    """Places every free node, the last one first, into the group of its users or a group of its own."""
    for i in reversed(range(len(graph.ops))):
        if not graph.is_free(i):
            continue
        if is_view(graph.ops[i]) and not graph.reads_inlined(graph.ops[i]):
            _place_view(graph, i)
        elif not _join_only_user(graph, i) and not _join_users(graph, i):
            _start(graph, i)
    _join_readers(graph)
    return _finish(graph)


def _start(graph: FusionGraph, i: int) -> None:
    cluster = graph.cluster_of[i]
    cluster.anchor = Anchor.MAP
    cluster.domain = shape_of(graph.ops[i].results[0])
    cluster.tags[i] = cluster.identity


def _map_clusters_of_users(graph: FusionGraph, i: int) -> list[Cluster]:
    clusters = dict.fromkeys(graph.cluster_of[edge.user] for edge in graph.users[i])
    return [cluster for cluster in clusters if cluster.anchor is Anchor.MAP]


def _join_only_user(graph: FusionGraph, i: int) -> bool:
    """Joins the one group that uses the node, whatever it does with it."""
    clusters = _map_clusters_of_users(graph, i)
    if len(clusters) != 1 or not graph.stays_inside(i, clusters[0]):
        return False
    cluster = clusters[0]
    along = shape_of(graph.ops[i].results[0]) == cluster.domain and all(
        reads_along_domain(graph, edge, cluster) for edge in graph.users[i]
    )
    return graph.absorb(cluster, i, cluster.identity if along else None)


def _join_users(graph: FusionGraph, i: int) -> bool:
    """Joins groups which read the node's value element by element, and becomes a result of theirs."""
    shape = shape_of(graph.ops[i].results[0])
    joined: Cluster | None = None
    for cluster in _map_clusters_of_users(graph, i):
        inner = [edge for edge in graph.users[i] if graph.cluster_of[edge.user] is cluster]
        if cluster.domain != shape or not all(reads_along_domain(graph, edge, cluster) for edge in inner):
            continue
        if joined is None:
            joined = cluster if graph.absorb(cluster, i) else None
        elif graph.can_merge(joined, cluster):
            graph.merge(joined, cluster)
    if joined is None:
        return False
    joined.tags[i] = joined.identity
    return True


def _place_view(graph: FusionGraph, i: int) -> None:
    """A reshape stays outside as a view, unless it lies between ops that become one group with it inside."""
    producers = {edge.producer for edge in graph.sources[i]}
    if len(producers) != 1 or i in graph.escaping:
        return
    producer = producers.pop()
    only_user = producer not in graph.escaping and {edge.user for edge in graph.users[producer]} == {i}
    if only_user and graph.is_free(producer) and is_elementwise(graph.ops[producer]):
        _join_only_user(graph, i)


def _join_readers(graph: FusionGraph) -> None:
    """Joins groups of one shape that read the same array of that shape."""
    readers: dict[tuple[SSAValue, tuple[int, ...]], list[Cluster]] = {}
    for cluster in graph.clusters():
        if cluster.anchor is not Anchor.MAP:
            continue
        for value in _arrays_read(graph, cluster):
            readers.setdefault((value, cluster.domain), []).append(cluster)
    for clusters in readers.values():
        for other in clusters[1:]:
            _join(graph, clusters[0], other)


def _arrays_read(graph: FusionGraph, cluster: Cluster) -> list[SSAValue]:
    """The arrays of the domain's shape that nodes of the cluster, lying along the domain, read element by element."""
    found: dict[SSAValue, None] = {}
    for i in bits(cluster.members):
        if cluster.tags.get(i) == cluster.identity and is_elementwise(graph.ops[i]):
            found |= dict.fromkeys(graph.arrays_read(i, cluster.domain))
    return list(found)


def _join(graph: FusionGraph, first: Cluster, other: Cluster) -> None:
    a, b = graph.cluster_of[_lowest(first)], graph.cluster_of[_lowest(other)]
    if a is b or _results(graph, a) + _results(graph, b) > MAX_RESULTS:
        return
    if a.is_independent(b) and graph.can_merge(a, b):
        graph.merge(a, b)


def _lowest(cluster: Cluster) -> int:
    return next(bits(cluster.members))


def _results(graph: FusionGraph, cluster: Cluster) -> int:
    return sum(graph.is_stored(i) for i in bits(cluster.members))


def _finish(graph: FusionGraph) -> list[Cluster]:
    """The groups; those that turn an array which counts beside the results are permutations."""
    clusters = [cluster for cluster in graph.clusters() if cluster.anchor is Anchor.MAP]
    for cluster in clusters:
        turned = [graph.ops[i].results[0] for i in bits(cluster.members) if moves_memory(graph.ops[i])]
        if any(LARGE * size_of(value) >= prod(cluster.domain) for value in turned):
            cluster.anchor = Anchor.PERMUTE
    return clusters
