"""The nodes that values of a fused region are traced to: a scalar for every coordinate."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from xdsl.dialects.builtin import (
    Float32Type,
    IntegerType,
    LocationAttr,
)
from xdsl.ir import Attribute, Operation

from irc.analysis.op_classes import POSITIONS, is_scan, monoid_of, reduced_axes
from irc.analysis.window_operands import rows_of
from irc.ir.dtypes import element_of
from irc.ir.iteration import Iteration, iteration_of
from irc.tiling.index_maps import Coords, DomainDim, Lin, point


@dataclass(eq=False)
class Node:
    """A scalar for every coordinate. `source` is the element type of the nd level, where unsigned still shows."""

    source: Attribute
    location: LocationAttr

    @property
    def type(self) -> Attribute:
        """The scalar's type at the tile level, where integers are signless."""
        return signless(self.source)

    def operands(self) -> tuple[Node, ...]:
        return ()

    def coords(self) -> Coords:
        """The expressions that the node itself uses."""
        return ()


@dataclass(eq=False)
class Load(Node):
    """An element of operand number `argument` of the region. is_ascending: whether the operand does not fall along any
    axis."""

    argument: int
    at: Coords
    is_ascending: bool = False

    def coords(self) -> Coords:
        return self.at


@dataclass(eq=False)
class Constant(Node):
    value: float | int


@dataclass(eq=False)
class Coordinate(Node):
    """The number `lin`, converted to the type of the node."""

    lin: Lin

    def coords(self) -> Coords:
        return (self.lin,)


@dataclass(eq=False)
class Apply(Node):
    """An elementwise nd op."""

    op: Operation
    inputs: tuple[Node, ...]

    def operands(self) -> tuple[Node, ...]:
        return self.inputs


@dataclass(eq=False)
class Cast(Node):
    """The input converted to the node's type."""

    input: Node

    def operands(self) -> tuple[Node, ...]:
        return (self.input,)


@dataclass(frozen=True)
class Test:
    """low <= lin < high; None where there is no bound."""

    lin: Lin
    low: int | None
    high: int | None


@dataclass(eq=False)
class Choose(Node):
    """`inside` where all tests hold, else `outside`."""

    tests: tuple[Test, ...]
    inside: Node
    outside: Node

    def operands(self) -> tuple[Node, ...]:
        return (self.inside, self.outside)

    def coords(self) -> Coords:
        return tuple(t.lin for t in self.tests)


@dataclass(eq=False)
class Bounded(Choose):
    """An element of an array where a window has one, else a constant. `inside` is a load, `outside` the constant."""


@dataclass(eq=False)
class Joined(Node):
    """The elements of a window, joined by a monoid, `sum max min`, one after the other."""

    monoid: str
    inputs: tuple[Node, ...]

    def operands(self) -> tuple[Node, ...]:
        return self.inputs


@dataclass(eq=False)
class Reduced(Node):
    """A reduction, or the last element so far of a scan, at the kept coordinates `at`; `dims` are the reduced
    dimensions.

    For a scan `at` has every coordinate and the operand is traced at `at`.
    """

    op: Operation
    at: Coords
    dims: tuple[DomainDim, ...]
    input: Node

    def operands(self) -> tuple[Node, ...]:
        return (self.input,)

    def coords(self) -> Coords:
        return self.at

    @cached_property
    def iteration(self) -> Iteration:
        return iteration_of(self.op)

    @cached_property
    def is_scan(self) -> bool:
        return is_scan(self.op)

    @cached_property
    def monoid(self) -> str:
        """What joins elements: `sum prod max min any all argmax argmin`."""
        return monoid_of(self.op)

    @cached_property
    def is_position(self) -> bool:
        """Whether it gives the position of an element."""
        return self.monoid in POSITIONS

    @cached_property
    def axes(self) -> tuple[int, ...]:
        """The operand's axes that it runs over."""
        return reduced_axes(self.op)


@dataclass(eq=False)
class Dot(Node):
    """A product, of the accumulator's type, at the coordinates `at` of its result; `k` are the contracted dimensions of
    the operands' nodes, in the order in which the left operand has them. inner: all dimensions that the result does not
    have, in order. ends: where the segments of a dimension end, if data cuts one."""

    op: Operation
    at: Coords
    k: tuple[DomainDim, ...]
    lhs: Node
    rhs: Node
    inner: tuple[DomainDim, ...]
    ends: Node | None = None

    def operands(self) -> tuple[Node, ...]:
        return (self.lhs, self.rhs)

    def coords(self) -> Coords:
        return self.at

    def side(self, role: str) -> Coords:
        """Where it is along the dimensions with a role, `b m n`, in the order in which the result has them."""
        iteration = iteration_of(self.op)
        values = point(iteration, self.at, self.inner)
        return tuple(values[i] for i in iteration.along(iteration.result, role))

    @property
    def rows(self) -> Coords:
        """Where it is along the dimensions with a role `m` that the rows of a tile go over."""
        values = point(iteration_of(self.op), self.at, self.inner)
        return tuple(values[i] for i in rows_of(self.op))

    @property
    def columns(self) -> Coords:
        """The coordinates of the result with columns of the right operand, those of several groups perhaps."""
        iteration = iteration_of(self.op)
        return tuple(self.at[axis] for axis in iteration.touched(iteration.result, "n"))


def name_of(op: Operation) -> str:
    """`add` of `nd.add`."""
    return op.name.removeprefix("nd.")


def signless(type: Attribute) -> Attribute:
    if isinstance(type, IntegerType):
        return IntegerType(type.width.data)
    return type


def number(op: Operation, name: str) -> int:
    """A property that is an integer."""
    value: Any = op.properties[name]
    return value.value.data


def accumulator_of(operand: Attribute) -> Attribute:
    """What a product accumulates in: f32 for narrower floats, i32 for i8 and u8, else the operands' own type."""
    element = element_of(operand)
    if element.is_narrow_float:
        return Float32Type()
    if element.size == 1:
        return IntegerType(32)
    return operand


def walk_nodes(roots: Sequence[Node], inside: Callable[[Node], bool] = lambda _: True) -> Iterator[Node]:
    """Every node that the roots use, operands before users; `inside` says whether to go to a node's operands."""
    seen: set[Node] = set()
    stack: list[tuple[Node, bool]] = [(root, False) for root in reversed(roots)]
    while stack:
        node, done = stack.pop()
        if done:
            yield node
            continue
        if node in seen:
            continue
        seen.add(node)
        stack.append((node, True))
        if inside(node):
            stack += [(n, False) for n in reversed(node.operands()) if n not in seen]
