"""From nd ops back to the nodes of a recorded graph: the inverse of `build.py`."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

from xdsl.dialects.builtin import DenseArrayBase, FloatAttr, IntegerAttr, LocationAttr, StringAttr, i1
from xdsl.dialects.func import CallOp, ReturnOp
from xdsl.ir import Attribute, Block, Operation, SSAValue

from irc.dialects.kernel import LaunchOp
from irc.dialects.nd import ConstantOp, element_of, shape_of
from irc.dialects.nd.base import ints
from irc.dialects.nd.declared import is_deferred
from irc.support.diagnostics import labels
from irc_frontend.build import Builder, location_of_node
from irc_frontend.graph import DEFERRED, LAUNCH, Attributes, Node
from irc_frontend.place import Known, Said


class Nodes:
    """The nodes of a function's ops. arguments: those that its arguments stand for; built: what built it; placed: nodes
    whose places are known."""

    def __init__(self, block: Block, arguments: Sequence[Node], built: Builder, placed: Sequence[Node]):
        self._block = block
        self._known: dict[SSAValue, Node] = dict(zip(block.args, arguments, strict=True))
        self._calls = built.calls
        self._launches = {name: launch for launch, name in built.programs.items()}
        self._places: dict[LocationAttr, Known | None] = {location_of_node(node): node.place for node in placed}

    def results(self) -> list[Node]:
        """What the function returns."""
        for op in self._block.ops:
            if isinstance(op, ReturnOp):
                return [self._known[value] for value in op.operands]
            operands = [self._known[operand] for operand in op.operands]
            (name, attributes), place = self._op(op), self._place(op.location)
            for number, result in enumerate(op.results):
                shape, element = shape_of(result), element_of(result).name
                self._known[result] = Node(name, operands, shape, element, attributes, result=number, place=place)
        raise AssertionError("a function ends in a return")

    def _op(self, op: Operation) -> tuple[str, Attributes]:
        if isinstance(op, LaunchOp):
            return LAUNCH, (("program", self._launches[op.callee.root_reference.data]),)
        if isinstance(op, CallOp):
            return self._calls[op].op, self._calls[op].attributes
        return op.name.removeprefix("nd."), _attributes(op)

    def _place(self, location: LocationAttr) -> Known | None:
        if location not in self._places:
            label = next(labels(location), None)
            self._places[location] = None if label is None else Said(label.span)
        return self._places[location]


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
