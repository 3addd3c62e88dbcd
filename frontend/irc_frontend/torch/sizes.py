"""Graphs of dynamic shapes as one set of programs for a class of sizes.

The sizes of a class are those of each of torch's symbols up to a power of 8, so that one config fits them: that for the
sizes of the first call, each rounded up to a power of two. The graph is traced with numbers that stand for the symbols
(`irc.support.extents`), and for two sizes of the class: with these in the place of the numbers, the traces have to be
equal, and so do the modules of programs, where a number may be data. Then every number in the graph is known for any
size: those of programs, and those of what stays with torch.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch._subclasses import FakeTensorMode
from torch.fx import GraphModule
from torch.fx import Node as FxNode
from torch.fx.node import map_aggregate

from irc.support.extents import Dim, Sizes, dim_of, sized
from irc.support.integers import power_of_two
from irc_frontend.dims import NotOne
from irc_frontend.torch.preparation import traced

GROWTH = 8
"""By which the largest size of a class is a power of."""


@dataclass(frozen=True)
class Symbol:
    """A symbol of torch's shapes, and where its value is: an argument, and an axis of it or None."""

    symbol: Any
    argument: int
    axis: int | None
    least: int
    most: int

    def of(self, arguments: Sequence[Any]) -> int:
        value = arguments[self.argument]
        return int(value if self.axis is None else value.shape[self.axis])


def symbols_of(module: GraphModule) -> list[Symbol]:
    """The symbols of a graph's arguments. NotOne where one stands nowhere by itself."""
    values = [node.meta.get("val") for node in module.graph.find_nodes(op="placeholder")]
    found: dict[Any, Symbol] = {}
    needed: set[Any] = set()
    for number, value in enumerate(values):
        sides = list(enumerate((*value.shape, *value.stride()))) if isinstance(value, torch.Tensor) else [(None, value)]
        for axis, extent in sides:
            if not isinstance(extent, torch.SymInt):
                continue
            expr = extent.node.expr
            needed |= expr.free_symbols
            is_inside = axis is None or (isinstance(value, torch.Tensor) and axis < value.dim())
            if expr.is_Symbol and is_inside and expr not in found:
                found[expr] = Symbol(expr, number, axis, *_range(extent))
    if needed - set(found):
        raise NotOne("a shape depends on a number that no argument has")
    return list(found.values())


def _range(extent: torch.SymInt) -> tuple[int, int]:
    """The least and the most that a symbol may be; 0 where there is no most."""
    bounds = extent.node.shape_env.bound_sympy(extent.node.expr)
    lower, upper = (int(bound) if bound.is_Integer else 0 for bound in (bounds.lower, bounds.upper))
    return max(1, lower), upper


class SizeClass:
    """The sizes of a graph's symbols that one set of programs serves: those of the class in which these are."""

    def __init__(self, module: GraphModule, symbols: Sequence[Symbol], arguments: Sequence[Any]):
        self._module, self._symbols = module, symbols
        static = [extent for value in self._values() for extent in _extents(value) if isinstance(extent, int)]
        found: list[Dim] = []
        for number, symbol in enumerate(symbols):
            most = GROWTH
            while most < symbol.of(arguments):
                most *= GROWTH
            avoid = [*static, *(dim.stand_in for dim in found)]
            least = max(symbol.least, most // GROWTH + 1 if most > GROWTH else 1)
            usual = min(power_of_two(symbol.of(arguments)), symbol.most or most)
            try:
                found.append(dim_of(f"s{number}", least, min(most, symbol.most or most), 1, avoid, usual))
            except ValueError as error:
                raise NotOne(str(error)) from error
        self.dims = tuple(found)

    def _values(self) -> list[Any]:
        return [node.meta.get("val") for node in self._module.graph.find_nodes(op="placeholder")]

    def _sizes(self, arguments: Sequence[Any]) -> dict[str, int]:
        return {dim.name: symbol.of(arguments) for dim, symbol in zip(self.dims, self._symbols, strict=True)}

    def has(self, arguments: Sequence[Any]) -> bool:
        """Whether the sizes of these arguments are of the class."""
        sizes = self._sizes(arguments)
        return all(dim.least <= sizes[dim.name] <= dim.most for dim in self.dims)

    def sizes(self, arguments: Sequence[Any]) -> dict[str, int] | None:
        """The sizes of these arguments, which are of the class; None where an array lies otherwise than was traced."""
        sizes = self._sizes(arguments)
        numbers = self._numbers(sizes)
        for value, argument in zip(self._values(), arguments, strict=True):
            is_token = argument is None  # of effects
            if not is_token and isinstance(value, torch.Tensor) and argument.stride() != _at(value.stride(), numbers):
                return None
        return sizes

    def traced(self) -> GraphModule:
        """The graph with the numbers that stand for sizes."""
        return self._traced({dim.name: dim.stand_in for dim in self.dims})

    def traced_for_sizes(self) -> list[tuple[GraphModule, Sizes]]:
        """The graph for a small size and the largest, and these."""
        tried = [{dim.name: dim.samples[sample] for dim in self.dims} for sample in range(2)]
        return [(self._traced(sizes), sizes) for sizes in tried]

    def _numbers(self, sizes: Sizes) -> dict[Any, int]:
        return {symbol.symbol: sizes[dim.name] for symbol, dim in zip(self._symbols, self.dims, strict=True)}

    def _traced(self, sizes: Sizes) -> GraphModule:
        numbers, mode = self._numbers(sizes), FakeTensorMode(allow_non_fake_inputs=True)
        try:
            with mode:
                fakes = [_fake(value, numbers) for value in self._values()]
            return traced(self._module, mode, fakes)
        except (RuntimeError, ValueError, TypeError) as error:
            raise NotOne(f"torch cannot trace it for all sizes: {str(error).splitlines()[0]}") from error


def _extents(value: Any) -> Sequence[Any]:
    return tuple(value.shape) if isinstance(value, torch.Tensor) else ()


def _at(extents: Sequence[Any], numbers: dict[Any, int]) -> tuple[int, ...]:
    return tuple(_number(extent, numbers) for extent in extents)


def _number(extent: Any, numbers: dict[Any, int]) -> int:
    return int(extent.node.expr.xreplace(numbers)) if isinstance(extent, torch.SymInt) else int(extent)


def _fake(value: Any, numbers: dict[Any, int]) -> Any:
    """An argument with these sizes."""
    if not isinstance(value, torch.Tensor):
        return _number(value, numbers) if isinstance(value, torch.SymInt) else value
    shape, stride = _at(value.shape, numbers), _at(value.stride(), numbers)
    return torch.empty_strided(shape, stride, dtype=value.dtype, device=value.device)


def compare(one: GraphModule, other: GraphModule, dims: Sequence[Dim], sizes: Sizes) -> None:
    """NotOne unless the first graph, with these sizes in the place of numbers, is the second."""

    def at(value: int) -> int:
        return sized(value, dims, sizes)

    if len(one.graph.nodes) != len(other.graph.nodes):
        raise NotOne("it does other work for other sizes")
    places = [{node: f"%{number}" for number, node in enumerate(each.graph.nodes)} for each in (one, other)]
    for a, b in zip(one.graph.nodes, other.graph.nodes, strict=True):
        if _text(a, places[0], at) != _text(b, places[1], int):
            raise NotOne(f"{a.target} computes with a size, or is chosen by one")
        if a.op != "get_attr":
            continue
        held, others = getattr(one, a.target), getattr(other, b.target)
        if not isinstance(held, torch.Tensor):
            raise NotOne("it holds a function, as of a condition")
        if not torch.equal(held, others):
            raise NotOne("a constant depends on a size")


def _text(node: FxNode, places: Mapping[FxNode, str], at: Callable[[int], int]) -> str:
    """What a node does, and the type of what it gives, with other numbers. places: how nodes are called."""

    def changed(value: Any) -> Any:
        if isinstance(value, FxNode):
            return places[value]
        return at(value) if type(value) is int else value

    value = node.meta.get("val")
    given: tuple[Any, ...] = ()
    if isinstance(value, torch.Tensor):
        given = value.dtype, [*map(at, value.shape)], [*map(at, value.stride())]
    target = node.target if node.op == "call_function" else ""
    return repr((node.op, target, map_aggregate((node.args, node.kwargs), changed), given))
