"""Which nodes of a graph irc does, and which of them make a program together.

The graph is cut into levels, behind random numbers that wait for nothing: a level has one program for each device, then
the nodes that stay with torch. A node that irc does comes one level behind the nodes of torch that it depends on, a
node of torch behind the program of its level. So no path leads from a program through torch back into it, and nothing
has to be searched for cycles.

Views, and arrays that are made from nothing and that the graph does not give, belong to nobody: each program that reads
one records it again, and torch makes those that it needs itself. So a program stores no views, and reads through those
of its operands. What is computed element by element a later program computes again, from what is in memory, where that
moves fewer bytes than to store it: so the gradient's programs read what the forward pass saved, as torch's partitioner
meant when it had them compute it again.

Where there are collectives, `irc_frontend.torch.collectives` says at which levels.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import torch
from torch.fx import Graph
from torch.fx import Node as FxNode
from torch.utils._pytree import tree_leaves

from irc_frontend.torch.collectives import Issues, in_time, is_in_flight, is_issue, is_wait, ready_first
from irc_frontend.torch.ops import EMPTY, VIEWS
from irc_frontend.torch.rules import device_of, value_of, why_left

_CAST = torch.ops.aten._to_copy.default
"""Computes element by element, and has no tag that says so."""

MIN_REPEATED = 1 << 20
"""Bytes of an array at least, that it is computed again for: smaller ones stay in the L2."""

MIN_DONATED = 1 << 16
"""Bytes of an argument at least, that a program writes to: torch copies all smaller ones in one launch."""

MAX_REPEATED = 64
"""Nodes that are computed again for one array."""


@dataclass
class Subgraph:
    """The nodes of one program. own: those that it alone computes, or computes first; repeated: those of others that it
    computes again; body: all of them, in the order of the graph, with the views that it reads through; inputs: what
    they take from outside; results: what others take of them; donated: inputs, arguments of the graph, whose new values
    are the first results, in order, and are written to their memory."""

    level: int
    device: torch.device
    own: list[FxNode] = field(default_factory=list)
    repeated: list[FxNode] = field(default_factory=list)
    body: list[FxNode] = field(default_factory=list)
    inputs: list[FxNode] = field(default_factory=list)
    results: list[FxNode] = field(default_factory=list)
    donated: list[FxNode] = field(default_factory=list)


@dataclass
class Division:
    """first: the numbers that torch draws before anything else, for nothing has to be there, and the collectives of
    arguments. subgraphs: the programs by
    level. left: the other nodes of torch by level, in order, with the views that they need. writes: the copies into
    arguments that come last. reasons: why each node that could have been irc's stays with torch."""

    first: list[FxNode]
    subgraphs: list[list[Subgraph]]
    left: list[list[FxNode]]
    writes: list[FxNode]
    reasons: dict[FxNode, str]


def divide(graph: Graph, refused: Mapping[FxNode, str]) -> Division:
    """Divides a functional ATen graph of static shapes. `refused` are nodes that stay with torch, with the reason."""
    return _Divider(graph, refused).division()


class _Divider:
    def __init__(self, graph: Graph, refused: Mapping[FxNode, str]):
        self._order = {node: position for position, node in enumerate(graph.nodes)}
        self._reasons: dict[FxNode, str] = {}
        self._ready: dict[FxNode, int] = {}
        """The level of a program that can use the node."""
        self._done: dict[FxNode, int] = {}
        """The level at whose end the node is there."""
        self._subgraphs: dict[tuple[int, torch.device], Subgraph] = {}
        self._subgraph_of: dict[FxNode, Subgraph] = {}
        self._loose: set[FxNode] = set()
        """Views, and arrays made from nothing."""
        self._refused = refused
        self._writes = writes_of(graph)
        self._first: list[FxNode] = []
        own: list[FxNode] = []
        issues, last_ordered = Issues(), None
        for node in graph.nodes:
            if _is_write(node):
                continue
            if node.op in ("placeholder", "get_attr", "output"):
                self._ready[node] = self._done[node] = 0
                continue
            reason = self._why_left(node)
            ready = max((self._ready[x] for x in node.all_input_nodes), default=0)
            done = max((self._done[x] for x in node.all_input_nodes), default=0)
            if reason is not None:
                self._reasons[node] = reason
                if is_issue(node):
                    done = issues.add(node, done)
                elif is_wait(node):
                    done += any(map(is_in_flight, node.all_input_nodes))
                elif _is_ordered(node):
                    if last_ordered is None and not node.all_input_nodes:
                        self._first.append(node)
                        self._ready[node] = self._done[node] = 0
                        continue
                    done = last_ordered = max(done, last_ordered or 0)
                self._ready[node], self._done[node] = done + 1, done
            elif self._is_loose(node):
                self._loose.add(node)
                self._ready[node], self._done[node] = ready, done
            else:
                self._ready[node] = self._done[node] = ready
                own.append(node)
        issues.put_off(self._sorted([*own, *self._loose]), self._loose, self._reasons, self._done)
        for node in own:
            self._own(node, self._done[node])

    def _why_left(self, node: FxNode) -> str | None:
        if node in self._refused:
            return self._refused[node]
        if node.target is operator.getitem:
            return self._reasons.get(node.all_input_nodes[0])
        if is_issue(node) or is_wait(node):
            return "a collective"
        device = device_of(node)
        return why_left(node, "none" if device is None else device.type)

    def _is_loose(self, node: FxNode) -> bool:
        if node.target is operator.getitem:
            return node.all_input_nodes[0] in self._loose
        return node.target in VIEWS or not (node.all_input_nodes or _is_given(node))

    def _own(self, node: FxNode, level: int) -> None:
        if node.target is operator.getitem:
            subgraph = self._subgraph_of[node.all_input_nodes[0]]
        else:
            device = device_of(node)
            assert device is not None  # a node without one stays with torch
            subgraph = self._subgraphs.setdefault((level, device), Subgraph(level, device))
        subgraph.own.append(node)
        self._subgraph_of[node] = subgraph

    def division(self) -> Division:
        left = [node for node in self._order if node in self._reasons or node.op == "output"]
        taken = {node: None for top in (*left, *self._writes) for node in self._through(top.all_input_nodes)}
        # What a program takes is known as soon as those behind it are complete.
        for subgraph in sorted(self._subgraphs.values(), key=lambda subgraph: subgraph.level)[::-1]:
            self._complete(subgraph, taken)
            taken.update(dict.fromkeys(subgraph.inputs))
        levels = 1 + max(
            [subgraph.level for subgraph in self._subgraphs.values()] + [self._done[node] for node in left]
        )
        for subgraph in self._subgraphs.values():
            self._donate(subgraph)
        of_torch = [node for node in self._order if node in self._reasons or (node in taken and node in self._loose)]
        of_torch = [node for node in of_torch if node not in self._first]
        subgraphs = [
            [subgraph for subgraph in self._subgraphs.values() if subgraph.level == level and subgraph.results]
            for level in range(levels)
        ]
        left = [[node for node in of_torch if self._done[node] == level] for level in range(levels)]
        early = ready_first(left[0], self._subgraph_of.keys())
        left[0] = [node for node in left[0] if node not in early]
        inputs = [[node for subgraph in level for node in subgraph.inputs] for level in subgraphs]
        writes = [node for node in self._writes if not self._is_donated(node)]
        left = in_time(inputs, left, self._loose)
        return Division([*self._first, *early], subgraphs, left, writes, self._reasons)

    def _donate(self, subgraph: Subgraph) -> None:
        """Finds the arguments whose new value a program on a GPU makes, and that nothing else reads."""
        if subgraph.device.type != "cuda":
            return
        body, pairs = set(subgraph.body), dict[FxNode, FxNode]()
        elsewhere = {node for each in self._subgraphs.values() if each is not subgraph for node in each.inputs}
        for write in self._writes:
            argument, value = write.all_input_nodes
            is_own = argument.op == "placeholder" and argument in subgraph.inputs and argument not in elsewhere
            is_own = is_own and all(user in body or _is_write(user) for user in self._readers(argument))
            is_own = is_own and nbytes_of(argument) >= MIN_DONATED
            is_new = value in subgraph.results and value not in pairs and not self._is_result(value)
            if is_own and is_new and _lies_alike(argument, value):
                pairs[value] = argument
        subgraph.donated = list(pairs.values())
        subgraph.results = [*pairs, *(node for node in subgraph.results if node not in pairs)]

    def _readers(self, node: FxNode) -> Iterator[FxNode]:
        """What reads an array or a view of it."""
        for user in node.users:
            yield from self._readers(user) if user in self._loose else (user,)

    def _is_result(self, node: FxNode) -> bool:
        """Whether the graph gives an array, or a view of it."""
        return any(user.op == "output" or (user in self._loose and self._is_result(user)) for user in node.users)

    def _is_donated(self, write: FxNode) -> bool:
        argument, value = write.all_input_nodes
        subgraph = self._subgraph_of.get(value)
        return subgraph is not None and (argument, value) in zip(subgraph.donated, subgraph.results, strict=False)

    def _through(self, nodes: Iterable[FxNode]) -> Iterator[FxNode]:
        """The nodes, and those behind the views among them."""
        for node in nodes:
            yield node
            if node in self._loose:
                yield from self._through(node.all_input_nodes)

    def _complete(self, subgraph: Subgraph, taken: Mapping[FxNode, None]) -> None:
        """Finds the results of a subgraph, which others take, what they need of its nodes, what these read, through
        views, and what of that it computes again."""
        subgraph.results = [node for node in subgraph.own if node in taken]
        own = set(subgraph.own)
        body, inputs = self._needed(subgraph.results, lambda node: node in own or node in self._loose)
        for node in self._sorted(inputs)[::-1]:
            if self._is_repeatable(node, subgraph.device) and nbytes_of(node) >= MIN_REPEATED:
                cone, leaves = self._cone(node, subgraph.device, inputs)
                if len(cone) <= MAX_REPEATED and self._pays(node, cone, leaves - body - inputs, taken):
                    body |= cone
                    inputs = (inputs | leaves) - body
        subgraph.own = [node for node in subgraph.own if node in body]
        subgraph.repeated = [node for node in self._sorted(body) if node not in own and node not in self._loose]
        subgraph.body, subgraph.inputs = self._sorted(body), self._sorted(inputs)

    def _sorted(self, nodes: Iterable[FxNode]) -> list[FxNode]:
        return sorted(nodes, key=self._order.__getitem__)

    def _needed(self, nodes: Sequence[FxNode], is_inside: Callable[[FxNode], bool]) -> tuple[set[FxNode], set[FxNode]]:
        """The nodes with what they need of nodes that are inside, and what those read from outside."""
        body, outside, stack = set(nodes), set[FxNode](), list(nodes)
        while stack:
            for read in stack.pop().all_input_nodes:
                if not is_inside(read):
                    outside.add(read)
                elif read not in body:
                    body.add(read)
                    stack.append(read)
        return body, outside

    def _cone(self, node: FxNode, device: torch.device, there: Container[FxNode]) -> tuple[set[FxNode], set[FxNode]]:
        """What a program of the device computes again for a node, and what that reads: what is there stays as it is."""
        return self._needed([node], lambda x: x not in there and self._is_repeatable(x, device))

    def _is_repeatable(self, node: FxNode, device: torch.device) -> bool:
        """Whether a program of the device may compute a node of another again."""
        if node in self._loose:
            return True
        is_pointwise = node.target is _CAST or torch.Tag.pointwise in getattr(node.target, "tags", ())
        return is_pointwise and node in self._subgraph_of and self._subgraph_of[node].device == device

    def _pays(self, node: FxNode, cone: set[FxNode], leaves: Iterable[FxNode], taken: Mapping[FxNode, None]) -> bool:
        """Whether to compute an array again, by the nodes of a cone from leaves that would not be read otherwise, moves
        fewer bytes than to read it. Unless others take it, too, it is not stored then; and where its own subgraph has
        no other use for it, that does not read the leaves which nothing else there reads."""
        home, size = self._subgraph_of[node], nbytes_of(node)
        saved = size
        # A leaf that another program makes for itself is stored for this.
        needed = sum(nbytes_of(x) if x in taken or x not in self._subgraph_of else 2 * nbytes_of(x) for x in leaves)
        if node not in taken:
            saved += size
            if not self._is_read(node, home):
                saved += sum(nbytes_of(x) for x in leaves if not self._is_read(x, home, apart_from=cone))
        return needed < saved

    def _is_read(self, node: FxNode, subgraph: Subgraph, apart_from: Container[FxNode] = ()) -> bool:
        """Whether nodes of a subgraph, apart from some, read the node or a view of it."""
        readers = (user for user in node.users if user not in apart_from)
        return any(
            self._subgraph_of.get(x) is subgraph or (x in self._loose and self._is_read(x, subgraph)) for x in readers
        )


def nbytes_of(node: FxNode) -> int:
    """The bytes of a node's array, or arrays."""
    return sum(x.nbytes for x in tree_leaves(value_of(node)) if isinstance(x, torch.Tensor))


def writes_of(graph: Graph) -> list[FxNode]:
    """The copies at a graph's end that give arguments their new values."""
    return [node for node in graph.nodes if _is_write(node)]


def _is_write(node: FxNode) -> bool:
    """Whether it is one of the copies at a graph's end that give an argument its new value: AOTAutograd has no others,
    and nothing reads them."""
    return node.target is torch.ops.aten.copy_.default and not node.users and len(node.all_input_nodes) == 2


def _lies_alike(one: FxNode, other: FxNode) -> bool:
    """Whether two arrays have one type and lie alike."""
    a, b = value_of(one), value_of(other)
    return (a.dtype, a.device, a.shape, a.stride()) == (b.dtype, b.device, b.shape, b.stride())


def _is_given(node: FxNode) -> bool:
    """Whether the graph gives the array, or a view of it, and something is written into it."""
    if node.target in EMPTY:
        return False
    return any(user.op == "output" or (user.target in VIEWS and _is_given(user)) for user in node.users)


def _is_ordered(node: FxNode) -> bool:
    """Whether it draws from torch's generator or has effects, so that it must keep its place among others like it."""
    tags = getattr(node.target, "tags", ())
    return torch.Tag.nondeterministic_seeded in tags or node.is_impure()
