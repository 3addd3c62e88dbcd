"""Which nodes of a graph irc does, and which of them make a program together.

The graph is cut into levels: a level has one program for each device, then the nodes that stay with torch. A node that
irc does comes one level behind the nodes of torch that it depends on, a node of torch behind the program of its level.
So no path leads from a program through torch back into it, and nothing has to be searched for cycles.

Views, and arrays that are made from nothing and that the graph does not give, belong to nobody: each program that reads
one records it again, and torch makes those that it needs itself. So a program stores no views, and reads through those
of its operands.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

import torch
from torch.fx import Graph
from torch.fx import Node as FxNode

from irc_frontend.torch.ops import EMPTY, VIEWS
from irc_frontend.torch.rules import device_of, why_left


@dataclass
class Part:
    """The nodes of one program. body: in the order of the graph, with the views that it reads through; inputs: what
    they take from outside; results: what others take of them."""

    level: int
    device: torch.device
    own: list[FxNode] = field(default_factory=list)
    body: list[FxNode] = field(default_factory=list)
    inputs: list[FxNode] = field(default_factory=list)
    results: list[FxNode] = field(default_factory=list)


@dataclass
class Division:
    """parts: the programs by level. left: the nodes of torch by level, in order, with the views that they need.
    reasons: why each node that could have been irc's stays with torch."""

    parts: list[list[Part]]
    left: list[list[FxNode]]
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
        self._parts: dict[tuple[int, torch.device], Part] = {}
        self._part_of: dict[FxNode, Part] = {}
        self._loose: set[FxNode] = set()
        """Views, and arrays made from nothing."""
        self._refused = refused
        last_ordered = 0
        for node in graph.nodes:
            if node.op in ("placeholder", "get_attr", "output"):
                self._ready[node] = self._done[node] = 0
                continue
            reason = self._why_left(node)
            ready = max((self._ready[x] for x in node.all_input_nodes), default=0)
            done = max((self._done[x] for x in node.all_input_nodes), default=0)
            if reason is not None:
                self._reasons[node] = reason
                if _is_ordered(node):
                    done = last_ordered = max(done, last_ordered)
                self._ready[node], self._done[node] = done + 1, done
            elif self._is_loose(node):
                self._loose.add(node)
                self._ready[node], self._done[node] = ready, done
            else:
                self._ready[node] = self._done[node] = ready
                self._own(node, ready)

    def _why_left(self, node: FxNode) -> str | None:
        if node in self._refused:
            return self._refused[node]
        if node.target is operator.getitem:
            return self._reasons.get(node.all_input_nodes[0])
        device = device_of(node)
        return why_left(node, "none" if device is None else device.type)

    def _is_loose(self, node: FxNode) -> bool:
        if node.target is operator.getitem:
            return node.all_input_nodes[0] in self._loose
        return node.target in VIEWS or not (node.all_input_nodes or _is_given(node))

    def _own(self, node: FxNode, level: int) -> None:
        if node.target is operator.getitem:
            part = self._part_of[node.all_input_nodes[0]]
        else:
            device = device_of(node)
            assert device is not None  # a node without one stays with torch
            part = self._parts.setdefault((level, device), Part(level, device))
        part.own.append(node)
        self._part_of[node] = part

    def division(self) -> Division:
        left = [node for node in self._order if node in self._reasons or node.op == "output"]
        taken = {node: None for top in left for node in self._through(top.all_input_nodes)}
        for part in self._parts.values():
            self._complete(part)
            taken.update(dict.fromkeys(part.inputs))
        for part in self._parts.values():
            part.results = [node for node in part.own if node in taken]
        levels = 1 + max([part.level for part in self._parts.values()] + [self._done[node] for node in left])
        of_torch = [node for node in self._order if node in self._reasons or (node in taken and node in self._loose)]
        return Division(
            [
                [part for part in self._parts.values() if part.level == level and part.results]
                for level in range(levels)
            ],
            [[node for node in of_torch if self._done[node] == level] for level in range(levels)],
            self._reasons,
        )

    def _through(self, nodes: Iterable[FxNode]) -> Iterator[FxNode]:
        """The nodes, and those behind the views among them."""
        for node in nodes:
            yield node
            if node in self._loose:
                yield from self._through(node.all_input_nodes)

    def _complete(self, part: Part) -> None:
        """Finds what the nodes of a part read, through views."""
        read = dict.fromkeys(node for own in part.own for node in self._through(own.all_input_nodes))
        body = {*part.own, *(node for node in read if node in self._loose)}
        part.body = sorted(body, key=self._order.__getitem__)
        part.inputs = sorted((node for node in read if node not in body), key=self._order.__getitem__)


def _is_given(node: FxNode) -> bool:
    """Whether the graph gives the array, or a view of it, and something is written into it."""
    if node.target in EMPTY:
        return False
    return any(user.op == "output" or (user.target in VIEWS and _is_given(user)) for user in node.users)


def _is_ordered(node: FxNode) -> bool:
    """Whether it draws from torch's generator or has effects, so that it must keep its place among others like it."""
    tags = getattr(node.target, "tags", ())
    return torch.Tag.nondeterministic_seeded in tags or node.is_impure()
