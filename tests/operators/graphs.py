"""The graphs that the backend made of a call, and what they leave to torch."""

from __future__ import annotations

import operator
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass

from torch.fx import Node

from irc_frontend.torch.graphs import Compiled, watching
from irc_frontend.torch.ops import EMPTY, VIEWS


@dataclass(frozen=True)
class Graph:
    """programs: how many irc compiled. left: what each node that torch runs is, and why: `sort.default (no rule)`;
    views and memory as it is, which compute nothing, are not among them."""

    is_backward: bool
    programs: int
    left: tuple[str, ...]


@contextmanager
def watched() -> Generator[list[Graph]]:
    """Within the block, the graphs that are compiled."""
    graphs: list[Graph] = []
    with watching(lambda kind, compiled: graphs.append(_graph(kind, compiled))):
        yield graphs


def _graph(kind: str, compiled: Compiled) -> Graph:
    division = compiled.division
    left = [node for level in division.left for node in level if not _computes_nothing(node)]
    texts = [
        f"{str(node.target).removeprefix('aten.')} ({division.reasons.get(node, 'made by torch')})" for node in left
    ]
    return Graph(kind == "backward", len(compiled.programs), tuple(texts))


def _computes_nothing(node: Node) -> bool:
    if node.target is operator.getitem:
        return _computes_nothing(node.all_input_nodes[0])
    return node.target in VIEWS or node.target in EMPTY
