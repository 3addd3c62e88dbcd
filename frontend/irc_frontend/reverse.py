"""Gradients of recorded graphs: the graph becomes a function of nd ops, `differentiate` appends to it, and the ops come
back as nodes. The gradients are as lazy as the graph, and can be differentiated again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol, cast

from xdsl.dialects.func import CallOp
from xdsl.ir import Operation, SSAValue

from irc.autodiff.reverse_mode import differentiate
from irc.dialects.nd.base import element_of, shape_of
from irc.dialects.nd.terms import Term
from irc.ir.functions import entry_of
from irc.ir.rewriting import Inserter, give_location
from irc_frontend.build import Builder, build_module, result_count, type_of_node
from irc_frontend.graph import ARGUMENT, LEAF, Node, sorted_nodes
from irc_frontend.nodes import Nodes


class Differentiable(Protocol):
    """What a call's attribute is: it gives the gradients of the arrays of the call, None where there is none."""

    def gradients(
        self, cotangents: Sequence[Node | None], results: Sequence[Node], arrays: Sequence[Node]
    ) -> Sequence[Node | None]: ...


def reverse(roots: Sequence[Node], inputs: Sequence[Node], values: Sequence[Node]) -> tuple[list[Node], list[Node]]:
    """(the roots, the gradients of the first root with respect to the inputs), in terms of `values`, which take the
    inputs' place. IrcError where something on the way has no gradient."""
    order = sorted_nodes([*inputs, *roots])
    inner = _dependent(order, inputs)
    outer = dict.fromkeys(operand for node in inner for operand in node.operands)
    outer = [node for node in dict.fromkeys([*outer, *roots]) if node not in inner and node not in inputs]
    leaves = [*inputs, *outer]
    made = _Gradients()
    function = entry_of(build_module([*leaves, *inner], roots, leaves, made))
    differentiate(function, range(len(inputs)), call_rule=made.rule)
    arguments = [*values, *outer, *made.captured]
    results = Nodes(function.body.block, arguments, made, [node for node in inner if node.place is not None]).results()
    return results[: len(roots)], results[len(roots) :]


def _dependent(order: Sequence[Node], inputs: Sequence[Node]) -> dict[Node, None]:
    """The nodes that depend on the inputs, which are not among them, in order."""
    found: dict[Node, None] = {}
    known = set(inputs)
    for node in order:
        if node not in known and any(operand in found or operand in known for operand in node.operands):
            found[node] = None
    return found


class _Gradients(Builder):
    """A builder whose calls have the gradients that their attributes say. captured: what these read beside their
    arguments, further arguments of the function."""

    def __init__(self) -> None:
        super().__init__(has_calls=True)
        self.captured: list[Node] = []

    def rule(self, op: CallOp, cotangents: Sequence[Term | None], at: Inserter) -> list[Term | None]:
        node = self.calls[op]
        call = cast("Differentiable", dict(node.attributes)["call"])
        count = len(op.operands) - result_count(node)
        given = [None if each is None else self._argument(each.value) for each in cotangents]
        arrays, results = [self._argument(x) for x in op.operands[:count]], [self._argument(x) for x in op.results]
        gradients = call.gradients(given, results, arrays)
        found = list(self._emitted([each for each in gradients if each is not None], at))
        remaining = iter(found)
        terms = [None if each is None else Term(next(remaining), at) for each in gradients]
        return [*terms, *[None] * result_count(node)]

    def _argument(self, value: SSAValue) -> Node:
        """A node that stands for a value."""
        node = Node(ARGUMENT, (), shape_of(value), element_of(value).name)
        self.values[node] = value
        return node

    def _emitted(self, roots: Sequence[Node], at: Inserter) -> Iterator[SSAValue]:
        """The values of nodes, whose ops are inserted there."""

        def insert(op: Operation) -> None:
            give_location(op, at.location)
            at.builder.insert(op)

        block = at.builder.insertion_point.block
        order = sorted_nodes(roots)
        for node in order:
            if node.op in (LEAF, ARGUMENT) and node not in self.values:
                self.values[node] = block.insert_arg(type_of_node(node), len(block.args))
                self.captured.append(node)
        self.add(order, insert)
        return (self.values[root] for root in roots)
