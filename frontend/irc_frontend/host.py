"""Calls of functions of the host inside of recorded graphs: what is around them is computed by programs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from irc.runtime.artifact import DTYPES
from irc.support.diagnostics import IrcError
from irc_frontend.graph import HOST, Node
from irc_frontend.leaves import to_numpy
from irc_frontend.place import here

Array = np.ndarray[Any, Any]
Gradient = Callable[[Sequence[Node], Sequence[Node], Sequence[Node | None]], Sequence[Node | None]]
"""The gradients of arrays, from these, the results and their cotangents."""


class HostCall:
    """One call. Its functions work on arrays with any axes in front. gradient: None where there is none."""

    def __init__(self, name: str, function: Callable[..., Sequence[Array]], gradient: Gradient | None):
        self.name = name
        self._function = function
        self._gradient = gradient
        self._place = here()

    def results(self, arrays: Sequence[Node], types: Sequence[tuple[tuple[int, ...], str]]) -> list[Node]:
        """The nodes of its results, which have these shapes and element types."""
        attributes = (("call", self), ("results", tuple(types)))
        return [Node(HOST, arrays, shape, each, attributes, result=i) for i, (shape, each) in enumerate(types)]

    def again(self) -> HostCall:
        """Another call of the same function."""
        return HostCall(self.name, self._function, self._gradient)

    def compute(self, nodes: Sequence[Node]) -> None:
        """Computes nodes of results, whose operands have values; they keep them."""
        arrays = [to_numpy(operand.known) for operand in nodes[0].operands]
        try:
            found = self._function(*arrays)
        except np.linalg.LinAlgError as error:
            place = nodes[0].place
            raise IrcError(f"{self.name}: {error}", None if place is None else place.span()) from error
        for node in nodes:
            value = np.asarray(found[node.result], DTYPES[node.element])
            assert value.shape == node.shape, (self.name, value.shape, node.shape)
            node.keep(value)

    def gradients(
        self, cotangents: Sequence[Node | None], results: Sequence[Node], arrays: Sequence[Node]
    ) -> Sequence[Node | None]:
        if self._gradient is None:
            place = None if self._place is None else self._place.span()
            raise IrcError(f"{self.name} has no gradient", place, "stop_gradient(x) makes it a constant")
        return self._gradient(arrays, results, cotangents)


def call_of(node: Node) -> HostCall:
    found = dict(node.attributes)["call"]
    assert isinstance(found, HostCall)
    return found
