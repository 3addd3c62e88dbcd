"""Which values inside of a graph are kept when it is computed, beside those that were asked for.

A value that nothing else asks for is not written to memory: it is fused away. One that is needed again later is kept
then, and the graph that computed it without keeping it is remembered: the next of its structure keeps it at once. So a
loop that updates a Tensor and reads a sum of it each time computes each update once, after the first few.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Hashable, Sequence

from irc_frontend.graph import LEAF, Node

MAX_KEPT = 512
"""Structures that are remembered; the one used least recently goes first."""

_SAME_ELEMENTS = frozenset(["reshape", "broadcast", "permute"])
"""Their operand is what is worth keeping."""

_MADE = frozenset([LEAF, "constant", "iota"])
"""There is nothing to keep."""

_lock = threading.Lock()
_needed: OrderedDict[Hashable, set[int]] = OrderedDict()


def kept_beside(order: Sequence[Node], roots: Sequence[Node], structure: Hashable) -> list[Node]:
    """The nodes, of those in `order`, whose values are kept beside the roots'. structure: that of the graph."""
    numbers = {node: number for number, node in enumerate(order)}
    found = dict.fromkeys(_needed_again(order))
    with _lock:
        for node in found:
            assert node.computed is not None
            _remember(*node.computed)
        known = sorted(_needed.get(structure, ()))
    found |= dict.fromkeys(order[number] for number in known if order[number].op not in _MADE)
    kept = [node for node in found if node not in roots]
    for node in order:
        if node.op != LEAF:
            node.computed = structure, numbers[node]
    return kept


def _needed_again(order: Sequence[Node]) -> list[Node]:
    """The nodes that were computed before and not kept, and that a node needs which was not."""
    operands = [operand for node in order if node.computed is None for operand in node.operands]
    sources = map(_source, (operand for operand in operands if operand.computed is not None))
    return [node for node in sources if node.op not in _MADE and node.computed is not None]


def _source(node: Node) -> Node:
    while node.op in _SAME_ELEMENTS:
        node = node.operands[0]
    return node


def _remember(structure: Hashable, number: int) -> None:
    _needed.setdefault(structure, set()).add(number)
    _needed.move_to_end(structure)
    while len(_needed) > MAX_KEPT:
        _needed.popitem(last=False)
