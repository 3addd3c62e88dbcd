"""The graphs that the backend made of a call, and what they leave to torch."""

from __future__ import annotations

import operator
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from torch._higher_order_ops.effects import with_effects
from torch.fx import Node

from irc_frontend.torch.complexes import COMPLEX_VIEWS
from irc_frontend.torch.graphs import Compiled, watching
from irc_frontend.torch.ops import EMPTY, VIEWS


@dataclass(frozen=True)
class Graph:
    """programs: how many irc compiled. left: the nodes that torch runs, and why, `sort.default (no rule)`; without views,
    memory as it is and checks of errors, which compute nothing."""

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
    return Graph(
        kind == "backward",
        len(compiled.programs),
        tuple(f"{_name(node)} ({division.reasons.get(node, 'made by torch')})" for node in left),
    )


def _name(node: Node) -> str:
    return str(node.target).removeprefix("aten.")


CHECKS = frozenset([torch.ops.aten._linalg_check_errors.default])
"""Ops that read what was found on the host, and raise torch's error: they compute nothing."""


def _computes_nothing(node: Node) -> bool:
    if node.target is with_effects:
        return node.args[1] in CHECKS
    if node.target is operator.getitem:
        return _computes_nothing(node.all_input_nodes[0])
    return any(node.target in each for each in (VIEWS, COMPLEX_VIEWS, EMPTY, CHECKS))
