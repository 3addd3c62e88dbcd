"""The collectives in a graph, by the functional ops of torch.distributed: an op that issues one, and `wait_tensor`,
behind which its result is there.

They are issued in the order of the graph, whatever they wait for: ranks whose graphs have the same collectives issue
them in the same order, however irc divides each graph. Programs run between: what a collective gives is there two
levels later, and products of its own level that it does not need are put off until it is issued. A wait stands before
the first use of what it waits for.
"""

from __future__ import annotations

import operator
from collections.abc import Container, Iterable, Sequence, Set
from itertools import chain

import torch
from torch._ops import OpOverload
from torch.fx import Node as FxNode
from torch.utils._pytree import tree_leaves

from irc_frontend.torch.rules import value_of

NAMESPACES = ("_c10d_functional", "_c10d_functional_autograd")

BUCKET = 25 << 20
"""Bytes after which no further collective is issued at the end of a level: the buckets of DDP."""

MIN_HIDDEN = 1 << 20
"""Bytes at least of the collectives behind which products are put off: others take no longer than some launches."""

MAX_LATE = 2
"""Levels by which a wait is put off that nothing needs: what the collective reads stays in memory until then."""

_PRODUCTS = {
    *("aten::mm", "aten::addmm", "aten::bmm", "aten::baddbmm", "aten::_grouped_mm", "aten::_scaled_mm"),
    *("aten::convolution", "aten::convolution_backward", "irc::attention", "irc::attention_gradients"),
}
"""What takes as long as a collective may."""


def _name(node: FxNode) -> str:
    return node.target.name().partition(".")[0] if isinstance(node.target, OpOverload) else ""


def is_wait(node: FxNode) -> bool:
    """Whether it waits for a collective."""
    space, _, name = _name(node).partition("::")
    return space in NAMESPACES and name == "wait_tensor"


def is_issue(node: FxNode) -> bool:
    """Whether it issues collectives."""
    return _name(node).partition("::")[0] in NAMESPACES and not is_wait(node)


def is_in_flight(node: FxNode) -> bool:
    """Whether it is what a collective gives, which may not be there yet."""
    return is_issue(node.all_input_nodes[0] if node.target is operator.getitem else node)


def _bytes(node: FxNode) -> int:
    """Those of a collective's operands or results, whichever are more."""
    sides = [value_of(x) for x in node.all_input_nodes], value_of(node)
    return max(sum(x.nbytes for x in tree_leaves(side) if isinstance(x, torch.Tensor)) for side in sides)


class Issues:
    """The level at whose end each collective is issued: never one before an earlier one, and no more than a bucket of
    them at one level, so that programs run while others are under way."""

    def __init__(self) -> None:
        self.of_level: dict[int, list[FxNode]] = {}
        self._level, self._bytes = 0, 0

    def add(self, node: FxNode, done: int) -> int:
        """The level of the next collective in the graph, whose operands are there at the end of the level `done`."""
        if done > self._level:
            self._level, self._bytes = done, 0
        elif self._bytes >= BUCKET:
            self._level, self._bytes = self._level + 1, 0
        self._bytes += _bytes(node)
        self.of_level.setdefault(self._level, []).append(node)
        return self._level

    def put_off(
        self, nodes: Sequence[FxNode], views: Container[FxNode], of_torch: Iterable[FxNode], done: dict[FxNode, int]
    ) -> None:
        """Changes the levels `done` of some of the nodes, what irc computes and views, in order: what no node of torch
        at the level needs waits for the next one. What no collective needs is put off once, lest all of that
        comes last."""
        tops = list(of_torch)
        awaited = _behind(chain.from_iterable(self.of_level.values()))
        fixed: set[FxNode] = set()
        for level in range(max(self.of_level, default=-1) + 1):
            if sum(map(_bytes, self.of_level.get(level, ()))) < MIN_HIDDEN:
                continue
            needed = _behind(node for node in tops if done[node] == level)
            here = [node for node in nodes if done[node] == level]
            if all(node in views for node in here if node in needed):  # no program makes what they read
                continue
            found = _separable([node for node in here if node not in needed], fixed)
            done.update(dict.fromkeys(found, level + 1))
            fixed |= found - awaited


def _behind(tops: Iterable[FxNode]) -> set[FxNode]:
    """The nodes, and all that they depend on."""
    found, stack = set[FxNode](), list(tops)
    while stack:
        node = stack.pop()
        if node not in found:
            found.add(node)
            stack.extend(node.all_input_nodes)
    return found


def _separable(nodes: Sequence[FxNode], fixed: Container[FxNode]) -> set[FxNode]:
    """Of these, in order, the products that are not fixed, what depends on them, and what they alone need."""
    found: set[FxNode] = set()
    for node in nodes:
        if (_name(node) in _PRODUCTS and node not in fixed) or not found.isdisjoint(node.all_input_nodes):
            found.add(node)
    for node in nodes[::-1]:
        if node not in fixed and node.users and found.issuperset(node.users):
            found.add(node)
    whole = set(nodes) - found
    return {x for x in found if not (x.target is operator.getitem and x.all_input_nodes[0] in whole)}


def ready_first(nodes: Sequence[FxNode], own: Set[FxNode]) -> list[FxNode]:
    """Of the nodes of torch at the first level, in order, the first collectives that depend on none of irc's own, with
    what they depend on: no program has to be waited for."""
    found: set[FxNode] = set()
    for node in filter(is_issue, nodes):
        behind = _behind([node])
        if not own.isdisjoint(behind):
            break
        found |= behind
    return [node for node in nodes if node in found]


def in_time(
    taken: Sequence[Iterable[FxNode]], left: Sequence[Sequence[FxNode]], views: Container[FxNode]
) -> list[list[FxNode]]:
    """The nodes of torch by level, in order, where waits, and views of what is waited for, stand before their first
    use, if there is one within MAX_LATE levels. taken: what the programs of each level take; left: the nodes of torch
    behind them."""
    placed: list[list[FxNode]] = [[] for _ in left]
    late: dict[FxNode, int] = {}

    def place(nodes: Iterable[FxNode], level: int) -> None:
        for node in nodes:
            if node in late:
                del late[node]
                place(node.all_input_nodes, level)
                placed[level].append(node)

    for level, nodes in enumerate(left):
        place(taken[level], level - 1)
        for node in nodes:
            if is_wait(node) or (node in views and not late.keys().isdisjoint(node.all_input_nodes)):
                late[node] = level
            else:
                place(node.all_input_nodes, level)
                placed[level].append(node)
        place([node for node, first in late.items() if is_wait(node) and first + MAX_LATE <= level], level)
    place(list(late), len(left) - 1)
    return placed
