"""From a recorded graph to a module of one nd function."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from functools import cache, lru_cache
from types import CodeType
from typing import cast

from xdsl.dialects.builtin import FunctionType, LocationAttr, ModuleOp, TensorType, UnknownLoc
from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.irdl import IRDLOperation

from irc.dialects.kernel import LaunchOp
from irc.dialects.nd import CheckIndicesOp, ConstantOp, Nd, TopkOp, tensor
from irc.dialects.nd.base import Tensor as TensorAttr
from irc.dialects.nd.declared import defer
from irc.ir.dtypes import element_named
from irc.ir.properties import attribute_of
from irc.support.diagnostics import IrcError
from irc_frontend.graph import CALL, DEFERRED, EMPTY, HOST, LAUNCH, LEAF, Node, fail
from irc_frontend.host import call_of
from irc_frontend.launch import Launch
from irc_frontend.place import CallSite

FUNCTION = "graph"
"""The name of the function."""

SEVERAL = frozenset(["topk", LAUNCH, CALL, HOST])
"""Ops with several results."""

MAX_KEPT = 4096
"""Types and locations that are kept: layers that repeat have the same ones."""


@cache
def _op_classes() -> dict[str, type[Operation]]:
    """The class of each nd op by its name without `nd.`."""
    return {op.name.removeprefix("nd."): op for op in Nd.operations}


class Builder:
    """Builds ops of nodes. has_calls: whether calls of kernels are ops, which have a gradient of their own, or no more
    than their results."""

    def __init__(self, has_calls: bool = False):
        self.values: dict[Node, SSAValue] = {}
        """What is known of nodes."""
        self.programs: dict[Launch, str] = {}
        """The symbols of the programs that are launched."""
        self.calls: dict[Operation, Node] = {}
        """Which call an op is: a node that is one of its results."""
        self._has_calls = has_calls
        self._shared: dict[Hashable, Operation] = {}

    def add(self, order: Iterable[Node], insert: Callable[[Operation], object]) -> None:
        """Inserts the ops of those nodes that are not known; operands come before their users."""
        for node in order:
            if node not in self.values:
                self.values[node] = self._added(node, insert)

    def _added(self, node: Node, insert: Callable[[Operation], object]) -> SSAValue:
        operands = [self.values[operand] for operand in node.operands]
        if node.op == CALL and not self._has_calls:
            return operands[node.result - result_count(node)]
        key = (node.op, node.operands, node.attributes)
        op = self._shared.get(key) if node.op in SEVERAL else None
        if op is None:
            op = self._shared[key] = self._built(node, operands)
            insert(op)
        return op.results[node.result]

    def _built(self, node: Node, operands: Sequence[SSAValue]) -> Operation:
        if node.op == LAUNCH:
            return self._launch(node, operands)
        if node.op not in (CALL, HOST) or not self._has_calls:
            return build_op(node, operands)
        op = CallOp("call", operands, result_types(node))
        op.location = location_of_node(node)
        self.calls[op] = node
        return op

    def _launch(self, node: Node, operands: Sequence[SSAValue]) -> Operation:
        """The launch of a kernel's program, which is named here."""
        launch = dict(node.attributes)["program"]
        assert isinstance(launch, Launch)
        taken = set(self.programs.values())
        if launch not in self.programs:
            base = launch.name if launch.name != FUNCTION else f"{FUNCTION}_kernel"  # others are called after FUNCTION
            names = (f"{base}_{number}" for number in range(len(taken) + 1))
            self.programs[launch] = next(name for name in names if name not in taken)
        return LaunchOp(self.programs[launch], operands, launch.result_types, location=location_of_node(node))


def result_types(call: Node) -> list[TensorAttr]:
    """The types of all results of a call."""
    if call.op == CALL:
        return [type_of_node(each) for each in call.operands[-result_count(call) :]]
    types = cast("Sequence[tuple[tuple[int, ...], str]]", dict(call.attributes)["results"])
    return [_tensor(tuple(shape), element) for shape, element in types]


def result_count(node: Node) -> int:
    """How many of a call's operands are its results, as they are computed."""
    if node.op == HOST:
        return 0
    found = dict(node.attributes)["results"]
    assert isinstance(found, int)
    return found


def build_module(
    order: Sequence[Node],
    roots: Sequence[Node],
    leaves: Sequence[Node] | None = None,
    builder: Builder | None = None,
) -> ModuleOp:
    """The function of the leaves, in order, that returns the roots. `order` has operands before their users; its leaves
    are those nodes that have a value unless they are given. Whoever compiles it verifies it."""
    if leaves is None:
        leaves = [node for node in order if node.op == LEAF]
    block = Block(arg_types=[type_of_node(leaf) for leaf in leaves])
    made = builder or Builder()
    for number, (leaf, argument) in enumerate(zip(leaves, block.args, strict=True)):
        argument.name_hint = f"x{number}"
        made.values[leaf] = argument
    made.add(order, block.add_op)
    block.add_op(ReturnOp(*(made.values[root] for root in roots)))
    function = FuncOp(
        FUNCTION,
        FunctionType.from_lists([type_of_node(leaf) for leaf in leaves], [type_of_node(root) for root in roots]),
        Region(block),
    )
    return ModuleOp([*(program.named(name) for program, name in made.programs.items()), function])


def build_op(node: Node, operands: Sequence[SSAValue]) -> Operation:
    """The nd op of a node, at its place."""
    if node.op == EMPTY:
        raise fail("an array that `empty` made is read, and no kernel wrote it")
    if node.op == HOST:
        name = call_of(node).name
        place = None if node.place is None else node.place.span()
        raise IrcError(f"{name} runs on the host, between programs", place, "call it outside of jit")
    location = location_of_node(node)
    if node.op == "constant":
        return ConstantOp.splat(_number(dict(node.attributes)["value"]), type_of_node(node), location=location)
    if node.op == "topk":
        attributes = dict(node.attributes)
        return TopkOp(operands[0], _integer(attributes["k"]), _integer(attributes["axis"]), location=location)
    if node.op == "check_indices":
        numbers = {name: _integer(value) for name, value in node.attributes}
        return CheckIndicesOp(operands[0], **numbers, location=location)
    cls = cast("type[IRDLOperation]", _op_classes()[node.op])
    properties = {name: attribute_of(value) for name, value in node.attributes if name != DEFERRED}
    op = cls.create(operands=operands, result_types=[type_of_node(node)], properties=properties)
    op.location = location
    if (DEFERRED, True) in node.attributes:
        defer(op)
    return op


def _integer(value: Hashable) -> int:
    assert isinstance(value, int)
    return value


def _number(value: Hashable) -> int | float:
    assert isinstance(value, int | float)
    return value


def type_of_node(node: Node) -> TensorAttr:
    return _tensor(node.shape, node.element)


@lru_cache(MAX_KEPT)
def _tensor(shape: tuple[int, ...], element: str) -> TensorAttr:
    type = tensor(shape, element_named(element))
    assert isinstance(type, TensorType)
    return type


def location_of_node(node: Node) -> LocationAttr:
    if isinstance(node.place, CallSite):
        return _location(node.place.code, node.place.instruction)
    return UnknownLoc() if node.place is None else node.place.span().location()


@lru_cache(MAX_KEPT)
def _location(code: CodeType, instruction: int) -> LocationAttr:
    return CallSite(code, instruction).span().location()
