"""The graph that `fuse-kernels` works on: nodes, clusters of nodes, and a test that no merge makes a cycle.

A node is an op that is computed in one place, also one that no kernel can hold: the launch of a hand-written kernel
stands between what it reads and what reads it. Between nodes lie ops that every user repeats
(`op_classes.is_transparent`): they are no nodes, and an edge remembers which of them it passes through. A cluster is
a set of nodes that run together. What is upstream and downstream of a cluster is kept as bit sets of nodes, so that
the test is a few operations on integers.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from xdsl.ir import Block, Operation, SSAValue
from xdsl.traits import IsTerminator

from irc.analysis.code_size import INDEXED, LITTLE_WORK, MAX_WORK, places_of, work_of
from irc.analysis.op_classes import (
    is_elementwise,
    is_fusible,
    is_gather,
    is_move,
    is_transparent,
    is_view,
    is_window,
    reads_elsewhere,
    shape_of,
    taps_of,
)
from irc.dialects.kernel import Anchor
from irc.dialects.nd import CollectiveOp
from irc.ir.targets import target_of
from irc.ir.walks import makers_of, reached, users_of

MAX_PLACES = 16
"""Of elements that a kernel computes of one value for one element of what it stores: each is code of its own. The sum
that doubles its reach at each step, as in the gradient of a product over an axis, would compute its first step at every
place."""

Tags = tuple[int | None, ...]
"""For each axis of a value, the axis of the kernel's domain that it runs along; None for an axis of extent 1."""


@dataclass(frozen=True)
class Edge:
    """`user` reads what `producer` computes, through transparent ops; the first of `path` is next to the producer."""

    producer: int
    user: int
    path: tuple[Operation, ...]


@dataclass(eq=False)
class Cluster:
    """Nodes that run together.

    members, inputs, upstream, downstream: bit sets of nodes; of clusters upstream or downstream, of all their nodes.
    anchor: None while it is a single op that no rule has placed. domain: the iteration space; the shape of the matmul's
    result, of the reduction's operand, or of the results of a map. tags: how the value of each node lies in the
    domain; nodes without an entry are computed where they are needed and cannot be stored, but for the tails, which
    permute a result while storing it.
    reduced: nodes that depend on a reduction of the cluster. axes: the reduced axes of a `reduce` cluster. work:
    instructions of all nodes for an element, about, at all places where it is needed.
    """

    members: int
    inputs: int
    upstream: int
    downstream: int
    anchor: Anchor | None = None
    domain: tuple[int, ...] = ()
    axes: tuple[int, ...] = ()
    tags: dict[int, Tags] = field(default_factory=dict[int, Tags])
    tails: set[int] = field(default_factory=set[int])
    reduced: set[int] = field(default_factory=set[int])
    work: int = 0

    def is_independent(self, other: Cluster) -> bool:
        """Whether neither needs what the other computes."""
        return not (self.downstream & other.members or other.downstream & self.members)

    @property
    def identity(self) -> Tags:
        """The tags of a value that has the shape of the domain."""
        return tuple(range(len(self.domain)))


def bits(mask: int) -> Iterator[int]:
    """The positions of the ones, ascending."""
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low


class FusionGraph:
    """The nodes of a block of `nd` ops, in program order. Building it does not change the block."""

    def __init__(self, block: Block, repeated: Iterable[Operation] = (), stored: Iterable[Operation] = ()):
        """`repeated`: ops that users repeat although they are not transparent. `stored`: ones that they do not repeat
        although they are."""
        self.machine = target_of(block)
        self._repeated = set(repeated)
        self._stored = set(stored)
        self._inlined: dict[Operation, bool] = {}
        self._read: dict[tuple[int, tuple[int, ...]], dict[SSAValue, None]] = {}
        self.ops: list[Operation] = [
            op for op in block.ops if not op.has_trait(IsTerminator) and not self.is_inlined(op)
        ]
        self.index: dict[Operation, int] = {op: i for i, op in enumerate(self.ops)}
        self.sources: list[list[Edge]] = [self._edges(op) for op in self.ops]
        self.users: list[list[Edge]] = [[] for _ in self.ops]
        for edges in self.sources:
            for edge in edges:
                self.users[edge.producer].append(edge)
        self._gathered: dict[int, int] = {i: users for i in range(len(self.ops)) if (users := self._gatherers(i))}
        """For a node that gathers, the nodes (as bits) that gather from it: computed where they read it, every element
        would be gathered anew for each of them, and so on down a chain of gathers."""
        self._moving = sum(1 << i for i, op in enumerate(self.ops) if reads_elsewhere(op))
        self.escaping: set[int] = {i for i, op in enumerate(self.ops) if escapes(op)}
        self.cluster_of: list[Cluster] = self._singletons()
        self._places: list[int] = [1] * len(self.ops)
        """At how many places a node is computed for an element of its cluster's results."""
        self._alive: dict[Cluster, None] = dict.fromkeys(self.cluster_of)
        self._exchanges = sum(1 << i for i, op in enumerate(self.ops) if isinstance(op, CollectiveOp))

    def is_inlined(self, op: Operation) -> bool:
        """Whether users repeat the op. One whose result leaves the block is computed once.

        A reshape of what is repeated is repeated too: it is no view of a stored array.
        """
        if (known := self._inlined.get(op)) is None:
            repeated = op in self._repeated or is_transparent(op) or (is_view(op) and self.reads_inlined(op))
            known = self._inlined[op] = repeated and op not in self._stored and not escapes(op)
        return known

    def reads_inlined(self, op: Operation) -> bool:
        """Whether the first operand is computed where it is read."""
        owner = op.operands[0].owner
        return isinstance(owner, Operation) and self.is_inlined(owner)

    def _edges(self, op: Operation) -> list[Edge]:
        found: dict[Edge, None] = {}
        stack: list[tuple[SSAValue, tuple[Operation, ...]]] = [(value, ()) for value in reversed(values_read(op))]
        while stack:
            value, path = stack.pop()
            owner = value.owner
            if not isinstance(owner, Operation):
                continue
            if owner in self.index:
                found[Edge(self.index[owner], self.index[op], path)] = None
            elif self.is_inlined(owner):
                stack.extend((operand, (owner, *path)) for operand in reversed(owner.operands))
        return list(found)

    def _gatherers(self, i: int) -> int:
        found = 0
        for edge in self.users[i]:
            value = self.ops[i].results[0]
            for op in (*edge.path, self.ops[edge.user]):
                if is_gather(op) and op.operands[0] is value:
                    found |= 1 << edge.user
                value = op.results[0]
        return found if found and _gathers(self.ops[i]) else 0

    def _singletons(self) -> list[Cluster]:
        downstream = [0] * len(self.ops)
        for i in reversed(range(len(self.ops))):
            for edge in self.users[i]:
                downstream[i] |= 1 << edge.user | downstream[edge.user]
        clusters: list[Cluster] = []
        for i in range(len(self.ops)):
            inputs = upstream = 0
            for edge in self.sources[i]:
                inputs |= 1 << edge.producer
                upstream |= clusters[edge.producer].upstream
            clusters.append(Cluster(1 << i, inputs, inputs | upstream, downstream[i], work=work_of(self.ops[i])))
        return clusters

    def arrays_read(self, i: int, shape: tuple[int, ...]) -> Collection[SSAValue]:
        """The arrays of a shape that the node reads element by element, also through ops that it repeats."""
        if (known := self._read.get((i, shape))) is not None:
            return known
        found = self._read[i, shape] = dict[SSAValue, None]()
        stack = list(self.ops[i].operands)
        while stack:
            value = stack.pop()
            owner = value.owner
            if shape_of(value) != shape:
                continue
            if not isinstance(owner, Operation) or not self.is_inlined(owner):
                found[value] = None
            elif is_elementwise(owner):
                stack.extend(owner.operands)
        return found

    def is_free(self, i: int) -> bool:
        """Whether no rule has placed the node yet, and one may."""
        return self.cluster_of[i].anchor is None and is_fusible(self.ops[i])

    def delays_exchange(self, a: Cluster, b: Cluster) -> bool:
        """Whether ranks would exchange results of one of the two later if both ran together: the first collective that
        needs them is not the same."""
        one, other = (cluster.downstream & self._exchanges for cluster in (a, b))
        return one & -one != other & -other

    def can_merge(self, a: Cluster, b: Cluster) -> bool:
        """Whether a merge makes no cycle, of paths that leave one of the two and enter the other through a third, puts
        no gather beside what it reads if that was gathered itself, computes no value at more than `MAX_PLACES`, and
        makes no kernel of too much code."""
        if a.work + b.work > MAX_WORK and min(a.work, b.work) > LITTLE_WORK:
            return False
        for i, users in self._gathered.items():
            if (a.members | b.members) >> i & 1 and (a.members | b.members) & users:
                return False
        outside = ~(a.members | b.members)
        if a.downstream & b.inputs & outside or b.downstream & a.inputs & outside:
            return False
        return not self._is_everywhere(a.members | b.members)

    def _is_everywhere(self, members: int) -> bool:
        """Whether a value of these nodes would be computed at more than `MAX_PLACES`: those of its users, each time
        another one behind a user that moves."""
        if 1 << (members & self._moving).bit_count() <= MAX_PLACES:
            return False
        places: dict[int, set[tuple[int, ...]]] = {}
        for i in reversed(list(bits(members))):
            found: set[tuple[int, ...]] = set()
            for edge in self.users[i]:
                behind = (edge.user,) if self._moving >> edge.user & 1 else ()
                found |= {behind + place for place in places.get(edge.user, {()})}
            if len(found) > MAX_PLACES:
                return True
            places[i] = found or {()}
        return False

    def merge(self, into: Cluster, other: Cluster) -> None:
        """Moves the nodes of `other`. The caller has asked `can_merge`, and labels the nodes."""
        members = into.members | other.members
        upstream = (into.upstream | other.upstream) & ~members
        downstream = (into.downstream | other.downstream) & ~members
        # What is upstream of both has all of it downstream already; of one alone are few.
        for cluster in self._clusters_of((into.upstream ^ other.upstream) & ~members):
            cluster.downstream |= members | downstream
        for cluster in self._clusters_of((into.downstream ^ other.downstream) & ~members):
            cluster.upstream |= members | upstream
        del self._alive[other]
        into.members, into.upstream, into.downstream = members, upstream, downstream
        into.inputs = (into.inputs | other.inputs) & ~members
        into.work += other.work
        into.tags |= other.tags
        into.tails |= other.tails
        into.reduced |= other.reduced
        for i in bits(other.members):
            self.cluster_of[i] = into

    def _clusters_of(self, nodes: int) -> Iterator[Cluster]:
        """The clusters of the nodes, each once. The last node is found without a look at the others."""
        while nodes:
            cluster = self.cluster_of[nodes.bit_length() - 1]
            yield cluster
            nodes &= ~cluster.members

    def absorb(self, cluster: Cluster, i: int, tags: Tags | None = None) -> bool:
        """Moves a free node into the cluster, unless that makes a cycle or too much code. tags: of its value, where it
        lies in the domain."""
        other = self.cluster_of[i]
        if not self.is_free(i) or not self.can_merge(cluster, other):
            return False
        places = self._places_in(cluster, i)
        if not self._is_short(cluster, i, places) or not self._is_little_in_windows(cluster, i, places):
            return False
        self._places[i] = places
        other.work *= places
        self.merge(cluster, other)
        if tags is not None:
            cluster.tags[i] = tags
        return True

    def _places_in(self, cluster: Cluster, i: int) -> int:
        edges = [edge for edge in self.users[i] if self.cluster_of[edge.user] is cluster]
        paths = [((*edge.path, self.ops[edge.user]), self._places[edge.user]) for edge in edges]
        return places_of((_moving(path), any(map(reads_elsewhere, path)), places) for path, places in paths)

    def _is_short(self, cluster: Cluster, i: int, places: int) -> bool:
        """Whether the cluster has room for the node with what would follow it: all of that, where it is computed anew
        at several places. What follows a node at one place can still be cut, and to read a stored value takes as much
        as to read what a little is moved from."""
        room = MAX_WORK - cluster.work
        if places == 1 and room > 0:
            return True
        ahead = self._work_ahead(i)
        return ahead <= 2 * INDEXED or places * ahead <= (room if places > 1 else LITTLE_WORK)

    def _is_little_in_windows(self, cluster: Cluster, i: int, places: int) -> bool:
        """Whether a node that windows of the cluster read is little work at all of their places, with what would follow
        it; a window in a window is not."""
        if not any(is_window(self.ops[e.user]) for e in self.users[i] if self.cluster_of[e.user] is cluster):
            return True
        return not is_window(self.ops[i]) and places * self._work_ahead(i) <= LITTLE_WORK

    def _work_ahead(self, i: int) -> int:
        """Of the node and free ones that it is computed from, as far as it matters."""
        work = 0
        for node in reached([i], lambda each: [e.producer for e in self.sources[each] if self.is_free(e.producer)]):
            work += work_of(self.ops[node])
            if work > MAX_WORK:
                break
        return work

    def move(self, i: int, cluster: Cluster) -> None:
        """Moves a node that only a cluster reads, and that lies along its domain, to it from another of several nodes.
        What is upstream and downstream is not kept: no merge may follow."""
        home, bit = self.cluster_of[i], 1 << i
        home.members &= ~bit
        home.tags.pop(i, None)
        cluster.members |= bit
        for edge in self.sources[i]:
            cluster.inputs |= 1 << edge.producer
        cluster.inputs &= ~cluster.members
        cluster.tags[i] = cluster.identity
        self.cluster_of[i] = cluster

    def clusters(self) -> list[Cluster]:
        """All clusters, in the order of their first nodes."""
        return sorted(self._alive, key=lambda c: c.members & -c.members)

    def outer_users(self, i: int) -> list[Edge]:
        """The uses of a node outside its cluster."""
        return [edge for edge in self.users[i] if self.cluster_of[edge.user] is not self.cluster_of[i]]

    def is_stored(self, i: int) -> bool:
        """Whether the node's value leaves its cluster."""
        return i in self.escaping or bool(self.outer_users(i))

    def stays_inside(self, i: int, cluster: Cluster) -> bool:
        """Whether every use of the node is in the cluster."""
        return i not in self.escaping and all(self.cluster_of[edge.user] is cluster for edge in self.users[i])


def _moving(path: Sequence[Operation]) -> Operation:
    """The op of a path that has the most places of an operand: a window; else the first."""
    return max(path, key=taps_of)


def values_read(op: Operation) -> list[SSAValue]:
    """What the op and what is nested in it read."""
    return [operand for inner in op.walk() for operand in inner.operands]


def _gathers(op: Operation) -> bool:
    """Whether the op's value is computed, element by element, from what is gathered."""
    computing = reached([op], lambda each: makers_of(each) if is_elementwise(each) or is_move(each) else ())
    return any(map(is_gather, computing))


def escapes(op: Operation) -> bool:
    """Whether something that no kernel can hold uses a result: the function's return, `nd.sort`, another dialect."""
    return not all(map(is_fusible, users_of(op)))
