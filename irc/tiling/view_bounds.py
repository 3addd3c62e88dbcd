"""Operands that read 0 outside of their arrays: where the ends of a view say where that is, a load needs no test.

Loads of tiles compare coordinates with the ends of the view (`checked`) and give 0 beyond them. So does a copy by TMA
or cp.async. It takes a dimension of the view for each axis that is left. What is computed of such a load keeps its
tests, but TMA still brings the pixels of a window by the dimensions of the view. Where windows move by one and there is
one for each pixel, rows of pixels do too, one behind the other, and a view of these is a box.
"""

from __future__ import annotations

from irc.dialects.tile import shape_of
from irc.ir.iteration import Kind, Pattern, iteration_of, pattern_of
from irc.layout.affine import slope_of
from irc.tiling.domains import Domains
from irc.tiling.nodes import Bounded, Choose, Constant, Dot, Load, Node, walk_nodes

SINGLE = ([], [1])
"""Factors of the coordinates that are a dimension, or 0."""


def keep_bounds(domains: Domains, dot: Dot) -> None:
    """Keeps axes dimensions of the view where operands of a product leave them, if that saves tests, and those along
    which windows move, unless pixels are rows one behind the other."""
    for node in dot.operands():
        if isinstance(node, Choose) and isinstance(node.inside, Load) and (axes := _axes(domains, node, node.inside)):
            domains.operands[node.inside.argument].bounded |= axes
    if pattern_of(dot.op) is not Pattern.CONVOLUTION or _has_window_for_each_pixel(dot):
        return
    for load in walk_nodes([dot.lhs]):
        if isinstance(load, Load):
            moving = (axis for axis, lin in enumerate(load.at) if lin.const or [f for _, f in lin.terms] not in SINGLE)
            domains.operands[load.argument].bounded |= frozenset(moving)


def _has_window_for_each_pixel(dot: Dot) -> bool:
    """Whether windows move by one, over as many places as there are pixels."""
    iteration = iteration_of(dot.op)
    shape = shape_of(dot.op.operands[0].type)
    for expr, extent in zip(iteration.inputs[0].map.results, shape, strict=True):
        if not any(iteration.dims[i].kind is Kind.WINDOW for i in expr.used_dims()):
            continue
        rows = [i for i in expr.used_dims() if iteration.dims[i].role == "m"]
        if any(slope_of(expr, i) != 1 or iteration.dims[i].extent != extent for i in rows):
            return False
    return True


def keep_window_bounds(domains: Domains, node: Bounded) -> None:
    """Keeps axes dimensions of the view where a window leaves its array."""
    if isinstance(node.inside, Load) and (axes := _axes(domains, node, node.inside)):
        domains.operands[node.inside.argument].bounded |= axes


def bounded_load(domains: Domains, node: Node) -> Load | None:
    """The load that gives an operand of a product, 0 outside of its array as well, or an element of a window, a
    constant where there is none; None where it takes tests."""
    if not isinstance(node, Choose) or not isinstance(node.inside, Load):
        return None
    axes = _axes(domains, node, node.inside)
    bounded = domains.operands[node.inside.argument].bounded
    return node.inside if axes is not None and axes <= bounded else None


def _axes(domains: Domains, node: Choose, load: Load) -> frozenset[int] | None:
    """The axes along which the tests compare the load's coordinates with the ends of its array; None where a test
    compares anything else, or what is outside is no constant, or not 0 where there is no window."""
    if not isinstance(node.outside, Constant) or (node.outside.value != 0 and not isinstance(node, Bounded)):
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
