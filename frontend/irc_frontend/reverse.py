"""Gradients of recorded graphs: the graph becomes a function of nd ops, `differentiate` appends to it, and the ops come
back as nodes. The gradients are as lazy as the graph, and can be differentiated again."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Any

from xdsl.dialects.builtin import DenseArrayBase, FloatAttr, IntegerAttr, LocationAttr, StringAttr, i1
from xdsl.dialects.func import ReturnOp
from xdsl.ir import Attribute, Operation, SSAValue

from irc.autodiff.reverse_mode import differentiate
from irc.dialects.nd import ConstantOp, element_of, shape_of
from irc.dialects.nd.base import ints
from irc.dialects.nd.declared import is_deferred
from irc.ir.functions import entry_of
from irc_frontend.build import build_module, location_of_node
from irc_frontend.graph import DEFERRED, Attributes, Node, sorted_nodes
from irc_frontend.place import Known


def reverse(roots: Sequence[Node], inputs: Sequence[Node], values: Sequence[Node]) -> tuple[list[Node], list[Node]]:
    """(the roots, the gradients of the first root with respect to the inputs), in terms of `values`, which take the
    inputs' place. IrcError where something on the way has no gradient."""
    order = sorted_nodes([*inputs, *roots])
    inner = _dependent(order, inputs)
    outer = dict.fromkeys(operand for node in inner for operand in node.operands)
    outer = [node for node in dict.fromkeys([*outer, *roots]) if node not in inner and node not in inputs]
    leaves = [*inputs, *outer]
    module = build_module([*leaves, *inner], roots, leaves)
    function = entry_of(module)
    differentiate(function, range(len(inputs)))
    places = {location_of_node(node): node.place for node in inner if node.place is not None}
    known: dict[SSAValue, Node] = dict(zip(function.body.block.args, [*values, *outer], strict=True))
    results = _nodes(function.body.block.ops, known, places)
    return results[: len(roots)], results[len(roots) :]


def _dependent(order: Sequence[Node], inputs: Sequence[Node]) -> dict[Node, None]:
    """The nodes that depend on the inputs, which are not among them, in order."""
    found: dict[Node, None] = {}
    known = set(inputs)
    for node in order:
        if node not in known and any(operand in found or operand in known for operand in node.operands):
            found[node] = None
    return found


def _nodes(ops: Iterable[Operation], known: dict[SSAValue, Node], places: dict[LocationAttr, Known]) -> list[Node]:
    """What the ops return, as nodes; `known` has those of the values from before them."""
    for op in ops:
        if isinstance(op, ReturnOp):
            return [known[value] for value in op.operands]
        operands = [known[operand] for operand in op.operands]
        attributes, place = _attributes(op), places.get(op.location)
        name = op.name.removeprefix("nd.")
        for number, result in enumerate(op.results):
            shape, element = shape_of(result), element_of(result).name
            known[result] = Node(name, operands, shape, element, attributes, result=number, place=place)
    raise AssertionError("a function ends in a return")


def _attributes(op: Operation) -> Attributes:
    if isinstance(op, ConstantOp):
        assert op.splat_value is not None
        return (("value", op.splat_value),)
    attributes: list[tuple[str, Hashable]] = [(name, _plain(value)) for name, value in op.properties.items()]
    return (*attributes, (DEFERRED, True)) if is_deferred(op) else tuple(attributes)


def _plain(attribute: Attribute) -> Any:
    """A property as a Python value: the inverse of `irc.dialects.nd.base.plain`."""
    match attribute:
        case DenseArrayBase():
            return ints(attribute)
        case IntegerAttr() if attribute.type == i1:
            return bool(attribute.value.data)
        case IntegerAttr():
            return attribute.value.data
        case FloatAttr():
            return attribute.value.data
        case StringAttr():
            return attribute.data
        case _:
            raise AssertionError(f"a property of nd that is {attribute}")
