"""How the value of an op lies in the iteration space of a cluster, and the growth of a cluster along such values."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from heapq import heapify, heappop, heappush

from xdsl.ir import Operation
from xdsl.ir.affine import AffineDimExpr

from irc.analysis.op_classes import (
    is_ascending,
    is_cast,
    is_contraction,
    is_elementwise,
    is_permutation,
    is_unit_reshape,
    is_view,
    moves_memory,
    reads_elsewhere,
    shape_of,
)
from irc.dialects.kernel import Anchor
from irc.fusion.graph import Cluster, Edge, FusionGraph, Tags, bits
from irc.ir.iteration import is_broadcast, iteration_of, permutation_of

NOT_ALIGNED = -1
"""The tag of an axis that mixes several axes of the domain."""


def follow(tags: Tags, path: Iterable[Operation]) -> Tags:
    """The tags of a value after the transparent ops of an edge."""
    for op in path:
        if is_broadcast(op):
            tags = _broadcast(tags, op)
        elif is_view(op):
            tags = _reshape(tags, op)
    return tags


def _broadcast(tags: Tags, op: Operation) -> Tags:
    read = iteration_of(op).inputs[0].map
    found = {e.position: tag for e, tag in zip(read.results, tags, strict=True) if isinstance(e, AffineDimExpr)}
    return tuple(found.get(axis) for axis in range(read.num_dims))


def _reshape(tags: Tags, op: Operation) -> Tags:
    source, target = shape_of(op.operands[0]), shape_of(op.results[0])
    if not is_unit_reshape(op):
        return (NOT_ALIGNED,) * len(target)
    kept = iter([tag for tag, extent in zip(tags, source, strict=True) if extent != 1])
    return tuple(None if extent == 1 else next(kept) for extent in target)


def spans(tags: Tags, domain: tuple[int, ...]) -> bool:
    """Whether the value has an element for each point of the domain, in its order."""
    if len(tags) != len(domain):
        return False
    return all(tag == axis or (tag is None and domain[axis] == 1) for axis, tag in enumerate(tags))


def tags_of_elementwise(graph: FusionGraph, i: int, cluster: Cluster) -> Tags | None:
    """The tags that an elementwise op would have in the cluster; None where its operands do not lie alike."""
    shape = shape_of(graph.ops[i].results[0])
    merged: list[int | None] = [None] * len(shape)
    for edge in graph.sources[i]:
        if graph.cluster_of[edge.producer] is not cluster:
            continue
        tags = cluster.tags.get(edge.producer)
        if tags is None:
            return None
        for axis, tag in enumerate(follow(tags, edge.path)):
            if tag is not None and merged[axis] not in (None, tag):
                return None
            merged[axis] = merged[axis] if tag is None else tag
    return _completed(tuple(merged), shape, cluster)


def absorb_elementwise(
    graph: FusionGraph, i: int, cluster: Cluster, is_allowed: Callable[[Tags], bool] = lambda _: True
) -> bool:
    """Absorbs an elementwise op whose operands lie alike, where it is allowed to have the tags that it would have."""
    if not is_elementwise(graph.ops[i]):
        return False
    tags = tags_of_elementwise(graph, i, cluster)
    return tags is not None and is_allowed(tags) and graph.absorb(cluster, i, tags)


def _completed(tags: Tags, shape: tuple[int, ...], cluster: Cluster) -> Tags | None:
    """A value of the domain's shape lies along it; one of less runs along some of its axes, in order."""
    if NOT_ALIGNED in tags:
        return None
    if shape == cluster.domain:
        aligned = all(tag in (None, axis) for axis, tag in enumerate(tags))
        return cluster.identity if aligned else None
    axes = [tag for tag in tags if tag is not None]
    if axes != sorted(set(axes)):
        return None
    for tag, extent in zip(tags, shape, strict=True):
        if extent != (1 if tag is None else cluster.domain[tag]):
            return None
    return tags


def edges_into(graph: FusionGraph, i: int, cluster: Cluster) -> list[Edge]:
    """The edges from the cluster to the node."""
    return [edge for edge in graph.sources[i] if graph.cluster_of[edge.producer] is cluster]


def spans_domain(graph: FusionGraph, edge: Edge, cluster: Cluster) -> bool:
    """Whether the user reads, through the edge, a value that lies along the whole domain."""
    tags = cluster.tags.get(edge.producer)
    return tags is not None and spans(follow(tags, edge.path), cluster.domain)


def grow_forward(graph: FusionGraph, cluster: Cluster, accept: Callable[[int], bool]) -> None:
    """Offers the users of the cluster's nodes to `accept`, which absorbs them or not, until no offer is accepted.

    Users are offered in program order; one that was refused is offered again when another of its producers has joined.
    """
    queue = [edge.user for i in bits(cluster.members) for edge in graph.users[i]]
    heapify(queue)
    while queue:
        i = heappop(queue)
        if graph.is_free(i) and accept(i):
            for edge in graph.users[i]:
                heappush(queue, edge.user)


def absorb_producers(
    graph: FusionGraph, cluster: Cluster, accept: Callable[[int], bool], start: Iterable[int] | None = None
) -> list[int]:
    """Absorbs producers that are used in the cluster alone and that `accept` admits, and their producers; gives the
    new nodes. What loops are bounded by is read from an array.

    A producer whose users all read it along the domain lies along the domain itself.
    """
    queue = [-i for i in (bits(cluster.members) if start is None else start)]
    heapify(queue)
    absorbed: list[int] = []
    while queue:
        user = -heappop(queue)
        for edge in graph.sources[user]:
            i = edge.producer
            if not graph.is_free(i) or not graph.stays_inside(i, cluster) or not accept(i):
                continue
            if any(map(is_ascending, edge.path)):
                continue
            along = cluster.identity if _is_read_along_domain(graph, i, cluster) else None
            if not graph.absorb(cluster, i, along):
                continue
            absorbed.append(i)
            heappush(queue, -i)
    return absorbed


def _is_read_along_domain(graph: FusionGraph, i: int, cluster: Cluster) -> bool:
    op = graph.ops[i]
    if shape_of(op.results[0]) != cluster.domain:
        return False
    return all(reads_along_domain(graph, edge, cluster) for edge in graph.users[i])


def reads_along_domain(graph: FusionGraph, edge: Edge, cluster: Cluster) -> bool:
    """Whether a node of the cluster reads a producer of the domain's shape element by element."""
    user = graph.ops[edge.user]
    if any(is_broadcast(op) or is_view(op) for op in edge.path):
        return False
    if is_elementwise(user):
        return cluster.tags.get(edge.user) == cluster.identity
    return not reads_elsewhere(user) and not is_contraction(user)


def absorb_tails(graph: FusionGraph, cluster: Cluster) -> None:
    """Absorbs what stores can do of what follows, see `_absorb_tail`."""
    grow_forward(graph, cluster, lambda i: _absorb_tail(graph, i, cluster))


def _absorb_tail(graph: FusionGraph, i: int, cluster: Cluster) -> bool:
    """Absorbs a permutation, reshape or cast of a value that the cluster stores: the store does it.

    A reshape alone is a view of the stored array and stays outside; it joins when it leads to a permutation or a cast.
    """
    op = graph.ops[i]
    if not (is_permutation(op) or is_view(op) or is_cast(op)):
        return False
    edges = edges_into(graph, i, cluster)
    if len(edges) != 1 or edges[0].path:
        return False
    source = edges[0].producer
    if source not in cluster.tags and source not in cluster.tails:
        return False
    if not is_permutation(op) and is_cast(op) != (source in cluster.tails):
        return False
    if is_permutation(op) and not _is_stored_well(op, cluster):
        return False
    if is_view(op) and not _leads_to_store(graph, i, source, cluster):
        return False
    if not graph.absorb(cluster, i):
        return False
    cluster.tails.add(i)
    if source in cluster.reduced:
        cluster.reduced.add(i)
    return True


def _is_stored_well(op: Operation, cluster: Cluster) -> bool:
    """Whether a store can permute: rows of a reduction must stay contiguous, tiles of a product are square enough."""
    permutation = permutation_of(op)
    return cluster.anchor is Anchor.MATMUL or (permutation is not None and permutation[-1] == len(permutation) - 1)


def _leads_to_store(graph: FusionGraph, i: int, source: int, cluster: Cluster) -> bool:
    """Whether outside the cluster only this reshape reads the source, and only permutations and casts read it."""
    if source in graph.escaping or i in graph.escaping or any(edge.user != i for edge in graph.outer_users(source)):
        return False
    users = [graph.ops[edge.user] for edge in graph.users[i]]
    plain = all(not edge.path for edge in graph.users[i])
    return plain and bool(users) and all(moves_memory(op) or is_cast(op) for op in users)
