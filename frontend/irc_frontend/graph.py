"""The recorded graph: a node an nd op, before there is any IR."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Any

from irc.runtime.artifact import DTYPES, type_text
from irc.support.diagnostics import IrcError
from irc_frontend.place import Known, here

LEAF = "leaf"
"""The op of a node that has its value: an input, or a result that was computed."""

ARGUMENT = "argument"
"""The op of a node that stands for an argument of a function while the function is recorded."""

EMPTY = "empty"
"""The op of an array that a kernel has to write."""

LAUNCH = "launch"
"""The op of what a kernel wrote; its attribute is the program, its operands the arrays that it reads."""

CALL = "call"
"""The op of a result of a kernel's call: attribute `call` says what its gradient is, operands are the arrays of the
call, then all its results as they are computed."""

HOST = "host"
"""The op of a result of a function of the host: attribute `call` is that (`irc_frontend.host`), `results` the types of
all of them."""

TILE = "tile value"
"""The op of a node that stands for a tile while a kernel is traced: no nd op gives it."""

ARRAYS = (LEAF, ARGUMENT, EMPTY, LAUNCH, CALL)
"""Ops of whole arrays, which a kernel reads tiles of."""

DEFERRED = "nd.deferred"
"""The attribute of a cast that the user did not write (`irc.dialects.nd.declared`)."""

Attributes = tuple[tuple[str, Hashable], ...]


class Donated:
    """The value of a node whose memory was given to a call; `function` is what was called."""

    def __init__(self, function: str):
        self.function = function


class Node:
    """One result of one nd op: `op` is the op's name without `nd.`, `attributes` its properties as plain values,
    `result` the result's number. Nodes that differ in that number alone become one op.

    When its value has been computed the node becomes a leaf: it lets go of its operands and keeps the value.
    """

    __slots__ = ("attributes", "computed", "element", "op", "operands", "place", "result", "shape", "value")

    def __init__(
        self,
        op: str,
        operands: Sequence[Node],
        shape: Sequence[int],
        element: str,
        attributes: Attributes = (),
        value: Any = None,
        result: int = 0,
        place: Known | None = None,
    ):
        self.op = op
        self.operands: tuple[Node, ...] = tuple(operands)
        self.shape = tuple(shape)
        self.element = element
        self.attributes = attributes
        self.value = value
        self.result = result
        self.place: Known | None = place or here()
        self.computed: tuple[Hashable, int] | None = None
        """The structure of a graph that computed it and did not keep its value, and its number there."""

    @property
    def rank(self) -> int:
        return len(self.shape)

    @property
    def type(self) -> str:
        """As `.irc` writes it: `bf16[4, 8]`."""
        return type_text(self.element, self.shape)

    @property
    def is_float(self) -> bool:
        return self.element[0] == "f" or self.element == "bf16"

    @property
    def is_integer(self) -> bool:
        return self.element[0] in "iu"

    @property
    def is_bool(self) -> bool:
        return self.element == "bool"

    @property
    def is_recorded(self) -> bool:
        """Whether it depends on an argument of a function that is being recorded, and so has no value yet."""
        return self.op != LEAF and any(each.op == ARGUMENT for each in sorted_nodes([self]))

    @property
    def known(self) -> Any:
        """The value of a leaf. IrcError where it was donated."""
        if isinstance(self.value, Donated):
            raise fail(
                f"a Tensor {self.type} was donated to {self.value.function}, and is used again",
                "use what that returned in its place, or do not donate it",
            )
        return self.value

    def keep(self, value: Any) -> None:
        """Makes it a leaf with this value."""
        self.op, self.operands, self.attributes, self.value, self.result = LEAF, (), (), value, 0
        self.computed = None


def fail(message: str, hint: str | None = None) -> IrcError:
    """The diagnostic of a wrong use, at the user's line."""
    place = here()
    return IrcError(message, None if place is None else place.span(), hint)


def fail_at(node: Node, message: str, hint: str | None = None) -> IrcError:
    """The same, at the line of a node."""
    found = fail(message, hint)
    if node.place is not None:
        found.location = node.place.span()
    return found


def sorted_nodes(roots: Iterable[Node]) -> list[Node]:
    """Every node that the roots are computed from, operands first, each once."""
    order: list[Node] = []
    seen: set[Node] = set()
    stack: list[tuple[Node, bool]] = [(root, False) for root in reversed(list(roots))]
    while stack:
        node, expanded = stack.pop()
        if expanded:
            order.append(node)
            continue
        if node in seen:
            continue
        seen.add(node)
        stack.append((node, True))
        stack.extend((operand, False) for operand in reversed(node.operands) if operand not in seen)
    return order


def structure(order: Sequence[Node], roots: Sequence[Node]) -> Hashable:
    """A key that two graphs share if they differ in the values of their leaves alone."""
    numbers = {node: number for number, node in enumerate(order)}
    nodes = tuple(
        (
            node.op,
            tuple(numbers[operand] for operand in node.operands),
            node.attributes,
            node.shape,
            node.element,
            node.result,
        )
        for node in order
    )
    return nodes, tuple(numbers[root] for root in roots)


def element_named(dtype: Any) -> str:
    """The element name of a dtype: an element name of irc, `float`, `int`, `bool`, or what numpy calls a dtype."""
    import numpy as np

    from irc.runtime.artifact import ELEMENT_NAMES

    if isinstance(dtype, str) and dtype in DTYPES:
        return dtype
    if dtype in _PYTHON:
        return _PYTHON[dtype]
    try:
        found = ELEMENT_NAMES.get(np.dtype(dtype))
    except TypeError:
        found = None
    if found is None:
        raise fail(f"irc has no element type {dtype}", f"it has {', '.join(DTYPES)}")
    return found


_PYTHON: dict[Any, str] = {float: "f32", int: "i64", bool: "bool"}
