"""The graphs that the backend made of a call, and what they leave to torch."""

from __future__ import annotations

import operator
import re
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass

from torch.fx import Node

from irc_frontend.torch.graphs import Compiled, watching
from irc_frontend.torch.ops import EMPTY, VIEWS

CALLS = "<calls>"
"""The file of a function that calls an operator: with one sample a line."""


@dataclass(frozen=True)
class Left:
    """A node that torch runs. text: what it is, and why: `sort.default (no rule)`; line: where `CALLS` has the call that
    it is of, None if it does not say."""

    text: str
    line: int | None


@dataclass(frozen=True)
class Graph:
    """programs: how many irc compiled. left: without views and memory as it is, which compute nothing."""

    is_backward: bool
    programs: int
    left: tuple[Left, ...]


@contextmanager
def watched() -> Generator[list[Graph]]:
    """Within the block, the graphs that are compiled."""
    graphs: list[Graph] = []
    with watching(lambda kind, compiled: graphs.append(_graph(kind, compiled))):
        yield graphs


def _graph(kind: str, compiled: Compiled) -> Graph:
    division = compiled.division
    left = [node for level in division.left for node in level if not _computes_nothing(node)]
    return Graph(
        kind == "backward",
        len(compiled.programs),
        tuple(Left(f"{_name(node)} ({division.reasons.get(node, 'made by torch')})", _line(node)) for node in left),
    )


def _name(node: Node) -> str:
    return str(node.target).removeprefix("aten.")


_LINE = re.compile(rf'File "{CALLS}", line (\d+)')


def _line(node: Node) -> int | None:
    found = _LINE.search(node.meta.get("stack_trace") or "")
    return int(found[1]) if found else None


def _computes_nothing(node: Node) -> bool:
    if node.target is operator.getitem:
        return _computes_nothing(node.all_input_nodes[0])
    return node.target in VIEWS or node.target in EMPTY
