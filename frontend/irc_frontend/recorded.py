"""A recorded graph as `irc.compile` takes it: with a key by which it is known, before there is a module."""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from irc.driver.subjects import Recorded
from irc_frontend.graph import CALL, EMPTY, HOST, LAUNCH, TILE, Attributes, Node, structure
from irc_frontend.place import Known

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from irc.support.extents import Dim

_OBJECTS = frozenset([LAUNCH, CALL, HOST, EMPTY, TILE])
"""Ops whose attributes are objects, which have no text that tells them from others."""


@dataclass(frozen=True)
class _Copied:
    """What is kept of a node: its values and operands go when it is computed."""

    op: str
    operands: tuple[int, ...]
    shape: tuple[int, ...]
    element: str
    attributes: Attributes
    result: int
    place: Known | None


@dataclass(frozen=True)
class _Graph:
    """Nodes in order, and the numbers of those that are the arguments and the results."""

    nodes: Sequence[_Copied]
    roots: Sequence[int]
    leaves: Sequence[int]
    dims: Sequence[Dim]

    def module(self) -> ModuleOp:
        from irc.ir.extents import declare_dims
        from irc_frontend.build import build_module

        order: list[Node] = []
        for each in self.nodes:
            operands = [order[number] for number in each.operands]
            order.append(
                Node(
                    each.op,
                    operands,
                    each.shape,
                    each.element,
                    each.attributes,
                    result=each.result,
                    place=each.place,
                )
            )
        module = build_module(order, [order[root] for root in self.roots], [order[leaf] for leaf in self.leaves])
        declare_dims(module, self.dims)
        return module

    def places(self) -> tuple[str, ...]:
        known: dict[int, str] = {}
        return tuple(known.setdefault(id(each.place), _text(each.place)) for each in self.nodes)


def recorded(
    order: Sequence[Node], roots: Sequence[Node], leaves: Sequence[Node], dims: Sequence[Dim] = ()
) -> Recorded | None:
    """The program of the leaves that gives the roots; None where it has what has no key. `order` has operands before
    their users."""
    if any(node.op in _OBJECTS or not _is_plain(node.attributes) for node in order):
        return None
    numbers = {node: number for number, node in enumerate(order)}
    copied = [
        _Copied(
            node.op,
            tuple(numbers[operand] for operand in node.operands),
            node.shape,
            node.element,
            node.attributes,
            node.result,
            node.place,
        )
        for node in order
    ]
    graph = _Graph(copied, [numbers[root] for root in roots], [numbers[leaf] for leaf in leaves], tuple(dims))
    parts = repr((_builder(), structure(order, roots), graph.leaves, graph.dims))
    return Recorded(hashlib.sha256(parts.encode("utf-8", "surrogatepass")).hexdigest(), graph.module, graph.places)


@cache
def _builder() -> str:
    """A digest of what makes modules of graphs: irc's own source is in all keys, this package's is not."""
    return hashlib.sha256(Path(__file__).with_name("build.py").read_bytes()).hexdigest()


def _is_plain(value: Hashable) -> bool:
    """Whether the text of a value is the value."""
    if isinstance(value, tuple):
        return all(map(_is_plain, value))
    return value is None or type(value) in (str, int, float, bool)


def _text(place: Known | None) -> str:
    return "?" if place is None else str(place.span())
