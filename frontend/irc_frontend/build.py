"""From a recorded graph to a module of one nd function."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from functools import cache, lru_cache
from types import CodeType
from typing import cast

from xdsl.dialects.builtin import FunctionType, LocationAttr, ModuleOp, TensorType, UnknownLoc
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.irdl import IRDLOperation

from irc.dialects.kernel import LaunchOp
from irc.dialects.nd import ConstantOp, Nd, TopkOp, tensor
from irc.dialects.nd.base import Tensor as TensorAttr
from irc.dialects.nd.base import plain
from irc.dialects.nd.declared import defer
from irc.ir.dtypes import element_named
from irc_frontend.graph import DEFERRED, EMPTY, LAUNCH, LEAF, Node, fail
from irc_frontend.launch import Launch
from irc_frontend.place import CallSite

FUNCTION = "graph"
"""The name of the function."""

SEVERAL = frozenset(["topk", LAUNCH])
"""Ops with several results."""

MAX_KEPT = 4096
"""Types and locations that are kept: layers that repeat have the same ones."""


@cache
def _op_classes() -> dict[str, type[Operation]]:
    """The class of each nd op by its name without `nd.`."""
    return {op.name.removeprefix("nd."): op for op in Nd.operations}


def build_module(order: Sequence[Node], roots: Sequence[Node], leaves: Sequence[Node] | None = None) -> ModuleOp:
    """The function of the leaves, in order, that returns the roots. `order` has operands before their users; its leaves
    are those nodes that have a value unless they are given. Whoever compiles it verifies it."""
    if leaves is None:
        leaves = [node for node in order if node.op == LEAF]
    block = Block(arg_types=[_type(leaf) for leaf in leaves])
    values: dict[Node, SSAValue] = {}
    for number, (leaf, argument) in enumerate(zip(leaves, block.args, strict=True)):
        argument.name_hint = f"x{number}"
        values[leaf] = argument
    shared: dict[Hashable, Operation] = {}
    programs: dict[Launch, str] = {}
    for node in order:
        if node in values:
            continue
        key = (node.op, node.operands, node.attributes)
        op = shared.get(key) if node.op in SEVERAL else None
        if op is None:
            operands = [values[operand] for operand in node.operands]
            op = _launch(node, operands, programs) if node.op == LAUNCH else build_op(node, operands)
            block.add_op(op)
            shared[key] = op
        values[node] = op.results[node.result]
    block.add_op(ReturnOp(*(values[root] for root in roots)))
    function = FuncOp(
        FUNCTION,
        FunctionType.from_lists([_type(leaf) for leaf in leaves], [_type(root) for root in roots]),
        Region(block),
    )
    return ModuleOp([*(program.named(name) for program, name in programs.items()), function])


def _launch(node: Node, operands: Sequence[SSAValue], programs: dict[Launch, str]) -> Operation:
    """The launch of a kernel's program, which is named here."""
    launch = dict(node.attributes)["program"]
    assert isinstance(launch, Launch)
    taken = set(programs.values())
    if launch not in programs:
        names = (f"{launch.name}_{number}" for number in range(len(taken) + 1))
        programs[launch] = next(name for name in names if name not in taken)
    return LaunchOp(programs[launch], operands, launch.result_types, location=location_of_node(node))


def build_op(node: Node, operands: Sequence[SSAValue]) -> Operation:
    """The nd op of a node, at its place."""
    if node.op == EMPTY:
        raise fail("an array that `empty` made is read, and no kernel wrote it")
    location = location_of_node(node)
    if node.op == "constant":
        return ConstantOp.splat(_number(dict(node.attributes)["value"]), _type(node), location=location)
    if node.op == "topk":
        attributes = dict(node.attributes)
        return TopkOp(operands[0], _integer(attributes["k"]), _integer(attributes["axis"]), location=location)
    cls = cast("type[IRDLOperation]", _op_classes()[node.op])
    properties = {name: plain(value) for name, value in node.attributes if name != DEFERRED}
    op = cls.create(operands=operands, result_types=[_type(node)], properties=properties)
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


def _type(node: Node) -> TensorAttr:
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
