"""Operands that read 0 outside of their arrays: where the ends of a view say where that is, a load needs no test.

Loads of tiles compare coordinates with the ends of the view (`checked`) and give 0 beyond them. So does a copy by TMA
or cp.async. It takes a dimension of the view for each axis that is left.
"""

from __future__ import annotations

from irc.tiling.domains import Domains
from irc.tiling.nodes import Choose, Constant, Load, Node


def keep_bounds(domains: Domains, node: Node) -> None:
    """Where an operand of a product may be a load without tests: keeps the axes that it leaves dimensions of the
    view."""
    if isinstance(node, Choose) and isinstance(node.inside, Load) and (axes := _axes(domains, node, node.inside)):
        operand = domains.operands[node.inside.argument]
        operand.bounded |= axes


def bounded_load(domains: Domains, node: Node) -> Load | None:
    """The load that gives an operand of a product, 0 outside of its array as well; None where it takes tests."""
    if not isinstance(node, Choose) or not isinstance(node.inside, Load):
        return None
    axes = _axes(domains, node, node.inside)
    bounded = domains.operands[node.inside.argument].bounded
    return node.inside if axes is not None and axes <= bounded else None


def _axes(domains: Domains, node: Choose, load: Load) -> frozenset[int] | None:
    """The axes along which the tests compare the load's coordinates with the ends of its array; None where a test
    compares anything else, or something else than 0 is outside."""
    if not isinstance(node.outside, Constant) or node.outside.value != 0:
        return None
    resolve, shape = domains.bindings.resolve, domains.operands[load.argument].shape
    coords = [resolve(lin) for lin in load.at]
    found: set[int] = set()
    for test in node.tests:
        lin = resolve(test.lin)
        if lin not in coords or test.low not in (None, 0):
            return None
        axis = coords.index(lin)
        if test.high not in (None, shape[axis]):
            return None
        found.add(axis)
    return frozenset(found)
