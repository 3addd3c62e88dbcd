"""Seeds of random numbers as inputs of the program that draws them, so that one program draws the parameters of all
layers alike."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from operator import is_not

import numpy as np

from irc_frontend.graph import LEAF, Node, sorted_nodes

DRAWS = frozenset(["random_normal", "random_uniform"])


def with_given_seeds(order: Sequence[Node], roots: Sequence[Node]) -> tuple[Sequence[Node], Sequence[Node]]:
    """The same nodes and roots, where each seed that is a constant is a leaf with its value. Nothing of a graph that
    draws by no such seed is copied, and elsewhere nothing that does not depend on one."""
    if not any(map(_draws_by_constant, order)):
        return order, roots
    known: dict[Node, Node] = {}
    for node in order:
        operands = [known.get(operand, operand) for operand in node.operands]
        if _draws_by_constant(node):
            operands = [_leaf(node.operands[0])]
        if any(map(is_not, operands, node.operands)):
            like = partial(Node, attributes=node.attributes, result=node.result, place=node.place)
            known[node] = like(node.op, operands, node.shape, node.element)
    found = [known.get(root, root) for root in roots]
    return sorted_nodes(found), found


def _draws_by_constant(node: Node) -> bool:
    return node.op in DRAWS and node.operands[0].op == "constant"


def _leaf(constant: Node) -> Node:
    value = np.asarray(dict(constant.attributes)["value"], np.int64)
    return Node(LEAF, (), (), constant.element, value=value, place=constant.place)
