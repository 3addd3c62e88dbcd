"""Clusters around reductions and scans: several over the same axes of a domain, and the elementwise work around."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from math import prod

from xdsl.ir import Operation, SSAValue

from irc.analysis.op_classes import (
    gathered_axes,
    is_elementwise,
    is_move,
    is_reduction,
    is_scan,
    is_view,
    is_window,
    reduced_axes,
    shape_of,
    size_of,
)
from irc.dialects.kernel import Anchor
from irc.dialects.nd import BroadcastOp, CastOp, ReshapeOp
from irc.dialects.nd.declared import stored_element
from irc.fusion.alignment import (
    absorb_elementwise,
    absorb_producers,
    absorb_tails,
    edges_into,
    grow_forward,
    spans,
    spans_domain,
)
from irc.fusion.graph import Cluster, FusionGraph, Tags, bits
from irc.fusion.returning import can_return
from irc.ir.iteration import iteration_of
from irc.ir.walks import operands_behind, reached

MAX_OF_ROW = 8
"""Reductions of one kernel, at most, that share a row alone: a block has a tile of the array of each in registers."""

Alike = dict[tuple[tuple[int, ...], tuple[int, ...]], dict[int, frozenset[SSAValue]]]
"""Reductions by the shape that they run over and the axes, in program order, each with the arrays that it may read:
fewer when other kernels have taken what it needs."""


def grow_reductions(graph: FusionGraph) -> list[Cluster]:
    """A cluster for each reduction that is still free, in program order, grown before the next one starts."""
    nodes = [i for i, op in enumerate(graph.ops) if is_reduction(op) or is_scan(op)]
    alike: Alike = {}
    for i in nodes:
        if is_reduction(graph.ops[i]):
            alike.setdefault(_reduced(graph, i), {})[i] = frozenset(_arrays_ahead(graph, i))
    narrowing = _narrowing(graph) | _joining(graph)
    return [_grow(graph, i, alike, narrowing) for i in nodes if graph.is_free(i)]


def _narrowing(graph: FusionGraph) -> set[int]:
    """Elementwise work behind a window, up to what is stored narrower: the bias of a depthwise convolution, in f32, of
    which the sum was declared bf16. No reduction computes the window, and where that has the rest, too, fewer bytes
    are stored."""
    found: set[int] = set()
    for i, op in enumerate(graph.ops):
        if not is_window(op) or is_reduction(op) or not graph.is_free(i):
            continue
        chain, size = [i], stored_element(op.results[0]).size
        while (j := _next_alone(graph, chain[-1])) is not None:
            chain.append(j)
            if stored_element(graph.ops[j].results[0]).size < size:
                found.update(chain[1:])
                break
    return found


def _joining(graph: FusionGraph) -> set[int]:
    """Elementwise work on windows alone, up to what joins several of them in one array of fewer bytes: the gradient of
    a pool of maxima, of four arrays and where they count. A reduction that had it would have all of these stored."""
    windows: dict[int, frozenset[int]] = {}
    """The windows that a node is computed from, where it reads nothing else of its shape."""
    for i, op in enumerate(graph.ops):
        if is_window(op) and not is_reduction(op) and graph.is_free(i):
            windows[i] = frozenset([i])
        elif is_elementwise(op) and graph.is_free(i):
            owners = [array.owner for array in graph.arrays_read(i, shape_of(op.results[0]))]
            makers = [graph.index.get(owner, -1) if isinstance(owner, Operation) else -1 for owner in owners]
            known = [windows.get(maker, frozenset[int]()) for maker in makers]
            if known and all(known):
                windows[i] = frozenset[int]().union(*known)
    found: set[int] = set()
    for i, joined in windows.items():
        users = [windows.get(edge.user, frozenset[int]()) for edge in graph.users[i]]
        size = sum(stored_element(graph.ops[each].results[0]).size for each in joined)
        if len(joined) > 1 and joined not in users and stored_element(graph.ops[i].results[0]).size < size:
            found |= _between(graph, i, windows)
    return found


def _between(graph: FusionGraph, i: int, windows: Mapping[int, frozenset[int]]) -> set[int]:
    """A node and those that it is computed from, short of the windows; none where anything else reads one of these."""
    found = set(reached([i], lambda node: [e.producer for e in graph.sources[node] if e.producer in windows]))
    inside = [each for each in found if each != i]
    if any(each in graph.escaping or any(e.user not in found for e in graph.users[each]) for each in inside):
        return set()
    return {each for each in found if not is_window(graph.ops[each])}


def _next_alone(graph: FusionGraph, i: int) -> int | None:
    """The elementwise node that alone reads a node's value, along all axes, and no other array of its shape."""
    value, users = graph.ops[i].results[0], {edge.user for edge in graph.users[i]}
    if len(users) != 1 or i in graph.escaping:
        return None
    (j,) = users
    is_next = graph.is_free(j) and is_elementwise(graph.ops[j])
    return j if is_next and list(graph.arrays_read(j, shape_of(value))) == [value] else None


def _reduced(graph: FusionGraph, i: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The shape that a reduction or scan runs over, and along which axes."""
    op = graph.ops[i]
    return shape_of(op.operands[0]), reduced_axes(op)


def _grow(graph: FusionGraph, i: int, alike: Alike, narrowing: Container[int]) -> Cluster:
    """narrowing: nodes that other kernels compute, wherever the reduction could as well."""
    cluster = graph.cluster_of[i]
    cluster.anchor = Anchor.REDUCE
    cluster.domain, cluster.axes = _reduced(graph, i)
    _label(graph, i, cluster)
    scans = is_scan(graph.ops[i])
    size = 0
    while size != cluster.members.bit_count():
        size = cluster.members.bit_count()
        if not scans:
            grow_forward(graph, cluster, lambda j: _accept_reduction(graph, j, cluster))
            _absorb_siblings(graph, cluster, alike.get((cluster.domain, cluster.axes), {}))
        _absorb_shared_producers(graph, cluster, narrowing)
        absorb_producers(graph, cluster, lambda j: j not in narrowing and _is_local(graph, j))
        if size != cluster.members.bit_count():
            continue  # what joins several reductions would keep those out that are not in the cluster yet
        grow_forward(
            graph,
            cluster,
            lambda j: _accept_elementwise(graph, j, cluster) or (not scans and _accept_pick(graph, j, cluster)),
        )
        if not scans:
            others = alike.get((cluster.domain, cluster.axes), {})
            _absorb_joined(graph, cluster, others)
            _absorb_of_row(graph, cluster, others)
    absorb_tails(graph, cluster)
    return cluster


def _label(graph: FusionGraph, i: int, cluster: Cluster) -> None:
    kept = tuple(axis for axis in cluster.identity if axis not in cluster.axes)
    cluster.tags[i] = cluster.identity if is_scan(graph.ops[i]) else kept
    cluster.reduced.add(i)


def _accept_elementwise(graph: FusionGraph, i: int, cluster: Cluster) -> bool:
    """Elementwise work on the domain, where its rows can be gone over again if it needs what they come to, or on one
    element for each row."""
    depends = any(edge.producer in cluster.reduced for edge in edges_into(graph, i, cluster))

    def is_allowed(tags: Tags) -> bool:
        if spans(tags, cluster.domain):
            return not depends or can_return(cluster.domain, cluster.axes, graph.machine)
        return not any(tag in cluster.axes for tag in tags)

    if not absorb_elementwise(graph, i, cluster, is_allowed):
        return False
    if depends:
        cluster.reduced.add(i)
    return True


def _accept_pick(graph: FusionGraph, i: int, cluster: Cluster) -> bool:
    """A gather of one element of each row, as in a cross entropy: the row need not be stored for it."""
    op = graph.ops[i]
    if gathered_axes(op) != cluster.axes or not iteration_of(op).inputs[1].is_identity:
        return False
    axis = cluster.axes[0]
    expected = tuple(1 if at == axis else extent for at, extent in enumerate(cluster.domain))
    edges = edges_into(graph, i, cluster)
    if shape_of(op.results[0]) != expected or not all(spans_domain(graph, edge, cluster) for edge in edges):
        return False
    tags = tuple(None if tag == axis else tag for tag in cluster.identity)
    if _depends_on(graph, i, op.operands[1], cluster) or not graph.absorb(cluster, i, tags):
        return False
    cluster.reduced.add(i)
    return True


def _depends_on(graph: FusionGraph, i: int, value: SSAValue, cluster: Cluster) -> bool:
    """Whether an operand of the node is computed by the cluster."""
    inside = {result for edge in edges_into(graph, i, cluster) for result in graph.ops[edge.producer].results}

    def repeated(value: SSAValue) -> Sequence[SSAValue]:
        return operands_behind(value) if isinstance(value.owner, Operation) and graph.is_inlined(value.owner) else ()

    return not inside.isdisjoint(reached([value], repeated))


def _accept_reduction(graph: FusionGraph, i: int, cluster: Cluster) -> bool:
    edges = edges_into(graph, i, cluster)
    if not _is_same_reduction(graph, i, cluster) or not all(spans_domain(graph, edge, cluster) for edge in edges):
        return False
    depends = any(edge.producer in cluster.reduced for edge in edges)
    if depends and not can_return(cluster.domain, cluster.axes, graph.machine):
        return False
    if not graph.absorb(cluster, i):
        return False
    _label(graph, i, cluster)
    return True


def _is_same_reduction(graph: FusionGraph, i: int, cluster: Cluster) -> bool:
    return is_reduction(graph.ops[i]) and _reduced(graph, i) == (cluster.domain, cluster.axes)


def _absorb_siblings(graph: FusionGraph, cluster: Cluster, reductions: Mapping[int, frozenset[SSAValue]]) -> None:
    """Of the reductions that are alike, those that read an array which nodes along the domain read too."""
    read: set[SSAValue] = set()
    for i in bits(cluster.members):
        if cluster.tags.get(i) == cluster.identity or is_reduction(graph.ops[i]):
            read |= set(graph.arrays_read(i, cluster.domain))
    for i, ahead in reductions.items():
        if read.isdisjoint(ahead) or not graph.is_free(i) or not _may_join(graph, i, cluster):
            continue
        # What makes a cycle is asked first: most that are refused are by that, and the other question goes far.
        if not graph.can_merge(cluster, graph.cluster_of[i]) or read.isdisjoint(_arrays_ahead(graph, i)):
            continue
        if graph.absorb(cluster, i):
            _label(graph, i, cluster)


def _absorb_joined(graph: FusionGraph, cluster: Cluster, reductions: Iterable[int]) -> None:
    """Of the reductions that are alike, those whose results the cluster alone reads, on rows: nothing stores them, as
    of the two products of a gated layer with one row."""
    for i in reductions:
        joined = [graph.cluster_of[edge.user] is cluster and not edge.path for edge in graph.users[i]]
        if not graph.is_free(i) or i in graph.escaping or not joined or not all(joined):
            continue
        if _may_join(graph, i, cluster) and graph.absorb(cluster, i):
            _label(graph, i, cluster)


def _absorb_of_row(graph: FusionGraph, cluster: Cluster, reductions: Mapping[int, frozenset[SSAValue]]) -> None:
    """Of the reductions that are alike, those that combine another small array with the row that the cluster combines
    one with, as of keys and values with one word: each is over before a launch of its own has begun."""
    anchors = [i for i in bits(cluster.members) if _is_same_reduction(graph, i, cluster)]
    if graph.machine.exact_tiles or _bytes_ahead(graph, anchors) > graph.machine.costs.small_bytes:
        return
    rows = set[SSAValue]().union(*(_rows_ahead(graph, i) for i in anchors))
    for i in reductions:
        if len(anchors) == MAX_OF_ROW or not graph.is_free(i) or rows.isdisjoint(_rows_ahead(graph, i)):
            continue
        is_small = _bytes_ahead(graph, [i]) <= graph.machine.costs.small_bytes
        is_apart = cluster.is_independent(graph.cluster_of[i])
        if is_small and is_apart and _may_join(graph, i, cluster) and graph.absorb(cluster, i):
            _label(graph, i, cluster)
            anchors.append(i)


def _bytes_ahead(graph: FusionGraph, reductions: Iterable[int]) -> int:
    """Of the largest of the arrays of the domain's shape that one of the reductions reads in its kernel."""
    found = (value for i in reductions for value in _arrays_ahead(graph, i))
    return max((size_of(value) * stored_element(value).size for value in found), default=0)


def _rows_ahead(graph: FusionGraph, i: int) -> set[SSAValue]:
    """The arrays of as many elements as a row has along which a reduction goes, that it reads for all rows."""
    domain, axes = _reduced(graph, i)
    row = prod(domain[axis] for axis in axes)

    def computed_from(value: SSAValue) -> Sequence[SSAValue]:
        op = value.owner
        is_inside = isinstance(op, Operation) and is_elementwise(op) and shape_of(value) == domain
        return operands_behind(value) if is_inside or isinstance(op, CastOp | ReshapeOp | BroadcastOp) else ()

    values = reached(graph.ops[i].operands, computed_from)
    return {value for value in values if size_of(value) == row < prod(domain) and not computed_from(value)}


def _arrays_ahead(graph: FusionGraph, i: int) -> set[SSAValue]:
    """The arrays of its domain's shape that a reduction reads, or elementwise work that no kernel has yet and that it
    needs would read in its kernel."""
    domain, _ = _reduced(graph, i)

    def makers(node: int) -> Iterator[int]:
        for value in graph.arrays_read(node, domain):
            maker = graph.index.get(value.owner) if isinstance(value.owner, Operation) else None
            if maker is not None and graph.is_free(maker) and is_elementwise(graph.ops[maker]):
                yield maker

    return {value for node in reached([i], makers) for value in graph.arrays_read(node, domain)}


def _may_join(graph: FusionGraph, i: int, cluster: Cluster) -> bool:
    """Whether the node and the cluster do not depend on each other, or may: one block can go over its rows again. Nor
    may an exchange between ranks wait for one of them that does not need it."""
    other = graph.cluster_of[i]
    if graph.delays_exchange(cluster, other):
        return False
    return cluster.is_independent(other) or can_return(cluster.domain, cluster.axes, graph.machine)


def _absorb_shared_producers(graph: FusionGraph, cluster: Cluster, narrowing: Container[int]) -> None:
    """Elementwise producers of the domain's shape that others use too: the cluster stores them while it has them."""
    queue = list(bits(cluster.members))
    while queue:
        for edge in graph.sources[queue.pop()]:
            i = edge.producer
            if i in narrowing or not graph.is_free(i) or not is_elementwise(graph.ops[i]) or edge.path:
                continue
            if shape_of(graph.ops[i].results[0]) != cluster.domain or not _reads_domain(graph, edge.user, cluster):
                continue
            if not _is_read_along_domain(graph, i, cluster) or not graph.absorb(cluster, i, cluster.identity):
                continue
            queue.append(i)


def _reads_domain(graph: FusionGraph, user: int, cluster: Cluster) -> bool:
    if is_reduction(graph.ops[user]) or is_scan(graph.ops[user]):
        return True
    return cluster.tags.get(user) == cluster.identity and is_elementwise(graph.ops[user])


def _is_read_along_domain(graph: FusionGraph, i: int, cluster: Cluster) -> bool:
    """Whether every use in the cluster reads the value element by element."""
    inner = [edge for edge in graph.users[i] if graph.cluster_of[edge.user] is cluster]
    return all(not edge.path and _reads_domain(graph, edge.user, cluster) for edge in inner)


def _is_local(graph: FusionGraph, i: int) -> bool:
    """Whether the op can be computed where a reduction reads it."""
    op = graph.ops[i]
    return is_elementwise(op) or (is_move(op) and not is_view(op))
